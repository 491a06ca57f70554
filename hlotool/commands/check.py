"""`hlotool check`: budgets from hlotool.toml, for CI; their baseline, and their history."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from msgspec.structs import replace

from hlotool import __version__
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.memory.answer import ROWS
from hlotool.analysis.memory.rows import BufferRow
from hlotool.check import baseline as baselines
from hlotool.check import history as histories
from hlotool.check import results
from hlotool.check.ci import relative_file, render_github, render_junit, render_sarif
from hlotool.check.config import CONFIG_NAME, Config, expect_pattern
from hlotool.check.rule import Rule, compile_rule, list_older_names
from hlotool.check.run import Excess, Run
from hlotool.commands.diff.cause_text import write_cause, write_place
from hlotool.commands.shared import options as shared
from hlotool.commands.shared import output
from hlotool.commands.shared.budgets import compile_budgets, run_rules
from hlotool.commands.shared.command import PURPOSES, document_command
from hlotool.commands.shared.messages import say, say_all
from hlotool.commands.shared.request import Request, load_one, track
from hlotool.compare.answer import MEMORY, METRICS
from hlotool.compare.inputs import Argument, Candidate, find_candidates
from hlotool.dump.read import STDIN, display_name, read_bytes
from hlotool.dump.stores import is_address
from hlotool.dump.workers import Failure
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.program.load import load_program, note_files
from hlotool.table import Document, DocumentSpec, InputPaths, Line
from hlotool.table.units import SIZES, format_field
from hlotool.table.words import count_noun, join_words

_CI_FORMATS: Final = ("github", "junit", "sarif")
_FORMATS: Final = (*shared.FORMATS, "comment", *_CI_FORMATS)
_EXPLAINED: Final = frozenset(("table", "markdown", "comment"))
_EXAMPLE = """\
hlotool check dump/ --budget 'buffers.temp_bytes <= 8GiB'
hlotool check dump/ --update-baseline
hlotool check dump/ --baseline main_dump/ --format github"""

_NO_BUDGETS = (
    "no budgets found: no hlotool.toml here or above, no [tool.hlotool] in "
    "pyproject.toml, and no --budget. `hlotool check --init DIR` writes the first ones."
)


def _choose_specs(values: Mapping[str, Any]) -> tuple[DocumentSpec, ...]:
    if values["trend"]:
        return (histories.TREND,)
    return (results.METRIC_LIST if values["list_metrics"] else results.CHECK,)


@document_command(
    "check",
    results.CHECK,
    histories.TREND,
    results.METRIC_LIST,
    example=_EXAMPLE,
    formats=_FORMATS,
    choose_specs=_choose_specs,
)
@shared.dump_options
@shared.add_options(shared.MACHINE)
@shared.option(
    "--baseline PATH",
    "Earlier figures: a dump or a JSON document.",
    default="",
    callback=shared.hide_typed,
)
@shared.option("--update-baseline", "Write the figures to the baseline; check nothing.")
@shared.option("--init", "Write a first hlotool.toml, baseline and workflow.")
@shared.option("--list-metrics", "List what budgets may limit, with figures of PATH.")
@shared.option("--also FORMAT=FILE", "Write another form too; repeatable.", multiple=True)
@shared.option(
    "--history FILE", "Append one line per module to FILE.", default="", callback=shared.hide_typed
)
@shared.option("--time WHEN", "With --history: ISO 8601, or seconds since 1970.")
@shared.option("--commit TEXT", "With --history: the commit to record.")
@shared.option("--trend", "Show how each metric of the history changed, and when.")
def check(
    request: Request,
    *,
    baseline: str,
    update_baseline: bool,
    init: bool,
    list_metrics: bool,
    also: tuple[str, ...],
    history: str,
    time: str | None,
    commit: str | None,
    trend: bool,
    options: shared.RowOptions,
) -> int:
    """Check a dump against the budgets in hlotool.toml, or in [tool.hlotool] of pyproject.toml.

    Exit codes: 0 all budgets pass; 1 one is exceeded; 3 a module cannot be read; 4 a budget
    measured nothing. --trend takes no PATH. A limit of growth, max_increase = "5%", needs a
    baseline: --init writes both.
    """
    given = {"--time": time is not None, "--commit": commit is not None, "--trend": trend}
    _expect_usage(history, [name for name, is_given in given.items() if is_given])
    time = None if time is None else histories.parse_time(time)
    if trend:
        if request.path or request.budgets or update_baseline:
            raise UsageError("--trend reads only the history; omit PATH, budgets and baseline.")
        _print_trend(history, request.module, options)
        return 0
    if list_metrics:
        _print_metrics(request, options)
        return 0
    if update_baseline and history:
        raise UsageError("--update-baseline checks nothing, so --history has nothing to record.")
    forms = [*map(_read_form, also), (options.format, options.output)]
    request = _complete(request, _DUMP if init else "")
    settings = request.config
    default = os.path.join(os.path.dirname(settings.path), _DEFAULT)  # noqa: PTH118,PTH120
    baseline = baseline or settings.baseline_path
    if init or update_baseline:
        _write_figures(request, baseline or default, is_start=init)
        return 0
    baseline = baseline or (default if Path(default).exists() else "")
    has_causes = any(form in _EXPLAINED for form, _ in forms)
    run = _run(request, baseline, history, has_causes=has_causes)
    typed = tuple(_type_next(run.excesses, baseline, request))
    for form, file in forms if run.results else ():
        print_run(run, settings, replace(options, format=form, output=file), typed)
    if history:
        _record(history, run.lines, time, commit)
    if not run.results:
        raise NothingCheckedError(_NO_BUDGETS)
    return run.exit_code


def _complete(request: Request, default: str) -> Request:
    """Return what is asked with what the configuration chooses; there must be a PATH."""
    if not (request.path or default):
        raise click.MissingParameter(
            ctx=click.get_current_context(), param_hint="'PATH'", param_type="argument"
        )
    settings = request.config
    stage = settings.stage if settings.stage and request.stage == "after" else request.stage
    module = request.module or settings.module or None
    return replace(request, path=request.path or default, stage=stage, module=module)


def _read_form(text: str) -> tuple[str, str]:
    """Read FORMAT=FILE; raise UsageError for what is none."""
    form, _, file = text.partition("=")
    if form not in _FORMATS or not file:
        raise UsageError(f"--also {text}: expected FORMAT=FILE, {join_words(_FORMATS, 'or')}.")
    return form, file


def _expect_usage(history: str, given: Sequence[str]) -> None:
    """Refuse options about a history without one, and what is recorded where it is only read."""
    for name in given:
        if not history:
            raise UsageError(f"{name} needs --history FILE.")
        if "--trend" in given and name != "--trend":
            raise UsageError(f"{name} needs a new record; --trend only reads.")


def _run(request: Request, baseline: str, history: str, *, has_causes: bool) -> Run:
    """Hold the budgets against the dump, and measure its figures for a history."""
    if not (request.config.budgets or request.budgets or history):
        raise NothingCheckedError(_NO_BUDGETS)
    settings, machine = request.config, request.assumptions.machine
    source = click.get_current_context().get_parameter_source("config")
    is_alone = bool(request.budgets) and source is not ParameterSource.COMMANDLINE
    if is_alone and settings.budgets:
        name = display_name(settings.path)
        say(f"--budget replaces the budgets of {name}; add --config {name} to check both.")
    written = () if is_alone else settings.budgets
    rules = [compile_rule(one, settings.path, machine) for one in written]
    rules += compile_budgets(request.budgets, machine)
    say_all(note for rule in rules for note in list_older_names(rule))
    if history and Path(history).is_file():  # a file that is none, before any dump is read
        histories.read_lines(read_bytes(history), display_name(history))
    earlier, missing = _read_baseline(baseline, rules, request)
    run = run_rules(request, rules, earlier, is_recorded=bool(history), has_causes=has_causes)
    for failure in missing:
        say(failure.message)
    return replace(run, failures=(*missing, *run.failures))


# What a check came to.

_SUMMARY = "GITHUB_STEP_SUMMARY"


def print_run(
    run: Run, settings: Config, options: shared.RowOptions, typed: Sequence[Line]
) -> None:
    """Print what a check came to; `typed` are commands that show more."""
    is_comment = options.format == "comment"
    is_named = is_comment or len(run.excesses) > 1
    why = tuple(_say_excesses(run.excesses, options.units, is_named=is_named))
    document = Document(
        spec=results.choose_check_columns(is_comment=is_comment),
        input=run.paths,
        scalars=run.facts,
        rows={"rules": run.results},
        lines=(_headline(run.facts), *(why if is_comment else ())),
        notes=() if is_comment else (*why, *typed),
    )
    if options.format not in _CI_FORMATS:
        output.print_document(document, options)
        return
    placed = [_place(one, settings) for one in run.results]
    if options.format == "junit":
        output.write_text((render_junit(placed),), options.output)
    elif options.format == "sarif":
        output.write_text((render_sarif(placed, __version__),), options.output)
    else:
        markdown = shared.RowOptions(format="markdown", units=options.units)
        _append_summary(output.render_document(document, markdown, output.make_look(markdown)))
        output.write_text((render_github(placed),), options.output, has_commands=True)


_MOST_LINES: Final = 3


def _say_excesses(excesses: Sequence[Excess], units: str, *, is_named: bool) -> Iterator[Line]:
    """Say what grew, or what memory holds, in a few lines."""
    names = [f"{one.module}: " * is_named for one in excesses]
    pairs = zip(names, excesses, strict=True)
    said = [f"{name}{text}" for name, one in pairs for text in _list_said(one, units)]
    return map(Line, said[:_MOST_LINES])


def _list_said(excess: Excess, units: str) -> Iterator[str]:
    if excess.has_grown and not excess.causes and (excess.grown or not excess.values):
        yield "the reason is unknown: a side lacks the text before optimizations"
    for cause in excess.causes if excess.has_grown or not excess.values else ():
        yield write_cause(cause, units) + write_place(cause)
    before = ""
    if excess.grown:
        part = excess.grown.metric.removeprefix("buffers.").removesuffix("_bytes")
        old, new = (format_field(METRICS.field(one), excess.grown, units) for one in ("old", "new"))
        before = f"{part} memory: {old} → {new}; the largest at the peak now: "
    for row in excess.values[: 1 if before else None]:
        rows = ROWS if isinstance(row, BufferRow) else MEMORY
        sizes = ("live_bytes",) if rows is ROWS else ("old_bytes", "new_bytes")
        names = "value", "shape", *sizes
        value, shape, *held = (format_field(rows.field(name), row, units) for name in names)
        where = ", ".join(filter(None, (row.scope or row.parameter_name, row.source)))
        times = f"×{row.count} " * (row.count > 1)
        yield f"{before}{times}{value} {shape}: {' → '.join(held)}" + f" ({where})" * bool(where)


# The parameters of a check that `diff` and `buffers` have as well.
_OF_DIFF: Final = ("config", "unpacking", *PURPOSES["Model"])
_OF_BUFFERS: Final = ("buffers", "live_range", "module_text", *_OF_DIFF[:2], "chip", "chip_file")
_WHOLE: Final = ("GiB", "MiB", "KiB", "GB", "MB", "B")


def _type_next(excesses: Sequence[Excess], baseline: str, request: Request) -> Iterator[Line]:
    """Say what to type to see all that grew, or what memory holds and how it may fit."""
    if request.path == STDIN:
        return
    stage = ("--stage", request.stage) if request.stage != "after" else ()
    is_one = len(request.find().inputs) == 1
    module = ("--module", request.module) if request.module and is_one else ()
    grown = [one.module for one in excesses if one.has_grown]
    if grown and request.stage != "all":
        is_plain = len(grown) == 1 and not is_one and re.fullmatch(r"[\w.-]+", grown[0])
        chosen = ("--module", f"^{re.escape(grown[0])}$") if is_plain else module
        sides = baseline, request.path, *stage, *chosen
        yield _say_next("what changed", shared.repeat_command(_OF_DIFF, *sides, command="diff"))
    held = next((one for one in excesses if one.values and not one.has_grown), None)
    if held and held.limit_bytes:
        unit = next(one for one in _WHOLE if held.limit_bytes % SIZES[one] == 0)
        chosen = module if is_one else ("--module", held.place)
        limit = "--hbm", f"{held.limit_bytes // SIZES[unit]}{unit}"
        asked = request.path, *stage, *chosen, *limit
        yield _say_next("how to fit", shared.repeat_command(_OF_BUFFERS, *asked, command="buffers"))


def _say_next(what: str, typed: str) -> Line:
    return Line(f"{what}: {typed}", is_typed=True)


def _headline(facts: results.CheckFacts) -> Line:
    parts = {
        "{fail_count} exceeded": facts.fail_count,
        "{pass_count} pass": True,
        "{warning_count} exceeded as warnings": facts.warning_count,
        "{not_measured_count} with nothing to measure": facts.not_measured_count,
        "{error_count} in modules that cannot be read": facts.error_count,
    }
    said = ", ".join(text for text, is_so in parts.items() if is_so)
    tone = "pass" if facts.ok else "fail"
    return Line(f"budgets: {said}", results.FACTS, facts, tone=tone)


def _place(result: results.RuleResult, settings: Config) -> results.RuleResult:
    """Return a result with where to look: in the program, else in the configuration."""
    root = os.environ.get("GITHUB_WORKSPACE", "") or _find_working_directory()
    file = result.source_file or settings.path  # without either, budgets are on the command line
    lines = {one.title: one.lines.line for one in settings.budgets}
    line = lines.get(result.name) if result.source_file is None else result.source_line
    return replace(result, source_file=_find_file(file, root) if file else None, source_line=line)


def _find_working_directory() -> str:
    """Return where the program runs, "." if that was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return os.curdir


