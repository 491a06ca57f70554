"""From which pass to which is there what an expression chooses?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import asdict, replace

from hlotool.analysis.origin.scope import find_scope
from hlotool.compare.passes.answer import Traced, TraceFacts, TraceRow
from hlotool.compare.passes.by_name import NamedChanges
from hlotool.compare.passes.snapshot import Snapshot
from hlotool.fields.figure import fields_of
from hlotool.ir import Instruction
from hlotool.query.where import compile_where, expect_row_words


def describe(one: Instruction) -> Traced:
    """Return what an expression may ask of an instruction."""
    op_name = one.metadata().op_name
    return Traced(
        name=one.full_name,
        opcode=one.opcode,
        shape=str(one.shape),
        result_bytes=one.shape.size_bytes,
        scope=find_scope(op_name) if op_name else None,
        op_name=op_name or None,
        computation=one.computation.name,
    )


class Tracer:
    """Follows instructions through the passes of one compilation, by their names.

    Where a pass renamed everything, each is followed under its new name. One that the expression
    chooses again after it did not is a row of its own.
    """

    def __init__(self, expression: str) -> None:
        """Raise QueryError where the expression is none, or names what no instruction has."""
        self.expression = expression
        self._holds: Callable[[object], bool] = compile_where(
            expression, fields_of(Traced), "--trace"
        )
        self._rows: list[TraceRow] = []
        self._alive: dict[str, int] = {}
        self._last: int = 0  # the row that ended last
        self._opcodes: set[str] = set()  # of all instructions that were looked at

    def start(self, snapshot: Snapshot) -> None:
        """Look at the first text."""
        self._add(snapshot.state.module.instructions(), snapshot)

    def follow(self, snapshot: Snapshot, changes: NamedChanges) -> None:
        """Look at the next text, which differs from the one before in these changes."""
        for one in changes.removed:
            self._end(one.full_name, snapshot, is_removed=True)
        if changes.renamed:
            renamed = changes.renamed
            self._alive = {renamed[name]: row for name, row in self._alive.items()}
        for _, one in changes.reworded:
            if not self._matches(one):
                self._end(one.full_name, snapshot, is_removed=False)
        self._add((one for _, one in changes.reworded), snapshot)
        self._add(changes.added, snapshot)

    def rows(self) -> tuple[TraceRow, ...]:
        """Return a row for each instruction that was ever chosen, in the order they appeared."""
        return tuple(self._rows)

    def facts(self) -> TraceFacts:
        """Say which pass made the first of them, and which removed the last."""
        first = self._rows[0] if self._rows else None
        last = None if self._alive or first is None else self._rows[self._last]
        return TraceFacts(
            self.expression,
            first.first_pass if first else None,
            first.first_step if first else None,
            last.last_pass if last else None,
            last.last_step if last else None,
            len(self._rows),
            len(self._alive),
        )

    def expect_words(self) -> None:
        """Raise QueryError where the expression names an opcode that nobody knows or uses."""
        fields = fields_of(Traced)
        expect_row_words(self.expression, fields, (), lambda: self._opcodes, "--trace")

    def _matches(self, one: Instruction) -> bool:
        return self._holds(describe(one))

    def _add(self, instructions: Iterable[Instruction], snapshot: Snapshot) -> None:
        step = snapshot.step
        for one in instructions:
            found = describe(one)
            self._opcodes.add(one.opcode)
            if found.name not in self._alive and self._holds(found):
                self._alive[found.name] = len(self._rows)
                row = TraceRow(**asdict(found), first_step=step.number, first_pass=step.culprit)
                self._rows.append(row)

    def _end(self, name: str, snapshot: Snapshot, *, is_removed: bool) -> None:
        place = self._alive.pop(name, None)
        if place is None:
            return
        step = snapshot.step
        self._last = place
        self._rows[place] = replace(
            self._rows[place],
            last_step=step.number,
            last_pass=step.culprit,
            ending="removed" if is_removed else "no match",
        )
