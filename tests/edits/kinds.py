"""The kinds of edit: each changes a listing at one random place, or says that it cannot.

What is changed marks its line `touched`; what is new has no origin; what is gone is gone.
Dtypes and shapes are changed where they are said, and need not fit what stands around.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from typing import Final

from edits.listing import Body, Line, Listing

Edit = Callable[[Listing, random.Random], bool]

_UNARY: Final = ("negate", "exponential", "tanh", "rsqrt", "sqrt", "log", "abs", "logistic")
_BINARY: Final = ("add", "multiply", "subtract", "divide", "maximum", "minimum")
_FLOATS: Final = ("bf16", "f32", "f16")
_COLLECTIVES: Final = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute",
)  # fmt: skip


def insert_unary(listing: Listing, chooser: random.Random) -> bool:
    """Put an elementwise operation behind an instruction, for all its users."""
    place = _pick(listing, chooser, _is_used_array)
    return place is not None and bool(_insert(*place, chooser.choice(_UNARY)))


def insert_for_one_user(listing: Listing, chooser: random.Random) -> bool:
    """Put an elementwise operation between an instruction and one of several users."""
    place = _pick(listing, chooser, lambda body, one: one.is_array and len(body.users(one)) > 1)
    if place is None:
        return False
    body, line = place
    user = chooser.choice(body.users(line))
    new = body.put_before(user, Line(line.shape, chooser.choice(_UNARY), [line]))
    body.redirect(line, new, [user])
    return True


def insert_converts(listing: Listing, chooser: random.Random) -> bool:
    """Go to another dtype and back."""
    place = _pick(listing, chooser, lambda body, one: _is_float(one) and _is_used_array(body, one))
    if place is None:
        return False
    body, line = place
    wide = "f32" if line.dtype != "f32" else "bf16"
    first = Line(_with_dtype(line.shape, wide), "convert", [line])
    second = Line(line.shape, "convert", [first])
    body.redirect(line, second)
    body.put_behind(line, first)
    body.put_behind(first, second)
    return True


def insert_copy(listing: Listing, chooser: random.Random) -> bool:
    """Copy a value."""
    place = _pick(listing, chooser, _is_used_array)
    return place is not None and bool(_insert(*place, "copy"))


def insert_scale(listing: Listing, chooser: random.Random) -> bool:
    """Multiply by a new constant."""
    place = _pick(listing, chooser, lambda body, one: _is_float(one) and _is_used_array(body, one))
    if place is None:
        return False
    body, line = place
    constant = Line(f"{line.dtype}[]", "constant", literal="0.125")
    broadcast = Line(line.shape, "broadcast", [constant], attributes={"dimensions": "{}"})
    new = Line(line.shape, "multiply", [line, broadcast])
    body.redirect(line, new)
    for behind, one in ((line, constant), (constant, broadcast), (broadcast, new)):
        body.put_behind(behind, one)
    return True


def remove_unary(listing: Listing, chooser: random.Random) -> bool:
    """Take out an instruction of one operand."""
    return _remove(listing, chooser, lambda one: len(one.operands) == 1)


def remove_binary(listing: Listing, chooser: random.Random) -> bool:
    """Take out an instruction of two operands; its users get the first."""
    return _remove(listing, chooser, lambda one: len(one.operands) == 2)


def replace_unary(listing: Listing, chooser: random.Random) -> bool:
    """Put another elementwise operation in the place of one."""
    return _touch(listing, chooser, lambda one: _other_opcode(one, _UNARY, chooser))


def replace_binary(listing: Listing, chooser: random.Random) -> bool:
    """Put another elementwise operation of two operands in the place of one."""
    return _touch(listing, chooser, lambda one: _other_opcode(one, _BINARY, chooser))


def replace_by_three(listing: Listing, chooser: random.Random) -> bool:
    """Put three operations in the place of one; the first has its operand, and counts as it."""
    place = _pick(
        listing, chooser, lambda body, one: one.opcode in _UNARY and _is_used_array(body, one)
    )
    if place is None:
        return False
    body, line = place
    users = body.users(line)
    second = body.put_behind(line, Line(line.shape, "cosine", [line]))
    third = body.put_behind(second, Line(line.shape, "sign", [second]))
    body.redirect(line, third, users)
    if body.root is line:
        body.root = third
    line.opcode, line.touched = "floor", True
    return True


def change_dtype(listing: Listing, chooser: random.Random) -> bool:
    """Give one instruction another dtype."""

    def change(one: Line) -> bool:
        if not _is_float(one) or one.opcode in {"parameter", "constant"}:
            return False
        others = [dtype for dtype in _FLOATS if dtype != one.dtype]
        one.shape = _with_dtype(one.shape, chooser.choice(others))
        return True

    return _touch(listing, chooser, change)


def change_dimension(listing: Listing, chooser: random.Random) -> bool:
    """Double one dimension of one instruction."""

    def change(one: Line) -> bool:
        if not one.is_array or not re.search(r"\[\d", one.shape) or one.opcode == "constant":
            return False
        one.shape = re.sub(r"\[(\d+)", lambda found: f"[{int(found[1]) * 2}", one.shape, count=1)
        return True

    return _touch(listing, chooser, change)


def change_layout(listing: Listing, chooser: random.Random) -> bool:
    """Turn the order of dimensions of one instruction round."""

    def change(one: Line) -> bool:
        found = re.search(r"\{(\d+(?:,\d+)+)", one.shape) if one.is_array else None
        if found is None:
            return False
        turned = ",".join(reversed(found[1].split(",")))
        one.shape = one.shape.replace(found[0], "{" + turned)
        return True

    return _touch(listing, chooser, change)


def change_space(listing: Listing, chooser: random.Random) -> bool:
    """Put one value into another memory space."""

    def change(one: Line) -> bool:
        if not one.is_array or "S(" in one.shape or ":" in one.shape or "}" not in one.shape:
            return False
        one.shape = one.shape.replace("}", ":S(1)}")
        return True

    return _touch(listing, chooser, change)


def swap_operands(listing: Listing, chooser: random.Random) -> bool:
    """Swap two operands."""

    def change(one: Line) -> bool:
        operands = one.operands
        if len(operands) != 2 or operands[0] is operands[1]:
            return False
        one.operands = operands[::-1]
        return True

    return _touch(listing, chooser, change)


def rewire(listing: Listing, chooser: random.Random) -> bool:
    """Let an instruction use another value of the same shape."""
    for body in chooser.sample(listing.bodies, len(listing.bodies)):
        for place in chooser.sample(range(len(body.lines)), len(body.lines)):
            line = body.lines[place]
            for number, old in enumerate(line.operands):
                others = [
                    one
                    for one in body.lines[:place]
                    if one.shape == old.shape and one is not old and one.is_array
                ]
                if others and len(body.users(old)) > 1:
                    line.operands[number] = chooser.choice(others)
                    line.touched = True
                    return True
    return False


def change_constant(listing: Listing, chooser: random.Random) -> bool:
    """Change the value of a constant."""

    def change(one: Line) -> bool:
        if one.opcode != "constant" or "[]" not in one.shape or not _is_number(one):
            return False
        one.literal = str(int(float(one.literal)) + 7)
        return True

    return _touch(listing, chooser, change)


def change_dimensions(listing: Listing, chooser: random.Random) -> bool:
    """Change the attribute `dimensions` of an instruction."""
    return _touch(listing, chooser, lambda one: _change_attribute(one, "dimensions", "{7}"))


def change_config(listing: Listing, chooser: random.Random) -> bool:
    """Change the backend config of an instruction."""
    text = '{"new_key":"7"}'
    return _touch(listing, chooser, lambda one: _change_attribute(one, "backend_config", text))


def change_sharding(listing: Listing, chooser: random.Random) -> bool:
    """Give an instruction a sharding."""

    def change(one: Line) -> bool:
        if not one.is_array or "sharding" in one.attributes:
            return False
        one.attributes["sharding"] = "{replicated}"
        return True

    return _touch(listing, chooser, change)


def change_groups(listing: Listing, chooser: random.Random) -> bool:
    """Change the groups of a collective."""
    text = "{{0,5},{1,4},{2,7},{3,6}}"
    return _touch(listing, chooser, lambda one: _change_attribute(one, "replica_groups", text))


def change_fusion_kind(listing: Listing, chooser: random.Random) -> bool:
    """Change the kind of a fusion."""
    return _touch(listing, chooser, lambda one: _change_attribute(one, "kind", "kCustom"))


def change_target(listing: Listing, chooser: random.Random) -> bool:
    """Change the target of a custom call."""
    text = '"another_target"'
    return _touch(listing, chooser, lambda one: _change_attribute(one, "custom_call_target", text))


def replace_in_fusion(listing: Listing, chooser: random.Random) -> bool:
    """Change an opcode in the body of a fusion."""
    for body in _fused(listing, chooser):
        for line in chooser.sample(body.lines, len(body.lines)):
            if _other_opcode(line, _UNARY, chooser) or _other_opcode(line, _BINARY, chooser):
                line.touched = True
                return True
    return False


def rewrite_fusion(listing: Listing, chooser: random.Random) -> bool:
    """Put two other operations in the place of each elementwise one of a fusion's body."""
    for body in _fused(listing, chooser):
        old = [one for one in body.lines if one.opcode in {*_UNARY, *_BINARY}]
        if len(old) < 3 or body.root in old:
            continue
        for line in old:
            users = body.users(line)
            extra = body.put_behind(line, Line(line.shape, "sign", [line]))
            body.redirect(line, extra, users)
            line.opcode = "atan2" if len(line.operands) > 1 else "cosine"
            line.touched = True
        return True
    return False


