"""What one instruction is, its operands aside, as a number that equal ones share.

Names, metadata and numbering never count. Numbers come from one table for both modules, so
that equal numbers mean equal contents, with no hash to collide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache
from sys import maxsize
from typing import Final

from hlotool.analysis.origin import find_scope
from hlotool.compare.match import comparable
from hlotool.compare.match.layers import Layers
from hlotool.hlo import Computation, Instruction, Shape
from hlotool.hlo.opcodes import CALL_KEYS, COLLECTIVES, ELEMENTWISE, FREE

# Attributes compared elsewhere or not at all: callees by content, the rest are notes.
_NOT_COMPARED: Final = frozenset(
    (*CALL_KEYS, "control-predecessors", "metadata", "origin", "statistics")
)
LONE: Final = maxsize  # no content's number
_TINY: Final = 2  # operations of a fusion that its place identifies
# What JAX puts into the names of what a loop runs.
_LOOPS: Final = re.compile(r"(?:while/(?:body|cond)|closed_call)/|^jit\(\w+\)/")
_SHARDING_METADATA = re.compile(r",? ?metadata=\{(?:[^{}]|\{[^{}]*\})*\}")


class Table:
    """Numbers for contents: equal contents have equal numbers, all numbers are >= 0."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, content: Hashable) -> int:
        """Return the number of a content, a new one for a new content."""
        return self._numbers.setdefault(content, len(self._numbers))

    def find(self, content: Hashable) -> int:
        """Return the number of a content, LONE where it has none."""
        return self._numbers.get(content, LONE)


