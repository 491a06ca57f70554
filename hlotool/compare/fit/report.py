"""What a program would take at other sizes, what one more of a size costs, and what fits.

`predict` knows the figures at a size. A law is the polynomial through three sizes; a fourth one
says whether it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.graph.backend import find_backend
from hlotool.compare.changes.figures import ESTIMATED_TIME
from hlotool.compare.fit import predict
from hlotool.compare.fit.laws import Sizes, Variable, find_variables
from hlotool.errors import UsageError
from hlotool.hlo import Instruction
from hlotool.program.metrics import METRICS
from hlotool.program.program import Program
from hlotool.table import MEASURE, NUMBER, Block, DocumentSpec, RowList, Unit, column, figure
from hlotool.table.units import format_value
from hlotool.table.words import join_words

_EXACT: Final = 1e-3  # a law misses a size by more: sizes are padded, or a loop runs otherwise
_MOST_STEPS: Final = 60  # of a search for the size that fits


def _name_metric(row: BandRow | LawRow | TermRow) -> str:
    """Call a figure as the sizes do above."""
    return next(one.title for one in SIZES.fields if row.metric.endswith(f".{one.name}"))


_METRIC: Final = column("the figure, as budgets name it", heading="figure", shown=_name_metric)


class SizeRow(Struct, frozen=True):
    """A program at one size: as it was given, or as it would be."""

    size: Annotated[str, column("values of the variable")]
    is_given: Annotated[bool, column("whether it was compiled; else its figures are predicted")]
    allocated_bytes: Annotated[int | None, column("bytes that the runtime reserves in space 0")]
    low_bytes: Annotated[
        int | None, column("low end of the band of a predicted size", null_text="–")
    ]
    high_bytes: Annotated[
        int | None, column("its high end; null where none is known", null_text="–")
    ]
    peak_bytes: Annotated[int | None, column("most bytes in use at once in space 0")]
    total_flops_per_step: Annotated[int | None, column("operations a step")]
    traffic_bytes_per_step: Annotated[int | None, column("bytes that cross memory per step")]
    sent_bytes_per_step: Annotated[int | None, column("bytes a device sends per step")]
    estimated_seconds: Annotated[
        float | None, column("time of a step; null without --chip", null_text="–")
    ]


class BandRow(Struct, frozen=True):
    """A predicted figure with its band."""

    size: Annotated[str, column("values of the variable")]
    metric: Annotated[str, _METRIC]
    value: Annotated[predict.Number, column("the predicted figure", MEASURE)]
    low: Annotated[
        predict.Number | None, column("low end; 9 in 10 families were above it", MEASURE)
    ]
    high: Annotated[
        predict.Number | None, column("high end; 9 in 10 families were below it", MEASURE)
    ]
    distance: Annotated[predict.Distance, column("distance of the size from the given ones")]
    unit: Unit


class LawRow(Struct, frozen=True):
    """The law of a figure along one variable, from some size on."""

    metric: Annotated[str, _METRIC]
    variable: Annotated[str, figure("the variable; others are as in the largest program")]
    law: Annotated[str | None, column("its terms; null if it follows no law")]
    from_value: Annotated[int, column("smallest size at which it is valid", NUMBER, heading="from")]
    until_value: Annotated[
        int, column("the largest size at which it was tried", NUMBER, heading="until")
    ]
    peak_at: Annotated[str | None, figure("of the peak: its location in the program")]
    is_vmem_full: Annotated[bool, figure("of the peak: whether a TPU's vector memory is full then")]
    adds: Annotated[
        predict.Number | None,
        column("increase per unit, from the largest program", MEASURE, heading="one more adds"),
    ]
    values: Annotated[
        tuple[int | float, ...],
        column("the figure at four sizes from `from_value` on", heading="curve", is_curve=True),
    ]
    coefficients: Annotated[
        tuple[float, ...], figure("coefficients of the variable's powers, the constant first")
    ]
    unit: Unit


class TermRow(Struct, frozen=True):
    """A part of a figure: arguments or a scope, and its law."""

    metric: Annotated[str, _METRIC]
    variable: Annotated[str, figure("the variable; others are as in the largest program")]
    part: Annotated[str, column("arguments, scope or collective")]
    value: Annotated[predict.Number, column("in the largest program", MEASURE)]
    adds: Annotated[
        predict.Number | None, column("increase per unit", MEASURE, heading="one more adds")
    ]
    law: Annotated[str | None, column("its terms; null if it follows no law")]
    unit: Unit


class FitRow(Struct, frozen=True):
    """The most of a variable that fits a limit by the law, and what takes most then."""

    variable: Annotated[str, column("the variable; others are as in the largest program")]
    limit_bytes: Annotated[int, column("available bytes")]
    fits: Annotated[int | None, column("the largest value that fits; null if none does", NUMBER)]
    surely_fits: Annotated[
        int | None,
        column(
            "the largest value whose high end fits; null if none does", NUMBER, heading="surely"
        ),
    ]
    is_band_end: Annotated[bool, figure("whether only the end of the band limits `surely_fits`")]
    allocated_bytes: Annotated[int | None, column("bytes at that value")]
    next_value: Annotated[int | None, column("the smallest value that does not fit", NUMBER)]
    next_bytes: Annotated[int | None, column("bytes at that value")]
    limited_by: Annotated[str | None, column("the largest part of the peak at `next_value`")]
    others: Annotated[str, figure("values of the other variables, as in the largest program")]


class VariableRow(Struct, frozen=True):
    """What varies between the programs."""

    variable: Annotated[str, column("its name")]
    values: Annotated[tuple[int, ...], column("its value in each program")]
    step: Annotated[int, figure("the smallest step that keeps all sizes whole", NUMBER)]
    dimensions: Annotated[tuple[str, ...], column("the dimensions that follow it")]
    alike: Annotated[
        tuple[str, ...],
        figure("dimensions of different sizes that follow it; several may mean two changes"),
    ]


class LostRow(Struct, frozen=True):
    """An instruction without a law: one program alone has it, or its sizes follow nothing."""

    instruction: Annotated[str, column("its name")]
    program: Annotated[int, column("number of the program, from 1", NUMBER)]
    opcode: Annotated[str, column("its opcode")]
    shape: Annotated[str, column("its shape", is_shape=True)]
    size_bytes: Annotated[int | None, column("its size")]


class FitFacts(Struct, frozen=True):
    """What holds of the fit."""

    program: Annotated[str, figure("name of the program")]
    program_count: Annotated[int, figure("programs that were given")]
    matched_share: Annotated[float, figure("share of bytes that follow a law")]
    is_alike: Annotated[
        bool, figure("whether the given programs have one structure, and each predicts the others")
    ]
    worst_ratio: Annotated[
        float | None, figure("worst ratio of prediction to reality for a given program")
    ]


VARIABLES: Final = RowList("variables", VariableRow, "what varies", has_total=False)
SIZES: Final = RowList(
    "sizes", SizeRow, "the given programs, then others", has_total=False, limit=0
)
PREDICTIONS: Final = RowList(
    "predicted", BandRow, "every figure that is predicted", has_total=False, limit=0
)
LAWS: Final = RowList("laws", LawRow, "the law of each figure", has_total=False, limit=0)
TERMS: Final = RowList("terms", TermRow, "parts of each figure", has_total=False, limit=12)
LIMITS: Final = RowList("limits", FitRow, "what fits", has_total=False, option="--hbm")
LIMIT: Final = Block("limit", FitRow, "what fits")
LOST: Final = RowList(
    "lost", LostRow, "instructions that follow no law", sort="-size_bytes", has_total=False
)
FIT_FACTS: Final = Block("facts", FitFacts, "how well the given programs follow laws")
FIT: Final = DocumentSpec(
    "fit",
    "predictions for other sizes",
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
    fit = predict.make_fit(programs, variables)
    points = [fit.check_point(one) for one in at] or [
        fit.move(place, fit.base[place] * times)
        for place in range(len(variables))
        for times in (2, 4)
    ]
    curves = [_Curve(fit, place, limit_bytes) for place in range(len(variables))]
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
            VariableRow(
                one.name,
                one.values,
                step,
                tuple(map(str, one.dimensions)),
                tuple(map(str, {each.sizes: each for each in one.dimensions}.values())),
            )
            for one, step in zip(variables, fit.steps, strict=True)
        ),
        tuple(
            _size_row(fit, point, one)
            for each in (fit.given, found)
            for point, one in sorted(each.items())
        ),
        tuple(
            _band_row(fit, point, metric, value)
            for point, each in sorted(found.items())
            for metric, value in each.figures.items()
        ),
        tuple(row for curve in curves for row in curve.laws()),
        tuple(row for curve in curves for row in curve.terms()),
        tuple(curve.limit for curve in curves if curve.limit),
        tuple(_lost_row(program, one, programs) for program, one in fit.lost),
    )


def _lost_row(program: Program, one: Instruction, programs: Sequence[Program]) -> LostRow:
    size = program.costs.find_size_bytes(one.shape)
    return LostRow(one.full_name, programs.index(program) + 1, one.opcode, str(one.shape), size)


def _size_row(fit: predict.Predictor, point: Sizes, found: predict.Measured) -> SizeRow:
    is_given, allocated = point in fit.given, found.figure(predict.ALLOCATED)
    band = None if is_given else predict.find_band(fit, point, predict.ALLOCATED, allocated or 0)
    low, high = map(int, band) if band else (None, None)
    return SizeRow(
        _name_point(fit.variables, point),
        is_given,
        allocated,
        low,
        high,
        found.figure(predict.PEAK),
        found.figure(predict.TOTAL_FLOPS),
        found.figure(predict.TRAFFIC),
        found.figure(predict.SENT),
        found.figures.get(ESTIMATED_TIME),
    )


def _band_row(fit: predict.Predictor, point: Sizes, metric: str, value: predict.Number) -> BandRow:
    low, high = predict.find_band(fit, point, metric, value) or (None, None)
    name, unit = _name_point(fit.variables, point), METRICS[metric].unit
    return BandRow(name, metric, value, low, high, fit.distance(point), unit)


def _name_point(variables: Sequence[Variable], point: Sizes, but: Variable | None = None) -> str:
    named = zip(variables, point, strict=True)
    return ", ".join(f"{one.name}={value}" for one, value in named if one is not but)


# Laws: polynomials through three sizes.


class _Curve:
    """The figures along one variable, the others being as in the base.

    Laws are told from the base on: below it figures lie between those of given programs.
    """

    def __init__(self, fit: predict.Predictor, place: int, limit_bytes: int | None) -> None:
        self.fit, self.place = fit, place
        self.variable = fit.variables[place]
        self.base, self.step = fit.base[place], fit.steps[place]
        self._known: dict[int, predict.Measured] = {}
        self.limit = None if limit_bytes is None else self._find_limit(limit_bytes)
        next_value = self.limit.next_value if self.limit else None
        self.last: int = max(4 * self.base, next_value or 0)  # up to where laws are tried

    def point(self, value: int) -> Sizes:
        """Return the base with the variable at this value."""
        return self.fit.move(self.place, value)

    def at(self, value: int, *, in_full: bool = True) -> predict.Measured:
        """Return what is predicted where the variable has this value."""
        known = self._known.get(value)
        if known is None or (in_full and not known.parts):
            known = self._known[value] = self.fit.predict(self.point(value), in_full=in_full)
        return known

    def is_along(self, point: Sizes) -> bool:
        """Whether the other variables are as in the base."""
        return point == self.point(point[self.place])

    def memory_at(self, value: int) -> predict.Measured:
        """Return the same for memory alone."""
        return self.at(value, in_full=False)

    def pieces(self) -> list[tuple[int, ...]]:
        """Return the first size of each stretch that has a law, and four sizes in it.

        Those are multiples of the base where that leaves four: others end within a tile of a TPU.
        """
        start = self.base
        found: list[tuple[int, ...]] = []
        while start < self.last:
            end = self._find_end(start)
            for unit in (self.base, self.step):
                first = -(-start // unit) * unit
                third = (end - first) // (3 * unit) * unit
                if third > 0:
                    found.append((start, *(first + part * third for part in range(4))))
                    break
            start = end + self.step
        return found

    def _find_end(self, start: int) -> int:
        """Return the size up to which memory is fullest where it is at the first."""
        stretch, step = self.memory_at(start).stretch, self.step
        if self.memory_at(self.last).stretch == stretch:
            return self.last
        low, high = start // step, self.last // step
        while high - low > 1:
            middle = (low + high) // 2
            is_same = self.memory_at(middle * step).stretch == stretch
            low, high = (middle, high) if is_same else (low, middle)
        return low * step

    def _multiples(self) -> list[int]:
        return [self.base * times for times in range(1, 5)]

    def laws(self) -> Iterator[LawRow]:
        """Return the laws of all figures; of memory one for each stretch."""
        pieces = self.pieces()
        for metric in self.at(self.base).figures:
            unit = METRICS[metric].unit
            is_memory = metric in predict.MEMORY
            for start, *sizes in pieces if is_memory else [(self.base, *self._multiples())]:
                known = [self.at(value, in_full=not is_memory) for value in sizes]
                values = [one.figures.get(metric, 0) for one in known]
                law = _fit(sizes, values)
                about = metric, self.variable.name, self._write(law, unit), start, sizes[-1]
                at = known[0].stretch if metric == predict.PEAK else (None, False)
                adds, coefficients = _add_one(law, start, unit), tuple(map(float, law or ()))
                yield LawRow(*about, *at, adds, tuple(values), coefficients, unit)

    def terms(self) -> Iterator[TermRow]:
        """Return what the base's figures are made of, what one more adds most to first."""
        first = next((sizes for _, *sizes in self.pieces()), self._multiples())
        for metric, parts in self.at(self.base).parts.items():
            unit, rows = METRICS[metric].unit, []
            chosen = first if metric == predict.PEAK else self._multiples()
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

    def _find_limit(self, limit_bytes: int) -> FitRow:
        """Return the most that fits by the law, and the most of which the band fits too."""

        def allocated(value: int) -> int:
            return self.memory_at(value).figure(predict.ALLOCATED) or 0

        def highest(value: int) -> int:
            band = self._find_band(value)
            return int(band[1]) if band else limit_bytes + 1  # beyond what was tried none is sure

        fits, next_value = self._search(limit_bytes, allocated)
        surely, after = self._search(limit_bytes, highest)
        is_band_end = after is not None and self._find_band(after) is None
        parts = self.at(next_value).parts[predict.PEAK].items() if next_value else ()
        limited_by = max(parts, key=lambda one: one[1], default=(None, 0))[0]
        others = _name_point(self.fit.variables, self.fit.base, self.variable)
        size, next_size = (
            None if value is None else allocated(value) for value in (fits, next_value)
        )
        found = limit_bytes, fits, surely, is_band_end, size, next_value, next_size
        return FitRow(self.variable.name, *found, limited_by, others)

    def _find_band(self, value: int) -> tuple[predict.Number, predict.Number] | None:
        allocated = self.memory_at(value).figure(predict.ALLOCATED) or 0
        return predict.find_band(self.fit, self.point(value), predict.ALLOCATED, allocated)

    def _search(
        self, limit_bytes: int, size_of: Callable[[int], int]
    ) -> tuple[int | None, int | None]:
        """Return the last value before one that does not fit, and that one.

        The search goes up from the base; the first is None where nothing fits, the second where
        nothing was found not to.
        """
        step = self.step
        low, high = 0, self.base // step
        for _ in range(_MOST_STEPS):
            size = size_of(high * step)
            if size > limit_bytes:
                break
            low, high = high, max(2 * high, high * limit_bytes // max(size, 1))
        else:
            return low * step, None
        is_line = True
        while high - low > 1:
            # Figures lie near a line between two sizes; where they do not, halving is as good.
            below, above = size_of(low * step) if low else 0, size_of(high * step)
            share = Fraction(limit_bytes - below, above - below) if is_line else Fraction(1, 2)
            middle = min(max(low + int((high - low) * share), low + 1), high - 1)
            before = high - low
            low, high = (middle, high) if size_of(middle * step) <= limit_bytes else (low, middle)
            is_line = not is_line or 2 * (high - low) <= before
        return low * step or None, high * step

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


def _fit(sizes: Sequence[int], known: Sequence[predict.Number]) -> tuple[Fraction, ...] | None:
    """Return the parabola through the first, second and last of four, None if the third is off."""
    chosen = 0, 1, 3
    law = _interpolate([sizes[one] for one in chosen], [known[one] for one in chosen])
    third = sum(one * sizes[2] ** power for power, one in enumerate(law))
    scale = max(abs(known[2]), 1)
    return law if abs(third - Fraction(known[2])) <= Fraction(_EXACT) * Fraction(scale) else None


def _interpolate(values: Sequence[int], known: Sequence[predict.Number]) -> tuple[Fraction, ...]:
    """Return the coefficients of the parabola through three points, exactly."""
    (a, b, c), (x, y, z) = values, map(Fraction, known)
    first, second = (y - x) / (b - a), (z - y) / (c - b)
    bend = (second - first) / (c - a)
    slope = first - bend * (a + b)
    return x - slope * a - bend * a * a, slope, bend


def _add_one(law: Sequence[Fraction] | None, value: int, unit: Unit) -> predict.Number | None:
    if law is None:
        return None
    found = sum(one * ((value + 1) ** power - value**power) for power, one in enumerate(law))
    return float(found) if unit is Unit.SECONDS else round(found)
