"""Budgets and costs of custom calls, compiled: each text is parsed once, and mistakes are told.

A `Rule` is a budget that makes sense: the figure that it measures, the limits of it, and the
modules that it is about. `compile_rule` refuses what could never be held against a program: a name
that nothing has, a time where no machine is known that gives it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Machine
from hlotool.analysis.cost.custom_calls import CALL_FIGURES, CallRule
from hlotool.check.config import Budget, Config, Count, Limit, Number, expect_pattern
from hlotool.dump.read import display_name
from hlotool.errors import QueryError, UsageError
from hlotool.program.metrics import METRICS, ROW_LISTS
from hlotool.program.program import Program
from hlotool.table import Field, Unit
from hlotool.table.expression import check
from hlotool.table.expression.compile import (
    UnknownValue,
    compile_value,
    find_unknown_values,
    read_row,
    refuse_value,
)
from hlotool.table.expression.nodes import Aggregate, Expression, Name, Relation, find_reads
from hlotool.table.renamed import say_renamed
from hlotool.table.units import find_share
from hlotool.table.words import QUOTED, settle_names, suggest
from hlotool.text import Pattern, Source

VOCABULARY: Final = check.Vocabulary(METRICS, ROW_LISTS, reads_older=True)
_CALL_VOCABULARY: Final = check.Vocabulary(CALL_FIGURES)

_ROWS: Final = re.compile(
    r"\s*(?P<rows>[a-z_]+(?:\.[a-z_]+)*)\s*"
    rf"(?:\bwhere\b(?P<choice>(?:{QUOTED}|[^:\"'])*))?(?::(?P<condition>.*))?",
    re.DOTALL,
)
_AGGREGATE: Final = re.compile(r"(?P<rows>[a-z_.]+)\.(?:count|sum|max|min)\(")
_BRACKET: Final = re.compile(rf"{QUOTED}|[()]", re.DOTALL)
_PERCENTAGE: Final = re.compile(r"\s*[0-9]+(?:\.(?P<decimals>[0-9]+))?\s*%\s*")


class Limits(Struct, frozen=True):
    """The bounds of a figure; an increase is of the baseline, as a part of it or absolute.

    Where both kinds of increase are given, the looser counts: a part of little is noise,
    and a fixed amount of much is nothing.
    """

    max: Number | None = None
    min: Number | None = None
    max_increase: Fraction | None = None
    max_increase_abs: Number | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether an increase is limited."""
        return self.max_increase is not None or self.max_increase_abs is not None

    def upper(self, baseline: Number | None) -> Number | None:
        """Return the largest figure that passes, None for any."""
        bounds = [] if self.max is None else [self.max]
        if self.needs_baseline and baseline is not None:
            # Exact, so that no budget hangs on how a float was rounded; whole bytes stay whole.
            part = Fraction(baseline) * (self.max_increase or 0)
            is_whole = isinstance(baseline, int)
            share = part.numerator // part.denominator if is_whole else float(part)
            bounds.append(baseline + max(share, self.max_increase_abs or 0))
        return min(bounds, default=None)

    def list_broken(self, actual: Number, baseline: Number | None) -> tuple[str, ...]:
        """Name the limits that a figure breaks; both increases, as the looser of them counts."""
        increases = ("max_increase", "max_increase_abs")
        grown = replace(self, max=None).upper(baseline)
        broken = (
            (("max",), self.max is not None and actual > self.max),
            (("min",), self.min is not None and actual < self.min),
            (increases, grown is not None and actual > grown),
        )
        named = (name for names, is_broken in broken if is_broken for name in names)
        return tuple(name for name in named if getattr(self, name) is not None)