class Signatures:
    """Signatures of the instructions of two modules, under the terms of one comparison.

    `op_name` is that of the metadata, '' where there is none, on the new with layers called as
    their counterparts on the old side; `bag` counts how often each opcode occurs in a computation;
    `kinds` are what `moved` asks of an instruction again and again.
    """

    def __init__(self, terms: comparable.Terms) -> None:
        self.terms = terms
        self.layers = Layers()
        self.has_other_loops = False  # then op_names do not count the loops they are in
        self.table = Table()
        self._shapes: dict[int, tuple[Shape, int, int]] = {}
        self._values: dict[tuple[str, str], Hashable] = {}
        self._written: dict[Hashable, int] = {}
        self.op_name = cache(self._translate)
        self.bag = cache(_count_opcodes)
        self.kinds = cache(self._list_kinds)

    def exact(self, instruction: Instruction, callees: tuple[int, ...]) -> int:
        """Return the number of all that counts; `callees` are the called computations' numbers.

        A print without attributes may leave out what a collective's sum is. What calls nothing
        is looked at once for all that are written alike.
        """
        # Layers repeat their lines; the text without names is cheaper to look up than its parts to
        # parse.
        text = None if callees else instruction.plain_text()
        if text is None:
            return self._number_parts(instruction, callees)
        shape = self.shape(instruction.shape)
        written = instruction.opcode, shape, instruction.literal, text
        number = self._written.get(written)
        if number is None:
            number = self._written[written] = self._number_parts(instruction, callees)
        return number

    def _number_parts(self, instruction: Instruction, callees: tuple[int, ...]) -> int:
        if not self.terms.has_attributes and instruction.opcode in COLLECTIVES:
            callees = ()
        shape, attributes = self.shape(instruction.shape), self.attributes(instruction)
        literal = instruction.literal and comparable.comparable_literal(instruction, self.terms)
        return self.table.number((instruction.opcode, shape, literal, attributes, callees))

    def shape(self, shape: Shape) -> int:
        """Return the number of a shape with its layout, if layouts are compared."""
        return self._shape_numbers(shape)[1]

    def dims(self, shape: Shape) -> int:
        """Return the number of a shape without its layout."""
        return self._shape_numbers(shape)[2]

    def _translate(self, instruction: Instruction) -> str:
        name = self.layers.translate(instruction.metadata().op_name, instruction.module)
        return strip_loops(name) if self.has_other_loops else name

    def _list_kinds(self, one: Instruction) -> Sequence[Hashable]:
        """List kinds of which two instructions share one, if there is any likeness."""
        name, dims = self.op_name(one), self.dims(one.shape)
        named = ((family(one), name), (dims, name)) if name else ()
        return (family(one), dims), *named, dims if one.opcode in ELEMENTWISE else one

    def origin(self, instruction: Instruction) -> str:
        """Return the scope and the primitive, without what differentiation and remat add."""
        op_name = self.op_name(instruction)
        return f"{find_scope(op_name) or ''}/{op_name.rpartition('/')[2]}" if op_name else ""

    def body(self, instruction: Instruction) -> int:
        """Return the number of what is called, roughly: how often each opcode occurs there."""
        bags = [self.bag(computation) for computation in instruction.called_computations()]
        return self.table.number(("bodies", *(tuple(sorted(bag.items())) for bag in bags)))

    def are_related(self, old: Instruction, new: Instruction) -> bool:
        """Say whether two fusions share half of what the larger one does.

        Others always are, and so are fusions of one or two operations: their place tells.
        """
        if old.opcode != "fusion" or new.opcode != "fusion":
            return True
        callees = old.callee(), new.callee()
        if callees[0] is None or callees[1] is None:
            return True
        bags = self.bag(callees[0]), self.bag(callees[1])
        shared = (bags[0] & bags[1]).total()
        size = max(bag.total() for bag in bags)
        return shared * 2 >= size or size <= _TINY

    def attributes(self, instruction: Instruction) -> tuple[tuple[str, Hashable], ...]:
        """Return the attributes that count, sorted, each in a form fit for comparison.

        Written alike they mean the same in any instruction, so each text is looked at once.
        """
        found: dict[str, Hashable] = {}
        for key, text in instruction.attributes.items():
            if key not in _NOT_COMPARED:
                memo = key, text
                if memo not in self._values:
                    self._values[memo] = self._comparable(instruction, key, text)
                if self._values[memo] is not None:
                    found[key] = self._values[memo]
            elif key == "control-predecessors" and self.terms.has_control_dependencies:
                found[key] = text.count(",")
        return tuple([(key, found[key]) for key in sorted(found)])

    def _comparable(self, instruction: Instruction, key: str, text: str) -> Hashable:
        """Return an attribute's value in a form fit for comparison, None to leave it out."""
        terms = self.terms
        if key == "backend_config":
            config = instruction.backend_config() if terms.has_backend_configs else None
            return config and (
                comparable.comparable_config(config, is_strict=terms.is_strict) or None
            )
        if key == "frontend_attributes":
            return comparable.comparable_frontend(
                instruction.frontend_attributes(), is_strict=terms.is_strict
            )
        if key == "sharding":
            return comparable.without_blanks(_SHARDING_METADATA.sub("", text))
        if key == "async_execution_thread":
            return text
        if not terms.has_attributes:
            return None
        if key == "replica_groups":
            groups = instruction.replica_groups()
            if groups is None or groups.is_everybody:
                return "everybody"
            return comparable.comparable_groups(groups)
        if key == "channel_id" and not terms.is_strict:
            return "given"
        if key == "operand_layout_constraints" and not terms.has_layouts:
            return None
        return comparable.without_blanks(text)

    def _shape_numbers(self, shape: Shape) -> tuple[Shape, int, int]:
        """Return a shape's numbers with and without layout; by identity: parsers share shapes."""
        known = self._shapes.get(id(shape))
        if known is None:
            bare = self.table.number(("shape", shape.without_layout()))
            exact = self.table.number(("layout", shape)) if self.terms.has_layouts else bare
            known = self._shapes[id(shape)] = shape, exact, bare  # keeps the shape alive
        return known


def strip_loops(op_name: str) -> str:
    """Return an op_name without the loops that it is in, and the function around all."""
    return _LOOPS.sub("", op_name)


def _count_opcodes(computation: Computation) -> Counter[str]:
    """Count how often each opcode occurs in a computation, what is free left out."""
    return Counter(one.opcode for one in computation.instructions if one.opcode not in FREE)


def family(instruction: Instruction) -> str:
    """Return the opcode; for the asynchronous start of an operation that operation's."""
    opcode = instruction.opcode
    if opcode == "async-start":
        callee = instruction.callee()
        return callee.root.opcode if callee else opcode
    if opcode == "copy-start":
        return "copy"
    plain = opcode.removesuffix("-start")
    return plain if plain in COLLECTIVES else opcode
