"""What a program would take at other sizes, what one more of a size costs, and what fits.

A figure at another size is that of the program as it would be (`scaled`), times what the given
programs differ from their own: XLA's buffer assignment is known of them alone. Where layers are
written one after the other, figures lie on the line through two of the given programs. A law is
the polynomial through three sizes; a fourth one says whether it is one. Bands are what came out on
families of programs that were compiled at sizes not given (docs/fit.csv).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.origin import read_origin
from hlotool.compare.changes.figures import ESTIMATED_TIME
from hlotool.compare.fit.laws import Sizes, Variable, find_variables
from hlotool.compare.fit.scaled import Template, make_template
from hlotool.errors import UsageError
from hlotool.hlo.opcodes import CONTROL_FLOW
from hlotool.program.metrics import METRICS
from hlotool.program.program import Program
from hlotool.table import (
    BYTES,
    COUNT,
    FLOPS,
    MEASURE,
    NUMBER,
    PERCENT,
    RATIO,
    SECONDS,
    Block,
    DocumentSpec,
    RowList,
    Unit,
    column,
    figure,
)
from hlotool.table.units import format_value
from hlotool.table.words import fold_numbers, join_words

Number: TypeAlias = int | float
Distance: TypeAlias = Literal["between", "to 2×", "to 4×", "beyond"]
_ALLOCATED: Final = "buffers.allocated_bytes"
_PEAK: Final = "buffers.peak_bytes"
_FLOPS: Final = "cost.total_flops_per_step"
_TRAFFIC: Final = "cost.traffic_bytes_per_step"
_SENT: Final = "collectives.sent_bytes_per_step"
PREDICTED: Final = (_ALLOCATED, _PEAK, _FLOPS, _TRAFFIC, _SENT, ESTIMATED_TIME)
_ESTIMATES: Final = {
    _ALLOCATED: "buffers.estimated.allocated_bytes",
    _PEAK: "buffers.estimated.peak_bytes",
}
_VMEM: Final = 1
_VMEM_BYTES: Final = 112 << 20  # what XLA filled at most for v5e; of other chips it is assumed
OVERFLOW: Final = "(no room in vmem)"
_LEAST_MATCHED: Final = 0.9
_NEAR: Final = 0.01  # programs of one structure predict each other so well
_EXACT: Final = 1e-3  # a law misses a size by more: sizes are padded, or a loop runs otherwise
_MOST_STEPS: Final = 60  # of a search for the size that fits


class SizeRow(Struct, frozen=True):
    """A program at one size: as it was given, or as it would be."""

    size: Annotated[str, column("the values of what varies")]
    is_given: Annotated[bool, column("whether it was compiled; else its figures are predicted")]
    allocated_bytes: Annotated[int | None, column("what the runtime reserves in space 0", BYTES)]
    low_bytes: Annotated[
        int | None,
        column("low end of the band of a predicted size", BYTES, heading="low", null_text="–"),
    ]
    high_bytes: Annotated[
        int | None,
        column("its high end; null where none is known", BYTES, heading="high", null_text="–"),
    ]
    peak_bytes: Annotated[int | None, column("most that is in use at once in space 0", BYTES)]
    total_flops_per_step: Annotated[int | None, column("operations a step", FLOPS)]
    traffic_bytes_per_step: Annotated[
        int | None, column("bytes that cross memory a step", BYTES, hide_order=1)
    ]
    sent_bytes_per_step: Annotated[int | None, column("bytes a device sends a step", BYTES)]
    estimated_seconds: Annotated[
        float | None,
        column("time of a step; null without --chip", SECONDS, hide_order=2, null_text="–"),
    ]


class BandRow(Struct, frozen=True):
    """A predicted figure with its band."""

    size: Annotated[str, column("the values of what varies")]
    metric: Annotated[str, column("the figure, as budgets name it")]
    value: Annotated[Number, column("what is predicted", MEASURE)]
    low: Annotated[Number | None, column("from: nine families in ten were above", MEASURE)]
    high: Annotated[Number | None, column("to: nine families in ten were below", MEASURE)]
    distance: Annotated[Distance, column("how far the size is from those given")]
    unit: Unit


class LawRow(Struct, frozen=True):
    """The law of a figure along one variable, from some size on."""

    metric: Annotated[str, column("the figure, as budgets name it")]
    variable: Annotated[str, figure("what varies; the others are as in the largest program")]
    law: Annotated[str | None, column("its terms; null where it follows none")]
    from_value: Annotated[int, column("the size from which on it holds", NUMBER, heading="from")]
    until_value: Annotated[
        int, column("the largest size at which it was tried", NUMBER, heading="until")
    ]
    peak_at: Annotated[str | None, figure("of the peak: where memory is fullest then")]
    adds: Annotated[
        Number | None,
        column("what one more adds to the largest program", MEASURE, heading="one more adds"),
    ]
    values: Annotated[
        tuple[int | float, ...],
        column("at four sizes, from that one on", heading="curve", is_curve=True, hide_order=3),
    ]
    coefficients: Annotated[
        tuple[float, ...], figure("of the powers of the variable, from the zeroth on")
    ]
    unit: Unit


class TermRow(Struct, frozen=True):
    """A part of a figure: arguments or a scope, and its law."""

    metric: Annotated[str, column("the figure, as budgets name it")]
    variable: Annotated[str, figure("what varies; the others are as in the largest program")]
    part: Annotated[str, column("the arguments, the scope or the collective that it is")]
    value: Annotated[Number, column("in the largest program", MEASURE)]
    adds: Annotated[Number | None, column("what one more adds", MEASURE, heading="one more adds")]
    law: Annotated[str | None, column("its terms; null where it follows none")]
    unit: Unit


class FitRow(Struct, frozen=True):
    """The most of a variable that fits a limit by the law, and what takes most then."""

    variable: Annotated[str, column("what varies; the others are as in the largest program")]
    limit_bytes: Annotated[int, column("what there is", BYTES)]
    fits: Annotated[int | None, column("the most that fits; null: nothing does", NUMBER)]
    allocated_bytes: Annotated[int | None, column("what it takes then", BYTES)]
    next_value: Annotated[int | None, column("the least that does not fit", NUMBER)]
    next_bytes: Annotated[int | None, column("what that takes", BYTES)]
    limited_by: Annotated[str | None, column("what holds most at the peak then")]


class VariableRow(Struct, frozen=True):
    """What varies between the programs."""

    variable: Annotated[str, column("its name")]
    values: Annotated[tuple[int, ...], column("its value in each program")]
    step: Annotated[int, figure("the least step at which all sizes are whole", NUMBER)]
    dimensions: Annotated[tuple[str, ...], column("the dimensions that follow it")]


class LostRow(Struct, frozen=True):
    """An instruction without a law: one program alone has it, or its sizes follow nothing."""

    instruction: Annotated[str, column("its name")]
    program: Annotated[int, column("which program has it, from 1", NUMBER)]
    opcode: Annotated[str, column("its opcode")]
    shape: Annotated[str, column("its shape", is_shape=True)]
    size_bytes: Annotated[int | None, column("its size", BYTES)]


class FitFacts(Struct, frozen=True):
    """What holds of the fit."""

    program: Annotated[str, figure("name of the program")]
    program_count: Annotated[int, figure("programs that were given", COUNT)]
    matched_share: Annotated[float, figure("share of bytes that follow a law", PERCENT)]
    is_alike: Annotated[
        bool, figure("whether the given programs have one structure, and each predicts the others")
    ]
    worst_ratio: Annotated[
        float | None, figure("predicted of a given program, divided by real, at worst", RATIO)
    ]


VARIABLES: Final = RowList("variables", VariableRow, "what varies", has_total=False)
SIZES: Final = RowList(
    "sizes", SizeRow, "the given programs, then others", has_total=False, limit=0
)
PREDICTIONS: Final = RowList(
    "predicted", BandRow, "every figure that is predicted", has_total=False, limit=0
)
LAWS: Final = RowList("laws", LawRow, "the law of each figure", has_total=False, limit=0)
TERMS: Final = RowList("terms", TermRow, "what each figure is made of", has_total=False, limit=12)
LIMITS: Final = RowList("limits", FitRow, "what fits", has_total=False, option="--hbm")
LIMIT: Final = Block("limit", FitRow, "what fits")
LOST: Final = RowList("lost", LostRow, "what follows no law", sort="-size_bytes", has_total=False)
FIT_FACTS: Final = Block("facts", FitFacts, "how far the given programs follow laws")
FIT: Final = DocumentSpec(
    "fit",
    "what a program would take at other sizes",
    scalars=FIT_FACTS,
    row_lists=(LIMITS, SIZES, LAWS, TERMS, PREDICTIONS, VARIABLES, LOST),
    version=1,
)


class FitReport(Struct, frozen=True):
    """All that `hlotool fit` says."""

    facts: FitFacts
    variables: tuple[VariableRow, ...]
    sizes: tuple[SizeRow, ...]
    predicted: tuple[BandRow, ...]
    laws: tuple[LawRow, ...]
    terms: tuple[TermRow, ...]
    limits: tuple[FitRow, ...]
    lost: tuple[LostRow, ...]


class Measured(Struct, frozen=True):
    """The figures of a program at one size, and what they are made of, by metric and part."""

    figures: Mapping[str, Number]
    parts: Mapping[str, Mapping[str, Number]]
    peak_at: str | None

    def figure(self, metric: str) -> int | None:
        """Return a figure that is counted in whole units."""
        return _whole(self.figures.get(metric))


def check_programs(programs: Sequence[Program], builds: Collection[int | None]) -> None:
    """Raise UsageError for programs of which none can tell of the others."""
    backends = {find_backend(one.expect_module()) for one in programs}
    counts = {one.expect_module().header.device_count for one in programs}
    if len(backends) > 1:
        names = join_words(sorted(one or "unknown" for one in backends), "and")
        raise UsageError(f"these programs were compiled for different backends: {names}.")
    if len(counts) > 1:
        raise UsageError("these programs run on different numbers of devices.")
    if len(builds) > 1:
        raise UsageError("these programs were made by different builds of the compiler.")


def fit_programs(
    programs: Sequence[Program],
    named: Mapping[str, Sizes],
    at: Sequence[Mapping[str, int]] = (),
    limit_bytes: int | None = None,
) -> FitReport:
    """Find the laws of what varies between programs, and what follows from them.

    `named` are the variables as the user calls them, `at` the sizes to predict (none: twice and
    four times the largest). Raises UsageError where nothing varies, too much does, a variable is
    unknown, or less than 90 % of the bytes are matched; and what the analyses raise.
    """
    variables = find_variables(programs, named)
    fit = _Counted(programs, variables) if variables[0].is_counted else _Scaled(programs, variables)
    points = [fit.check_point(one) for one in at] or [
        fit.scale(place, times) for place in range(len(variables)) for times in (2, 4)
    ]
    curves = [_Curve(fit, place) for place in range(len(variables))]
    found = {
        point: next(
            (curve.at(point[curve.place]) for curve in curves if curve.is_along(point)), None
        )
        or fit.predict(point)
        for point in dict.fromkeys(points)
        if point not in fit.given
    }
    return FitReport(
        FitFacts(programs[0].name, len(programs), fit.matched_share, fit.is_alike, fit.worst_ratio),
        tuple(
            VariableRow(one.name, one.values, step, tuple(map(str, one.dimensions)))
            for one, step in zip(variables, fit.steps, strict=True)
        ),
        (
            *(
                _size_row(fit, point, one, is_given=True)
                for point, one in sorted(fit.given.items())
            ),
            *(_size_row(fit, point, one, is_given=False) for point, one in sorted(found.items())),
        ),
        tuple(
            _band(fit, point, metric, value)
            for point, each in sorted(found.items())
            for metric, value in each.figures.items()
        ),
        tuple(row for curve in curves for row in curve.laws()),
        tuple(row for curve in curves for row in curve.terms()),
        tuple(curve.find_limit(limit_bytes) for curve in curves if limit_bytes is not None),
        fit.lost,
    )


def _size_row(fit: _Fit, point: Sizes, found: Measured, *, is_given: bool) -> SizeRow:
    band = None if is_given else _band(fit, point, _ALLOCATED, found.figure(_ALLOCATED) or 0)
    return SizeRow(
        _name_point(fit.variables, point),
        is_given,
        found.figure(_ALLOCATED),
        _whole(band.low) if band else None,
        _whole(band.high) if band else None,
        found.figure(_PEAK),
        found.figure(_FLOPS),
        found.figure(_TRAFFIC),
        found.figure(_SENT),
        found.figures.get(ESTIMATED_TIME),
    )


def _whole(value: Number | None) -> int | None:
    return None if value is None else int(value)


def _name_point(variables: Sequence[Variable], point: Sizes) -> str:
    return ", ".join(f"{one.name}={value}" for one, value in zip(variables, point, strict=True))


def measure(program: Program, *, in_full: bool = True) -> Measured:
    """Return the figures of a program, if not in full those of memory alone.

    Memory is estimated where there is no buffer assignment.
    """
    figures: dict[str, Number] = {}
    for metric in PREDICTED if in_full else _ESTIMATES:
        value = program.metric(metric)
        if value is None and metric in _ESTIMATES:
            value = program.metric(_ESTIMATES[metric])
        if isinstance(value, int | float):
            figures[metric] = value
    memory = program.memory
    parts = _measure_parts(program) if in_full else {}
    return Measured(figures, parts, memory.figures.peak.instruction if memory else None)


def _measure_scaled(program: Program, *, in_full: bool = True) -> Measured:
    """Return the figures of a program as it would be, where the TPU's vector memory is no larger.

    XLA places there what finds room, and scaling what is there makes it more than there is: the
    rest is main memory's. What is used most stays, so the rest has half its share of the traffic.
    """
    found = measure(program, in_full=in_full)
    memory = program.memory
    if memory is None or find_backend(program.expect_module()) != "tpu":
        return found
    estimate = memory.estimated_of(_VMEM)
    used = (estimate.peak_bytes if estimate else memory.peak_of(_VMEM).bytes) or 0
    over = used - _VMEM_BYTES
    if over <= 0:
        return found
    moved = 0
    for computation in program.executions.executed if in_full else ():
        runs = program.executions.lower_bound(computation)
        for one in computation.instructions:
            if one.opcode not in CONTROL_FLOW:
                moved += dict(program.costs.memory_by_space(one)).get(_VMEM, 0) * runs
    added = {_ALLOCATED: over, _PEAK: over, _TRAFFIC: moved * over // (2 * used)}
    figures = {metric: value + added.get(metric, 0) for metric, value in found.figures.items()}
    parts = {
        metric: {**values, OVERFLOW: added[metric]} if metric in added else values
        for metric, values in found.parts.items()
    }
    return Measured(figures, parts, found.peak_at)


def _measure_parts(program: Program) -> dict[str, Counter[str]]:
    """Return what a program's figures are made of: memory at the peak by argument or scope."""
    parts: dict[str, Counter[str]] = {one: Counter() for one in (_PEAK, _FLOPS, _TRAFFIC, _SENT)}
    for row in program.peak_rows:
        name = row.parameter_tree if row.allocation_type == "parameter" else row.scope
        parts[_PEAK][_name_part(name, row.allocation_type)] += row.live_bytes or 0
    for computation in program.executions.executed:
        runs = program.executions.lower_bound(computation)
        for one in computation.instructions:
            if one.opcode in CONTROL_FLOW:
                continue  # what it calls is counted by itself
            cost = program.costs.of(one)
            if cost.total_flops or cost.traffic_bytes:
                body = one.callee() if one.opcode == "fusion" else None
                scope = read_origin(one, body.instructions[::-1] if body else ()).scope
                name = _name_part(scope, one.opcode)
                parts[_FLOPS][name] += cost.total_flops * runs
                parts[_TRAFFIC][name] += cost.traffic_bytes * runs
    for each in program.collectives.rows:
        parts[_SENT][_name_part(each.scope, each.kind)] += each.known_sent_bytes_per_step or 0
    return parts


