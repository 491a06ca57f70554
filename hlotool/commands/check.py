"""`hlotool check`: budgets from hlotool.toml, for CI."""

from __future__ import annotations

import os

import click
from msgspec.structs import replace

from hlotool import __version__
from hlotool.check.baseline import expect_no_other_file, measure_baseline, write_baseline
from hlotool.check.config import Config, find_config, read_config
from hlotool.check.results import CHECK, FACTS, CheckFacts, RuleResult
from hlotool.check.rule import compile_rule
from hlotool.check.run import Run
from hlotool.check.sentence import write_sentence
from hlotool.commands.shared.budgets import compile_budgets, run_rules
from hlotool.commands.shared.command import (
    RowOptions,
    document_command,
    print_document,
    track,
    write_text,
)
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.machine_options import MACHINE, machine_options
from hlotool.commands.shared.output import make_look, render_document
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.row_options import FORMATS
from hlotool.commands.shared.say import say
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.fields import Document, Line
from hlotool.inputs.saved import SavedSummary
from hlotool.program.loading import load_program
from hlotool.render.github import render_github
from hlotool.render.junit import render_junit
from hlotool.render.outcome import Outcome, relative_file
from hlotool.render.sarif import render_sarif
from hlotool.render.units import format_value

_EXAMPLE = """\
hlotool check dump/
hlotool check dump/ --budget 'buffers.temp_bytes <= 8GiB' --budget 'collectives.count() < 40'
hlotool check dump/ --baseline main_dump/ --format github
hlotool check dump/ --update-baseline"""
_CI_FORMATS = ("github", "junit", "sarif")
_SUMMARY = "GITHUB_STEP_SUMMARY"


@document_command("check", CHECK, example=_EXAMPLE, formats=(*FORMATS, *_CI_FORMATS))
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
def check(
    request: Request,
    *,
    config: str,
    baseline: str,
    update_baseline: bool,
    options: RowOptions,
) -> int:
    """Check a dump against the budgets in hlotool.toml, or in [tool.hlotool] of pyproject.toml.

    Exits with 1 if a budget is exceeded, 3 if a module cannot be read, 4 if a budget had
    nothing to measure, 0 if all are met.
    """
    settings = read_config(config) if config else find_config()
    request = _with_settings(request, settings)
    baseline = baseline or settings.baseline_path
    if update_baseline:
        _update_baseline(request, baseline)
        return 0
    machine = request.assumptions.machine
    rules = [compile_rule(one, settings.path, machine) for one in settings.budgets]
    rules += compile_budgets(request.budgets, machine)
    if not rules:
        raise NothingCheckedError(
            "there are no budgets: no hlotool.toml here or above, no [tool.hlotool] in "
            "pyproject.toml, and no --budget."
        )
    run = run_rules(request, rules, baseline)
    _print(run, settings, options)
    return run.exit_code


def _with_settings(request: Request, settings: Config) -> Request:
    """Let the configuration choose module and stage where the command line does not."""
    module = request.module or settings.module or None
    stage = settings.stage if settings.stage and request.stage == "after" else request.stage
    return replace(request, stage=stage, module=module)


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
