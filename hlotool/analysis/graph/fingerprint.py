"""When are two computations the same? Fingerprints that ignore names, order and metadata."""

from __future__ import annotations

from functools import partial
from typing import Final

from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.ir.call_keys import CALL_KEYS
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
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


class Fingerprints:
    """Fingerprints of the computations of one module: 24 hexadecimal digits, made when asked for.

    Two computations, of two modules too, have the same one when the same operations (opcode,
    shape with layout, attributes, literal) are wired up in the same way, operands in order, down
    through the computations they call. Names, the order of the text, and the attributes `ignored`
    do not count; an elided constant `{...}` equals another of its shape.
    """

    def __init__(self, graph: CallGraph, ignored: frozenset[str] = IGNORED) -> None:
        self._known: dict[Computation, str] = {}
        self._graph = graph
        self._ignored = ignored | frozenset(CALL_KEYS)
        self._shapes: dict[int, str] = {}  # by id: one object a spelling
        self._written: dict[str, list[str]] = {}  # attributes that count, by the text of all
        from hashlib import blake2b  # noqa: PLC0415  OpenSSL comes with it, slow to load

        self._hash = partial(blake2b, digest_size=_DIGEST_BYTES)

    def of(self, computation: Computation) -> str:
        """Return the fingerprint of a computation of the module."""
        known = self._known
        pending = [] if computation in known else [computation]
        while pending:
            one = pending[-1]
            if one not in known:
                missing = [each for each in self._graph.called_by(one) if each not in known]
                if missing:
                    pending += missing
                    continue
                known[one] = self._hash_computation(one)
            pending.pop()
        return known[computation]

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
        parts += self._list_attributes(instruction)
        callees = self._graph.callees.get(instruction, ())
        parts += [self._known[callee] for callee in callees]
        return "\0".join(parts)

    def _list_attributes(self, instruction: Instruction) -> list[str]:
        """List the attributes that count, of all instructions that are written alike at once."""
        text = instruction.plain_text()
        found = None if text is None else self._written.get(text)
        if found is None:
            attributes = sorted(instruction.split_attributes().items())
            found = [f"{key}={text}" for key, text in attributes if key not in self._ignored]
            if text is not None:
                self._written[text] = found
        return found

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
