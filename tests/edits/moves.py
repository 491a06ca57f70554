"""Edits that move code between computations: the instructions stay, their place does not."""

from __future__ import annotations

import random

from edits.listing import Body, Line, Listing

_LONGEST = 8
_SIMPLE = frozenset(
    (
        "add", "multiply", "subtract", "divide", "maximum", "negate", "exponential", "tanh",
        "convert", "bitcast", "broadcast", "select", "compare", "rsqrt", "dot", "transpose",
        "reduce", "slice", "pad", "concatenate", "fusion", "copy", "reshape", "sqrt", "log",
    )
)  # fmt: skip


def outline(listing: Listing, chooser: random.Random) -> bool:
    """Move a chain of instructions into a computation that is called."""
    return _move_out(listing, chooser, "call", "to_apply")


def fuse(listing: Listing, chooser: random.Random) -> bool:
    """Move a chain of instructions into a new fusion."""
    return _move_out(listing, chooser, "fusion", "calls")


def inline(listing: Listing, chooser: random.Random) -> bool:
    """Put the body of a fusion or call in its place."""
    callers = listing.callers()
    places = [
        (body, line)
        for body in listing.bodies
        for line in body.lines
        if line.opcode in {"fusion", "call"} and len(callers[line.called[0]]) == 1
    ]
    if not places:
        return False
    body, call = chooser.choice(places)
    _inline(body, call)
    listing.drop_dead()
    return True


def split_fusion(listing: Listing, chooser: random.Random) -> bool:
    """Let a second fusion compute what one did first."""
    callers = listing.callers()
    places = [
        (body, line)
        for body in listing.bodies
        for line in body.lines
        if line.opcode == "fusion" and len(callers[line.called[0]]) == 1
    ]
    for outer, fusion in chooser.sample(places, len(places)):
        body = fusion.called[0]
        inner = [one for one in body.lines if one.opcode in _SIMPLE and one is not body.root]
        for last in chooser.sample(inner, len(inner)):
            moved = _cone(body, last)
            if len(moved) > 1 and all(
                user in moved for one in moved if one is not last for user in body.users(one)
            ):
                _split(listing, outer, fusion, moved, last)
                return True
    return False


def merge_fusions(listing: Listing, chooser: random.Random) -> bool:
    """Move a fusion into the only fusion that uses it."""
    callers = listing.callers()
    places = []
    for body in listing.bodies:
        for line in body.lines:
            users = body.users(line)
            is_pair = line.opcode == "fusion" and len(users) == 1 and users[0].opcode == "fusion"
            if is_pair and line.is_array and line is not body.root:
                both = line.called[0], users[0].called[0]
                if all(len(callers[one]) == 1 for one in both):
                    places.append((body, line, users[0]))
    if not places:
        return False
    _merge(*chooser.choice(places))
    listing.drop_dead()
    return True


def hoist(listing: Listing, chooser: random.Random) -> bool:
    """Move an operation on one parameter of a fusion out before the fusion."""
    callers = listing.callers()
    places = []
    for body in listing.bodies:
        for fusion in body.lines:
            if fusion.opcode == "fusion" and len(callers[fusion.called[0]]) == 1:
                inside = fusion.called[0]
                places += [
                    (body, fusion, line)
                    for line in inside.lines
                    if line.opcode in _SIMPLE and line is not inside.root
                    and len(line.operands) == 1 and line.operands[0].opcode == "parameter"
                    and inside.users(line.operands[0]) == [line]
                ]  # fmt: skip
    if not places:
        return False
    body, fusion, line = chooser.choice(places)
    inside, parameter = fusion.called[0], line.operands[0]
    place = int(parameter.literal)
    line.operands = [fusion.operands[place]]
    inside.lines.remove(line)
    inside.redirect(line, parameter)
    parameter.shape, parameter.touched = line.shape, True
    body.put_before(fusion, line)
    fusion.operands[place] = line
    return True


def _move_out(listing: Listing, chooser: random.Random, opcode: str, key: str) -> bool:
    fused = {one for line in listing.lines() if line.opcode == "fusion" for one in line.called}
    applied = {
        one
        for line in listing.lines()
        if line.opcode not in {"call", "while", "conditional", "fusion"}
        for one in line.called
    }
    bodies = [one for one in listing.bodies if one not in fused and one not in applied]
    for body in chooser.sample(bodies, len(bodies)):
        for last in chooser.sample(body.lines, len(body.lines)):
            if last.opcode not in _SIMPLE or not last.is_array or last is body.root:
                continue
            chain = [last]
            while len(chain) < _LONGEST:
                step = [
                    one
                    for one in chain[-1].operands
                    if one.opcode in _SIMPLE and set(body.users(one)) <= set(chain)
                ]
                if not step:
                    break
                chain.append(chooser.choice(step))
            if len(chain) > 2:
                moved = [one for one in body.lines if one in chain]
                _outline(listing, body, moved, last, opcode, key)
                return True
    return False