def _find_file(path: str, root: str) -> str:
    """Return a file's path in the repository; a container may have had it elsewhere."""
    inside = relative_file(path, root)
    parts = inside.split("/")
    for place in range(len(parts)):
        tail = "/".join(parts[place:])
        if tail and os.path.isfile(os.path.join(root, tail)):  # noqa: PTH113,PTH118
            return tail
    return inside


def _append_summary(markdown: Iterable[str]) -> None:
    """Add the answer to the step summary, if GitHub asks for one."""
    path = os.environ.get(_SUMMARY, "")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", newline="\n") as file:  # noqa: PTH123
            file.writelines(markdown)
    except OSError as error:
        raise UsageError(f"{_SUMMARY} {path}: {error.strerror}.") from error


# Baselines.

_DUMP: Final = "dump"  # of --init without PATH
_WORKFLOW: Final = ".github/workflows/hlo.yml"
_SCRIPT: Final = "# A script of yours that lowers and compiles every program, and runs none."
_PACKAGES: Final = {"gpu": "jax-cuda12-plugin jax-cuda12-pjrt", "tpu": "libtpu"}  # beside jax
_DEFAULT: Final = "hlotool-baseline.json"  # what a baseline is called that has no name yet
# The parameters that decide which figures a baseline holds, and where it lies.
_CHOOSING: Final = ("path", "baseline", *PURPOSES["Input"], *PURPOSES["Model"])


