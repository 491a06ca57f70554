"""Values and where they are seen: the nodes that dataflow is made of."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.errors import InputError
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape, Shape
from hlotool.ir.values import ShapeIndex

MOST_NESTED: Final = 200  # levels of a tuple shape; dumps have two or three
MOST_VALUES: Final = 50_000_000  # a limit for hand-written modules with omitted shapes

# A place where a value is seen: an instruction, and an index of its shape.
Position: TypeAlias = tuple[Instruction, ShapeIndex]


class Value(Struct, eq=False):
    """A value, at the position that defines it; `positions` are all others where it is seen.

    `number` counts values in the order of their definition.

    `inputs` are what meets in a phi, None for every other value.
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
    """Return what a value stands for after phis without a choice were taken out."""
    while value.replacement is not None:
        if value.replacement.replacement is not None:
            value.replacement = value.replacement.replacement
        value = value.replacement
    return value


@lru_cache(maxsize=4096)
def go_into(index: ShapeIndex, number: int) -> ShapeIndex:
    """Return the index of an element; few indices stand in many places, so each is one object."""
    return (*index, number)


class Flow:
    """One pass over the schedule; loops are closed when all nodes are known."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.nodes: dict[Instruction, ValueTree] = {}
        self.values: list[Value] = []
        self.loops: list[tuple[ValueTree, Instruction]] = []  # phis, and the root that joins them

    def define(
        self, instruction: Instruction, shape: Shape | None = None, index: ShapeIndex = ()
    ) -> ValueTree:
        """Make new values for all of a shape."""
        shape = shape or instruction.shape
        if isinstance(shape, ArrayShape):
            return ValueTree(self.value(instruction, shape, index))
        return self._build(instruction, shape, index, None)

    def phi(self, instruction: Instruction, inputs: list[ValueTree]) -> ValueTree:
        """Make phis for all of an instruction's shape, which meet at the same indices."""
        return self._build(instruction, instruction.shape, (), inputs)

    def retable(
        self, instruction: Instruction, shape: Shape, index: ShapeIndex, old: ValueTree
    ) -> ValueTree:
        """Keep the arrays of `old`, but let the instruction define the tuple tables."""
        if isinstance(shape, ArrayShape) or len(old.children) != len(shape.elements):
            return old
        children = [
            self.retable(instruction, element, go_into(index, number), old.children[number])
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
            raise InputError(f"the shape of {instruction.full_name!r} nests too deep")
        if number >= MOST_VALUES:
            raise InputError(
                f"the shapes of module {self.schedule.module.name!r} hold more than "
                f"{MOST_VALUES:,} values"
            )
        value = Value(number, instruction, index, shape, inputs)
        self.values.append(value)
        return value

    def _build(
        self,
        instruction: Instruction,
        shape: Shape,
        index: ShapeIndex,
        inputs: list[ValueTree] | None,
    ) -> ValueTree:
        """Make the tree of a shape; shapes nest as deep as the parser allows."""
        values = None if inputs is None else [node.value for node in inputs]
        value = self.value(instruction, shape, index, values)
        if isinstance(shape, ArrayShape):
            return ValueTree(value)
        children = []
        for number, element in enumerate(shape.elements):
            parts = None
            if inputs is not None:
                parts = [n.children[number] for n in inputs if number < len(n.children)]
            children.append(self._build(instruction, element, go_into(index, number), parts))
        return ValueTree(value, tuple(children))

    def close_loops(self) -> None:
        """Let the value of a loop's last round flow into the phis of its parameters."""
        for node, root in self.loops:
            pending = [(node, self.nodes[root])] if root in self.nodes else []
            while pending:
                phi, last = pending.pop()
                if phi.value.inputs is not None:
                    phi.value.inputs.append(last.value)
                pending += zip(phi.children, last.children, strict=False)