def _name_part(scope: str | None, other: str) -> str:
    return fold_numbers(scope) if scope else f"({other})"


class _Fit:
    """What both ways to predict have: the given programs, measured, by their sizes."""

    matched_share = 1.0
    is_alike = False
    worst_ratio: float | None = None
    lost: tuple[LostRow, ...] = ()

    def __init__(self, programs: Sequence[Program], variables: Sequence[Variable]) -> None:
        self.variables = variables
        points = tuple(zip(*(one.values for one in variables), strict=True))
        self.given = {
            point: measure(program) for point, program in zip(points, programs, strict=True)
        }
        self.base = max(self.given)
        self.steps: tuple[int, ...] = (1,) * len(variables)

    def predict(self, point: Sizes, *, in_full: bool = True) -> Measured:
        """Return the figures at a size, if not in full those of memory alone."""
        raise NotImplementedError

    def scale(self, place: int, times: int) -> Sizes:
        """Return the base with one variable so many times as large."""
        return (*self.base[:place], self.base[place] * times, *self.base[place + 1 :])

    def check_point(self, given: Mapping[str, int]) -> Sizes:
        """Return the values of the variables, those of the base where none is given."""
        names = [one.name for one in self.variables]
        for name in given:
            if name not in names:
                raise UsageError(f"--at {name}: {join_words(names, 'and')} varies here.")
        point = tuple(
            given.get(one.name, value) for one, value in zip(self.variables, self.base, strict=True)
        )
        for one, value, step in zip(self.variables, point, self.steps, strict=True):
            if value < 1 or value % step:
                raise UsageError(
                    f"--at {one.name}={value}: expected a multiple of {step} above 0, so that the "
                    "parts on the devices are equal."
                )
        return point

    def distance(self, point: Sizes) -> Distance:
        """Say how far a size is from those given: by the variable that is farthest."""
        columns = zip(*self.given, strict=True)
        farthest = max(
            max(value / max(values), min(values) / value)
            for values, value in zip(columns, point, strict=True)
        )
        return next(name for most, name in _DISTANCES if farthest <= most)