def _read_baseline(
    path: str, rules: Sequence[Rule], request: Request
) -> tuple[baselines.Earlier, tuple[Failure, ...]]:
    """Return the modules of a baseline, and a failure where it is not there.

    The user is told how to write one, if a budget needs it.
    """
    needs_baseline = any(rule.needs_baseline for rule in rules)
    is_there = is_address(path) or Path(path).exists()  # a server is asked when it is read
    if not needs_baseline and (not path or is_there):
        return baselines.Earlier(), ()
    if not path:
        command = shared.repeat_command(_CHOOSING, "--update-baseline")
        say(f"there is no baseline; this writes one: {command}")
        return baselines.Earlier(), ()
    name = display_name(path)
    if not is_there:
        command = shared.repeat_command(_CHOOSING, "--update-baseline")
        message = f"{name}: there is no such baseline; this writes it: {command}"
        return baselines.Earlier(missing=f"there is no baseline {name} yet"), (Failure(message, 3),)
    modules, notes = find_candidates(
        Argument("baseline", path), request.stage, None, request.unpacking
    )
    say_all(notes)
    return baselines.Earlier(modules), ()


def _write_figures(request: Request, path: str, *, is_start: bool) -> None:
    """Write the figures of every module; with --module, beside those of the others.

    For a start, what a project begins with is written as well, and nothing that is there.
    """
    older, kept = ({}, ()) if is_start else baselines.read_modules(path)
    inputs = request.find().inputs
    candidates = [Candidate(one.name, request.path, one) for one in inputs]
    names, stay = baselines.place_modules(candidates, kept if request.module else ())
    say_all(baselines.note_alike(candidates, names))
    modules, backends = {}, set[str]()
    triples = zip(names, candidates, inputs, strict=True)
    for name, candidate, one in track(triples, "measuring", len(inputs)):
        program = load_program(
            one, request.path, with_buffers=True, assumptions=request.assumptions
        )
        request.tell(note_files(program))
        backends |= {find_backend(program.module) or "cpu"} if program.module else set()
        modules[name] = baselines.measure_baseline(program, candidate)
    text = baselines.write_baseline(modules, {name: older[key] for key, name in stay.items()})
    files = {path: text}
    others: list[str] = []
    if is_start:
        workflow = Path(__file__).parents[1].joinpath("data/workflow.yml").read_text("utf-8")
        files[CONFIG_NAME] = baselines.write_config(modules, path)
        others = sorted(backends & _PACKAGES.keys())
        for backend in others:
            workflow = workflow.replace(" jax ", f" jax {_PACKAGES[backend]} ")
            said = f"The runner has no {backend}: compile for its topology, as docs/ci.md shows."
            workflow = workflow.replace(_SCRIPT, f"{_SCRIPT}\n      # {said}")
        files[_WORKFLOW] = workflow.replace("DUMP", request.path)
    for name, text in files.items():
        if is_start and os.path.lexists(name):
            say(f"{display_name(name)} exists and was left unchanged")
            continue
        if is_start:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
        output.write_file(name, (text,), "--init" if is_start else "--baseline")
        of = f"the figures of {count_noun(str(len(modules)), 'module')} to " * (name == path)
        say(f"wrote {of}{display_name(name)}")
        if name == _WORKFLOW:
            say_all(
                f"its runner has no {one}: ci/dump.py must compile for a topology (docs/ci.md)"
                for one in others
            )


