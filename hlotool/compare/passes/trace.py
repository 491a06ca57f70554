"""From which pass to which is there what an expression chooses?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import asdict, replace

from hlotool.analysis.origin import find_scope
from hlotool.compare.match.colours import family
from hlotool.compare.passes.answer import Ending, Traced, TraceFacts, TraceRow
from hlotool.compare.passes.walk import NamedChanges, Snapshot
from hlotool.hlo import Instruction
from hlotool.table import fields_of


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
        from hlotool.table.expression.where import compile_where  # noqa: PLC0415  slow to import

        self.expression = expression
        self._holds: Callable[[object], bool] = compile_where(
            expression, fields_of(Traced), "--trace"
        )
        self._rows: list[TraceRow] = []
        self._alive: dict[str, int] = {}
        self._last: int = 0  # the row that ended last
        self._followers: list[str] = []  # opcodes under which some go on
        self._opcodes: set[str] = set()  # of all instructions that were looked at

    def start(self, snapshot: Snapshot) -> None:
        """Look at the first text."""
        self._add(snapshot.state.module.instructions(), snapshot)

    def follow(self, snapshot: Snapshot, changes: NamedChanges) -> None:
        """Look at the next text, which differs from the one before in these changes."""
        ended = [one for one in changes.removed if one.full_name in self._alive]
        following: dict[Instruction, Instruction] = {}
        if ended:
            following = find_renamed(changes.removed, changes.added)
            following |= find_following(ended, changes.added)
        for one in ended:
            self._end(one.full_name, snapshot, "removed", following.get(one))
        if changes.renamed:
            renamed = changes.renamed
            self._alive = {renamed[name]: row for name, row in self._alive.items()}
        for old, one in changes.reworded:
            if not self._matches(one):
                self._end(one.full_name, snapshot, "no match", _find_follower(old, one))
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
            sum(one.goes_on_as is not None for one in self._rows),
            tuple(dict.fromkeys(self._followers)),
        )

    def expect_words(self) -> None:
        """Raise QueryError where the expression names an opcode that nobody knows or uses."""
        from hlotool.table.expression.where import expect_row_words  # noqa: PLC0415  the same

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

    def _end(
        self, name: str, snapshot: Snapshot, ending: Ending, follower: Instruction | None
    ) -> None:
        place = self._alive.pop(name, None)
        if place is None:
            return
        step = snapshot.step
        self._last = place
        if follower is not None:
            self._followers.append(follower.opcode)
        self._rows[place] = replace(
            self._rows[place],
            last_step=step.number,
            last_pass=step.culprit,
            goes_on_as=follower.full_name if follower else None,
            ending="goes on" if follower else ending,
        )


def find_following(
    removed: Iterable[Instruction], added: Iterable[Instruction]
) -> dict[Instruction, Instruction]:
    """Find what goes on, under another opcode of its family, with what a pass removed.

    That is a start in place of the operation, or the operation in place of its start. Of several
    it is the one with the same operands, by their names, else the first of the same op_name.
    """
    found: dict[Instruction, Instruction] = {}
    left, new = list(removed), list(added)
    for key_of in (_name_operands, _name_origin):
        choices: dict[object, list[Instruction]] = {}
        for one in new:
            choices.setdefault((family(one), key_of(one)), []).append(one)
        for one in left:
            alike = choices.get((family(one), key_of(one)), [])
            if alike and _goes_on(one, alike[0]):
                found[one] = alike.pop(0)
        taken = set(found.values())
        left = [one for one in left if one not in found]
        new = [one for one in new if one not in taken]
    return found


def find_renamed(
    removed: Iterable[Instruction], added: Iterable[Instruction]
) -> dict[Instruction, Instruction]:
    """Find what a pass only gave another name: alone of its kind before and after.

    Of a kind are instructions of one computation, opcode, shape and op_name; without an op_name
    nothing tells.
    """
    choices: dict[object, list[Instruction]] = {}
    for one in added:
        choices.setdefault(_name_kind(one), []).append(one)
    left: dict[object, list[Instruction]] = {}
    for one in removed:
        left.setdefault(_name_kind(one), []).append(one)
    return {
        ones[0]: choices[kind][0]
        for kind, ones in left.items()
        if ones[0].metadata().op_name and len(ones) == len(choices.get(kind, ())) == 1
    }


def _name_kind(one: Instruction) -> tuple[str, ...]:
    return one.computation.name, one.opcode, str(one.shape), one.metadata().op_name


def _find_follower(old: Instruction, one: Instruction) -> Instruction | None:
    """Return what goes on under another opcode or name, None for what is the same still."""
    return one if _goes_on(old, one) or old.full_name != one.full_name else None


def _goes_on(one: Instruction, other: Instruction) -> bool:
    """Whether an instruction may be the same operation as another, in another form."""
    return one.opcode != other.opcode and family(one) == family(other)


def _name_operands(one: Instruction) -> tuple[str, ...]:
    return tuple(each.name for each in one.operands)


def _name_origin(one: Instruction) -> tuple[str, int]:
    return one.metadata().op_name, len(one.operands)
