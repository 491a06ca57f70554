"""`hlotool check`: budgets from hlotool.toml, for CI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from msgspec.structs import replace

from hlotool.check.config import Config
from hlotool.check.results import CHECK
from hlotool.check.rule import compile_rule
from hlotool.check.trend import TREND
from hlotool.commands.check.answer import CI_FORMATS, print_run
from hlotool.commands.check.baseline import (
    HistoryOptions,
    expect_history,
    find_baseline,
    make_history_options,
    print_trend,
    record,
    write_figures,
)
from hlotool.commands.shared.budgets import compile_budgets, run_rules
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.options import (
    FORMATS,
    MACHINE,
    RowOptions,
    dump_options,
    machine_options,
)
from hlotool.commands.shared.request import Request
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.table import DocumentSpec

_EXAMPLE = """\
hlotool check dump/ --budget 'buffers.temp_bytes <= 8GiB'
hlotool check dump/ --update-baseline
hlotool check dump/ --baseline main_dump/ --format github"""

_NO_BUDGETS = (
    "there are no budgets: no hlotool.toml here or above, no [tool.hlotool] in "
    "pyproject.toml, and no --budget."
)


def _choose_specs(values: Mapping[str, Any]) -> tuple[DocumentSpec, ...]:
    """Return what is printed: the trend where one is asked for."""
    return (TREND,) if values["trend"] else (CHECK,)


@document_command(
    "check",
    CHECK,
    TREND,
    example=_EXAMPLE,
    formats=(*FORMATS, *CI_FORMATS),
    choose_specs=_choose_specs,
)
@dump_options
@machine_options(MACHINE)
@click.option(
    "--baseline", metavar="PATH", default="", help="Earlier figures: a dump or a JSON document."
)
@click.option(
    "--update-baseline", is_flag=True, help="Write the figures to the baseline; check nothing."
)
@click.option(
    "--history", metavar="FILE", default="", help="Add the figures to FILE, a line a module."
)
@click.option("--time", metavar="WHEN", help="With --history: ISO 8601, or seconds since 1970.")
@click.option("--commit", metavar="TEXT", help="With --history: what was compiled.")
@click.option(
    "--trend", is_flag=True, help="Show each metric of the history, and since when it is so."
)
def check(
    request: Request,
    *,
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
    settings = request.config
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