def insert_in_fusion(listing: Listing, chooser: random.Random) -> bool:
    """Put an operation into the body of a fusion."""
    for body in _fused(listing, chooser):
        found = [one for one in body.lines if _is_used_array(body, one) and one is not body.root]
        if found:
            _insert(body, chooser.choice(found), chooser.choice(_UNARY))
            return True
    return False


def add_parameter(listing: Listing, chooser: random.Random) -> bool:
    """Put a parameter before the others of the entry, and use it."""
    body = listing.entry
    users = [one for one in body.lines if one.is_array and one.operands and one.dtype == "f32"]
    if not users:
        return False
    user = chooser.choice(users)
    number = chooser.randrange(len(body.parameters()) + 1)
    for parameter in body.parameters():
        if int(parameter.literal) >= number:
            parameter.literal = str(int(parameter.literal) + 1)
            parameter.touched = True
    new = Line(user.shape, "parameter", literal=str(number))
    body.lines.insert(0, new)
    added = body.put_behind(user, Line(user.shape, "add", [user, new]))
    body.redirect(user, added)
    return True


def add_result(listing: Listing, chooser: random.Random) -> bool:
    """Return one value more."""
    body = listing.entry
    root = body.root
    if root.opcode != "tuple" or body.users(root):
        return False
    arrays = [one for one in body.lines if one.is_array and one not in root.operands]
    if not arrays:
        return False
    new = chooser.choice(arrays)
    root.operands = [*root.operands, new]
    root.shape = f"{root.shape[:-1]}, {new.shape})"
    root.touched = True
    return True


