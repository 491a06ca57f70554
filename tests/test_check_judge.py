"""Budgets over programs: what is measured, what is unknown, what needs a baseline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from each import for_each
from msgspec import convert

from hlotool.api import load
from hlotool.check.config import Budget
from hlotool.check.judge import judge_rule, unmatched
from hlotool.check.results import RULES, RuleResult, write_sentence
from hlotool.check.rule import VOCABULARY, compile_rule
from hlotool.compare.inputs import SavedFigures
from hlotool.dump.saved import SavedSummary, make_summary
from hlotool.errors import HlotoolError, QueryError, UsageError
from hlotool.program.metrics import METRICS, ROW_LISTS
from hlotool.program.program import NamedFigures, Program
from hlotool.table import Unit
from hlotool.table.expression.check import parse_condition
from hlotool.table.units import format_field

ROOT = Path(__file__).parents[1]
DUMP = load(ROOT / "testdata" / "dumps" / "gpu_h100" / "mlp_train")
PROGRAM = Program("jit_train_step", DUMP.module, DUMP.assignment)
TEXT_ALONE = Program("jit_train_step", DUMP.module)


def judge(
    kind: str,
    text: str,
    program: Program = PROGRAM,
    baseline: NamedFigures | None = None,
    **limits: str,
) -> RuleResult:
    rule = compile_rule(convert({kind: text, **limits}, Budget))
    return judge_rule(rule, program, baseline)


@for_each(METRICS)
def test_every_metric_can_be_asked_for(path: str) -> None:
    PROGRAM.metric(path)
    lower, upper = PROGRAM.bounds(path)
    assert {lower, upper} <= {True, False}


@pytest.mark.parametrize("path", ROW_LISTS)
def test_every_row_list_holds_its_records(path: str) -> None:
    assert PROGRAM.knows_rows(path)
    for row in PROGRAM.rows(path):
        assert isinstance(row, ROW_LISTS[path].record)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("buffers.temp_bytes <= 8MiB", "pass"),
        ("buffers.temp_bytes <= 1MiB", "fail"),
        ("collectives.count() == 0", "pass"),
        ('collectives.sum(sent_bytes, kind == "all-gather") < 1GiB', "not-measured"),
        ('fusions.max(bytes_accessed, kind == "kCustom") < 1GiB', "pass"),
        ("buffers.estimated.peak_bytes < 1GiB", "not-measured"),
        ("fusions.fusion_count < 10 or buffers.temp_bytes < 8MiB", "pass"),
        ("not (buffers.temp_bytes < 8MiB)", "fail"),
        ("buffers.max(saves_bytes) == 2MiB", "pass"),
        ("buffers.sum(saves_bytes) == 5785088", "pass"),  # of all together: 390,184 B is the rest
        ('buffers.sum(saves_bytes, allocation_type == "temp") <= 3MiB', "fail"),
    ],
)
def test_expressions(text: str, status: str) -> None:
    assert judge("expression", text).status == status


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("buffers.temp_bytes <= 1MiB", ""),
        (
            "buffers.temp_bytes <= 1MiB and fusions.count() > 0 and 8 > fusions.count()",
            "buffers.temp_bytes is 3.95 MiB, not <= 1MiB; fusions.count() is 19, not < 8",
        ),
        (
            "fusions.count() > 0 and (collectives.count() == 1 or cost.flops < 3)",
            "collectives.count() is 0, not == 1; cost.flops is 215,369,099, not < 3",
        ),
        (
            "not (buffers.temp_bytes < 8MiB or collectives.count() > 0)",
            "buffers.temp_bytes is 3.95 MiB, not >= 8MiB",
        ),
        (
            "(buffers.temp_bytes + 1) * 2 < buffers.temp_bytes and fusions.count() > 0",
            "(buffers.temp_bytes + 1) * 2 is 8,290,306 B, not < buffers.temp_bytes, 4,145,152 B",
        ),
        (
            'buffers.peak_instruction ~ "none" and fusions.count() > 0',
            'buffers.peak_instruction ~ "none" does not hold',
        ),
        (
            "buffers.temp_bytes / collectives.count() < 1 and fusions.count() > 0",
            "buffers.temp_bytes / collectives.count() < 1 does not hold",
        ),
        (
            "buffers.temp_bytes < 3.9531249MiB and true",
            "buffers.temp_bytes is 3.953125 MiB, not < 3.9531249MiB",
        ),
    ],
)
def test_a_failure_names_the_parts_that_do_not_hold(text: str, reason: str) -> None:
    found = judge("expression", text)
    assert (found.status, found.reason or "") == ("fail", reason)


@pytest.mark.parametrize(
    ("text", "status", "margin"),
    [("8MiB >= buffers.temp_bytes", "pass", 1), ("1KiB > buffers.temp_bytes", "fail", -1)],
)
def test_a_constant_is_the_limit_on_either_side(text: str, status: str, margin: int) -> None:
    found, limit, operator, figure = judge("expression", text), *text.split(" ")
    mirrored = judge("expression", f"{figure} {operator.replace('>', '<')} {limit}")
    assert (found.status, found.actual) == (status, PROGRAM.metric("buffers.temp_bytes"))
    assert (found.limit, found.margin) == (mirrored.limit, mirrored.margin)
    assert found.margin is not None
    assert found.margin * margin > 0


@pytest.mark.parametrize(
    ("kind", "text", "asked"),
    [
        ("expression", "fusions.sum(measured_seconds) < 1e-3", "measured_seconds of fusions"),
        ("expression", "fusions.max(measured_seconds) < 1e-3", "measured_seconds of fusions"),
        ("forbid", "fusions: measured_seconds > 1e-3", "measured_seconds of fusions"),
        ("expression", "measured.step_seconds < 1e-3", "measured.step_seconds"),
    ],
)
def test_measured_times_are_unknown_without_a_profile(kind: str, text: str, asked: str) -> None:
    result = judge(kind, text)
    assert result.status == "not-measured"
    assert result.reason == f"{asked} is unknown without a profile"


@pytest.mark.parametrize(
    ("kind", "text", "status", "actual"),
    [
        ("forbid", "collectives", "pass", 0),
        ("forbid", 'fusions: kind == "kCustom"', "fail", 7),
        ("forbid", "buffers: size_bytes > 100MiB", "pass", 0),
        ("require", 'fusions: kind == "kCustom"', "pass", 7),
        ("require", "collectives", "fail", 0),
        (
            "require",
            'buffers where opcode == "parameter": allocation_type == "parameter"',
            "pass",
            6,
        ),
        ("require", 'fusions where kind == "kCustom": kind == "kLoop"', "fail", 0),
        ("require", 'fusions where name ~ "a:b": kind == "kLoop"', "fail", 0),
    ],
)
def test_forbid_and_require(kind: str, text: str, status: str, actual: int) -> None:
    found = judge(kind, text)
    assert (found.status, found.actual, found.unit) == (status, actual, Unit.COUNT)


def test_a_finding_points_at_the_users_line() -> None:
    found = judge("expression", "buffers.temp_bytes <= 1MiB")
    assert found.source_file is not None
    assert found.source_file.endswith("mlp_train.py")
    assert found.source_line


def test_a_dump_without_buffers_is_no_success() -> None:
    found = judge("metric", "buffers.temp_bytes", TEXT_ALONE, max="1TiB")
    assert found.status == "not-measured"
    assert "buffer assignment" in (found.reason or "")
    assert judge("metric", "buffers.estimated.peak_bytes", TEXT_ALONE, max="1TiB").status == "pass"


def test_increases() -> None:
    temp = PROGRAM.metric("buffers.temp_bytes")
    assert isinstance(temp, int)
    saved = SavedFigures("x", make_summary({"buffers.temp_bytes": temp - 1000}))
    found = judge("metric", "buffers.temp_bytes", PROGRAM, saved, max_increase_abs="1000")
    assert (found.status, found.margin, found.baseline) == ("pass", 0, temp - 1000)
    found = judge("metric", "buffers.temp_bytes", PROGRAM, saved, max_increase_abs="999")
    assert (found.status, found.margin) == ("fail", -1)
    assert judge("metric", "buffers.temp_bytes", PROGRAM, PROGRAM, max_increase="0%").margin == 0


@pytest.mark.parametrize(
    ("baseline", "text", "reason"),
    [
        (None, "buffers.temp_bytes", "there is no baseline"),
        (
            SavedFigures("x", SavedSummary()),
            "buffers.temp_bytes",
            "lacks buffers.temp_bytes",
        ),
        (
            SavedFigures("x", SavedSummary()),
            "fusions.sum(bytes_accessed)",
            "holds metrics but no rows",
        ),
    ],
)
def test_increases_of_nothing(baseline: NamedFigures | None, text: str, reason: str) -> None:
    found = judge("metric", text, PROGRAM, baseline, max_increase="2%")
    assert found.status == "not-measured"
    assert reason in (found.reason or "")


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max": "1MiB"}, "fail"),
        ({"min": "1GiB"}, "fail"),
        ({"max": "1GiB", "min": "1MiB"}, "not-measured"),
    ],
)
@pytest.mark.parametrize("baseline", [None, SavedFigures("x", SavedSummary())])
def test_limits_hold_without_a_baseline(
    baseline: NamedFigures | None, limits: dict[str, str], status: str
) -> None:
    found = judge("metric", "buffers.temp_bytes", PROGRAM, baseline, max_increase="2%", **limits)
    assert found.status == status
    assert found.margin is not None
    assert (found.margin < 0) == (status == "fail")
    assert "baseline" in (found.reason or "")
    named = " and ".join(f"{name} {limit}" for name, limit in limits.items())
    assert (found.reason or "").startswith(f"beyond {named}; ") == (status == "fail")


def test_a_failure_names_the_limits_that_are_broken() -> None:
    saved = SavedFigures("x", make_summary({"buffers.temp_bytes": 1000}))
    limits = {"max": "1KiB", "max_increase": "2%", "max_increase_abs": "1KiB"}
    found = judge("metric", "buffers.temp_bytes", PROGRAM, saved, **limits)
    broken = "beyond max 1KiB and max_increase 2% and max_increase_abs 1KiB"
    assert found.reason == f"{broken}: +414,415.2 %"
    found = judge("metric", "buffers.temp_bytes", PROGRAM, saved, max="1GiB", max_increase="2%")
    assert (found.status, found.reason) == ("fail", "beyond max_increase 2%: +414,415.2 %")
    assert judge("require", 'fusions: name == "none"', PROGRAM).reason == "no row matches"
    found = judge("require", 'fusions where name == "none": kind == "kLoop"', PROGRAM)
    assert (found.reason, found.limit) == ("no row is chosen", 1)
    found = judge("require", 'buffers.donation where size_bytes > 0: status == "copied"', PROGRAM)
    assert found.reason == "the condition fails for layers[0][0], images, layers[0][1] and 1 more"


def test_a_sentence_says_how_many_rows_are_needed() -> None:
    text = 'fusions: name == "none"'
    said = write_sentence(judge("require", text))
    assert said == f"require any {text}: found 0, at least 1 is needed, no row matches."
    said = write_sentence(judge("require", "fusions"))
    assert re.fullmatch(r"require any fusions: found \d+, at least 1 is needed\.", said)


def test_rows_have_increases_against_a_dump() -> None:
    text = "fusions.sum(bytes_accessed_per_step)"
    assert judge("metric", text, PROGRAM, PROGRAM, max_increase="0%").status == "pass"


def test_modules_are_chosen_by_pattern() -> None:
    rule = compile_rule(Budget(forbid="collectives", module="^jit_eval"))
    assert rule.applies_to("jit_eval_step")
    assert not rule.applies_to("jit_train")
    found = unmatched(rule, ["jit_train"])
    assert (found.status, found.module) == ("not-measured", None)


@pytest.mark.parametrize(
    ("kind", "text", "limits", "error", "message"),
    [
        ("expression", "buffers.temp_byte < 1", {}, QueryError, "there is no metric"),
        ("expression", "buffers.temp_bytes", {}, QueryError, "expected a condition"),
        ("metric", "buffers.peak_instruction", {"max": "1"}, QueryError, "expected a number"),
        ("metric", "buffers.temp_bytes", {"max": "much"}, QueryError, "there is no metric"),
        ("metric", "buffers.temp_bytes", {"max": ""}, QueryError, "expected an expression"),
        ("metric", "buffers.temp_bytes", {"max": "1 / 0"}, UsageError, "a number, a size"),
        ("metric", "buffers.temp_bytes", {"max": "2ms"}, QueryError, "a time, but buffers.temp_b"),
        ("metric", "buffers.temp_bytes", {"max_increase_abs": "2s"}, QueryError, "this is a time"),
        (
            "expression",
            "fusions.sum(flops) < 2ms",
            {},
            QueryError,
            r"sum\(flops\) is not",
        ),
        ("expression", "fusions.count() < 2MiB", {}, QueryError, "this is a size"),
        ("metric", "buffers.temp_bytes", {"max": "collectives.count()"}, UsageError, "a number"),
        ("metric", "buffers.temp_bytes", {"max_increase": "5"}, UsageError, "a percentage"),
        ("forbid", "colectives: true", {}, QueryError, "did you mean collectives"),
        ("forbid", "collectives: knd == 1", {}, QueryError, "there is no field 'knd'"),
        ("forbid", ": true", {}, QueryError, 'expected "rows: condition"'),
        ("forbid", "collectives", {"module": "("}, UsageError, "not a regular expression"),
    ],
)
def test_mistakes(
    kind: str, text: str, limits: dict[str, str], error: type[HlotoolError], message: str
) -> None:
    lines = {"line": 3, "keys": {}}
    with pytest.raises(error, match=message) as caught:
        compile_rule(
            convert({kind: text, "[lines]": lines, **limits}, Budget),
            "hlotool.toml",
        )
    assert "hlotool.toml:3" in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("buffers.temp_bytes < 8", Unit.BYTES),
        ("8 > buffers.temp_bytes", Unit.BYTES),
        ("collectives.count() < 3", Unit.COUNT),
        ("collectives.sum(sent_bytes) < 3", Unit.BYTES),
        ("buffers.temp_bytes / buffers.peak_bytes < 50%", Unit.RATIO),
        ("buffers.temp_bytes + buffers.argument_bytes < 3", Unit.BYTES),
        ("buffers.temp_bytes * 2 < 3", Unit.BYTES),
        ("cost.flops_per_step < 3", Unit.FLOPS),
        ("fusions.sum(flops / bytes_accessed) < 3", Unit.RATIO),
        ("-(buffers.temp_bytes) < 8MiB", Unit.BYTES),
        ("1 < 2", Unit.NUMBER),
    ],
)
def test_units(text: str, unit: Unit) -> None:
    assert parse_condition(text, VOCABULARY, "x").type.unit is unit


def test_a_limit_in_percent_is_shown_so() -> None:
    ratio = "buffers.temp_bytes / buffers.peak_bytes"
    assert judge("metric", ratio, max="5%").unit is Unit.PERCENT
    assert judge("metric", ratio, min="5 %").unit is Unit.PERCENT
    finer = judge("metric", ratio, max="0.05%")
    assert (finer.unit, write_figures(finer)[1]) == (Unit.PERCENT, "0.05 %")
    assert judge("metric", ratio, max="0.05").unit is Unit.RATIO
    assert judge("expression", f"{ratio} < 0.05").unit is Unit.RATIO
    assert judge("expression", f"5% >= {ratio}").unit is Unit.PERCENT


@pytest.mark.parametrize(
    ("unit", "actual", "limit", "digits", "expected"),
    [
        (Unit.PERCENT, 0.9998385, 0.9999, 1, ("99.98 %", "99.99 %", "−0.01 %")),
        (Unit.PERCENT, 0.99989, 0.9999, 0, ("99.989 %", "99.990 %", "−0.001 %")),
        (Unit.PERCENT, 0.5, 0.9, 0, ("50.0 %", "90.0 %", "−40.0 %")),
        (Unit.RATIO, 0.9998385, 0.9999, 0, ("0.9998", "0.9999", "−6.15e-05")),
        (Unit.RATIO, 1234.25, 1234.5, 0, ("1,234.2", "1,234.5", "−0.25")),
        (Unit.BYTES, 2_147_483_648, 2_149_500_000, 0, ("2.000 GiB", "2.002 GiB", "−1.9 MiB")),
        (Unit.BYTES, 1 << 30, 1_073_741_825, 0, ("1,073,741,824 B", "1,073,741,825 B", "−1 B")),
        (Unit.FLOPS, 419_430_400, 419_000_000, 0, ("419.4 M", "419.0 M", "+430 k")),
        (Unit.SECONDS, 1.0e-3, 1.0001e-3, 0, ("1.0000 ms", "1.0001 ms", "−100 ns")),
        (Unit.BYTES, 5, 5, 0, ("5 B", "5 B", "0 B")),
    ],
)
def test_figures_that_differ_look_so(
    unit: Unit, actual: float, limit: float, digits: int, expected: tuple[str, ...]
) -> None:
    result = RuleResult(
        status="fail", name="a", module="m", expression="e", severity="error", unit=unit,
        actual=actual, limit=limit, margin=actual - limit, digits=digits,
    )  # fmt: skip
    assert write_figures(result) == expected


def write_figures(result: RuleResult) -> tuple[str, ...]:
    return tuple(format_field(RULES.field(one), result) for one in ("actual", "limit", "margin"))


def test_findings_are_named_by_their_kind() -> None:
    found = judge(
        "forbid", "summary.findings", load(ROOT / "testdata/hlo/gpu_train_step.txt").program
    )
    assert found.reason == (
        "exposed-collective ×6 (all-reduce-start.3, …), "
        "large-copy ×3 (input_transpose_fusion.2, …), gathered-twice (all-gather-start) and 1 more"
    )
