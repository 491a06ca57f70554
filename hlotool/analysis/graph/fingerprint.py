"""When are two computations the same? Fingerprints that ignore names, order and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import Struct

from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.ir.module import CALL_KEYS, Computation, Instruction
from hlotool.ir.shape import ArrayShape, Shape

# What says nothing about the computation: origin, bookkeeping, numbering that differs from one
# copy of a layer to the next, and what the autotuner or the scheduler chose.
IGNORED: Final = frozenset(
    (
        "metadata", "origin", "statistics", "frontend_attributes", "control-predecessors",
        "channel_id", "backend_config", "async_execution_thread",
    )
)  # fmt: skip

_DIGEST_BYTES: Final = 12


class Fingerprints(Struct, frozen=True):
    """Fingerprints of all computations of one module; equal in two modules, equal computations."""

    computations: Mapping[Computation, str]

    def of(self, computation: Computation) -> str:
        """Return the fingerprint of a computation of the module."""
        return self.computations[computation]


def fingerprint_computations(graph: CallGraph, ignored: frozenset[str] = IGNORED) -> Fingerprints:
    """Give every computation of a call graph a fingerprint: 24 hexadecimal digits.

    Two computations have the same one when the same operations (opcode, shape with layout,
    attributes, literal) are wired up in the same way, operands in order, down through the
    computations they call. Names, the order of the text, and the attributes `ignored` do not
    count; an elided constant `{...}` equals another of its shape.
    """
    writer = _Writer(graph, ignored)
    for computation in graph.callees_first:
        writer.add(computation)
    return Fingerprints(writer.computations)


class _Writer:
    """Writes what identifies each instruction, and hashes it; callees must come first."""

    def __init__(self, graph: CallGraph, ignored: frozenset[str]) -> None:
        self.computations: dict[Computation, str] = {}
        self._graph = graph
        self._ignored = ignored | frozenset(CALL_KEYS)
        self._shapes: dict[int, str] = {}  # by id: one object a spelling
        from hashlib import blake2b  # noqa: PLC0415  OpenSSL comes with it, slow to load

        self._hash = partial(blake2b, digest_size=_DIGEST_BYTES)

    def add(self, computation: Computation) -> None:
        """Hash all instructions of a computation, then the computation.

        The root alone would not do: `add(x, x)` and `add(x, copy of x)` unfold to the same
        tree. So all instructions count, in an order that does not depend on the text's.
        """
        digests: dict[Instruction, bytes] = {}
        for instruction in computation.instructions:
            hashed = self._hash(self._describe(instruction).encode())
            for operand in instruction.operands:
                hashed.update(digests[operand])
            digests[instruction] = hashed.digest()
        whole = self._hash(digests[computation.root])
        for digest in sorted(digests.values()):
            whole.update(digest)
        self.computations[computation] = whole.hexdigest()

    def _describe(self, instruction: Instruction) -> str:
        """Write an instruction without its name and operands."""
        parts = [instruction.opcode, self._shape_text(instruction.shape), instruction.literal]
        ignored = self._ignored
        parts += [
            f"{key}={value}"
            for key, value in sorted(instruction.attributes.items())
            if key not in ignored
        ]
        callees = self._graph.callees.get(instruction, ())
        parts += [self.computations[callee] for callee in callees]
        return "\0".join(parts)

    def _shape_text(self, shape: Shape) -> str:
        """Return what identifies a shape; of a tuple the digest of its parts', each made once."""
        known = self._shapes
        pending = [] if id(shape) in known else [shape]
        while pending:
            part = pending[-1]
            if isinstance(part, ArrayShape):
                known[id(part)] = _write_array(part)
            else:
                missing = [one for one in part.elements if id(one) not in known]
                if missing:
                    pending += missing
                    continue
                parts = ";".join(known[id(one)] for one in part.elements)
                digest = self._hash(parts.encode()).hexdigest()
                known[id(part)] = f"({digest})"
            pending.pop()
        return known[id(shape)]


def _write_array(shape: ArrayShape) -> str:
    """Write an array; a missing layout is the default one, as a parser of XLA would fill in."""
    layout = shape.layout
    if layout is None:
        return str(shape)
    default = layout.minor_to_major == tuple(range(len(shape.dims) - 1, -1, -1))
    order = "" if default else layout.minor_to_major
    rest = (
        layout.tiles,
        layout.memory_space,
        layout.element_bits,
        layout.tail_padding,
        layout.prefix_bytes,
        layout.rest,
    )
    plain = ((), 0, 0, 1, 0, "")
    return f"{shape}{order}{'' if rest == plain else rest}"
