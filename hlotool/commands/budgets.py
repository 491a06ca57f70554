"""`--budget EXPR` on a command: its answer first, then the budgets, and an exit code."""

from __future__ import annotations

import click

from hlotool.check.config import RuleSpec
from hlotool.check.limits import count_results
from hlotool.check.rule import compile_rule
from hlotool.check.sentence import write_sentence
from hlotool.commands.check_run import exit_code, run_rules
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.say import say
from hlotool.render.units import format_value

_WORDS = {
    "pass": "budget kept",
    "fail": "budget exceeded",
    "no-match": "budget not checked",
    "error": "budget not checked",
}


def check_budgets(request: Request) -> None:
    """Raise QueryError for a budget that makes no sense, before anything is read."""
    for spec in _specs(request):
        compile_rule(spec)


def enforce_budgets(request: Request) -> None:
    """Hold the budgets of --budget against every module that the request names.

    What each came to goes to stderr; the exit code is that of `hlotool check`.
    """
    run = run_rules(request, _specs(request), "", "")
    for result in run.results:
        module = f" in {result.module}" if result.module else ""
        say(f"{_WORDS[result.status]}{module}: {write_sentence(result, format_value)}")
    code = exit_code(run, count_results(run.results))
    if code:
        click.get_current_context().exit(code)


def _specs(request: Request) -> list[RuleSpec]:
    return [RuleSpec(text, "expression", text) for text in request.budgets]
