"""Values: what each instruction defines, and everywhere the same memory is seen again.

Follows HloDataflowAnalysis in its SSA form (xla/hlo/analysis/hlo_dataflow_analysis.cc): an
array, and each table of a tuple, is a value of the instruction that defines it; tuples,
get-tuple-element, bitcast, calls and asynchronous pairs pass values on; where the rounds of
a loop or the branches of a conditional meet with different values stands a phi. `_RULES` says for
each opcode what it defines and what it passes on; one without a rule defines all of its shape.
Where a rule is missing a value seems to end too early: tests/test_analysis_live_ranges.py holds all
against what XLA printed.

A loop whose body hands `a` back and makes `b` anew, walked in the order of the schedule
(`t.1` is element 1; φ is where the values of several ways meet):

    %x = parameter(0)                   value 0
    %y = copy(%x)                       value 1
    %t = tuple(%x, %y)                  t itself, a table, is value 2; t.0 is 0, t.1 is 1
      %s = parameter(0), of the body    s = φ(t, r), s.0 = φ(0, r.0), s.1 = φ(1, r.1)
      %a = get-tuple-element(%s), 0     is s.0
      %b = negate(%a)                   value 3
      %r = tuple(%a, %b)                a table; r.0 is s.0, r.1 is 3
    %w = while(%t)                      w = φ(r, t), w.0 = φ(r.0, 0), w.1 = φ(3, 1)

At the end `_replace_trivial_phis` finds that s.0 and w.0 only ever are value 0, and takes them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.errors import InputError
from hlotool.hlo import ArrayShape, Instruction, Shape, ShapeIndex, TupleShape
from hlotool.hlo.module import awaits_result, bound_operands, find_async_start
from hlotool.table.sums import group_pairs

MOST_NESTED: Final = 200  # levels of a tuple shape; dumps have two or three
MOST_VALUES: Final = 50_000_000  # a limit for hand-written modules with omitted shapes

# A place where a value is seen: an instruction, and an index of its shape.
Position: TypeAlias = tuple[Instruction, ShapeIndex]


class Value(Struct, eq=False):
    """A value, at the position that defines it; `positions` are all others where it is seen.

    `number` counts values in the order of their definition. `inputs` are what meets in a phi, None
    for every other value.
    """

    number: int
    instruction: Instruction
    index: ShapeIndex
    shape: Shape
    inputs: list[Value] | None = None
    positions: list[Position] = field(default_factory=list)
    replacement: Value | None = None

    @property
    def is_phi(self) -> bool:
        """Whether several values meet here."""
        return self.inputs is not None


class ValueTree(NamedTuple):
    """The values of a shape, as a tree: its own, and those of a tuple's elements."""

    value: Value
    children: tuple[ValueTree, ...] = ()


def resolve(value: Value) -> Value:
    """Return what a value stands for after trivial phis were taken out; shortens the way there."""
    while value.replacement is not None:
        if value.replacement.replacement is not None:
            value.replacement = value.replacement.replacement
        value = value.replacement
    return value