def _print_metrics(request: Request, options: shared.RowOptions) -> None:
    """List what a budget may limit, with the figures of a program, if there is one."""
    program = load_one(request, with_buffers=True) if request.path else None
    rows = {"metrics": results.list_metric_rows(program)}
    paths = program.paths if program else None
    output.print_document(Document(results.METRIC_LIST, paths, rows=rows), options)


# Histories.


def _record(
    path: str, lines: tuple[histories.HistoryLine, ...], time: str | None, commit: str | None
) -> None:
    """Add the lines of a run to a history, all or none."""
    name = display_name(path)
    text = histories.write_lines(replace(line, time=time, commit=commit) for line in lines)
    output.add_to_file(path, text, "--history", partial(histories.read_lines, name=name))
    say(f"added {count_noun(str(len(lines)), 'line')} to {name}")


def _print_trend(path: str, module: str | None, options: shared.RowOptions) -> None:
    """Show each metric of a history, those that changed last first."""
    if options.format not in shared.FORMATS:
        raise UsageError(f"--trend does not support --format {options.format}.")
    name = display_name(path)
    found = histories.read_lines(read_bytes(path), name)
    pattern = expect_pattern(module, "regular expression", "--module") if module else None
    keeps = pattern.is_found if pattern else lambda _: True
    lines = {number: line for number, line in found.items() if keeps(line.module)}
    if not lines:
        of = f" of a module that --module {module!r} matches" if module else ""
        raise NothingCheckedError(f"{name}: the history has no line{of}.")
    say_all(histories.note_followed(lines))
    trends, followed = histories.list_trends(lines), histories.list_followed(lines)
    facts = histories.count_trends(lines, trends)
    above = {"verdicts": histories.list_verdicts(lines), "exceeded": histories.list_exceeded(lines)}
    is_told = any(row.status != "there" or row.arguments for row in followed)
    above |= {"programs": followed} if is_told or options.rows == "programs" else {}
    text = "{changed_count} of {metric_count:figure} changed in {line_count:line}"
    document = Document(
        histories.TREND,
        InputPaths(path),
        scalars=facts,
        rows={"trends": trends, "programs": followed, **above},
        lines=(Line(text, histories.TREND_FACTS, facts),),
        shown=(*(name for name, rows in above.items() if rows), "trends"),
    )
    output.print_document(document, options)
