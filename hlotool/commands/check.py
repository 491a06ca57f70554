"""`hlotool check`: budgets from hlotool.toml, for CI."""

from __future__ import annotations

import click
from msgspec.structs import replace

from hlotool.check.config import Config, find_config, read_config
from hlotool.check.results import CHECK
from hlotool.check.rule import compile_rule
from hlotool.check.trend import TREND
from hlotool.commands.check_answer import CI_FORMATS, print_run
from hlotool.commands.check_baseline import find_baseline, write_figures
from hlotool.commands.check_history import (
    HistoryOptions,
    expect_history,
    make_history_options,
    print_trend,
    record,
)
from hlotool.commands.shared.budgets import compile_budgets, run_rules
from hlotool.commands.shared.command import RowOptions, document_command
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.machine_options import MACHINE, machine_options
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.row_options import FORMATS
from hlotool.commands.shared.say import say
from hlotool.errors import NothingCheckedError, UsageError

_EXAMPLE = """\
hlotool check dump/
hlotool check dump/ --budget 'buffers.temp_bytes <= 8GiB' --budget 'collectives.count() < 40'
hlotool check dump/ --baseline main_dump/ --format github
hlotool check dump/ --update-baseline
hlotool check dump/ --history history.jsonl --time 2026-01-31T12:00:00Z --commit 1f3a9c0
hlotool check --trend --history history.jsonl"""

_NO_BUDGETS = (
    "there are no budgets: no hlotool.toml here or above, no [tool.hlotool] in "
    "pyproject.toml, and no --budget."
)


@document_command("check", CHECK, TREND, example=_EXAMPLE, formats=(*FORMATS, *CI_FORMATS))
@dump_options
@machine_options(MACHINE)
@click.option(
    "--config",
    metavar="FILE",
    default="",
    help="Use this file instead of the hlotool.toml here or above.",
)
@click.option(
    "--baseline", metavar="PATH", default="", help="Earlier figures: a dump or a JSON document."
)
@click.option(
    "--update-baseline", is_flag=True, help="Write the figures to the baseline; check nothing."
)
@click.option(
    "--history", metavar="FILE", default="", help="Add the figures to FILE, a line a module."
)
@click.option("--time", metavar="TIME", help="With --history: ISO 8601, or seconds since 1970.")
@click.option("--commit", metavar="TEXT", help="With --history: what was compiled.")
@click.option(
    "--trend", is_flag=True, help="Show each metric of the history, and since when it is so."
)
def check(
    request: Request,
    *,
    config: str,
    baseline: str,
    update_baseline: bool,
    history: str,
    time: str | None,
    commit: str | None,
    trend: bool,
    options: RowOptions,
) -> int:
    """Check a dump against the budgets in hlotool.toml, or in [tool.hlotool] of pyproject.toml.

    Exits with 1 if a budget is exceeded, 3 if a module cannot be read, 4 if a budget had
    nothing to measure, 0 if all are met. With --trend there is no PATH.
    """
    recording = make_history_options(history, time, commit, is_trend=trend)
    _check_usage(request, recording, is_update=update_baseline)
    if trend:
        print_trend(recording, request.module, options)
        return 0
    settings = read_config(config) if config else find_config()
    request = _with_settings(request, settings)
    baseline = baseline or settings.baseline_path
    if update_baseline:
        write_figures(request, baseline)
        return 0
    return _check(request, settings, baseline, recording, options)


def _check_usage(request: Request, recording: HistoryOptions, *, is_update: bool) -> None:
    """Refuse what does not go together."""
    if recording.is_trend:
        if request.path or request.budgets or is_update:
            raise UsageError("--trend reads the history alone: no PATH, budget or baseline.")
    elif not request.path:
        raise click.MissingParameter(
            ctx=click.get_current_context(), param_hint="'PATH'", param_type="argument"
        )
    elif is_update and recording.path:
        raise UsageError("--update-baseline checks nothing, which --history could record.")


def _check(
    request: Request,
    settings: Config,
    baseline: str,
    recording: HistoryOptions,
    options: RowOptions,
) -> int:
    """Hold the budgets against the dump, and record its figures whatever comes of it."""
    machine = request.assumptions.machine
    rules = [compile_rule(one, settings.path, machine) for one in settings.budgets]
    rules += compile_budgets(request.budgets, machine)
    if recording.path:
        expect_history(request, recording)
    elif not rules:
        raise NothingCheckedError(_NO_BUDGETS)
    earlier, missing = find_baseline(baseline, rules, request.stage)
    run = run_rules(request, rules, earlier, is_recorded=bool(recording.path))
    for failure in missing:
        say(failure.message)
    run = replace(run, failures=(*missing, *run.failures))
    if rules:
        print_run(run, settings, options)
    if recording.path:
        record(run.lines, recording)
    if not rules:
        raise NothingCheckedError(_NO_BUDGETS)
    return run.exit_code