class Dataflow(Struct, eq=False):
    """All values in the order of their definition; `nodes` are those seen at instructions.

    `trace_values` fills it. `loops` are the phis of loops' parameters, and the roots that join
    them.
    """

    schedule: Schedule
    values: list[Value] = field(default_factory=list)
    nodes: dict[Instruction, ValueTree] = field(default_factory=dict)
    loops: list[tuple[ValueTree, Instruction]] = field(default_factory=list)

    def value_at(self, instruction: Instruction, index: ShapeIndex) -> Value | None:
        """Return the value seen at an index of an instruction's shape, None without one."""
        node = self.nodes.get(instruction)
        for number in index:
            if node is None or not 0 <= number < len(node.children):
                return None
            node = node.children[number]
        if node is None:
            return None
        return node.value if node.value.replacement is None else resolve(node.value)

    def define(
        self,
        instruction: Instruction,
        shape: Shape | None = None,
        index: ShapeIndex = (),
        inputs: list[ValueTree] | None = None,
    ) -> ValueTree:
        """Make new values for all of a shape, or phis in which `inputs` meet at their indices."""
        shape = shape or instruction.shape
        values = None if inputs is None else [node.value for node in inputs]
        value = self.value(instruction, shape, index, values)
        if isinstance(shape, ArrayShape):
            return ValueTree(value)
        children = []
        for number, element in enumerate(shape.elements):
            parts = None
            if inputs is not None:
                parts = [n.children[number] for n in inputs if number < len(n.children)]
            children.append(self.define(instruction, element, _go_into(index, number), parts))
        return ValueTree(value, tuple(children))

    def retable(
        self, instruction: Instruction, shape: Shape, index: ShapeIndex, old: ValueTree
    ) -> ValueTree:
        """Return `old` with the same arrays, but tables of tuples that the instruction defines."""
        if isinstance(shape, ArrayShape) or len(old.children) != len(shape.elements):
            return old
        children = [
            self.retable(instruction, element, _go_into(index, number), old.children[number])
            for number, element in enumerate(shape.elements)
        ]
        return ValueTree(self.value(instruction, shape, index), tuple(children))

    def value(
        self,
        instruction: Instruction,
        shape: Shape,
        index: ShapeIndex,
        inputs: list[Value] | None = None,
    ) -> Value:
        """Make one value."""
        number = len(self.values)
        if len(index) > MOST_NESTED:
            raise InputError(f"the shape of {instruction.full_name!r} nests too deeply")
        if number >= MOST_VALUES:
            raise InputError(
                f"the shapes of module {self.schedule.module.name!r} hold more than "
                f"{MOST_VALUES:,} values"
            )
        value = Value(number, instruction, index, shape, inputs)
        self.values.append(value)
        return value


def trace_values(schedule: Schedule) -> Dataflow:
    """Find the values of everything the entry runs, with the positions where they are seen."""
    flow = Dataflow(schedule)
    nodes = flow.nodes
    # Callees stand before their calls, so all that a rule asks for is known but the end of a loop.
    for instruction in schedule.sequence:
        rule = _RULES.get(instruction.opcode)
        node = rule(flow, instruction) if rule else None
        nodes[instruction] = node or flow.define(instruction)
    # The values of a loop's last round flow into the phis of its parameter.
    pending = [(phi, nodes[root]) for phi, root in flow.loops]
    while pending:
        phi, last = pending.pop()
        if phi.value.inputs is not None:
            phi.value.inputs.append(last.value)
        # In a text that XLA did not print, a body may return another shape than it takes.
        pending += zip(phi.children, last.children, strict=False)
    _replace_trivial_phis([value for value in flow.values if value.is_phi])
    flow.values = [value for value in flow.values if value.replacement is None]
    _collect_positions(nodes)
    return flow


def find_given(parameter: Instruction, caller: Instruction) -> Instruction | None:
    """Return what a call gives a parameter: a loop at its beginning, a conditional by branch."""
    number, given = parameter.parameter_number, bound_operands(caller)
    # A branch has one parameter; the operands are the predicate or index, then one a branch.
    if caller.opcode == "conditional":
        number = 1 + caller.called_computations().index(parameter.computation)
    return given[number] if number < len(given) else None


# -- what each opcode defines, and what it passes on

_Rule = Callable[[Dataflow, Instruction], ValueTree | None]


