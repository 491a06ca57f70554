"""A train step of unrolled layers, as JAX would name it, with any layers in any order.

A layer has an identity of its own beside its place: `list_layers([0, 1, 7, 2])` is
`list_layers([0, 1, 2])` with layer 7 put in behind layer 1. Odd hundreds are wider, so that their
contents tell them apart. As in dumps, what a cached function does is named after the first layer
that called it.
"""

from __future__ import annotations

from collections.abc import Sequence

from edits.listing import Body, Line, Listing

_WIDTH = 64


class _Builder:
    def __init__(self) -> None:
        self.lines: list[Line] = []

    def add(
        self,
        identity: object,
        opcode: str,
        shape: str,
        *operands: Line,
        name: str = "",
        **more: str,
    ) -> Line:
        attributes = {key: text for key, text in more.items() if key != "literal"}
        if name:
            attributes["metadata"] = f'{{op_name="{name}"}}'
        line = Line(shape, opcode, list(operands), more.get("literal", ""), attributes)
        line.origin = _number(identity)
        self.lines.append(line)
        return line


_numbers: dict[object, int] = {}


def _number(identity: object) -> int:
    return _numbers.setdefault(identity, len(_numbers))


def list_layers(identities: Sequence[int]) -> Listing:
    """Build the step of these layers."""
    made = _Builder()
    trees: dict[str, list[dict[str, Line]]] = {}
    count = 0
    for tree in ("mu", "nu", "params"):
        trees[tree] = []
        for place, one in enumerate(identities):
            weights = {}
            for key in ("down", "up"):
                wide = _hidden(one)
                shape = f"f32[{wide},{_WIDTH}]" if key == "down" else f"f32[{_WIDTH},{wide}]"
                name = f"state[\\'{tree}\\'][\\'layers\\'][{place}][\\'{key}\\']"
                weights[key] = made.add(
                    (one, tree, key), "parameter", shape + "{1,0}", name=name, literal=str(count)
                )
                count += 1
            trees[tree].append(weights)
    x = made.add("x", "parameter", f"f32[32,{_WIDTH}]{{1,0}}", name="batch", literal=str(count))
    kept = []
    for place, one in enumerate(identities):
        kept.append((x, *_forward(made, one, place, x, trees["params"][place])))
        x = kept[-1][-1]
    grads: list[tuple[Line, Line]] = []
    for place, one in reversed(list(enumerate(identities))):
        x, *found = _backward(made, one, place, x, kept[place], trees["params"][place])
        grads.append((found[0], found[1]))
    grads.reverse()
    results: dict[str, list[Line]] = {"mu": [], "nu": [], "params": []}
    for place, one in enumerate(identities):
        for key, grad in zip(("down", "up"), grads[place], strict=True):
            _update(made, (one, key), [trees[tree][place][key] for tree in trees], grad, results)
    outputs = [line for tree in results.values() for line in tree]
    shape = f"({', '.join(one.shape for one in outputs)})"
    root = made.add("root", "tuple", shape, *outputs)
    return Listing([Body(made.lines, root, is_entry=True)])


def renumber(before: Sequence[int], after: Sequence[int]) -> tuple[Listing, Listing]:
    """Return two steps; parameters with another number and the result are marked as touched."""
    old, new = list_layers(before), list_layers(after)
    known = {line.origin: line for line in old.lines()}
    for line in new.lines():
        earlier = known.get(line.origin)
        if earlier is not None and (earlier.literal, earlier.shape) != (line.literal, line.shape):
            line.touched = True
    return old, new


def _hidden(identity: int) -> int:
    return _WIDTH * (6 if identity // 100 % 2 else 4)


def _forward(
    made: _Builder, one: int, place: int, x: Line, weights: dict[str, Line]
) -> tuple[Line, Line, Line]:
    scope = f"jit(train_step)/jvp(layer_{place})"
    wide = f"f32[32,{_hidden(one)}]{{1,0}}"
    up = made.add(
        (one, "up"), "dot", wide, x, weights["up"], name=f"{scope}/mlp/dot_general",
        lhs_contracting_dims="{1}", rhs_contracting_dims="{0}",
    )  # fmt: skip
    act = made.add(
        (one, "act"), "tanh", wide, up, name="jit(train_step)/jvp(layer_0)/mlp/jit(act)/tanh"
    )
    down = made.add(
        (one, "down"), "dot", x.shape, act, weights["down"], name=f"{scope}/mlp/dot_general",
        lhs_contracting_dims="{1}", rhs_contracting_dims="{0}",
    )  # fmt: skip
    return up, act, made.add((one, "out"), "add", x.shape, x, down, name=f"{scope}/add")


def _backward(  # noqa: PLR0917  what a layer is
    made: _Builder,
    one: int,
    place: int,
    grad: Line,
    kept: tuple[Line, ...],
    weights: dict[str, Line],
) -> tuple[Line, Line, Line]:
    scope = f"jit(train_step)/transpose(jvp(layer_{place}))"
    x, _, act, _ = kept
    name = f"{scope}/mlp/dot_general"
    dims = {"lhs_contracting_dims": "{1}", "rhs_contracting_dims": "{1}"}
    outer = {"lhs_contracting_dims": "{0}", "rhs_contracting_dims": "{0}"}
    wide = made.add((one, "d act"), "dot", act.shape, grad, weights["down"], name=name, **dims)
    square = made.add((one, "square"), "multiply", act.shape, act, act, name=f"{scope}/mlp/mul")
    inner = made.add((one, "d up"), "subtract", act.shape, wide, square, name=f"{scope}/mlp/sub")
    down = made.add((one, "d down w"), "dot", weights["down"].shape, act, grad, name=name, **outer)
    up = made.add((one, "d up w"), "dot", weights["up"].shape, x, inner, name=name, **outer)
    back = made.add((one, "d x"), "dot", x.shape, inner, weights["up"], name=name, **dims)
    both = made.add((one, "d out"), "add", x.shape, grad, back, name=f"{scope}/add_any")
    return both, down, up


def _update(
    made: _Builder, who: object, state: list[Line], grad: Line, results: dict[str, list[Line]]
) -> None:
    mu, nu, weight = state
    scope = "jit(train_step)/adam"
    shape = grad.shape
    square = made.add((who, "g2"), "multiply", shape, grad, grad, name=f"{scope}/square")
    first = made.add((who, "mu"), "add", shape, mu, grad, name=f"{scope}/add")
    second = made.add((who, "nu"), "add", shape, nu, square, name=f"{scope}/add")
    root = made.add((who, "root"), "sqrt", shape, second, name=f"{scope}/sqrt")
    step = made.add((who, "step"), "divide", shape, first, root, name=f"{scope}/div")
    new = made.add((who, "new"), "subtract", shape, weight, step, name=f"{scope}/sub")
    for tree, line in (("mu", first), ("nu", second), ("params", new)):
        results[tree].append(line)
