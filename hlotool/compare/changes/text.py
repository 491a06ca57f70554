"""The two programs as normalised text, line against line.

Every instruction is named by its opcode and a number of its computation; counterparts have the
same name, so that only what differs is marked. What is no part of the comparison (metadata,
autotuned choices, …) is not written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hlotool.compare.changes.reasons import format_shape
from hlotool.compare.match.comparable import comparable_literal
from hlotool.compare.match.structure import ComputationPair, Structure
from hlotool.errors import UsageError
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import CALL_KEYS
from hlotool.table.unified import Mark, TextBlock, TextLine


def write_texts(structure: Structure, only: str = "") -> tuple[TextBlock, ...]:
    """Write all computations that the entries reach, the entries first, or the one named.

    Raises UsageError if neither program has a computation called `only`.
    """
    writer = _TextWriter(structure)
    blocks = [
        TextBlock(pair.old.name, tuple(writer.pair(pair)))
        for pair in structure.computations
        if not only or only in {pair.old.name, pair.new.name}
    ]
    gone: list[tuple[Computation, Mark]] = [(one, "removed") for one in structure.old_only]
    new: list[tuple[Computation, Mark]] = [(one, "added") for one in structure.new_only]
    blocks += [
        TextBlock(computation.name, tuple(writer.alone(computation, mark)))
        for computation, mark in gone + new
        if not only or only == computation.name
    ]
    if only and not blocks:
        raise UsageError(f"neither program runs a computation called {only!r}.")
    return tuple(blocks)


class _TextWriter:
    """Writes instructions under names that counterparts share."""

    def __init__(self, structure: Structure) -> None:
        self.signatures = structure.signatures
        self.names: dict[Instruction, str] = {}
        self.callees: dict[Computation, str] = {}
        for pair in structure.computations:
            self.callees.setdefault(pair.new, pair.old.name)

    def pair(self, pair: ComputationPair) -> Iterator[TextLine]:
        """Write both computations in the order of the old one.

        What only the new side has stands where it does there: behind the same instruction.
        """
        self._number(pair.old.instructions, "")
        self.names.update({new: self.names[old] for old, new in pair.pairs.items()})
        self._number(pair.new_only(), "new.")
        extra = _following(pair)
        yield from (TextLine("added", self._write(one)) for one in extra.get(None, ()))
        for old in pair.old.instructions:
            new = pair.pairs.get(old)
            before, after = self._write(old), self._write(new) if new else None
            if before == after:
                yield TextLine("same", before)
            else:
                yield TextLine("removed", before)
                if after is not None:
                    yield TextLine("added", after)
            if new is not None:
                yield from (TextLine("added", self._write(one)) for one in extra.get(new, ()))

    def alone(self, computation: Computation, mark: Mark) -> Iterator[TextLine]:
        """Write a computation that has no counterpart."""
        self._number(computation.instructions, "")
        yield from (TextLine(mark, self._write(one)) for one in computation.instructions)

    def _number(self, instructions: Iterable[Instruction], prefix: str) -> None:
        counts: Counter[str] = Counter()
        for one in instructions:
            self.names[one] = f"%{one.opcode}.{prefix}{counts[one.opcode]}"
            counts[one.opcode] += 1

    def _write(self, one: Instruction) -> str:
        literal = comparable_literal(one, self.signatures.terms)
        operands = ", ".join(self.names[operand] for operand in one.operands) or literal
        shape = format_shape(one.shape, with_layout=self.signatures.terms.has_layouts)
        root = "ROOT " if one.is_root else ""
        attributes = "".join(f", {part}" for part in self._attributes(one))
        return f"{root}{self.names[one]} = {shape} {one.opcode}({operands}){attributes}"

    def _attributes(self, one: Instruction) -> Iterator[str]:
        for key, value in self.signatures.attributes(one):
            if key == "control-predecessors":
                before = sorted(self.names[each] for each in one.control_predecessors())
                yield f"{key}={{{', '.join(before)}}}"
            else:
                yield f"{key}={value if key == 'backend_config' else one.attributes[key]}"
        for key in CALL_KEYS:
            called = one.callees(key) if key in one.attributes else ()
            names = [self.callees.get(each, each.name) for each in called]
            if names:
                yield f"{key}=" + (f"%{names[0]}" if len(names) == 1 else f"{{{', '.join(names)}}}")


def _following(pair: ComputationPair) -> dict[Instruction | None, list[Instruction]]:
    """Group what only the new side has by the paired instruction before it."""
    extra: dict[Instruction | None, list[Instruction]] = {}
    alone = set(pair.new_only())
    before: Instruction | None = None
    for one in pair.new.instructions:
        if one in alone:
            extra.setdefault(before, []).append(one)
        else:
            before = one
    return extra
