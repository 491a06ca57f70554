"""Budgets on the command line: how `hlotool check` and `--budget EXPR` run them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.analysis.collectives.machine import Machine
from hlotool.check.baseline import Earlier
from hlotool.check.config import Budget
from hlotool.check.results import write_sentence
from hlotool.check.rule import Rule, compile_rule
from hlotool.check.run import Run, plan_run, run_plan
from hlotool.commands.shared.messages import fold_alike, say
from hlotool.commands.shared.request import Request, progress

_NO_BASELINE = Earlier()
_WORDS = {
    "pass": "budget met",
    "fail": "budget exceeded",
    "not-measured": "budget not checked",
    "error": "budget not checked",
}


def compile_budgets(texts: Iterable[str], machine: Machine | None) -> list[Rule]:
    """Return the budgets of `--budget`; raise QueryError for one that makes no sense."""
    return [compile_rule(Budget(expression=text), machine=machine) for text in texts]


def run_rules(
    request: Request,
    rules: Sequence[Rule],
    earlier: Earlier = _NO_BASELINE,
    *,
    is_recorded: bool = False,
    has_causes: bool = False,
) -> Run:
    """Hold budgets against the modules that the request names, and those of a baseline.

    stderr tells how far it is, and which modules cannot be read.
    """
    plan = plan_run(
        rules,
        request.find(),
        earlier,
        request.assumptions.for_several(),  # what needs no chip is judged without one that fits
        is_recorded=is_recorded,
        has_causes=has_causes,
        is_chosen=request.module is not None,
    )
    with progress("checking", plan.size_bytes) as advance:
        run = run_plan(plan, advance)
    request.tell(run.notes)
    for message in fold_alike([one.message for one in run.failures], "--json lists all"):
        say(*message.split("\n"))
    return run


def enforce_budgets(request: Request, rules: Sequence[Rule]) -> int:
    """Say on stderr what each budget came to; return the exit code of `hlotool check`."""
    run = run_rules(request, rules)
    for result in run.results:
        module = f" in {result.module}" if result.module else ""
        say(f"{_WORDS[result.status]}{module}: {write_sentence(result)}")
    return run.exit_code