class _Scaled(_Fit):
    """Figures of the program as it would be (`Template`), times those real of the given ones."""

    def __init__(self, programs: Sequence[Program], variables: Sequence[Variable]) -> None:
        super().__init__(programs, variables)
        self.template = template = make_template(programs, variables)
        self.matched_share, self.steps = template.matched_share, template.steps
        if template.matched_share < _LEAST_MATCHED:
            raise UsageError(
                f"{template.matched_share:.0%} of the bytes have a counterpart in each program; "
                "a law needs 90 %."
            )
        self._scaled = {point: _measure_scaled(template.at(point)) for point in self.given}
        self._ratios = {
            point: {
                metric: real / self._scaled[point].figures[metric]
                for metric, real in measured.figures.items()
                if self._scaled[point].figures.get(metric)
            }
            for point, measured in self.given.items()
        }
        at_base = self._ratios[self.base]
        misses = [
            at_base[metric] / ratio
            for ratios in self._ratios.values()
            for metric, ratio in ratios.items()
            if metric in at_base and ratio
        ]
        self.worst_ratio = max(misses, key=lambda one: abs(one - 1), default=None)
        numbers = {program: place for place, program in enumerate(programs, 1)}
        self.lost = tuple(_list_lost(template, numbers))
        is_near = self.worst_ratio is None or abs(self.worst_ratio - 1) < _NEAR
        self.is_alike = is_near and not self.lost

    def predict(self, point: Sizes, *, in_full: bool = True) -> Measured:
        """Return the figures of the base written for that size, as far as real ones differ."""
        found = self._scaled.get(point)
        found = found or _measure_scaled(self.template.at(point), in_full=in_full)
        figures = {
            metric: _round(metric, value * self._find_ratio(point, metric))
            for metric, value in found.figures.items()
        }
        return Measured(figures, found.parts, found.peak_at)

    def _find_ratio(self, point: Sizes, metric: str) -> float:
        """Return real by predicted of the given programs: between two of them on their line."""
        known: list[tuple[Sizes, float]] = sorted(
            (one, ratios.get(metric, 1.0)) for one, ratios in self._ratios.items()
        )
        if len(self.variables) > 1:
            return dict(known)[self.base]
        after = bisect_left(known, (point, 0.0))
        if after == 0 or after == len(known):
            return known[min(after, len(known) - 1)][1]
        (low, one), (high, other) = known[after - 1 : after + 1]
        share = (point[0] - low[0]) / (high[0] - low[0])
        return one + (other - one) * share