def _outline(  # noqa: PLR0917  what moves, from where to where
    listing: Listing, body: Body, moved: list[Line], last: Line, opcode: str, key: str
) -> None:
    """Move lines into a body of their own, whose result is the last of them."""
    given = list(dict.fromkeys(one for line in moved for one in line.operands if one not in moved))
    parameters = {
        one: Line(one.shape, "parameter", literal=str(place)) for place, one in enumerate(given)
    }
    new = Body([*parameters.values(), *moved], last)
    call = Line(last.shape, opcode, given, callees=[(key, [new])])
    if opcode == "fusion":
        call.attributes["kind"] = "kLoop"
    body.put_behind(last, call)
    body.redirect(last, call)
    body.lines = [one for one in body.lines if one not in moved]
    for line in moved:
        line.operands = [parameters.get(one, one) for one in line.operands]
    listing.bodies.insert(listing.bodies.index(body), new)


def _inline(body: Body, call: Line) -> None:
    inside = call.called[0]
    meaning = dict(zip(inside.parameters(), call.operands, strict=True))
    moved = [one for one in inside.lines if one.opcode != "parameter"]
    for line in moved:
        line.operands = [meaning.get(one, one) for one in line.operands]
    place = body.lines.index(call)
    body.lines[place : place + 1] = moved
    root = meaning.get(inside.root, inside.root)
    for user in body.users(call):
        if root.opcode == "tuple" and user.opcode == "get-tuple-element":
            element = root.operands[int(user.attributes["index"])]
            body.redirect(user, element)
            body.lines.remove(user)
    body.redirect(call, root)
    if root.opcode == "tuple" and not body.users(root) and root is not body.root:
        body.lines.remove(root)


def _cone(body: Body, last: Line) -> list[Line]:
    """Return what a line is computed from, parameters left out, in order."""
    wanted = {last}
    for line in reversed(body.lines):
        if line in wanted:
            wanted.update(one for one in line.operands if one.opcode != "parameter")
    return [one for one in body.lines if one in wanted]


def _split(listing: Listing, outer: Body, fusion: Line, moved: list[Line], last: Line) -> None:
    body = fusion.called[0]
    given = list(dict.fromkeys(one for line in moved for one in line.operands if one not in moved))
    parameters = {
        one: Line(one.shape, "parameter", literal=str(place)) for place, one in enumerate(given)
    }
    new = Body([*parameters.values(), *moved], last)
    operands = [fusion.operands[int(one.literal)] for one in given]
    first = Line(last.shape, "fusion", operands, attributes=dict(fusion.attributes))
    first.callees = [("calls", [new])]
    outer.put_before(fusion, first)
    entry = Line(last.shape, "parameter", literal=str(len(fusion.operands)))
    body.redirect(last, entry)
    body.lines = [entry, *(one for one in body.lines if one not in moved)]
    for line in moved:
        line.operands = [parameters.get(one, one) for one in line.operands]
    for old, other in parameters.items():
        if old.opcode == "parameter" and not body.users(old):
            other.origin, other.touched = old.origin, old.literal != other.literal
    fusion.operands = [*fusion.operands, first]
    listing.bodies.insert(listing.bodies.index(outer), new)
    _drop_unused(body, fusion)


def _merge(body: Body, first: Line, second: Line) -> None:
    """Move the body of the first fusion into that of the second."""
    source, target = first.called[0], second.called[0]
    parameters = target.parameters()
    places = [place for place, one in enumerate(second.operands) if one is first]
    meaning: dict[Line, Line] = {}
    operands = list(second.operands)
    for parameter, operand in zip(source.parameters(), first.operands, strict=True):
        new = Line(parameter.shape, "parameter", literal=str(len(operands)))
        new.origin, new.touched = parameter.origin, parameter.literal != new.literal
        operands.append(operand)
        meaning[parameter] = new
    moved = [one for one in source.lines if one.opcode != "parameter"]
    for line in moved:
        line.operands = [meaning.get(one, one) for one in line.operands]
    root = meaning.get(source.root, source.root)
    target.lines = [*meaning.values(), *moved, *target.lines]
    second.operands = operands
    for place in places:
        target.redirect(parameters[place], root)
    body.lines.remove(first)
    _drop_unused(target, second)


def _drop_unused(body: Body, fusion: Line) -> None:
    """Drop the parameters that nothing uses, and number the others anew."""
    kept = [one for one in body.parameters() if body.users(one) or one is body.root]
    operands = fusion.operands
    fusion.operands = [operands[int(one.literal)] for one in kept]
    body.lines = [one for one in body.lines if one.opcode != "parameter" or one in kept]
    for place, one in enumerate(kept):
        if one.literal != str(place):
            one.literal = str(place)
            one.touched = one.origin is not None
