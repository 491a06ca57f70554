"""The options that commands share, the values they become, and how a shell completes them.

Those about rows and output become `RowOptions`, those that name a dump, a machine and the
configuration a `Request`, those about a directory of many programs `FleetOptions`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.origin import add_stacks
from hlotool.check.config import Config, find_config, read_config
from hlotool.commands.shared.messages import quote_command, say
from hlotool.commands.shared.request import Request
from hlotool.dump.budget import DEFAULT_BUDGET, ByteBudget
from hlotool.dump.files import StageChoice
from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import STDIN, display_name, hide_secrets, remove_copies
from hlotool.dump.siblings import NamedFiles
from hlotool.dump.stores import is_address
from hlotool.errors import HlotoolError, InputError, UsageError
from hlotool.hlo import Module
from hlotool.program.program import Assumptions
from hlotool.table import Document, DocumentSpec, Line, RowList
from hlotool.table.select import Query
from hlotool.table.units import UNITS, parse_bandwidth, parse_size, parse_time

if TYPE_CHECKING:
    from hlotool.analysis.collectives.machine import Machine
    from hlotool.program.fleet import FleetContext

_Command: TypeAlias = Callable[..., int | None]
_Decorator: TypeAlias = Callable[[_Command], _Command]


def option(declared: str, says: str, name: str = "", **more: Any) -> _Decorator:
    """Declare an option as its help shows it, `-n, --limit N`; without a value it is a flag.

    `name` is that of the parameter, where it is not the option's own.
    """
    names, attributes = _declare(declared, says, name, more)
    return click.option(*names, **attributes)


def _declare(
    declared: str, says: str, name: str, more: dict[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Return the names of an option and what else click is told of it."""
    words = declared.split()
    names = [one.rstrip(",") for one in words if one.startswith("-")]
    if len(words) > len(names):
        more["metavar"] = words[-1]
    elif "type" not in more:
        more["is_flag"] = True
    return [*names, *filter(None, [name])], {"help": says, **more}


