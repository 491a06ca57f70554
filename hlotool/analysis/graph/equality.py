"""What is the same: computations by fingerprints, and values by numbers.

A fingerprint ignores names, the order of the text, metadata and what numbers or schedules a copy of
a layer, so that equal layers of one program or of two have one. Value numbers follow values through
fusions and tuples; two instructions of one number hold the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from msgspec.structs import astuple

from hlotool.analysis.graph.calls import CallGraph, fold_up
from hlotool.hlo import ArrayShape, Computation, Instruction, Layout, Shape, TupleShape, opcodes

# What says nothing about the computation: origin, bookkeeping, numbering that differs from one
# copy of a layer to the next, and what the autotuner or the scheduler chose.
IGNORED: Final = frozenset(
    (
        "metadata", "origin", "statistics", "frontend_attributes", "control-predecessors",
        "channel_id", "backend_config", "async_execution_thread",
    )
)  # fmt: skip

_DIGEST_BYTES: Final = 12


class Fingerprints:
    """Fingerprints of the computations of one module: 24 hexadecimal digits, made when asked for.

    Two computations, of two modules too, have the same one when the same operations (opcode,
    shape with layout, attributes, literal) are wired up in the same way, operands in order, down
    through the computations they call. Names, the order of the text, and the attributes `ignored`
    do not count; an elided constant `{...}` equals another of its shape. If it `elides_all`, so do
    those that some prints write out, as prints of one program have to be equal.
    """

    def __init__(
        self, graph: CallGraph, ignored: frozenset[str] = IGNORED, *, elides_all: bool = False
    ) -> None:
        self._elides_all = elides_all
        self._known: dict[int, str] = {}  # by id, of those that are alike of the first
        self._graph = graph
        self._ignored = ignored | frozenset(opcodes.CALL_KEYS)
        self._shapes: dict[int, str] = {}  # by id: one object a spelling
        from hashlib import blake2b  # noqa: PLC0415  OpenSSL comes with it, slow to load

        self._hash = partial(blake2b, digest_size=_DIGEST_BYTES)

    def of(self, computation: Computation) -> str:
        """Return the fingerprint of a computation of the module."""
        first = self._graph.first_alike[computation]
        return fold_up(first, self._list_called, self._hash_computation, self._known)

    def _list_called(self, computation: Computation) -> list[Computation]:
        return [self._graph.first_alike[one] for one in self._graph.called_by(computation)]

    def _hash_computation(self, computation: Computation) -> str:
        """Hash all instructions of a computation whose callees are known, then the computation.

        The root alone would not do: `add(x, x)` and `add(x, copy of x)` unfold to the same
        tree. So all instructions count, in an order that does not depend on the text's.
        """
        digests: dict[Instruction, bytes] = {}
        for instruction in computation.instructions:
            wired = [digests[operand] for operand in instruction.operands]
            described = self._describe(instruction).encode()
            digests[instruction] = self._hash(b"".join((described, *wired))).digest()
        whole = self._hash(digests[computation.root])
        for digest in sorted(digests.values()):
            whole.update(digest)
        return whole.hexdigest()

    def _describe(self, instruction: Instruction) -> str:
        """Write an instruction without its name and operands."""
        parts = [instruction.opcode, self._shape_text(instruction.shape), instruction.literal]
        is_large = instruction.opcode == "constant" and not is_small(instruction.shape)
        if self._elides_all and is_large:
            parts[-1] = _ELIDED
        attributes = sorted(instruction.split_attributes().items())
        parts += [f"{key}={value}" for key, value in attributes if key not in self._ignored]
        callees = self._graph.callees.get(instruction, ())
        parts += [self._known[id(self._graph.first_alike[callee])] for callee in callees]
        return "\0".join(parts)

    def _shape_text(self, shape: Shape) -> str:
        """Return what identifies a shape; of a tuple the digest of its parts', each made once."""
        known = self._shapes

        def write(part: Shape) -> str:
            if isinstance(part, ArrayShape):
                return _write_array(part)
            parts = ";".join(known[id(one)] for one in part.elements)
            return f"({self._hash(parts.encode()).hexdigest()})"

        return fold_up(shape, _list_parts, write, known)


def _list_parts(shape: Shape) -> tuple[Shape, ...]:
    return shape.elements if isinstance(shape, TupleShape) else ()


def _write_array(shape: ArrayShape) -> str:
    """Write an array; a missing layout is the default one, as a parser of XLA would fill in."""
    if (layout := shape.layout) is None:
        return str(shape)
    default = layout.minor_to_major == tuple(range(len(shape.dims) - 1, -1, -1))
    order = "" if default else layout.minor_to_major
    rest = astuple(layout)[1:]  # without the order
    return f"{shape}{order}{'' if rest == astuple(Layout())[1:] else rest}"


_MOST_NESTED: Final = 32  # fusions within fusions
_FREE_VISITS: Final = 100_000
_MOST_VISITS: Final = 8  # besides, for each instruction of the module

_ELIDED: Final = "{...}"
_MOST_PRINTED: Final = 10  # elements of a constant that dumps write out


def is_small(shape: Shape) -> bool:
    """Say whether dumps write a constant of this shape out in full."""
    if not isinstance(shape, ArrayShape):
        return False
    count = shape.element_count
    return count is not None and count <= _MOST_PRINTED


