"""The sentences of `hlotool check`: the headline, and each result in the forms that CI reads."""

from __future__ import annotations

import os
from collections.abc import Iterable

from hlotool import __version__
from hlotool.check.config import Config
from hlotool.check.results import (
    FACTS,
    CheckFacts,
    RuleResult,
    choose_check_columns,
    write_sentence,
)
from hlotool.check.run import Run
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import make_look, print_document, render_document, write_text
from hlotool.errors import UsageError
from hlotool.export.ci import Outcome, relative_file, render_github, render_junit, render_sarif
from hlotool.table import Document, Line

CI_FORMATS = ("github", "junit", "sarif")
_SUMMARY = "GITHUB_STEP_SUMMARY"


def print_run(run: Run, settings: Config, options: RowOptions) -> None:
    """Print what a check came to."""
    document = Document(
        spec=choose_check_columns(run.results),
        input=run.paths,
        scalars=run.facts,
        rows={"rules": run.results},
        lines=(_headline(run.facts),),
    )
    if options.format not in CI_FORMATS:
        print_document(document, options)
        return
    outcomes = [_outcome(one, settings) for one in run.results]
    if options.format == "junit":
        write_text((render_junit(outcomes),), options.output)
    elif options.format == "sarif":
        write_text((render_sarif(outcomes, __version__),), options.output)
    else:
        markdown = RowOptions(format="markdown", units=options.units)
        _append_summary(render_document(document, markdown, make_look(markdown)))
        write_text((render_github(outcomes),), options.output, has_commands=True)


def _headline(facts: CheckFacts) -> Line:
    parts = {
        "{fail_count} exceeded": facts.fail_count,
        "{pass_count} pass": True,
        "{warning_count} exceeded as warnings": facts.warning_count,
        "{no_match_count} with nothing to measure": facts.no_match_count,
        "{error_count} in modules that cannot be read": facts.error_count,
    }
    said = ", ".join(text for text, is_so in parts.items() if is_so)
    tone = "pass" if facts.ok else "fail"
    return Line(f"budgets: {said}", FACTS, facts, tone=tone)


def _outcome(result: RuleResult, settings: Config) -> Outcome:
    """Say in a sentence what a budget came to, and where to look."""
    root = os.environ.get("GITHUB_WORKSPACE", "") or _find_working_directory()
    file = result.source_file or settings.path or "hlotool.toml"
    lines = {one.title: one.lines.line for one in settings.budgets}
    line = lines.get(result.name, 0) if result.source_file is None else result.source_line
    return Outcome(
        rule=result.name,
        module=result.key,
        status=result.status,
        is_warning=result.severity == "warning",
        text=write_sentence(result),
        advice=(result.message or "") if result.status != "pass" else "",
        file=_find_file(file, root),
        line=line or 0,
    )


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
