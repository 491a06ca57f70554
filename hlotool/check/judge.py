"""One budget over one program: what was measured, whether that is within it, and where to look.

`judge_rule` is asked. A condition that does not hold is explained by its parts (`explain_broken`),
a list of rows by the names of the first of them; the source line of a result is that of the row
which weighs most in what the budget measures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.memory.donation import DonationRow
from hlotool.check.baseline import NO_BASELINE
from hlotool.check.config import Number
from hlotool.check.results import RuleResult, Status
from hlotool.check.rule import Limits, Rule, find_measured, find_unestimated, tidy
from hlotool.compare.inputs import SavedFigures
from hlotool.program.load import note_chip
from hlotool.program.metrics import ROW_LISTS
from hlotool.program.program import NamedFigures, Program
from hlotool.table import Unit
from hlotool.table.expression import nodes
from hlotool.table.expression.check import face_limit
from hlotool.table.expression.compile import Measured, as_number, compile_condition, measure
from hlotool.table.units import to_base_unit
from hlotool.table.words import list_some

_LISTED: Final = 3  # modules named where none is the one asked for, and rows that a rule found
_NOTHING_MEASURED: Final = "no row matches, so nothing was measured"


def judge_rule(
    rule: Rule, program: Program, baseline: NamedFigures | None = None, missing: str = NO_BASELINE
) -> RuleResult:
    """Evaluate one budget over one program, and over its baseline where a limit needs it.

    A figure that the dump does not tell, or that needs rows where there are none, has not
    been checked: `not-measured`. `missing` says why there is no baseline. Raises what the
    analyses raise.
    """
    unknown = _explain_unknown(rule, program)
    if unknown:
        return _result(rule, program, "not-measured", reason=unknown)
    found = measure(rule.tree, program)
    if rule.limits is not None:
        before, missing = _measure_baseline(rule, baseline, missing)
        return _judge_figure(rule, program, found, before, missing)
    reads = nodes.find_reads(rule.tree)
    needs_rows = any(isinstance(one, nodes.Aggregate) and one.value is not None for one in reads)
    if needs_rows and not found.matched_count:  # a sum, or an extreme, of nothing
        return _result(rule, program, "not-measured", reason=_NOTHING_MEASURED)
    operator = rule.tree.operator if isinstance(rule.tree, nodes.Relation) else ""
    return _result(
        rule,
        program,
        "pass" if found.value is True else "fail",
        found,
        actual=found.left,
        limit=found.right,
        margin=compare_margin(operator, found.left, found.right),
        reason="" if found.value is True else explain_broken(rule, program),
    )


def unmatched(rule: Rule, names: Sequence[str]) -> RuleResult:
    """Return the result of a budget that is about no module there is."""
    about = rule.budget
    said = {"is called": about.module, "lies in": about.place}
    pattern = " and ".join(f"{what} {text!r}" for what, text in said.items() if text)
    reason = f"no module {pattern}; the dump has {list_some(sorted(names), _LISTED) or 'none'}"
    return not_judged(rule, None, "not-measured", reason)


def not_judged(rule: Rule, module: str | None, status: Status, reason: str) -> RuleResult:
    """Return the result of a budget without figures, as of one that was held against nothing."""
    return RuleResult(
        name=rule.budget.title,
        module=module,
        expression=rule.says,
        status=status,
        severity=rule.budget.severity,
        message=(rule.budget.message or None) if status != "pass" else None,
        reason=reason or None,
        unit=rule.unit,
    )


def _result(
    rule: Rule,
    program: Program,
    status: Status,
    found: Measured | None = None,
    *,
    actual: Number | None = None,
    limit: Number | None = None,
    margin: Number | None = None,
    baseline: Number | None = None,
    reason: str = "",
) -> RuleResult:
    """Put a result together; `found` is what was measured, None where that does not count."""
    file, line = find_place(rule, program) if status == "fail" else (None, None)
    is_lower, is_upper = _bounds(rule.tree, program, found) if found else (False, False)
    if status == "fail" and rule.budget.severity == "warning":
        reason = f"only a warning; {reason}" if reason else "only a warning"
    # What is unknown may break an upper limit; above a lower one it changes nothing.
    is_unsure = status == "pass" and is_lower and margin is not None
    if is_unsure and actual is not None and limit is not None and actual <= limit:
        reason = reason or "a lower bound: a part is unknown"
    return replace(
        not_judged(rule, program.name, status, reason),
        actual=tidy(actual),
        limit=tidy(limit),
        margin=tidy(margin),
        baseline=tidy(baseline),
        matched_count=found.matched_count if found else None,
        is_lower_bound=is_lower,
        is_upper_bound=is_upper,
        source_file=file,
        source_line=line,
        digits=rule.digits,
    )


def _bounds(tree: nodes.Expression, program: Program, found: Measured) -> tuple[bool, bool]:
    """Say whether what was measured is a lower and an upper bound."""
    names = (one.path for one in nodes.find_reads(tree) if isinstance(one, nodes.Name))
    metrics = [program.bounds(path) for path in names if path not in ROW_LISTS]
    return (
        found.is_lower_bound or any(is_lower for is_lower, _ in metrics),
        found.is_upper_bound or any(is_upper for _, is_upper in metrics),
    )


def _explain_unknown(rule: Rule, program: Program) -> str:
    """Say what the dump does not tell, '' if it tells all that is asked."""
    measured = find_measured(rule.tree) if program.measured is None else ""
    if measured:
        return f"{measured} is unknown without a profile"
    estimated, _ = find_unestimated(rule.tree, program.machine)
    if estimated:
        note = note_chip(program).removesuffix(".")
        return f"{estimated} is unknown" + (f", as {note}" if note else "")
    for path in sorted(rule.paths):
        if path in ROW_LISTS:
            if not program.knows_rows(path):
                return f"this dump lacks {path}"
        elif program.metric(path) is None:
            is_estimated = path.startswith("buffers.") and program.assignment is None
            hint = "; without a buffer assignment only buffers.estimated is known"
            return f"{path} is not known from this dump{hint if is_estimated else ''}"
    return ""


# A figure and its limits.


def _judge_figure(
    rule: Rule, program: Program, found: Measured, before: Number | None, missing: str
) -> RuleResult:
    """Hold a figure against its limits; those that need no baseline hold without it, too."""
    limits = rule.limits or Limits()
    count = as_number(measure(rule.chosen, program).value) or 0 if rule.chosen else 0
    if rule.chosen is not None:  # all of these, and of none it cannot be said
        limits = replace(limits, min=max(count, 1))
    actual = as_number(found.value)
    if actual is None:
        return _result(rule, program, "not-measured", reason=_NOTHING_MEASURED)
    margin = measure_margin(actual, limits, before)
    broken = limits.list_broken(actual, before)
    if rule.counted and rule.budget.kind == "forbid":
        reason = name_rows(rule.counted, program)
    elif rule.counted and rule.chosen and broken:
        lacking = name_rows(rule.chosen, program, rule.counted)
        reason = f"the condition fails for {lacking or 'all'}" if count else "no row is chosen"
    elif rule.counted:
        reason = "no row matches" if broken else ""
    elif broken:
        said = " and ".join(f"{name} {getattr(rule.budget, name)}" for name in broken)
        grown = f": +{(actual / before - 1) * 100:,.1f} %" if before and before < actual else ""
        undone = f"; the increase was not checked: {missing}" if missing else ""
        reason = f"beyond {said}{grown}{undone}"
    else:
        reason = missing
    kept: Status = "not-measured" if missing else "pass"
    return _result(
        rule,
        program,
        kept if margin.holds else "fail",
        found,
        actual=actual,
        limit=margin.limit,
        margin=margin.left,
        baseline=before,
        reason=reason,
    )


def _measure_baseline(
    rule: Rule, baseline: NamedFigures | None, missing: str
) -> tuple[Number | None, str]:
    """Return the figure of the baseline, or why there is none; nothing where none is needed."""
    if not rule.needs_baseline:
        return None, ""
    if baseline is None:
        return None, missing
    for path in sorted(rule.paths):
        if path in ROW_LISTS and not baseline.knows_rows(path):
            if isinstance(baseline, SavedFigures):
                return None, "a saved baseline holds metrics but no rows; give a dump as --baseline"
            return None, f"the baseline lacks {path}"
    found = as_number(measure(rule.tree, baseline).value)
    return found, "" if found is not None else f"the baseline lacks {rule.budget.text}"


class Margin(Struct, frozen=True):
    """What is left until the nearest limit, negative beyond it; None where there is no limit."""

    limit: Number | None
    left: Number | None

    @property
    def holds(self) -> bool:
        """Whether the figure keeps its limits."""
        return self.left is None or self.left >= 0


def measure_margin(actual: Number, limits: Limits, baseline: Number | None) -> Margin:
    """Hold a figure against its limits; the tightest of them is the one reported."""
    upper = limits.upper(baseline)
    found = []
    if upper is not None:
        found.append((upper - actual, upper))
    if limits.min is not None:
        found.append((actual - limits.min, limits.min))
    left, limit = min(found, default=(None, None))
    return Margin(limit, left)


def compare_margin(operator: str, actual: Number | None, limit: Number | None) -> Number | None:
    """Return what is left until a comparison turns; None for one that has no such measure."""
    if actual is None or limit is None:
        return None
    if operator in {"<", "<="}:
        return limit - actual
    if operator in {">", ">="}:
        return actual - limit
    return -abs(actual - limit) if operator == "==" else None


# Which parts of a condition do not hold.

_OPPOSITES: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_BASE_UNITS: Final = {Unit.BYTES: "B", Unit.SECONDS: "s"}
_FROM_LARGE: Final = 1000
# How a figure is written, until it stands to its limit as it does in fact.
_SMALL: Final = (".3g", ".6g", ".17g")
_LARGE: Final = (",.0f", ",.3f", ",.9f")


def explain_broken(rule: Rule, program: Program) -> str:
    """Name the parts of `and`, `or` and `not` that make them false; '' for a single comparison.

    Of an `or` that does not hold these are all parts, each as often as it is written.
    """
    if not isinstance(rule.tree, nodes.And | nodes.Or | nodes.Not):
        return ""
    return "; ".join(_list_broken(rule, rule.tree, program, is_wanted=True))


def _list_broken(
    rule: Rule, tree: nodes.Expression, program: Program, *, is_wanted: bool
) -> Iterator[str]:
    """Describe what keeps a condition from being true, or from being false inside `not`."""
    found = measure(tree, program)
    if (found.value is True) is is_wanted:
        return
    match tree:
        case nodes.Not():
            yield from _list_broken(rule, tree.operand, program, is_wanted=not is_wanted)
        case nodes.And() | nodes.Or():
            for operand in tree.operands:
                yield from _list_broken(rule, operand, program, is_wanted=is_wanted)
        case _:
            described = isinstance(tree, nodes.Relation) and _describe(
                rule, tree, program, is_wanted
            )
            yield described or f"{_cut(rule, tree)} {'does not hold' if is_wanted else 'holds'}"


def _describe(rule: Rule, tree: nodes.Relation, program: Program, is_wanted: bool) -> str:
    """Write a comparison with what it compares: `buffers.peak_bytes is 2.1 GiB, not <= 1GiB`.

    '' where a side of it is unknown, or is no number.
    """
    faced = face_limit(tree)
    found = measure(faced, program)
    if found.left is None or found.right is None:
        return ""
    suffix = faced.right.suffix if isinstance(faced.right, nodes.Literal) else ""
    suffix = suffix or _BASE_UNITS.get(faced.type.unit, "")
    is_lower, is_upper = _bounds(faced, program, found)
    mark = "at least " * is_lower + "at most " * is_upper
    operator = faced.operator if is_wanted else _OPPOSITES[faced.operator]
    limit = _cut(rule, faced.right)
    if any(nodes.find_reads(faced.right)):
        limit += f", {_write(found.right, found.left, suffix)}"
    figure = _write(found.left, found.right, suffix)
    return f"{_cut(rule, faced.left)} is {mark}{figure}, not {operator} {limit}"


def _write(value: Number, other: Number, suffix: str) -> str:
    """Write a figure in a unit of expressions, with the digits that its limit asks for.

    With three digits 1.0004 beside a limit of 1 would read as if it were kept: the next form with
    which the text stands to the limit as the figure does is taken.
    """
    scale = to_base_unit(1, suffix) if suffix else 1
    known, beside = value / scale, other / scale
    forms = _LARGE if abs(known) >= _FROM_LARGE else _SMALL
    text = ""
    for form in forms:
        text = format(known, ",.0f" if known.is_integer() else form)
        shown = float(text.replace(",", ""))
        if (shown > beside, shown < beside) == (known > beside, known < beside):
            break
    return f"{text} {suffix}".rstrip()


def _cut(rule: Rule, tree: nodes.Expression) -> str:
    """Return how a part was written, on one line, with the brackets that its ends stand in."""
    text, start, end = rule.source.text, tree.start, tree.end
    while (part := text[start:end]).count("(") < part.count(")") and start > 0:
        start = max(text.rfind("(", 0, start), 0)
    while (part := text[start:end]).count(")") < part.count("(") and end < len(text):
        end = text.find(")", end) + 1 or len(text)
    return " ".join(part.split())


# Which rows a result is about, and the line of the user's program that weighs most.

# The field by which the row that a finding points at is the largest.
_WEIGHTS: Final = {
    "buffers": "live_bytes",
    "collectives": "known_sent_bytes_per_step",
    "fusions": "known_traffic_bytes_per_step",
    "cost": "known_flops_per_step",
}
_NAMES: Final = ("name", "collective", "value", "opcode", "parameter_name", "dtype", "id")


def name_rows(
    counted: nodes.Aggregate, program: Program, others: nodes.Aggregate | None = None
) -> str:
    """Name the first few of the rows that are counted, those of one name once.

    Those that `others` counts as well are left out. Of findings of one kind the first says what it
    is about: `large-copy ×2 (copy.3, …)`; a donation, why it is of no use.
    """
    left_out = {id(row) for row in _choose_rows(others, program)} if others else set()
    rows = [row for row in _choose_rows(counted, program) if id(row) not in left_out]
    groups: dict[str, list[object]] = {}
    for row in rows:
        named = (getattr(row, name, None) for name in _NAMES)
        name = next((each for each in named if isinstance(each, str) and each), "")
        groups.setdefault(name, []).append(row)
    shown = [(name, of) for name, of in groups.items() if name][:_LISTED]
    count = len(rows) - sum(len(of) for _, of in shown)
    more = f" and {count} more" if count and shown else ""
    texts = []
    for name, of in shown:
        text = f"{name} ×{len(of)}" if len(of) > 1 else name
        subject = (of[0].instruction or of[0].parameter) if isinstance(of[0], Finding) else None
        subject = of[0].says if isinstance(of[0], DonationRow) else subject
        texts.append(f"{text} ({subject}{', …' if len(of) > 1 else ''})" if subject else text)
    return ", ".join(texts) + more


def find_place(rule: Rule, program: Program) -> tuple[str | None, int | None]:
    """Return file and line of what weighs most in what the budget measures, None if unknown."""
    if rule.counted:
        rows = _choose_rows(rule.counted, program)
        block = rule.counted.rows.partition(".")[0]
    else:
        block = min(rule.paths, default="").partition(".")[0]
        # `cost` has no rows of its own; those of fusions tell where its flops are.
        path = "fusions" if block == "cost" else block
        rows = program.rows(path) if path in ROW_LISTS else ()
    weight = _WEIGHTS.get(block, "")
    for row in sorted(rows, key=lambda row: -(getattr(row, weight, 0) or 0)):
        file, line = getattr(row, "source_file", None), getattr(row, "source_line", None)
        if isinstance(file, str) and isinstance(line, int):
            return file, line
    return None, None


def _choose_rows(counted: nodes.Aggregate, program: Program) -> Sequence[object]:
    rows = program.rows(counted.rows)
    if counted.where is None:
        return rows
    keeps = compile_condition(counted.where)
    return [row for row in rows if keeps(row)]