_SAME: Final = frozenset(("copy", "opt-barrier", "domain"))  # pass the value of operand 0 on
# Two of these are never the same: effects, communication, or contents that only a run knows.
# The bits of rng-bit-generator follow from its state; two of them are kept apart all the same.
_UNIQUE: Final = (
    opcodes.ASYNC_DONES
    | opcodes.ASYNC_STARTS
    | opcodes.COLLECTIVES
    | opcodes.CONTROL_FLOW
    | opcodes.EFFECTS
    | {"after-all", "parameter", "rng-bit-generator"}
)
# What passes the value of an operand on, or an element of one, or makes what is inside it.
_FOLLOWED: Final = _SAME | {"fusion", "get-tuple-element", "tuple"}
_NOT_PART: Final = IGNORED | frozenset((*opcodes.CALL_KEYS, "sharding"))


def _is_unique(instruction: Instruction) -> bool:
    return instruction.opcode in _UNIQUE or _ELIDED in instruction.literal


class Visits:
    """How many instructions of fused computations may still be looked at, in all of a module.

    That keeps the work in proportion to the module.
    """

    def __init__(self, graph: CallGraph) -> None:
        size = sum(len(one.instructions) for one in graph.callees_first)
        self.left = _FREE_VISITS + _MOST_VISITS * size


class Descriptions:
    """Numbers for what the instructions of one module make of their operands.

    Those of one number make the same of the same operands; layouts do not count.
    """

    def __init__(self, graph: CallGraph, prints: Fingerprints) -> None:
        self._graph = graph
        self._prints = prints
        self._numbers: dict[object, int] = {}
        self._bodies: dict[Computation, list[int | None]] = {}

    def of_body(self, body: Computation) -> list[int | None]:
        """Return those of all instructions; None where the value follows from something else."""
        # Bodies are written alike by the dozen: one of them is described for all.
        form = self._graph.first_alike[body]
        if (described := self._bodies.get(form)) is None:
            described = self._bodies[form] = [
                None if one.opcode in _FOLLOWED or _is_unique(one) else self.of(one)
                for one in form.instructions
            ]
        return described

    def of(self, instruction: Instruction) -> int:
        """Return that of one instruction, whatever its opcode."""
        attributes = tuple(
            sorted(item for item in instruction.attributes.items() if item[0] not in _NOT_PART)
        )
        shape = instruction.shape
        array = (shape.dtype, shape.dims) if isinstance(shape, ArrayShape) else ()
        callees = self._graph.callees.get(instruction, ())
        called = tuple(map(self._prints.of, callees))
        found = instruction.opcode, array, instruction.literal, attributes, called
        return self._numbers.setdefault(found, len(self._numbers))


class Numbering:
    """Numbers the values of one executed computation; its instructions come in dump order."""

    def __init__(self, graph: CallGraph, descriptions: Descriptions, visits: Visits) -> None:
        self._graph = graph
        self._descriptions = descriptions
        self._numbers: dict[object, int] = {}
        self._elements: dict[int, tuple[int, ...]] = {}  # of the tuples among them
        self._values: dict[Instruction, int] = {}
        self._bodies: dict[tuple[Computation, tuple[int, ...]], dict[Instruction, int]] = {}
        self._visits = visits

    def visit(self, instruction: Instruction) -> Iterable[tuple[Instruction, int]]:
        """Return an instruction, or its fused body, with the numbers of the values they make."""
        operands = tuple([self._values[one] for one in instruction.operands])
        self._values[instruction], made = self._look_at(instruction, operands, 0)
        return made.items()

    def _look_at(
        self, instruction: Instruction, operands: tuple[int, ...], depth: int
    ) -> tuple[int, dict[Instruction, int]]:
        """Return the value of an instruction, and all values that it makes.

        Those are the values in the body of a fusion that can be looked into, else its own.
        """
        callees = self._graph.callees.get(instruction, ())
        is_open = instruction.opcode == "fusion" and len(callees) == 1
        if is_open and depth <= _MOST_NESTED and self._visits.left >= 0:
            body = callees[0]
            if len(body.parameters) <= len(operands):
                inside = self._number_body(body, operands, depth)
                return inside[body.root], inside
        value = self._number(instruction, operands)
        return value, {instruction: value}

    def _number_body(
        self, body: Computation, operands: tuple[int, ...], depth: int
    ) -> dict[Instruction, int]:
        """Return the values in a fused computation whose parameters have these.

        They include those of fusions inside it.
        """
        known = self._bodies.get((body, operands))
        self._visits.left -= len(known or body.instructions)
        if known is not None:
            return known
        values: dict[Instruction, int] = dict(zip(body.parameters, operands, strict=False))
        for instruction, number in zip(
            body.instructions, self._descriptions.of_body(body), strict=True
        ):
            if instruction in values:
                continue
            inputs = tuple([values[one] for one in instruction.operands])
            if number is not None:
                values[instruction] = self._numbers.setdefault((number, inputs), len(self._numbers))
            else:
                values[instruction], made = self._look_at(instruction, inputs, depth + 1)
                values.update(made)
        self._bodies[body, operands] = values
        return values

    def _number(self, instruction: Instruction, operands: tuple[int, ...]) -> int:
        """Return the value an instruction makes of its operands'."""
        opcode = instruction.opcode
        if opcode in _SAME and operands:
            return operands[0]
        if opcode == "get-tuple-element" and operands:
            elements, index = self._elements.get(operands[0], ()), instruction.tuple_index
            if 0 <= index < len(elements):
                return elements[index]
        if opcode == "tuple":
            number = self._numbers.setdefault(operands, len(self._numbers))
            self._elements[number] = operands
            return number
        key: object = instruction
        if not _is_unique(instruction):
            key = self._descriptions.of(instruction), operands
        return self._numbers.setdefault(key, len(self._numbers))