def _with_settings(request: Request, settings: Config) -> Request:
    """Let the configuration choose module and stage where the command line does not."""
    module = request.module or settings.module or None
    stage = settings.stage if settings.stage and request.stage == "after" else request.stage
    return replace(request, stage=stage, module=module)


DOCUMENTS = (CHECK, TREND)
||||||| cec82a2
def _update_baseline(request: Request, path: str) -> None:
    """Write the figures of every module; of modules with one name the first counts."""
    if not path:
        raise UsageError("--update-baseline needs --baseline FILE, or baseline in hlotool.toml.")
    expect_no_other_file(path)
    modules: dict[str, SavedSummary] = {}
    inputs = request.find().inputs
    for one in track(inputs, "measuring", len(inputs)):
        program = load_program(
            one, request.path, with_buffers=True, assumptions=request.assumptions
        )
        request.tell(program.notes())
        if program.name in modules:
            again = f"there is another module named {program.name!r}"
            say(f"{one.path}: {again}; the baseline keeps the first.")
        else:
            modules[program.name] = measure_baseline(program)
    write_baseline(modules, path)
    count = "1 module" if len(modules) == 1 else f"{len(modules)} modules"
    say(f"wrote the figures of {count} to {path}")


def _print(run: Run, settings: Config, options: RowOptions) -> None:
    document = Document(
        spec=CHECK,
        input=run.paths,
        scalars=run.facts,
        rows={"rules": run.results},
        lines=(_headline(run.facts),),
    )
    if options.format not in _CI_FORMATS:
        print_document(document, options)
        return
    outcomes = [_outcome(one, settings) for one in run.results]
    if options.format == "github":
        text = render_github(outcomes)
        markdown = RowOptions(format="markdown", units=options.units)
        _append_summary(render_document(document, markdown, make_look(markdown)))
    elif options.format == "junit":
        text = render_junit(outcomes)
    else:
        text = render_sarif(outcomes, __version__)
    write_text(text, options.output, has_commands=options.format == "github")


def _headline(facts: CheckFacts) -> Line:
    parts = ["{pass_count} pass"]
    if facts.fail_count:
        parts.insert(0, "{fail_count} exceeded")
    if facts.warning_count:
        parts.append("{warning_count} exceeded as warnings")
    if facts.no_match_count:
        parts.append("{no_match_count} with nothing to measure")
    if facts.error_count:
        parts.append("{error_count} in modules that cannot be read")
    return Line("budgets: " + ", ".join(parts), FACTS, facts)


def _outcome(result: RuleResult, settings: Config) -> Outcome:
    """Say in a sentence what a budget came to, and where to look."""
    root = os.environ.get("GITHUB_WORKSPACE", "") or os.getcwd()  # noqa: PTH109
    file = result.source_file or settings.path or "hlotool.toml"
    lines = {one.title: one.line for one in settings.budgets}
    line = lines.get(result.name, 0) if result.source_file is None else result.source_line
    return Outcome(
        rule=result.name,
        module=result.module or "",
        status=result.status,
        is_warning=result.severity == "warning",
        text=write_sentence(result, format_value),
        advice=(result.message or "") if result.status != "pass" else "",
        file=_find_file(file, root),
        line=line or 0,
    )


def _find_file(path: str, root: str) -> str:
    """Return a file's path in the repository; a container may have had it elsewhere."""
    inside = relative_file(path, root)
    parts = inside.split("/")
    for place in range(len(parts)):
        tail = "/".join(parts[place:])
        if tail and os.path.isfile(os.path.join(root, tail)):  # noqa: PTH113,PTH118
            return tail
    return inside


def _append_summary(markdown: str) -> None:
    """Add the answer to the step summary, if GitHub asks for one."""
    path = os.environ.get(_SUMMARY, "")
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", newline="\n") as file:  # noqa: PTH123
            file.write(markdown)
    except OSError as error:
        raise UsageError(f"{_SUMMARY} {path}: {error.strerror}.") from error


DOCUMENTS = (CHECK,)