def insert_barrier(listing: Listing, chooser: random.Random) -> bool:
    """Put an optimization barrier behind a value."""
    place = _pick(listing, chooser, _is_used_array)
    return place is not None and bool(_insert(*place, "opt-barrier"))


def duplicate(listing: Listing, chooser: random.Random) -> bool:
    """Compute a value twice, once for one of its users."""
    place = _pick(
        listing,
        chooser,
        lambda body, one: bool(one.operands) and one.is_array and len(body.users(one)) > 2,
    )
    if place is None:
        return False
    body, line = place
    new = Line(line.shape, line.opcode, list(line.operands), line.literal, dict(line.attributes))
    new.callees = list(line.callees)
    body.put_behind(line, new)
    body.redirect(line, new, [body.users(line)[-1]])
    return True


def make_async(listing: Listing, chooser: random.Random) -> bool:
    """Let a collective or a copy start and finish in two instructions."""
    place = _pick(
        listing, chooser, lambda _, one: one.opcode in {"copy", "all-reduce"} and one.is_array
    )
    if place is None:
        return False
    body, line = place
    done = Line(line.shape, f"{line.opcode}-done", [line])
    body.redirect(line, done)
    body.put_behind(line, done)
    if line.opcode == "copy":
        line.shape = f"({line.shape}, {line.operands[0].shape}, u32[])"
    line.opcode += "-start"
    line.touched = True
    return True


