"""Rules: read once, whatever is done with them, and the same in another process."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from hlotool.api import load
from hlotool.check.baseline import Earlier
from hlotool.check.config import Budget
from hlotool.check.judge import judge_rule
from hlotool.check.rule import compile_rule
from hlotool.check.run import plan_run, run_plan
from hlotool.dump.find import resolve_inputs
from hlotool.program.program import Program
from hlotool.table.expression.grammar import parse_expression
from hlotool.table.expression.nodes import Expression

DUMPS = Path(__file__).parents[1] / "testdata" / "dumps"
DUMP = load(DUMPS / "gpu_h100" / "mlp_train")
PROGRAM = Program("jit_train_step", DUMP.module, DUMP.assignment)
BUDGETS = {
    "expression": (Budget(expression="fusions.sum(flops) / fusions.count() < 1"), 1),
    "metric": (Budget(metric="buffers.temp_bytes", max="8GiB", max_increase="2%"), 2),
    "metric-of-rows": (Budget(metric="fusions.sum(flops)", min=3, max="1e9"), 3),
    "forbid": (Budget(forbid='fusions: kind == "kCustom"'), 1),
    "forbid-any": (Budget(forbid="fusions"), 0),
    "require": (Budget(require='collectives: kind == "all-gather"'), 1),
}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that are parsed, wherever that is done."""
    texts: list[str] = []

    def parse(text: str, name: str = "") -> Expression:
        texts.append(text)
        return parse_expression(text, name)

    places = [
        module
        for module in list(sys.modules.values())
        if getattr(module, "parse_expression", None) is parse_expression
        and module.__name__.startswith("hlotool")
    ]
    assert places
    for module in places:
        monkeypatch.setattr(module, "parse_expression", parse)
    return texts


@pytest.mark.parametrize(("budget", "count"), BUDGETS.values(), ids=BUDGETS)
def test_every_text_is_parsed_once(budget: Budget, count: int, parsed: list[str]) -> None:
    rule = compile_rule(budget)
    assert len(parsed) == len(set(parsed)) == count
    assert all(text in {budget.text, str(budget.max), str(budget.min)} or text in budget.text
               for text in parsed)  # fmt: skip
    for baseline in (None, PROGRAM):
        assert judge_rule(rule, PROGRAM, baseline).expression == rule.says
    assert len(parsed) == count


def test_modules_share_their_rules(parsed: list[str]) -> None:
    rules = [compile_rule(budget) for budget, _ in BUDGETS.values()]
    count = len(parsed)
    plan = plan_run(rules, resolve_inputs(str(DUMPS / "cpu")), Earlier())
    assert len(plan.tasks) > 1
    assert run_plan(plan, lambda _: None).results
    assert len(parsed) == count


@pytest.mark.parametrize("budget", [budget for budget, _ in BUDGETS.values()], ids=BUDGETS)
def test_a_rule_can_be_sent_to_another_process(budget: Budget) -> None:
    rule = compile_rule(budget)
    sent = pickle.loads(pickle.dumps(rule))  # noqa: S301  made here
    assert sent == rule
    assert judge_rule(sent, PROGRAM) == judge_rule(rule, PROGRAM)
