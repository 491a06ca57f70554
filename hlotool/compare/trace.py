"""From which pass to which there is what the expression of --trace chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.origin import find_scope
from hlotool.compare.match.signature import family
from hlotool.compare.passes import NamedChanges, Snapshot
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import OPCODES
from hlotool.table import Block, DocumentSpec, RowList, column, fields_of, figure
from hlotool.table.expression.compile import compile_where, expect_row_words
from hlotool.table.sums import group_by

Ending: TypeAlias = Literal["removed", "continues", "no match"]


class Traced(Struct, frozen=True):
    """An instruction as the expression of --trace sees it."""

    name: Annotated[str, column("the instruction", heading="instruction")]
    opcode: Annotated[str, column("the opcode", words=OPCODES)]
    shape: Annotated[str, column("the shape of its result", is_shape=True)]
    result_bytes: Annotated[int | None, figure("the size of its result")]
    scope: Annotated[
        str | None, column("module path in the user's program", null_text="", is_path=True)
    ]
    op_name: Annotated[str | None, figure("its op_name, the name that tracing gave it")]
    computation: Annotated[str, figure("the computation that holds it")]


class TraceRow(Traced, frozen=True, kw_only=True):
    """From which pass to which an instruction was one of those that are traced."""

    first_pass_number: Annotated[
        int | None, column("number of its first dump; null before all passes", null_text="")
    ]
    first_pass: Annotated[str, column("the pass that made it", heading="by")]
    last_pass_number: Annotated[
        int | None, column("number of the first dump without it; null if it stays", null_text="")
    ] = None
    last_pass: Annotated[
        str | None,
        column(
            "the pass that removed or changed it; null if it stays", heading="gone by", null_text=""
        ),
    ] = None
    continues_as: Annotated[
        str | None,
        column(
            "its later form: the start, the synchronous form or another name; null without one",
            null_text="",
        ),
    ] = None
    ending: Annotated[
        Ending | None,
        column(
            "removed, continued under another opcode or name, or present without "
            "matching the expression",
            null_text="",
        ),
    ] = None


class TraceFacts(Struct, frozen=True):
    """What became of all that an expression chooses."""

    expression: Annotated[str, figure("the expression")]
    first_pass: Annotated[str | None, figure("the pass that made the first; null if none existed")]
    first_pass_number: Annotated[int | None, figure("the number of its dump")]
    last_pass: Annotated[str | None, figure("the pass that removed the last; null if some stay")]
    last_pass_number: Annotated[int | None, figure("the number of its dump")]
    seen_count: Annotated[int, figure("instructions that it ever matched")]
    remaining_count: Annotated[int, figure("those in the last dump")]
    continued_count: Annotated[int, figure("those that continue under another opcode or name")]
    continued_opcodes: Annotated[tuple[str, ...], figure("their later opcodes")]


TRACE: Final = RowList(
    "trace",
    TraceRow,
    "instructions that matched --trace in any dump, in order of appearance",
    has_total=False,
)
DIFF_TRACE: Final = DocumentSpec(
    "diff-trace",
    "passes that made and removed the instructions that match an expression",
    scalars=Block("facts", TraceFacts, "their fate"),
    row_lists=(TRACE,),
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
            following = _match_renamed(changes.removed, changes.added)
            following |= _match_forms(ended, changes.added)
        for one in ended:
            self._end(one.full_name, snapshot, "removed", following.get(one))
        if changes.renamed:
            renamed = changes.renamed
            self._alive = {renamed[name]: row for name, row in self._alive.items()}
        for old, one in changes.reworded:
            if not self._holds(_describe(one)):
                is_other = _goes_on(old, one) or old.full_name != one.full_name
                self._end(one.full_name, snapshot, "no match", one if is_other else None)
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
            first.first_pass_number if first else None,
            last.last_pass if last else None,
            last.last_pass_number if last else None,
            len(self._rows),
            len(self._alive),
            sum(one.continues_as is not None for one in self._rows),
            tuple(dict.fromkeys(self._followers)),
        )

    def expect_words(self) -> None:
        """Raise QueryError where the expression names an opcode that nobody knows or uses."""
        fields = fields_of(Traced)
        expect_row_words(self.expression, fields, (), lambda: self._opcodes, "--trace")

    def _add(self, instructions: Iterable[Instruction], snapshot: Snapshot) -> None:
        step = snapshot.step
        for one in instructions:
            found = _describe(one)
            self._opcodes.add(one.opcode)
            if found.name not in self._alive and self._holds(found):
                self._alive[found.name] = len(self._rows)
                row = TraceRow(
                    **asdict(found), first_pass_number=step.number, first_pass=step.culprit
                )
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
            last_pass_number=step.number,
            last_pass=step.culprit,
            continues_as=follower.full_name if follower else None,
            ending="continues" if follower else ending,
        )


def _describe(one: Instruction) -> Traced:
    """Return what an expression may ask of an instruction."""
    op_name = one.metadata().op_name
    what = one.full_name, one.opcode, str(one.shape), one.shape.size_bytes
    scope = find_scope(op_name) if op_name else None
    return Traced(*what, scope, op_name or None, one.computation.name)


def _match_forms(
    removed: Iterable[Instruction], added: Iterable[Instruction]
) -> dict[Instruction, Instruction]:
    """Return what goes on, under another opcode of its family, with what a pass removed.

    That is a start in place of the operation, or the operation in place of its start. Of several
    it is the one with the same operands, by their names, else the first of the same op_name.
    """
    found: dict[Instruction, Instruction] = {}
    old, new = list(removed), list(added)
    keys: tuple[Callable[[Instruction], object], ...] = (
        lambda one: tuple(each.name for each in one.operands),
        lambda one: (one.metadata().op_name, len(one.operands)),
    )
    for key_of in keys:
        choices = group_by(new, lambda one, key_of=key_of: (family(one), key_of(one)))  # type: ignore[misc]
        for one in old:
            alike = choices.get((family(one), key_of(one)), [])
            if alike and _goes_on(one, alike[0]):
                found[one] = alike.pop(0)
        taken = set(found.values())
        old = [one for one in old if one not in found]
        new = [one for one in new if one not in taken]
    return found


def _goes_on(one: Instruction, other: Instruction) -> bool:
    """Say whether an instruction may be the same operation as another, in another form."""
    return one.opcode != other.opcode and family(one) == family(other)


def _match_renamed(
    removed: Iterable[Instruction], added: Iterable[Instruction]
) -> dict[Instruction, Instruction]:
    """Return what a pass only gave another name: alone of its kind before and after.

    Of a kind are instructions of one computation, opcode, shape and op_name; without an op_name
    nothing tells.
    """
    old, choices = group_by(removed, _find_kind), group_by(added, _find_kind)
    return {
        ones[0]: choices[kind][0]
        for kind, ones in old.items()
        if ones[0].metadata().op_name and len(ones) == len(choices.get(kind, ())) == 1
    }


def _find_kind(one: Instruction) -> object:
    return one.computation.name, one.opcode, str(one.shape), one.metadata().op_name