def _list_lost(template: Template, numbers: Mapping[Program, int]) -> Iterator[LostRow]:
    """List what has no law: of the base, and what the other programs alone have."""
    alone = [
        (structure.programs[1], one)
        for structure in template.structures
        for pair in structure.computations
        for one in pair.new_only()
    ]
    for program, one in (*((template.base, one) for one in template.lost), *alone):
        size = program.costs.find_size_bytes(one.shape)
        yield LostRow(one.full_name, numbers[program], one.opcode, str(one.shape), size)


class _Counted(_Fit):
    """Figures on the line through two given programs, for layers written one after the other."""

    def predict(self, point: Sizes, *, in_full: bool = True) -> Measured:  # noqa: ARG002  costs nothing
        """Return the figures on the line through the two nearest programs, the larger at last."""
        points = sorted(self.given)
        after = min(max(bisect_left(points, point), 1), len(points) - 1)
        low, high = points[after - 1], points[after]
        share = Fraction(point[0] - low[0], high[0] - low[0])
        one, other = self.given[low], self.given[high]
        figures = {
            metric: _round(metric, _mix(value, other.figures[metric], share))
            for metric, value in one.figures.items()
            if metric in other.figures
        }
        parts = {
            metric: {
                name: _mix(values.get(name, 0), other.parts[metric].get(name, 0), share)
                for name in {**values, **other.parts[metric]}
            }
            for metric, values in one.parts.items()
        }
        return Measured(figures, parts, None)


