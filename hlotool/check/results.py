"""What a check answers: one row a budget and module, and how many came to what.

`write_sentence` says one row as a sentence, for what has no tables: stderr, CI systems and tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from hlotool.check.config import Number, Severity
from hlotool.program.metrics import METRICS
from hlotool.program.program import NamedFigures
from hlotool.table import MEASURE, Block, DocumentSpec, RowList, Shown, Unit, column, figure
from hlotool.table.units import format_field

Status: TypeAlias = Literal["pass", "fail", "not-measured", "error"]

Verdict: TypeAlias = Literal["fail", "not-measured", "warning", "pass"]  # the worst first

VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)


def _held_against(name: str, other: str) -> Callable[[RuleResult], Shown]:
    """Show a figure with as many digits as tell it from another of the row."""
    return lambda row: Shown(getattr(row, name), unlike=getattr(row, other), digits=row.digits)


def _show_margin(row: RuleResult) -> Shown:
    return Shown(row.margin, unlike=0)  # one that is not used up is not shown as none


def _show_message(row: RuleResult) -> Shown:
    # No lambda: msgspec evaluates annotations without the names of this module.
    return Shown(row.message, has_lines=True)


class RuleResult(Struct, frozen=True, kw_only=True):
    """One budget in one module; `unit` is that of actual, limit, margin and baseline."""

    status: Annotated[
        Status,
        column(
            "outcome of the budget",
            is_verdict=True,
            word_meanings={
                "pass": "the figure is within the budget",
                "fail": "the figure exceeds the budget",
                "not-measured": "no module or row matched the budget",
                "error": "the figure could not be measured; the message says why",
            },
        ),
    ]
    name: Annotated[str, column("the budget's name", heading="budget")]
    module: Annotated[
        str | None,
        column("name of the module, unique in the answer; null if none matches", null_text=""),
    ]
    place: Annotated[
        str | None,
        figure("location of the module in the dump, if another has its name", null_text=""),
    ] = None
    expression: Annotated[str, figure("the budget as an expression")]
    baseline: Annotated[
        Number | None,
        figure(
            "the earlier figure, where an increase is limited",
            MEASURE,
            null_text="",
            shown=_held_against("baseline", "actual"),
        ),
    ] = None
    actual: Annotated[
        Number | None,
        column(
            "the figure that was measured",
            MEASURE,
            null_text="",
            shown=_held_against("actual", "limit"),
            lower_if="is_lower_bound",
            upper_if="is_upper_bound",
        ),
    ] = None
    limit: Annotated[
        Number | None,
        column(
            "the figure it is compared with",
            MEASURE,
            null_text="",
            shown=_held_against("limit", "actual"),
        ),
    ] = None
    margin: Annotated[
        Number | None,
        column(
            "distance to the limit; negative beyond it",
            MEASURE,
            null_text="",
            is_signed=True,
            shown=_show_margin,
        ),
    ] = None
    severity: Annotated[Severity, figure("whether exceeding it fails the run")]
    matched_count: Annotated[int | None, figure("rows that it covers", is_summed=False)] = None
    is_lower_bound: Annotated[bool, figure("whether the figure may be larger")] = False
    is_upper_bound: Annotated[bool, figure("whether the figure may be smaller")] = False
    reason: Annotated[
        str | None,
        column(
            "broken limits, rows found, or why nothing was checked", null_text="", is_below=True
        ),
    ] = None
    message: Annotated[
        str | None,
        column("the message given in the budget", null_text="", is_below=True, shown=_show_message),
    ] = None
    source_file: Annotated[str | None, figure("file of the user's program")] = None
    source_line: Annotated[int | None, figure("line in that file")] = None
    unit: Unit = Unit.NUMBER
    digits: int = 0  # how many more than usual the limit was written with


class CheckFacts(Struct, frozen=True):
    """All budgets together."""

    ok: Annotated[bool, figure("whether everything was checked and nothing failed")]
    pass_count: Annotated[int, figure("budgets that are met")]
    fail_count: Annotated[int, figure("budgets that are exceeded and fail the run")]
    warning_count: Annotated[int, figure("budgets that are exceeded and only warn")]
    not_measured_count: Annotated[int, figure("budgets with nothing to measure")]
    error_count: Annotated[int, figure("budgets in modules that could not be read")]


RULES: Final = RowList(
    "rules",
    RuleResult,
    "every budget for every module it applies to, failures first",
    key="name",
    has_total=False,
    limit=0,
    screen="status,name,module,actual,limit,margin,reason",
)
FACTS: Final = Block("facts", CheckFacts, "all budgets together")
CHECK: Final = DocumentSpec(
    "check", "a dump against its budgets", scalars=FACTS, row_lists=(RULES,)
)


class MetricRow(Struct, frozen=True):
    """One figure that a budget may limit."""

    metric: Annotated[str, column("the figure, as budgets name it")]
    figure: Annotated[Number | None, column("the figure in the program; null if unknown", MEASURE)]
    kind: Annotated[str, column("its unit", heading="unit")]
    meaning: Annotated[str, column("meaning of the figure")]
    unit: Unit


METRIC_ROWS: Final = RowList(
    "metrics", MetricRow, "figures that budgets may limit", has_total=False, limit=0
)
METRIC_LIST: Final = DocumentSpec(
    "check-metrics", "what budgets may limit", row_lists=(METRIC_ROWS,)
)


def list_metric_rows(program: NamedFigures | None) -> list[MetricRow]:
    """List every figure that a budget may limit, with those of a program, if there is one."""
    rows = []
    for path, field in METRICS.items():
        found = program.metric(path) if program else None
        known = found if isinstance(found, int | float) else None
        rows.append(MetricRow(path, known, field.unit.value, field.meaning, field.unit))
    return rows


def choose_check_columns(*, is_comment: bool = False) -> DocumentSpec:
    """Return the declaration; a comment has figures before and after."""
    shown = RULES.shown() - {"margin"} | {"baseline"} if is_comment else RULES.shown()
    return replace(CHECK, row_lists=(RULES.showing(shown),))


def choose_verdict(results: Iterable[RuleResult]) -> Verdict | None:
    """Return the worst of what the budgets of a module came to, None where there was none."""
    found = set(map(_weigh, results))
    return next((one for one in VERDICTS if one in found), None)


def count_results(results: Iterable[RuleResult]) -> CheckFacts:
    """Count the results by what they came to; only a budget that is an error fails a run."""
    found = [_weigh(one) for one in results]
    passes, fails, warnings, unmatched, broken = map(
        found.count, ("pass", "fail", "warning", "not-measured", "error")
    )
    return CheckFacts(
        not (fails or unmatched or broken), passes, fails, warnings, unmatched, broken
    )


def _weigh(result: RuleResult) -> str:
    """Return what a budget came to; one that only warns does not fail."""
    is_warning = result.status == "fail" and result.severity == "warning"
    return "warning" if is_warning else result.status


def write_sentence(result: RuleResult) -> str:
    """Write actual, limit and margin of a result, and the reason."""

    def tell(name: str) -> str:
        return format_field(RULES.field(name), result)

    parts = []
    if result.actual is not None:
        verb = "found" if result.unit is Unit.COUNT else "is"
        mark = "at least " * result.is_lower_bound + "at most " * result.is_upper_bound
        parts.append(f"{verb} {mark}{tell('actual')}")
        # A limit of `require` is the number of rows that there must be; no metric is so called.
        if result.expression.startswith("require ") and result.limit is not None:
            parts.append(f"at least {tell('limit')} is needed")
        elif result.limit is not None and result.margin is not None:
            side = f"{tell('margin')[1:]} {'beyond' if result.margin < 0 else 'within'}"
            parts.append(f"{side if result.margin else 'at'} the limit of {tell('limit')}")
        if result.baseline is not None:
            parts.append(f"it was {tell('baseline')}")
    if result.reason:
        parts.append(result.reason)
    return f"{result.expression}: {', '.join(parts)}." if parts else f"{result.expression}."