def hide_typed(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Take the secrets out of addresses as they were typed: nothing else may know them.

    The callback of every parameter whose value may be an address; what is fetched of one goes when
    the command ends.
    """
    if not isinstance(value, str):
        return value if value is None else tuple(hide_typed(ctx, param, each) for each in value)
    label, equals, path = value.partition("=")  # as `diff` takes it
    if is_address(value) or not is_address(path):
        label, equals, path = "", "", value
    if is_address(path):
        ctx.call_on_close(remove_copies)
    return f"{label}{equals}{hide_secrets(path)}"


def add_options(options: Sequence[_Decorator]) -> _Decorator:
    """Give a command options, of which the help shows the first one first."""

    def decorate(function: _Command) -> _Command:
        for add in reversed(options):
            function = add(function)
        return function

    return decorate


# Values that the shell completes, without reading a dump: eval "$(_HLOTOOL_COMPLETE=bash_source
# hlotool)". Fields and row lists are those of the command, modules those that the names of files
# tell. What only one command completes stands beside it.


def completing(
    find: Callable[[click.Context], Iterable[tuple[str, str]]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what completes a word of those found, which come with their meanings, each once."""

    def complete(
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG001  click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        return _match(find(ctx), incomplete)

    return complete


def _match(named: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    found = {name: meaning for name, meaning in named if name.startswith(incomplete)}
    return [CompletionItem(name, help=meaning or None) for name, meaning in found.items()]


def _complete_fields(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001  click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Complete the last of several fields, of the rows that --rows names, else of all."""
    *before, last = incomplete.split(",")
    sign = last[:1] if last[:1] in {"+", "-"} else ""
    start = "".join(f"{one}," for one in before) + sign
    lists, wanted = _list_rows(ctx), ctx.params.get("rows")
    chosen = [rows for rows in lists if rows.name == wanted] or lists
    fields = (field for rows in chosen for field in rows.fields)
    return _match(dict.fromkeys((f"{start}{one.name}", one.meaning) for one in fields), incomplete)


def _list_rows(ctx: click.Context) -> list[RowList]:
    specs: tuple[DocumentSpec, ...] = getattr(ctx.command, "specs", ())
    return [rows for spec in specs for rows in spec.row_lists]


def _list_chips(_: click.Context) -> Iterable[tuple[str, str]]:
    from hlotool.analysis.cost.chips import list_chips  # noqa: PLC0415  start-up time

    return list_chips().items()


def _list_modules(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the modules of the directory that PATH, or one of several, names."""
    for path in ctx.args:  # click gives arguments their names only once every option has its value
        with suppress(HlotoolError):
            yield from ((one.name, path) for one in resolve_inputs(path.rpartition("=")[2]).inputs)


_complete_module: Final = completing(_list_modules)
_complete_rows: Final = completing(
    lambda ctx: ((rows.name, rows.meaning) for rows in _list_rows(ctx))
)


# Rows and output.

FORMATS: Final = ("table", "json", "jsonl", "csv", "tsv", "parquet", "markdown", "folded", "pprof")
_WORD: Final = re.compile(r"[a-z_]+")
_ENDINGS: Final = frozenset({"json", "jsonl", "csv", "tsv", "parquet", "markdown"})  # of files
_FOR_EYES: Final = frozenset({"table", "markdown", "comment"})


class RowOptions(Struct, frozen=True):
    """What the user asked of rows and output; '' and None where not given."""

    format: str = "table"
    where: str = ""
    sort: str = ""
    limit: int | None = None
    rows: str = ""
    by: str = ""
    columns: str = ""
    keeps_numbers: bool = False
    is_wide: bool = False
    units: str = "auto"
    output: str = ""
    color: str = "auto"
    max_chars: int | None = None

    @property
    def is_for_eyes(self) -> bool:
        """Whether the output is a table, markdown or a comment: cut, folded and with a TOTAL."""
        return self.format in _FOR_EYES

    @property
    def wants_overview(self) -> bool:
        """Whether the answer is for eyes, and nobody asked for certain rows of it."""
        return self.is_for_eyes and not self.chooses_rows

    @property
    def chooses_rows(self) -> bool:
        """Whether an option says which rows of one list are wanted, and how."""
        return bool(self.where or self.sort or self.by or self.columns or self.rows)

    def names(self, *fields: str) -> bool:
        """Whether one of these options names one of these fields."""
        said = f"{self.where} {self.sort} {self.by} {self.columns}"
        return not set(fields).isdisjoint(_WORD.findall(said))

    def groups_by(self, *fields: str) -> bool:
        """Whether --by names one of these fields."""
        return any(word in fields for word in _WORD.findall(self.by))

    def query(self, default_limit: int, width: int | None = None) -> Query:
        """Return the row options for the list that they act on, on a terminal of that width."""
        typed = ("where", "sort", "by", "columns", "limit", "keeps_numbers")
        return Query(
            **{name: getattr(self, name) for name in typed},
            default_limit=default_limit if self.is_for_eyes else 0,
            is_wide=self.is_wide or not self.is_for_eyes,
            width=width if self.format == "table" else None,
            is_folded=self.is_for_eyes,
            keeps_below=self.format == "table",
        )


def make_row_options(values: Mapping[str, Any], formats: Sequence[str] = FORMATS) -> RowOptions:
    """Make the value from click's parameters; --json and another --format contradict.

    Without either the ending of --output's file says the form, if it is one of `formats`.
    """
    chosen = dict(values)
    is_json, form = chosen.pop("is_json"), chosen.pop("format")
    if is_json and form not in {None, "json"}:
        raise UsageError(f"--json and --format {form} exclude each other.")
    ending = os.path.splitext(chosen["output"])[1].removeprefix(".").lower()  # noqa: PTH122
    told = "markdown" if ending == "md" else ending
    form = form or (told if told in _ENDINGS and told in formats else "table")
    form, most = "json" if is_json else form, find_max_chars()
    if most is not None and form not in {"json", "table", "markdown"}:
        raise UsageError(f"--max-chars shortens tables, markdown and JSON, not --format {form}.")
    return RowOptions(format=form, max_chars=most, **chosen)


def row_parameters(formats: Sequence[str] = FORMATS) -> list[click.Parameter]:
    """Return the click options that `make_row_options` reads, in the order of the help."""

    def row_option(declared: str, says: str, name: str = "", **more: Any) -> click.Option:
        names, attributes = _declare(declared, says, name, more)
        return click.Option(names, **attributes)

    text = partial(row_option, default="")
    fields = partial(text, shell_complete=_complete_fields)
    return [
        row_option("--json", "Short for --format json.", "is_json"),
        row_option("--format", "Output form.", type=click.Choice(list(formats))),
        text("--where EXPR", "Keep only rows that match EXPR."),
        fields("--sort [-]FIELD", "Sort rows by FIELD; -FIELD sorts descending."),
        row_option(
            "-n, --limit N",
            "Show N rows, 0 for all; tables show 20 by default.",
            type=click.IntRange(min=0),
        ),
        text("--rows NAME", "The row list to show.", shell_complete=_complete_rows),
        fields("--by FIELD,…", "Group rows by these fields, outermost first."),
        row_option(
            "--numbered",
            "Keep layer_0 and layer_1 apart; by default they share a row or group, layer_*.",
            "keeps_numbers",
        ),
        fields(
            "--columns FIELD,…", "Choose columns; +FIELD adds one to those shown, -FIELD hides it."
        ),
        row_option("-w, --wide", "Show all columns in full.", "is_wide"),
        row_option(
            "--units",
            "Units of sizes in tables; B is exact.",
            type=click.Choice(UNITS),
            default="auto",
        ),
        text("-o, --output FILE", "Write to FILE instead of stdout."),
        row_option(
            "--color",
            "Colour tables: by default on a terminal or with FORCE_COLOR, but not with NO_COLOR.",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
        ),
    ]


NO_PAGER: Final = "hlotool.no_pager"  # where click keeps that no pager is wanted
_MAX_CHARS: Final = "hlotool.max_chars"
LEAST_CHARS: Final = 1_000  # of an answer


def make_common_options() -> list[click.Option]:
    """Return the options that every command has."""

    def keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
        ctx.meta[f"hlotool.{param.name}"] = value

    short = {"type": click.IntRange(min=LEAST_CHARS)}
    declared = (
        _declare("--no-pager", "Print long answers without a pager.", "", {}),
        _declare("--max-chars N", "Print at most N characters, most important first.", "", short),
    )
    return [
        click.Option(names, callback=keep, expose_value=False, is_eager=True, **attributes)
        for names, attributes in declared
    ]


def find_max_chars() -> int | None:
    """Return how long the answer may be; None where nobody said."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_MAX_CHARS) if context else None


# --stack.

stack_option: Final = option(
    "--stack", "Print the call stack of each row's source line below it.", "has_stacks"
)


def print_stacks(document: Document, module: Module | None, *names: str) -> Document:
    """Return an answer whose tables print the stacks of rows; the lists of these names get them."""
    lists = (
        rows.showing(rows.shown() | {"stack"})
        if any(field.name == "stack" for field in rows.fields)
        else rows
        for rows in document.spec.row_lists
    )
    notes: tuple[Line, ...] = ()
    if module is None:
        notes = (Line("No stacks here: pass the module's text with --module-text."),)
    elif not module.debug_info.frames:
        text = (
            "No stacks: this text has no StackFrames table; older XLA prints only the "
            "innermost line"
        )
        notes = (Line(f"{text}."),)
    rows = cast("Mapping[str, Sequence[Struct]]", document.rows)
    return replace(
        document,
        spec=replace(document.spec, row_lists=tuple(lists)),
        rows={**document.rows, **{name: add_stacks(rows[name], module) for name in names}},
        notes=(*document.notes, *notes),
    )


# The configuration, and the machine to estimate times for.

config_option: Final = option(
    "--config FILE",
    "Use this file instead of hlotool.toml in this folder or above.",
    default="",
    callback=hide_typed,
)


def take_config(values: dict[str, Any]) -> Config:
    """Take the value of the option out of all, and read that file, or the nearest one."""
    path = values.pop("config")
    return read_config(path) if path else find_config()


_CHIP: Final = option(
    "--chip NAME",
    "Estimate times on this chip: h100, v5p, ….",
    shell_complete=completing(_list_chips),
)
_CHIP_MEMORY: Final = option(
    "--chip NAME", "Check whether the program fits in this chip's memory: h100, v5p, …."
)
_CHIP_FILE: Final = option(
    "--chip-file FILE", "TOML file with your own chips, in the form of chips.toml.", default=""
)
_LATENCY: Final = option("--latency TIME", "Add this latency to each collective: 5us.")
_LINKS: Final = (
    option("--bandwidth SPEED", "Estimate transfers within a node at this speed: 450GB/s."),
    option(
        "--node-bandwidth SPEED",
        "Estimate transfers between nodes, or slices, at this speed: 50GB/s.",
    ),
    option(
        "--devices-per-node N",
        "Assume nodes of N consecutive devices; by default as many as the chip's link connects.",
        type=click.IntRange(min=1),
    ),
)

# Which of them a command takes; `take_machine` reads them all.
CHIP_ALONE: Final = (_CHIP, _CHIP_FILE)
CHIP_MEMORY: Final = (_CHIP_MEMORY, _CHIP_FILE)
MACHINE: Final = (_CHIP, *_LINKS, _CHIP_FILE)
MACHINE_AND_LATENCY: Final = (_CHIP, *_LINKS, _LATENCY, _CHIP_FILE)


def take_machine(values: dict[str, Any], settings: Config) -> Machine | None:
    """Take the values of these options out of all, and return the machine they name.

    Where they name no chip, and no size of a node, those of the configuration count. The speed of
    a link must be known only where the options are about links, and name the chip; and only then
    must the chip fit. Raises UsageError for what does not go together.
    """
    is_about_links = "bandwidth" in values
    names = ("chip", "bandwidth", "latency", "node_bandwidth")
    given, bandwidth, latency, between = (values.pop(name, None) for name in names)
    chip, chip_file = given or settings.chip or None, values.pop("chip_file", "")
    per_node = values.pop("devices_per_node", None) or settings.devices_per_node
    if not chip_file and {chip, bandwidth, latency, between, per_node} == {None}:
        return None
    from hlotool.analysis.collectives.machine import add_nodes, find_machine  # noqa: PLC0415  start-up time

    machine = find_machine(
        chip,
        None if bandwidth is None else parse_bandwidth(bandwidth, "--bandwidth"),
        None if latency is None else parse_time(latency, "--latency"),
        chip_file,
        needs_link=is_about_links and bool(given),
    )
    machine = add_nodes(
        machine, per_node, None if between is None else parse_bandwidth(between, "--node-bandwidth")
    )
    return replace(machine, must_fit=True) if machine and given else machine


def read_assumptions(values: dict[str, Any], config: Config) -> Assumptions:
    """Take the options that name a machine out of all; the rest is what the configuration says."""
    if not config.custom_calls:
        return Assumptions((), take_machine(values, config))
    from hlotool.check.rule import compile_call_costs  # noqa: PLC0415  brings pyparsing

    return Assumptions(compile_call_costs(config), take_machine(values, config))


def repeat_command(kept: Collection[str], *added: str, command: str = "") -> str:
    """Return the command line as typed, or of another command: parameters `kept`, and `added`."""
    context = click.get_current_context()
    words = [command] if command else context.command_path.split()[1:]
    for each in context.command.params:
        name = each.name or ""
        value = context.params.get(name)
        is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in kept and is_typed and isinstance(value, str | int | tuple):
            options = each.opts[-1:] if isinstance(each, click.Option) else []
            for one in value if isinstance(value, tuple) else (value,):
                words += options if one is True else [*options, str(one)]
    return quote_command(*words, *added)


# The dump.


def takes_several(function: Callable[..., object]) -> bool:
    """Whether a command answers about many programs, which may be named by several paths."""
    return bool(function.__dict__.get("takes_several"))


def expand_paths(typed: Sequence[str]) -> tuple[str, ...]:
    """Return paths as typed; one with `*`, `?` or `[` that nothing is called is a pattern.

    Raises InputError for a pattern to which nothing fits.
    """
    import glob  # noqa: PLC0415  most paths are none

    found: list[str] = []
    for path in typed:
        if is_address(path) or not glob.has_magic(path) or os.path.lexists(path):
            found.append(path)
            continue
        fitting = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  paths stay strings
        if not fitting:
            raise InputError(f"{display_name(path)}: nothing matches this pattern.")
        found += fitting
    return tuple(dict.fromkeys(found))


unpacking_option: Final = option(
    "--max-unpacked SIZE",
    "Fetch and unpack at most SIZE of a file. Default: 1,000 times its size, at least 256 MiB.",
    "unpacking",
    callback=lambda ctx, param, value: _read_unpacking(value),  # noqa: ARG005  click's signature
)


def _read_unpacking(size: str | None) -> ByteBudget:
    return DEFAULT_BUDGET if size is None else ByteBudget(parse_size(size, "--max-unpacked"))


# What a command has that reads several programs at once, and estimates times of all.
OF_SEVERAL: Final = (unpacking_option, config_option, *MACHINE)
_CHECK = "check"
module_option: Final = option(
    "--module REGEX",
    "Take only modules whose name, or name#number, matches.",
    shell_complete=_complete_module,
)
STAGE_HELP: Final = "In a directory: read the text before or after optimizations."
_DUMP_PARAMETERS: tuple[_Decorator, ...] = (
    option("--stage", STAGE_HELP, type=click.Choice(["before", "after", "all"]), default="after"),
    module_option,
    option("--buffers FILE", "The buffer assignment, if not next to PATH.", callback=hide_typed),
    option("--live-range FILE", "The live ranges, if not next to PATH.", callback=hide_typed),
    option("--module-text FILE", "The HLO text, if not next to PATH.", callback=hide_typed),
    option(
        "--budget EXPR",
        "Exit with 1 unless EXPR is true, such as 'buffers.temp_bytes <= 8GiB'.",
        multiple=True,
    ),
    unpacking_option,
    config_option,
)


def dump_options(function: _Command) -> _Command:
    """Give a command PATH and the options that choose a dump, as `request: Request`.

    What the command returns, if anything, is the exit code.

    The options of a machine, and what hlotool.toml says, become its assumptions.
    Budgets given with --budget are held against the dump after the answer is printed,
    unless the command is the one that does nothing else.
    """

    @wraps(function)
    def call(
        path: str | tuple[str, ...] | None, stage: StageChoice, module: str | None, **values: Any
    ) -> int | None:
        first, *more = expand_paths(path) if isinstance(path, tuple) else (path or "",)
        named = NamedFiles(
            values.pop("buffers"), values.pop("live_range"), values.pop("module_text")
        )
        config = take_config(values)
        assumptions = read_assumptions(values, config)
        budgets, unpacking = values.pop("budget"), values.pop("unpacking")
        request = Request(first, stage, module, named, budgets, config, assumptions, unpacking)
        request.more = tuple(more)
        if "options" in values and not values["options"].is_for_eyes:
            request.form = f"--format {values['options'].format}"
        if not request.budgets or function.__name__ == _CHECK:
            return function(request=request, **values)
        from hlotool.commands.shared.budgets import compile_budgets, enforce_budgets  # noqa: PLC0415

        # A mistake is told before anything is read.
        rules = compile_budgets(request.budgets, assumptions.machine)
        return function(request=request, **values) or enforce_budgets(request, rules)

    # What a check recorded is read without a dump.
    argument = click.argument(
        "path",
        metavar="PATH…" if takes_several(function) else "PATH",
        nargs=-1 if takes_several(function) else 1,
        required=function.__name__ != _CHECK,
        callback=hide_typed,
    )
    return add_options((argument, *_DUMP_PARAMETERS))(call)


# A directory of many programs.


class FleetOptions(Struct, frozen=True):
    """What the user asked of them; '' where not given."""

    cache: str = ""
    dask: str = ""

    def prepare(self, request: Request) -> Request:
        """Return the request as workers have to understand it, which run elsewhere."""
        if not self.dask or request.path == STDIN or is_address(request.path):
            return request
        path, *more = map(os.path.abspath, (request.path, *request.more))
        return replace(request, path=path, more=tuple(more))

    def refuse(self) -> None:
        """Raise UsageError where they were given for a single program."""
        if self.cache or self.dask:
            name = "--cache" if self.cache else "--dask"
            raise UsageError(f"{name} needs a directory; this is a single program.")

    @contextmanager
    def open(
        self, assumptions: Assumptions, progress: Callable[[int], None]
    ) -> Iterator[FleetContext]:
        """Give what programs are measured with, the cache open and the cluster at hand."""
        from hlotool.dump.workers import connect_cluster  # noqa: PLC0415  start-up time
        from hlotool.program.fleet import FleetContext, RowCache  # noqa: PLC0415  the same

        with ExitStack() as stack:
            cache = stack.enter_context(RowCache(self.cache)) if self.cache else None
            executor = stack.enter_context(connect_cluster(self.dask, say)) if self.dask else None
            yield FleetContext(assumptions, executor, cache, progress)


dask_option: Final = option(
    "--dask ADDRESS", "With a directory: let the workers of this Dask cluster read it.", default=""
)


def directory_options(function: _Command) -> _Command:
    """Give a command --cache and --dask, as `fleet: FleetOptions`."""

    @option(
        "--cache FILE",
        "With a directory: keep rows in FILE, and read only programs that it lacks.",
        default="",
    )
    @dask_option
    @wraps(function)
    def call(cache: str, dask: str, **values: Any) -> int | None:
        return function(fleet=FleetOptions(cache, dask), **values)

    command: _Command = call
    return command