class Rule(Struct, frozen=True):
    """A budget that makes sense; read once, however many programs it is about.

    `tree` is a condition where there are no limits, else the figure that they bound; of
    `forbid` and `require` that is the number of rows. `says` is what the budget demands. `chosen`
    counts the rows of which all must be among those, None where one is enough.
    """

    budget: Budget
    says: str
    tree: Expression
    limits: Limits | None
    unit: Unit
    digits: int  # how many more than usual a percentage was written with
    module: Pattern | None
    paths: frozenset[str]  # the metrics and row lists that it speaks of
    source: Source  # what places in the tree are places of
    chosen: Aggregate | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether an increase is limited."""
        return self.limits is not None and self.limits.needs_baseline

    @property
    def counted(self) -> Aggregate | None:
        """The rows that `forbid` or `require` counts, None for another budget."""
        is_count = self.budget.kind in {"forbid", "require"}
        return self.tree if is_count and isinstance(self.tree, Aggregate) else None

    def applies_to(self, module: str, folder: str = "", called: str = "") -> bool:
        """Say whether the budget is about a module of that name, in that folder, `called` so here.

        A pattern with `/` is one of paths, `conv_net/*`, and of the whole `FOLDER/NAME`; it and one
        with ` (` may say what the module is called, too: `conv_net/jit_step (tokens 8×*)`.
        """
        about = self.budget
        if about.place and not fnmatchcase(folder, about.place):
            return False
        if about.names_path:
            return any(fnmatchcase(one, about.module) for one in (f"{folder}/{module}", called))
        return self.module is None or self.module.is_found(module)


_INCREASES: Final = frozenset(("max_increase", "max_increase_abs"))


def choose_rules(rules: Iterable[Rule], module: str, folder: str, called: str) -> list[Rule | None]:
    """Return each budget as it holds for a module, None where it does not.

    A limit of a metric in a budget that names modules or places takes the place of that limit in
    budgets of the same severity that name none. Both increases are one limit.
    """
    about = [rule if rule.applies_to(module, folder, called) else None for rule in rules]
    taken: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for one in (rule.budget for rule in about if rule):
        if one.metric is not None and (one.module or one.place):
            taken[one.metric, one.severity].update(one.limits)
            taken[one.metric, one.severity] |= _INCREASES if _INCREASES & {*one.limits} else set()
    return [rule and _drop_limits(rule, taken) for rule in about]


def _drop_limits(rule: Rule, taken: Mapping[tuple[str, str], Collection[str]]) -> Rule | None:
    """Return a budget without limits that others have taken, None if it has no other."""
    budget = rule.budget
    gone = {*budget.limits}.intersection(taken.get((budget.metric or "", budget.severity), ()))
    if budget.module or budget.place or not gone:
        return rule
    if len(gone) == len(budget.limits):
        return None
    nothing = dict.fromkeys(gone)
    budget, limits = replace(budget, **nothing), replace(rule.limits or Limits(), **nothing)
    return replace(rule, budget=budget, limits=limits, says=_describe_limits(budget))


def compile_rule(budget: Budget, config: str = "", machine: Machine | None = None) -> Rule:
    """Check a budget and make it ready to be evaluated; `config` is the file it stands in.

    Raises QueryError, which names the budget, where an expression does not parse or names
    what does not exist, and UsageError for a bad pattern or limit, and for a budget on times
    that no `machine` is known for.
    """
    kind, place = budget.kind, budget.locate(config, budget.kind)
    where = budget.locate(config, "module")
    is_pattern = budget.module and not budget.names_path
    module = expect_pattern(budget.module, "module", where) if is_pattern else None
    limits: Limits | None = None
    chosen: Aggregate | None = None
    says = budget.text
    if kind == "expression":
        source = _settle_headings(budget.text, place)
        tree = check.parse_condition(source.text, VOCABULARY, place)
        tree = check.face_limit(tree) if isinstance(tree, Relation) else tree
    elif kind == "metric":
        source = _settle_headings(budget.text, f"{place}: metric")
        tree = check.parse_number(source.text, VOCABULARY, source.name)
        limits = _read_limits(budget, config, tree)
        says = _describe_limits(budget)
    else:
        place = f"{place}: {kind}"
        rows, choice, condition = _split_rows(budget.text, place, kind)
        row_list = ROW_LISTS[rows]
        names = check.Vocabulary.of_row(row_list.fields, reads_older=True)
        choice, condition = (
            settle_names(text, place, row_list.fields, reads_older=False).text
            for text in (choice, condition)
        )
        source = Source(condition, place)
        wanted = check.parse_condition(condition, names, place) if condition else None
        if choice:
            check.parse_condition(choice, names, place)
            source = Source(f"({choice}) and ({condition})", place)
            wanted = check.parse_condition(source.text, names, place)
            chosen = check.make_count(rows, row_list, check.parse_condition(choice, names, place))
        tree = check.make_count(rows, row_list, wanted)
        limits = Limits(max=0) if kind == "forbid" else Limits(min=1)
        says = f"{kind} any {rows}" if kind == "require" and not choice else f"{kind} {rows}"
        says += (f" where {choice}" * bool(choice)) + (f": {condition}" * bool(condition))
    name, block = find_unestimated(tree, machine)
    if name:
        options = "--chip" if block in _OF_CHIPS else "--chip or --bandwidth"
        raise UsageError(
            f"{place}: {name} is an estimate for a machine; name it with {options}, or with "
            "chip in hlotool.toml."
        )
    paths = frozenset(
        one.rows if isinstance(one, Aggregate) else one.path for one in find_reads(tree)
    )
    unit, digits = _choose_unit(budget, tree)
    return Rule(budget, says, tree, limits, unit, digits, module, paths, source, chosen)


def _settle_headings(text: str, place: str) -> Source:
    """Return an expression with the names of fields where aggregates have headings of columns.

    Names of before 1.0 stay: `list_older_names` tells of them.
    """
    pieces, end = [], 0
    for found in _AGGREGATE.finditer(text):
        rows = ROW_LISTS.get(found["rows"])
        if rows is None or found.start() < end:
            continue
        pieces.append(text[end : found.end()])
        depth, end = 1, len(text)
        for token in _BRACKET.finditer(text, found.end()):
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if not depth:
                end = token.start()
                break
        inner = text[found.end() : end]
        pieces.append(settle_names(inner, place, rows.fields, reads_older=False).text)
    return Source("".join([*pieces, text[end:]]), place)


def _choose_unit(budget: Budget, tree: Expression) -> tuple[Unit, int]:
    """Return the unit of what is measured, and how many more digits than usual its limit has.

    A ratio is in percent where a limit is.
    """
    unit = tree.type.unit
    limits = [str(budget.max), str(budget.min)]
    if isinstance(tree, Relation):
        limits = [budget.text[tree.right.start : tree.right.end]]
    matches = [match for match in map(_PERCENTAGE.fullmatch, limits) if match]
    if unit is not Unit.RATIO or not matches:
        return unit, 0
    return Unit.PERCENT, max(len(match["decimals"] or "0") for match in matches) - 1


def _split_rows(text: str, place: str, kind: str) -> tuple[str, str, str]:
    """Split `collectives where CHOICE: CONDITION` into the list and the two; '' for none.

    rows = name [ "where" choice ] [ ":" condition ]; a choice has no colon but in quotes.
    """
    match = _ROWS.fullmatch(text)
    rows = match["rows"] if match else ""
    if match is None or rows not in ROW_LISTS:
        start, end = match.span("rows") if match else (0, len(text))
        message = f"there is no row list {rows!r}" if rows else 'expected "rows: condition"'
        raise QueryError(message, Source(text, place), start, end, suggest(rows, ROW_LISTS))
    choice, condition = (match["choice"] or "").strip(), (match["condition"] or "").strip()
    if choice and (not condition or kind != "require"):
        message = "`where` chooses rows of `require`; their condition follows a colon"
        raise QueryError(message, Source(text, place), *match.span("choice"))
    return rows, choice, condition


def _read_limits(budget: Budget, config: str, metric: Expression) -> Limits:
    """Read numbers, sizes, times or calculations, as the metric has them; they may name nothing."""

    def read(limit: Limit, key: str) -> Number | None:
        if limit is None:
            return None
        text, place = str(limit), f"{budget.locate(config, key)}: {key}"
        tree = check.parse_number(text, VOCABULARY, place)
        found = None if any(find_reads(tree)) else compile_value(tree, read_row)(None)
        if found is None:
            raise UsageError(f"{place}: expected a number, a size or a time, found {text!r}.")
        check.expect_unit(metric, tree, budget.text, Source(text, place), check.GROWTH)
        return tidy(found)

    upper, lower = read(budget.max, "max"), read(budget.min, "min")
    share = None
    if budget.max_increase is not None:
        text = str(budget.max_increase)
        share = find_share(text)
        if share is None:  # a bare number would leave open whether it is a part or an amount
            place = f"{budget.locate(config, 'max_increase')}: max_increase"
            raise UsageError(f"{place}: expected a percentage such as 2%, found {text!r}.")
    return Limits(upper, lower, share, read(budget.max_increase_abs, "max_increase_abs"))


def _describe_limits(budget: Budget) -> str:
    """Write a metric and its limits as an expression would say them."""
    bounds = (("<=", budget.max), (">=", budget.min))
    parts = [f"{budget.text} {sign} {bound}" for sign, bound in bounds if bound is not None]
    increases = (budget.max_increase, budget.max_increase_abs)
    given = [str(one) for one in increases if one is not None]
    if given:
        parts.append(f"{budget.text} <= baseline + {' or '.join(given)}")
    return " and ".join(parts)


def tidy(value: Number | None) -> Number | None:
    """Return a whole number as an integer: 300e6 bytes are 300000000."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def list_older_names(rule: Rule) -> Iterator[str]:
    """Say of each name of before 1.0 that a budget is written with what it is called now."""
    for _, read in _list_names(rule.tree):
        written = rule.source.text[read.start : read.end]
        if written != read.path:
            yield f"{rule.source.name}: {say_renamed(written, read.path)}."


