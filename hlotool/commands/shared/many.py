"""A command's rows over many programs: each is answered in a process of its own.

The command itself makes the answer about one program; of that the rows of one list are kept, behind
the name and the place of the program. JSON Lines and CSV leave as they come, in the order in which
programs were read; what must be sorted, grouped or cut is gathered first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial, wraps
from inspect import unwrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast

import click
from msgspec import Struct, defstruct
from msgspec.structs import fields as fields_in
from msgspec.structs import replace

from hlotool.commands import load_command
from hlotool.commands.shared import output
from hlotool.commands.shared.messages import fold_alike, say
from hlotool.commands.shared.options import FleetOptions, RowOptions, dask_option
from hlotool.commands.shared.request import Request, progress, refuse_several
from hlotool.dump.files import Inputs
from hlotool.dump.text_kind import TextKind
from hlotool.errors import UsageError
from hlotool.table import (
    Block,
    Document,
    DocumentSpec,
    InputPaths,
    RowList,
    column,
    fields_of,
    figure,
)
from hlotool.table.expression.compile import expect_row_words
from hlotool.table.select import Query, select_rows

if TYPE_CHECKING:
    from hlotool.program.fleet import Member

_Answering: TypeAlias = Callable[..., Document | int | None]
_FORMS: Final = output.OF_ROWS | {"json", "parquet", "table", "markdown"}


class ProgramOfRow(Struct, frozen=True):
    """Which program a row is of; of one that cannot be read this is all there is."""

    program: Annotated[str, column("name of the program, unique in the answer")]
    place: Annotated[str, column("its location, shortened")]
    error: Annotated[
        str | None,
        figure("why the program could not be read; all other fields are null then", null_text=""),
    ] = None


class ManyFigures(Struct, frozen=True):
    """What the rows are."""

    command: Annotated[str, figure("the command that made the rows")]
    row_list: Annotated[str, figure("name of the row list, as in --rows")]


_SCALARS: Final = Block("many", ManyFigures, "meaning of the rows")
_ROWS: Final = RowList(
    "rows",
    ProgramOfRow,
    "rows with their program; the other fields are those of the command's own list",
    has_total=False,
)
PROGRAMS: Final = DocumentSpec(
    "programs", "the rows of many programs", scalars=_SCALARS, row_lists=(_ROWS,), version=1
)


@cache
def _make_record(record: type[Struct]) -> type[Struct]:
    """Return a record with the figures of another behind the program that they are of."""
    known = {each.name: each.type for each in fields_in(record)}
    own: list[Any] = [(each.name, each.type) for each in fields_in(ProgramOfRow)[:2]]
    figures = [(each.attribute, known[each.attribute] | None) for each in fields_of(record)]
    error = [("error", str | None, None)]
    return defstruct(f"{record.__name__}OfProgram", [*own, *figures, *error], frozen=True)


def _add_program(rows: RowList) -> RowList:
    """Return a list whose rows say their program; figures that do not add up have no sum."""
    figures = (
        replace(each, is_summed=False if each.joint else each.is_summed, joint=None, shown=None)
        for each in rows.fields
    )
    program, place, error = fields_of(ProgramOfRow)
    return replace(
        rows,
        record=_make_record(rows.record),
        chosen=(program, place, *figures, error),
        key=rows.key_field.name,
        fold=None,
        has_total=False,
        is_optional=True,
    )


def add_programs(spec: DocumentSpec) -> DocumentSpec:
    """Return what the row options of many programs act on: the lists of the answer about one."""
    return replace(spec, blocks=(), row_lists=tuple(map(_add_program, spec.row_lists)))


def many_programs(
    *kinds: TextKind,
    about_one: Sequence[str] = (),
    listing: Mapping[str, str] = MappingProxyType({}),
    is_table: bool = False,
) -> Callable[[_Answering], Callable[..., int | None]]:
    """Let a command, which returns its answer about one program, answer about many.

    `kinds` are texts that are no dump, and which it reads itself. `about_one` are options that ask
    about one program, `listing` has the list that the value of an option asks for. `is_table` is
    for `summary`: only who names a list means the rows of one.
    """

    def decorate(function: _Answering) -> Callable[..., int | None]:
        @wraps(function)
        def call(request: Request, options: RowOptions, **values: Any) -> int | None:
            fleet = values["fleet"] if is_table else FleetOptions(dask=values.pop("dask"))
            request = fleet.prepare(request)
            found = request.find(kinds)
            spec = add_programs(cast("Any", click.get_current_context().command).documents[0])
            names_list = not is_table or spec.find_row_list(options.rows) is not None
            if names_list and _means_many(request, found, options):
                typed = [
                    f"--{name}" for name in about_one if values[name] not in {None, "", "peak"}
                ]
                if options.format not in _FORMS:
                    typed.append(f"--format {options.format}")
                if typed:
                    raise refuse_several(request, typed[0])
                if fleet.cache:
                    raise UsageError("--cache keeps only rows of `summary DIR`.")
                given = (name for value, name in listing.items() if values[value])
                options = replace(options, rows=options.rows or next(given, ""))
                target = cast("RowList", output.find_target(spec, options))
                if is_table:
                    values["fleet"] = FleetOptions()  # of each program alone
                asked = Asked(function.__name__, target.name, options, values, request.of_each())
                return _answer_many(request, target, asked, fleet)
            if not is_table:
                fleet.refuse()
            answer = function(request=request, options=options, **values)
            if isinstance(answer, Document):
                output.print_document(answer, options)
                return None
            return answer

        call.__dict__["takes_several"] = True
        return call if is_table else dask_option(call)

    return decorate


def _means_many(request: Request, found: Inputs, options: RowOptions) -> bool:
    """Whether rows of many programs are meant, not one program as a screen shows it."""
    if len(found.inputs) == 1 and found.inputs[0].other is not None:
        return False
    if request.more or options.names("program", "place"):
        return True
    return len(found.inputs) > 1 and not options.is_for_eyes


# In this process.


class _Gathered(Struct):
    """What is known of the programs that were read so far."""

    failed: list[tuple[int, str, int]] = []
    words: set[str] = set()  # that could have been asked for
    count: int = 0  # of rows
    lacks: set[bool] = set()  # whether an answer has no such list


def _answer_many(request: Request, target: RowList, asked: Asked, fleet: FleetOptions) -> int:
    """Print the rows of all programs; return the exit code of the first that cannot be read."""
    options, gathered = asked.options, _Gathered()
    answers = _read_all(request, target, asked, fleet, gathered)
    if asked.is_streamed:
        output.write_text(_stream(answers, target, asked), options.output)
    else:
        rows = [target.record(*values) for each in answers for values in each.rows]
        name = target.name if options.is_for_eyes else _ROWS.name
        document = Document(
            replace(PROGRAMS, row_lists=(replace(target, name=name),)),
            InputPaths(request.find().path),
            scalars=ManyFigures(asked.command, target.name),
            rows={name: rows},
        )
        output.print_document(document, replace(options, rows="", where=""))
    gathered.failed.sort()
    errors = [error for _, error, _ in gathered.failed]
    for error in fold_alike(errors, "`summary --where 'error != null' -n 0` lists all"):
        say(error)
    return next((code for _, _, code in gathered.failed if code), 0)


def _read_all(
    request: Request, target: RowList, asked: Asked, fleet: FleetOptions, gathered: _Gathered
) -> Iterator[Answer]:
    """Yield the answer of each program as it comes; one that cannot be read is a row, too."""
    from hlotool.dump.identity import name_inputs  # noqa: PLC0415  start-up time
    from hlotool.dump.workers import Failure, iterate_inputs  # noqa: PLC0415  the same
    from hlotool.program.fleet import Member, forget_text  # noqa: PLC0415  the same

    found = request.find()
    members = [
        Member(replace(forget_text(one), called=name), found.path)
        for one, name in zip(found.inputs, name_inputs(found), strict=True)
    ]
    nulls = [None] * len(target.fields[2:-1])
    with (
        progress("reading", sum(each.size_bytes for each in members)) as advance,
        fleet.open(request.assumptions, advance) as opened,
    ):
        work = partial(answer_member, asked=asked)
        for number, result in iterate_inputs(
            work, members, executor=opened.executor, progress=advance
        ):
            if not isinstance(result, Failure):
                request.tell(result.notes)
                gathered.words |= result.words
                gathered.count += result.count
                gathered.lacks.add(result.lacks_list)
                yield result
                continue
            error, member = result.message.partition("\n")[0], members[number]
            gathered.failed.append((number, error, result.exit_code))
            if not asked.options.by:
                row = target.record(member.chosen.called, member.place, *nulls, error)
                yield _keep(target, (row,), asked, "")
    if gathered.lacks == {True}:
        raise output.refuse_list(target)
    where = asked.options.where
    if where and members and not gathered.count:
        held = {word for each in members for word in (each.chosen.called, each.place)}
        expect_row_words(where, target.fields, (), lambda: gathered.words | held)


def _stream(answers: Iterator[Answer], target: RowList, asked: Asked) -> Iterator[str]:
    """Yield the text of rows as they come, below one header."""
    if asked.options.format != "jsonl":
        yield from output.render_rows(
            select_rows(target, (), asked.query("")), asked.options.format
        )
    yield from (each.text for each in answers)


# Where a program is read.


class Asked(Struct, frozen=True):
    """What is asked of each program: a command, its values, and the list that is kept."""

    command: str
    list_name: str
    options: RowOptions
    values: dict[str, Any]
    request: Request

    @property
    def is_streamed(self) -> bool:
        """Whether rows are written where they are made, as nothing hangs on the others."""
        options = self.options
        is_free = not (options.sort or options.by or options.limit is not None)
        return options.format in output.OF_ROWS and is_free

    def query(self, where: str) -> Query:
        """Return what is asked of the rows of one program, whatever is asked of all."""
        columns = self.options.columns if self.is_streamed else ""
        return Query(where=where, columns=columns, is_wide=True)


class Answer(Struct, frozen=True):
    """The rows of one program, as values or written, and what of its files was not understood."""

    rows: Sequence[Sequence[object]] = ()
    text: str = ""
    count: int = 0
    notes: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    lacks_list: bool = False


def answer_member(member: Member, asked: Asked) -> Answer:
    """Answer about one program; runs in a process of its own, perhaps of another machine.

    Raises what the command raises.
    """
    chosen, where = member.chosen, asked.options.where
    request = replace(asked.request, path=chosen.path, told=set())
    request.found = Inputs(chosen.path, False, (chosen,))
    function = unwrap(cast("Any", load_command(asked.command)).callback)
    document = function(
        request=request, options=replace(asked.options, format="jsonl"), **asked.values
    )
    notes = tuple(sorted(request.told))
    spec = document.spec.find_row_list(asked.list_name)
    if spec is None or spec.name not in document.rows:
        return Answer(notes=notes, lacks_list=True)
    target, reads = _add_program(spec), [each.getter() for each in fields_of(spec.record)]
    rows = [
        target.record(chosen.called, member.place, *(read(row) for read in reads))
        for row in document.rows[spec.name]
    ]
    answer = _keep(target, rows, asked, where)
    words = frozenset(document.find_words()) if where and not answer.count else frozenset[str]()
    return replace(answer, notes=notes, words=words)


def _keep(target: RowList, rows: Sequence[Struct], asked: Asked, where: str) -> Answer:
    """Return the rows that are wanted, written where that can be done alone."""
    selection = select_rows(target, rows, asked.query(where))
    kept = selection.rows
    if asked.is_streamed:
        pieces = output.render_rows(selection, asked.options.format)
        if asked.options.format != "jsonl":
            next(pieces)  # the header
        return Answer((), "".join(pieces), len(kept))
    names = target.record.__struct_fields__
    return Answer([[getattr(row, name) for name in names] for row in kept], "", len(kept))