def _mix(one: Number, other: Number, share: Fraction) -> Number:
    return float(one + (other - one) * share)


def _round(metric: str, value: float) -> Number:
    return value if metric == ESTIMATED_TIME else max(round(value), 0)


# Laws: polynomials through three sizes.


class _Curve:
    """The figures along one variable, the others being as in the base.

    Laws are told from the base on: below it figures lie between those of given programs.
    """

    def __init__(self, fit: _Fit, place: int) -> None:
        self.fit, self.place = fit, place
        self.variable = fit.variables[place]
        self.base, self.step = fit.base[place], fit.steps[place]
        self._known: dict[int, Measured] = {}

    def at(self, value: int, *, in_full: bool = True) -> Measured:
        """Return what is predicted where the variable has this value."""
        known = self._known.get(value)
        if known is None or (in_full and not known.parts):
            base = self.fit.base
            point = (*base[: self.place], value, *base[self.place + 1 :])
            known = self._known[value] = self.fit.predict(point, in_full=in_full)
        return known

    def is_along(self, point: Sizes) -> bool:
        """Whether the other variables are as in the base."""
        base = self.fit.base
        return all(
            one == other or place == self.place
            for place, (one, other) in enumerate(zip(point, base, strict=True))
        )

    def memory_at(self, value: int) -> Measured:
        """Return the same for memory alone."""
        return self.at(value, in_full=False)

    def pieces(self) -> list[tuple[int, ...]]:
        """Return four sizes of each stretch in which memory is fullest at one instruction."""
        step, last = self.step, 4 * self.base
        start = self.base
        found: list[tuple[int, ...]] = []
        while start < last:
            end = self._find_end(start, last)
            third = (end - start) // (3 * step) * step
            if third:
                found.append((start, start + third, start + 2 * third, end))
            start = end + step
        return found

    def _find_end(self, start: int, last: int) -> int:
        """Return the size up to which memory is fullest where it is at the first."""
        place, step = self.memory_at(start).peak_at, self.step
        if self.memory_at(last).peak_at == place:
            return last
        low, high = start // step, last // step
        while high - low > 1:
            middle = (low + high) // 2
            is_same = self.memory_at(middle * step).peak_at == place
            low, high = (middle, high) if is_same else (low, middle)
        return low * step

    def laws(self) -> Iterator[LawRow]:
        """Return the laws of all figures; of memory one for each stretch."""
        pieces = self.pieces()
        for metric in self.at(self.base).figures:
            unit = METRICS[metric].unit
            is_memory = metric in _ESTIMATES
            for sizes in pieces if is_memory else [tuple(self.base * part for part in range(1, 5))]:
                known = [self.at(value, in_full=not is_memory) for value in sizes]
                values = [one.figures.get(metric, 0) for one in known]
                law = _fit(sizes, values)
                yield LawRow(
                    metric,
                    self.variable.name,
                    self._write(law, unit),
                    sizes[0],
                    sizes[-1],
                    known[0].peak_at if metric == _PEAK else None,
                    _add_one(law, sizes[0], unit),
                    tuple(values),
                    tuple(map(float, law or ())),
                    unit,
                )

    def terms(self) -> Iterator[TermRow]:
        """Return what the base's figures are made of, what one more adds most to first."""
        sizes = self.pieces()[:1] or [tuple(self.base * part for part in range(1, 5))]
        for metric, parts in self.at(self.base).parts.items():
            unit, rows = METRICS[metric].unit, []
            chosen = sizes[0] if metric == _PEAK else tuple(self.base * n for n in range(1, 5))
            names = dict.fromkeys(name for one in chosen for name in self.at(one).parts[metric])
            for part in names:
                value = parts.get(part, 0)
                law = _fit(chosen, [self.at(one).parts[metric].get(part, 0) for one in chosen])
                adds = _add_one(law, self.base, unit)
                if value or adds:
                    text = self._write(law, unit)
                    name = self.variable.name
                    rows.append(TermRow(metric, name, part, round(value), adds, text, unit))
            yield from sorted(rows, key=lambda row: (-(row.adds or 0), -row.value))

    def find_limit(self, limit_bytes: int) -> FitRow:
        """Return the most that fits: the largest value below which every tried one fits too."""
        step = self.step

        def allocated(count: int) -> int:
            return self.memory_at(count * step).figure(_ALLOCATED) or 0

        low, high = 0, self.base // step
        for _ in range(_MOST_STEPS):
            size = allocated(high)
            if size > limit_bytes:
                break
            low, high = high, max(2 * high, high * limit_bytes // max(size, 1))
        else:
            return FitRow(self.variable.name, limit_bytes, low * step, None, None, None, None)
        is_line = True
        while high - low > 1:
            # Figures lie near a line between two sizes; where they do not, halving is as good.
            below, above = allocated(low) if low else 0, allocated(high)
            share = Fraction(limit_bytes - below, above - below) if is_line else Fraction(1, 2)
            middle = min(max(low + int((high - low) * share), low + 1), high - 1)
            before = high - low
            low, high = (middle, high) if allocated(middle) <= limit_bytes else (low, middle)
            is_line = not is_line or 2 * (high - low) <= before
        there = self.at(high * step)
        most = max(there.parts[_PEAK].items(), key=lambda one: one[1], default=(None, 0))[0]
        return FitRow(
            self.variable.name,
            limit_bytes,
            low * step or None,
            self.memory_at(low * step).figure(_ALLOCATED) if low else None,
            high * step,
            there.figure(_ALLOCATED),
            most,
        )

    def _write(self, law: Sequence[Fraction] | None, unit: Unit) -> str | None:
        """Write `210 MiB + 37.2 MiB · batch`, without what is too small to count."""
        if law is None:
            return None
        base = self.base
        scale = sum(abs(one) * base**power for power, one in enumerate(law))
        text = ""
        for power, one in enumerate(law):
            if abs(one) * base**power <= scale * Fraction(1, 2000):
                continue
            amount = float(abs(one)) if unit is Unit.SECONDS else round(abs(one))
            size = format_value(amount, unit)
            factor = "" if not power else f" · {self.variable.name}" + ("²" if power > 1 else "")
            sign = ("−" if one < 0 else "") if not text else (" − " if one < 0 else " + ")
            text += f"{sign}{size}{factor}"
        return text or format_value(0, unit)


def _fit(sizes: Sequence[int], known: Sequence[Number]) -> tuple[Fraction, ...] | None:
    """Return the parabola through the first, second and last of four, None if the third is off."""
    chosen = 0, 1, 3
    law = _interpolate([sizes[one] for one in chosen], [known[one] for one in chosen])
    third = sum(one * sizes[2] ** power for power, one in enumerate(law))
    scale = max(abs(known[2]), 1)
    return law if abs(third - Fraction(known[2])) <= Fraction(_EXACT) * Fraction(scale) else None


def _interpolate(values: Sequence[int], known: Sequence[Number]) -> tuple[Fraction, ...]:
    """Return the coefficients of the parabola through three points, exactly."""
    (a, b, c), (x, y, z) = values, map(Fraction, known)
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    bend = (second - first) / (c - a)
    slope = first - bend * (a + b)
    return x - slope * a - bend * a * a, slope, bend


def _add_one(law: Sequence[Fraction] | None, value: int, unit: Unit) -> Number | None:
    if law is None:
        return None
    found = sum(one * ((value + 1) ** power - value**power) for power, one in enumerate(law))
    return float(found) if unit is Unit.SECONDS else round(found)


# Bands: what came out on the tuning families of docs/fit.csv, real by predicted.

_DISTANCES: Final[tuple[tuple[float, Distance], ...]] = (
    (1, "between"), (2, "to 2×"), (4, "to 4×"), (float("inf"), "beyond"),
)  # fmt: skip
_MEMORY_BANDS: Final[Mapping[tuple[bool, Distance], tuple[float, float]]] = {
    (True, "between"): (0.98, 1.02),
    (True, "to 2×"): (0.97, 1.03),
    (True, "to 4×"): (0.93, 1.07),
    (False, "between"): (0.85, 1.1),
    (False, "to 2×"): (0.8, 1.2),
    (False, "to 4×"): (0.75, 1.3),
}
_WORK_BANDS: Final[Mapping[tuple[bool, Distance], tuple[float, float]]] = {
    (True, "between"): (0.98, 1.02),
    (True, "to 2×"): (0.97, 1.03),
    (True, "to 4×"): (0.93, 1.07),
    (False, "between"): (0.92, 1.06),
    (False, "to 2×"): (0.85, 1.1),
    (False, "to 4×"): (0.8, 1.15),
}


def _band(fit: _Fit, point: Sizes, metric: str, value: Number) -> BandRow:
    """Return a figure with its band, which has no ends beyond what was tried."""
    distance = fit.distance(point)
    bands = _MEMORY_BANDS if metric in _ESTIMATES else _WORK_BANDS
    low, high = bands.get((fit.is_alike, distance), (None, None))
    return BandRow(
        _name_point(fit.variables, point),
        metric,
        value,
        None if low is None else _round(metric, value * low),
        None if high is None else _round(metric, value * high),
        distance,
        METRICS[metric].unit,
    )