def _list_names(tree: Expression) -> Iterator[tuple[Name | Aggregate, Name]]:
    """Yield each name that is read, behind what reads it: itself, or what counts its rows."""
    for one in find_reads(tree):
        parts = [one.value, one.where] if isinstance(one, Aggregate) else [one]
        for read in (read for part in parts if part for read in find_reads(part)):
            if isinstance(read, Name):
                yield one, read


# Which figures no dump tells: times, which a machine gives, and what a profile has measured.

_OF_CHIPS: Final = frozenset(("fusions", "step_time"))  # times that need one; others need a link
_MEASURED: Final = "measured"  # how the names of measured figures, and their block, begin


def find_unestimated(tree: Expression, machine: Machine | None) -> tuple[str, str]:
    """Return the first time that a machine does not give, and its block; '' for none."""
    for name, block, field, is_measured in _list_figures(tree):
        is_known = machine is not None and (
            machine.chip if block in _OF_CHIPS else machine.link or machine.between
        )
        if field.unit is Unit.SECONDS and not is_measured and not is_known:
            return name, block
    return "", ""


def find_measured(tree: Expression) -> str:
    """Return the first figure of a profile that a budget reads, as users call it; '' for none."""
    return next((name for name, _, _, is_measured in _list_figures(tree) if is_measured), "")