def remove_collective(listing: Listing, chooser: random.Random) -> bool:
    """Take out a collective."""
    return _remove(listing, chooser, lambda one: one.opcode in _COLLECTIVES)


def rename_scopes(listing: Listing, chooser: random.Random) -> bool:
    """Give every operation another scope."""
    name = f"part{chooser.randrange(9)}"
    for line in listing.lines():
        if "metadata" in line.attributes:
            text = line.attributes["metadata"]
            line.attributes["metadata"] = re.sub(r'op_name="jit\([^)]*\)/', rf"\g<0>{name}/", text)
    return True


def widen_everything(listing: Listing, _: random.Random) -> bool:
    """Compute in f32 what was bf16, and the reverse where there is none."""
    old, new = (
        ("bf16", "f32") if any("bf16[" in one.shape for one in listing.lines()) else ("f32", "bf16")
    )
    for line in listing.lines():
        if f"{old}[" in line.shape:
            line.shape = line.shape.replace(f"{old}[", f"{new}[")
            line.touched = True
    return True


def double_batch(listing: Listing, _: random.Random) -> bool:
    """Double a dimension wherever it occurs."""
    counts: dict[str, int] = {}
    for line in listing.lines():
        for size in re.findall(r"(?<=[\[,])\d+(?=[\],])", line.shape.partition("{")[0]):
            counts[size] = counts.get(size, 0) + 1
    counts.pop("1", None)
    if not counts:
        return False
    size = max(counts, key=counts.__getitem__)
    pattern = re.compile(rf"(?<=[\[,]){size}(?=[\],])")
    for line in listing.lines():
        shape = pattern.sub(str(int(size) * 2), line.shape)
        if shape != line.shape:
            line.shape, line.touched = shape, True
    return True


def _pick(
    listing: Listing, chooser: random.Random, test: Callable[[Body, Line], bool]
) -> tuple[Body, Line] | None:
    """Choose a line that passes, all with the same chance."""
    every = [(body, line) for body in listing.bodies for line in body.lines]
    for place in chooser.sample(every, len(every)):
        if test(*place):
            return place
    return None


def _touch(listing: Listing, chooser: random.Random, change: Callable[[Line], bool]) -> bool:
    """Change the first line of a random order that can be changed and was not yet."""
    every = [line for line in listing.lines() if line.origin is not None and not line.touched]
    for line in chooser.sample(every, len(every)):
        if change(line):
            line.touched = True
            return True
    return False


def _fused(listing: Listing, chooser: random.Random) -> Iterable[Body]:
    """List the bodies of fusions in a random order."""
    found = [body for one in listing.lines() if one.opcode == "fusion" for body in one.called]
    return chooser.sample(found, len(found))


def _insert(body: Body, line: Line, opcode: str) -> Line:
    new = Line(line.shape, opcode, [line])
    body.redirect(line, new)
    return body.put_behind(line, new)


def _remove(listing: Listing, chooser: random.Random, test: Callable[[Line], bool]) -> bool:
    place = _pick(
        listing,
        chooser,
        lambda body, one: test(one) and one.is_array and one.operands[0].is_array
        and not one.called and one is not body.root and bool(body.users(one)),
    )  # fmt: skip
    if place is None:
        return False
    body, line = place
    body.redirect(line, line.operands[0])
    body.lines.remove(line)
    body.prune()
    return True


def _other_opcode(line: Line, opcodes: tuple[str, ...], chooser: random.Random) -> bool:
    if line.opcode not in opcodes or line.touched or line.origin is None:
        return False
    line.opcode = chooser.choice([one for one in opcodes if one != line.opcode])
    return True


def _change_attribute(line: Line, key: str, text: str) -> bool:
    if line.attributes.get(key, text) == text:
        return False
    line.attributes[key] = text
    return True


def _is_used_array(body: Body, line: Line) -> bool:
    return line.is_array and (bool(body.users(line)) or line is body.root)


def _is_float(line: Line) -> bool:
    return line.is_array and line.dtype in _FLOATS


def _is_number(line: Line) -> bool:
    try:
        return float(line.literal) == float(line.literal) and "inf" not in line.literal
    except ValueError:
        return False


def _with_dtype(shape: str, dtype: str) -> str:
    return dtype + shape[shape.index("[") :]