def _forward(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    """Pass on the first operand: bitcast, domain, opt-barrier, add-dependency and dones."""
    return flow.nodes.get(instruction.operands[0]) if instruction.operands else None


def _element(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    return _child(_forward(flow, instruction), instruction.tuple_index)


def _child(node: ValueTree | None, number: int) -> ValueTree | None:
    return node.children[number] if node and 0 <= number < len(node.children) else None


def _tuple(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    children = [flow.nodes.get(operand) for operand in instruction.operands]
    own = flow.value(instruction, instruction.shape, ())
    return ValueTree(own, tuple(child for child in children if child is not None))


def _copy(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    """Define the top of a copy; what a copied tuple points to is the same memory."""
    old = _forward(flow, instruction)
    return ValueTree(flow.value(instruction, instruction.shape, ()), old.children if old else ())


def _parameter(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    """Take a parameter's values from the call; those of the entry define their own."""
    if (caller := flow.schedule.callers.get(instruction.computation)) is None:
        return None
    given = find_given(instruction, caller)
    node = flow.nodes.get(given) if given else None
    if node is not None and caller.opcode == "while":
        node = flow.define(instruction, inputs=[node])
        flow.loops.append((node, caller.expect_callee("body").root))
    return node


def _while(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    init = _forward(flow, instruction)
    last = flow.nodes.get(instruction.expect_callee("body").root)
    return flow.define(instruction, inputs=[last, init]) if init and last else None


def _call(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    callee = instruction.callee()
    return flow.nodes.get(callee.root) if callee else None


def _conditional(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    branches = dict.fromkeys(instruction.called_computations())
    known = [node for one in branches if (node := flow.nodes.get(one.root)) is not None]
    return flow.define(instruction, inputs=known) if known else None


def _async_start(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    """Define the tables and the context; operands and the wrapped result pass through."""
    given = [flow.nodes.get(operand) for operand in bound_operands(instruction)]
    return _start(flow, instruction, {0: given, 1: [_wrapped_result(flow, instruction)]})


def _wrapped_result(flow: Dataflow, step: Instruction) -> ValueTree | None:
    """Return what an asynchronous operation makes, None before all of it is bound."""
    start = find_async_start(step)
    return _call(flow, start) if start else None


def _start(
    flow: Dataflow, instruction: Instruction, passed: dict[int, list[ValueTree | None]]
) -> ValueTree | None:
    """Define a tuple but for some elements, which hold one known node, or a tuple of them.

    `passed` has the nodes of elements by number: `{0: [a, b], 1: [r]}` are the operands and result
    of `((f32[2], f32[4]), f32[8], u32[])`, an async-start. Element 0 gets a table of its own.
    """
    shape = instruction.shape
    if isinstance(shape, ArrayShape):
        return None
    own = flow.value(instruction, shape, ())
    children: list[ValueTree] = []
    for number, element in enumerate(shape.elements):
        known = [node for node in passed.get(number, ()) if node is not None]
        width = 0 if isinstance(element, ArrayShape) else len(element.elements)
        if isinstance(element, TupleShape) and width == len(known):
            old = ValueTree(own, tuple(known))
        elif known and width == len(known[0].children):
            old = known[0]
        else:
            children.append(flow.define(instruction, element, (number,)))
            continue
        children.append(flow.retable(instruction, element, (number,), old))
    return ValueTree(own, tuple(children))


def _async_update(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    """Pass on the step before; or bind more, as SparseCore does in a step of its own."""
    before = instruction.operands[0].shape if instruction.operands else instruction.shape
    if len(instruction.operands) > 1 or before != instruction.shape:
        return _async_start(flow, instruction)
    old = _forward(flow, instruction)
    return flow.retable(instruction, instruction.shape, (), old) if old else None


def _done(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    """Pass on the result, the second element of a start's tuple; a done of several defines a table.

    Where an asynchronous operation is bound by its last step, that has no such element.
    """
    old = _child(_forward(flow, instruction), 1)
    if instruction.operands and awaits_result(instruction.operands[0]):
        old = _wrapped_result(flow, instruction)
    return flow.retable(instruction, instruction.shape, (), old) if old else None


def _forward_into(slot: int) -> _Rule:
    """Define everything but the slot of a start's tuple that holds its operands again."""
    return lambda flow, one: _start(
        flow, one, {slot: [flow.nodes.get(each) for each in one.operands]}
    )


def _copy_done(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    return _child(_forward(flow, instruction), 0)


def _recv_done(flow: Dataflow, instruction: Instruction) -> ValueTree | None:
    old = _copy_done(flow, instruction)
    shape = instruction.shape
    if old is None or isinstance(shape, ArrayShape) or len(shape.elements) < 1:
        return None
    others = enumerate(shape.elements[1:], start=1)
    rest = [flow.define(instruction, element, (number,)) for number, element in others]
    return ValueTree(flow.value(instruction, shape, ()), (old, *rest))


_PASSING: Final = ("add-dependency", "all-reduce-done", "bitcast", "domain", "opt-barrier")
_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(_PASSING, _forward),
    **dict.fromkeys(("all-gather-done", "async-done", "collective-permute-done"), _done),
    **dict.fromkeys(("all-gather-start", "collective-permute-start", "send"), _forward_into(0)),
    "async-start": _async_start,
    "async-update": _async_update,
    "call": _call,
    "conditional": _conditional,
    "copy": _copy,
    "copy-done": _copy_done,
    "copy-start": _forward_into(1),
    "get-tuple-element": _element,
    "parameter": _parameter,
    "recv-done": _recv_done,
    "tuple": _tuple,
    "while": _while,
}


# -- phis in which nothing new meets


def _replace_trivial_phis(phis: list[Value]) -> None:
    """Replace trivial phis, in which one value meets: a single phi, or several as one.

    Follows PhiGraph::Optimize (xla/hlo/analysis/hlo_dataflow_analysis.h): loops pass values on
    from slot to slot, and a phi stands only where something new comes in. A loop that swaps its two
    slots each round has s.0 = φ(0, s.1) and s.1 = φ(0, s.0) if both begin as value 0. Neither is
    trivial alone, as each has two inputs; together they have one from outside, and both are 0.
    """
    for component in _find_components(phis):
        members = set(component)
        outside = {
            found
            for phi in component
            for value in phi.inputs or ()
            if (found := resolve(value)) not in members
        }
        if len(outside) == 1:
            (only,) = outside
            for phi in component:
                phi.replacement = only
        elif len(component) > 1:
            _replace_trivial_members(component)


def _replace_trivial_members(component: list[Value]) -> None:
    """Replace members in which, beside themselves, one value meets; until nothing changes.

    Of a = φ(0, 1, b) and b = φ(a) both stay above, as 0 and 1 come from outside; here b becomes a,
    and then a has 0 and 1 left, and stays. What takes in a phi that went is looked at again.
    """
    users = group_pairs((value, phi) for phi in component for value in phi.inputs or ())
    pending = component[::-1]
    while pending:
        phi = pending.pop()
        if phi.replacement is not None:
            continue
        others = {resolve(value) for value in phi.inputs or ()} - {phi}
        if len(others) == 1:
            phi.replacement = others.pop()
            followers = users.pop(phi, [])
            pending += followers
            if phi.replacement.is_phi:
                users.setdefault(phi.replacement, []).extend(followers)


def _find_components(phis: list[Value]) -> Iterator[list[Value]]:
    """Yield the strongly connected components: phis that reach each other (Tarjan, 1972).

    Inputs come before users, so that a component finds what it takes in replaced already. Without
    recursion, as chains of phis are as long as a program: a phi is met twice, first to put its
    inputs above it, then when these are done.
    """
    order: dict[Value, int] = {}
    lowest: dict[Value, int] = {}  # the first phi on the stack that each reaches, as its number
    stack: list[Value] = []
    for start in phis:
        pending = [start]
        while pending:
            phi = pending[-1]
            inputs = [value for value in phi.inputs or () if value.is_phi]
            if phi not in order:
                order[phi] = lowest[phi] = len(order)
                stack.append(phi)
                pending += [value for value in reversed(inputs) if value not in order]
                continue
            pending.pop()
            lowest[phi] = min([lowest[phi], *[lowest[value] for value in inputs]])
            if lowest[phi] == order[phi]:
                component = [stack.pop()]
                while component[-1] is not phi:
                    component.append(stack.pop())
                lowest |= dict.fromkeys(component, len(phis))  # who reaches these is in another
                yield component[::-1]


def _collect_positions(nodes: dict[Instruction, ValueTree]) -> None:
    """Tell every value where else it is seen."""
    for instruction, node in nodes.items():
        pending: list[tuple[ShapeIndex, ValueTree]] = [((), node)]
        while pending:
            index, (value, children) = pending.pop()
            seen = value if value.replacement is None else resolve(value)
            if seen.instruction is not instruction:
                seen.positions.append((instruction, index))
            if children:
                pending += [(_go_into(index, at), child) for at, child in enumerate(children)]


@lru_cache(maxsize=4096)
def _go_into(index: ShapeIndex, number: int) -> ShapeIndex:
    """Return the index of an element; few indices stand in many places, so each is one object."""
    return (*index, number)