def _list_figures(tree: Expression) -> Iterator[tuple[str, str, Field, bool]]:
    """Yield each figure that is read, of programs and rows: what users call it, and its block.

    Then how it is declared, and whether it is from a profile.
    """
    for one, read in _list_names(tree):
        is_measured = any(part.startswith(_MEASURED) for part in read.path.split("."))
        if isinstance(one, Name):
            yield read.path, read.path.partition(".")[0], METRICS[read.path], is_measured
        else:
            field = ROW_LISTS[one.rows].field(read.path)
            name = f"{read.path} of {one.rows}"
            yield name, one.rows.partition(".")[0], field, is_measured


# A word that no module can ever hold: a budget that forbids it would be met for ever.


def list_unknown_values(rule: Rule, program: Program) -> tuple[UnknownValue, ...]:
    """Return the words of a budget that neither hlotool knows nor the program holds."""
    return tuple(
        found
        for one in find_reads(rule.tree)
        if isinstance(one, Aggregate) and one.where is not None
        for found in find_unknown_values(one.where, program.rows(one.rows), program.find_words)
    )


def expect_budget_words(rule: Rule, found: Iterable[Sequence[UnknownValue]]) -> None:
    """Raise QueryError where a word of a budget is unknown to every module it was held against.

    `found` are those of each. Where there is none, nobody knows.
    """
    first, *others = [*found] or [()]
    for one in first:
        places = [{each.start for each in unknown} for unknown in others]
        if all(one.start in starts for starts in places):
            raise refuse_value(one, rule.source)


def compile_call_costs(config: Config) -> tuple[CallRule, ...]:
    """Check what a configuration says of custom calls, and parse it.

    Raises QueryError where an expression does not parse or names what no call has, UsageError
    for a target that is no regular expression.
    """

    def parse(count: Count, place: str) -> Expression | None:
        return None if count is None else check.parse_number(str(count), _CALL_VOCABULARY, place)

    rules = []
    for one in config.custom_calls:
        place = partial(one.lines.place, display_name(config.path))
        target = expect_pattern(one.target, "target", place("target"))
        flops = parse(one.flops, f"{place('flops')}: flops")
        rules.append(CallRule(target, flops, parse(one.bytes, f"{place('bytes')}: bytes")))
    return tuple(rules)
