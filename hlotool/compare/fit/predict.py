"""The figures of a program at sizes at which it was not compiled, and how good they are.

A figure at another size is that of the program as it would be (`scaled`), times what the given
programs differ from their own: XLA's buffer assignment is known of them alone. Where layers are
written one after the other, figures lie on the line through two of the given programs. Bands are
what came out on families of programs that were compiled at sizes not given (docs/fit.csv).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.origin import read_origin
from hlotool.compare.changes.figures import ESTIMATED_TIME
from hlotool.compare.fit.laws import Sizes, Variable
from hlotool.compare.fit.scaled import Template, make_template
from hlotool.errors import UsageError
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import CONTROL_FLOW
from hlotool.program.program import Program
from hlotool.table.words import fold_numbers, join_words

Number: TypeAlias = int | float
Distance: TypeAlias = Literal["between", "to 2×", "to 4×", "beyond"]
ALLOCATED: Final = "buffers.allocated_bytes"
PEAK: Final = "buffers.peak_bytes"
TOTAL_FLOPS: Final = "cost.total_flops_per_step"
TRAFFIC: Final = "cost.traffic_bytes_per_step"
SENT: Final = "collectives.sent_bytes_per_step"
PREDICTED: Final = (ALLOCATED, PEAK, TOTAL_FLOPS, TRAFFIC, SENT, ESTIMATED_TIME)
MEMORY: Final = {
    ALLOCATED: "buffers.estimated.allocated_bytes",
    PEAK: "buffers.estimated.peak_bytes",
}
_VMEM: Final = 1
_VMEM_BYTES: Final = 112 << 20  # what XLA filled at most for v5e; of other chips it is assumed
OVERFLOW: Final = "(no room in vmem)"
_LEAST_MATCHED: Final = 0.9
_NEAR: Final = 0.01  # programs of one structure predict each other so well


class Measured(Struct, frozen=True):
    """The figures of a program at one size, and what they are made of, by metric and part.

    One law of memory holds as long as `stretch` is one: the place where it is fullest, and whether
    a TPU's vector memory is full.
    """

    figures: Mapping[str, Number]
    parts: Mapping[str, Mapping[str, Number]]
    peak_at: str | None
    is_vmem_full: bool = False

    @property
    def stretch(self) -> tuple[str | None, bool]:
        """Return what a law of memory holds for."""
        return self.peak_at, self.is_vmem_full

    def figure(self, metric: str) -> int | None:
        """Return a figure that is counted in whole units."""
        value = self.figures.get(metric)
        return None if value is None else int(value)


def measure(program: Program, *, in_full: bool = True) -> Measured:
    """Return the figures of a program, if not in full those of memory alone.

    Memory is estimated where there is no buffer assignment.
    """
    figures: dict[str, Number] = {}
    for metric in PREDICTED if in_full else MEMORY:
        value = program.metric(metric)
        if value is None and metric in MEMORY:
            value = program.metric(MEMORY[metric])
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
    added = {ALLOCATED: over, PEAK: over, TRAFFIC: moved * over // (2 * used)}
    figures = {metric: value + added.get(metric, 0) for metric, value in found.figures.items()}
    parts = {
        metric: {**values, OVERFLOW: added[metric]} if metric in added else values
        for metric, values in found.parts.items()
    }
    return Measured(figures, parts, found.peak_at, is_vmem_full=True)


def _measure_parts(program: Program) -> dict[str, Counter[str]]:
    """Return what a program's figures are made of: memory at the peak by argument or scope."""
    parts: dict[str, Counter[str]] = {one: Counter() for one in (PEAK, TOTAL_FLOPS, TRAFFIC, SENT)}
    for row in program.peak_rows:
        name = row.parameter_tree if row.allocation_type == "parameter" else row.scope
        parts[PEAK][_name_part(name, row.allocation_type)] += row.live_bytes or 0
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
                parts[TOTAL_FLOPS][name] += cost.total_flops * runs
                parts[TRAFFIC][name] += cost.traffic_bytes * runs
    for each in program.collectives.rows:
        parts[SENT][_name_part(each.scope, each.kind)] += each.known_sent_bytes_per_step or 0
    return parts


def _name_part(scope: str | None, other: str) -> str:
    return fold_numbers(scope) if scope else f"({other})"


def make_fit(programs: Sequence[Program], variables: Sequence[Variable]) -> Predictor:
    """Make what predicts; raises UsageError where less than 90 % of the bytes have counterparts."""
    return (_Counted if variables[0].is_counted else _Scaled)(programs, variables)


class Predictor:
    """What both ways to predict have: the given programs, measured, by their sizes."""

    matched_share = 1.0
    is_alike = False
    worst_ratio: float | None = None
    lost: tuple[tuple[Program, Instruction], ...] = ()

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

    def move(self, place: int, value: int) -> Sizes:
        """Return the base with another value of one variable."""
        return (*self.base[:place], value, *self.base[place + 1 :])

    def check_point(self, given: Mapping[str, int]) -> Sizes:
        """Return the values of the variables, those of the base where none is given."""
        names = [one.name for one in self.variables]
        for name in given:
            if name not in names:
                first = self.variables[0]
                values = ",".join(map(str, first.values))
                raise UsageError(
                    f"--at {name}: here {join_words(names, 'and')} varies.",
                    f"To give {first.name} this name, type --vary {name}={values}.",
                )
        point = tuple(
            given.get(one.name, value) for one, value in zip(self.variables, self.base, strict=True)
        )
        for one, value, step in zip(self.variables, point, self.steps, strict=True):
            if value < 1 or value % step:
                whole = "a number" if step == 1 else f"a multiple of {step}"
                why = "" if step == 1 else ", so that loops and devices divide it evenly"
                raise UsageError(f"--at {one.name}={value}: expected {whole} above 0{why}.")
        return point

    def distance(self, point: Sizes) -> Distance:
        """Say how far a size is from those given: by the variable that is farthest."""
        columns = zip(*self.given, strict=True)
        farthest = max(
            max(value / max(values), min(values) / value)
            for values, value in zip(columns, point, strict=True)
        )
        return next(name for most, name in _DISTANCES if farthest <= most)


class _Scaled(Predictor):
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
        self.lost = tuple(_list_lost(template))
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
        return Measured(figures, found.parts, found.peak_at, found.is_vmem_full)

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


def _list_lost(template: Template) -> Iterator[tuple[Program, Instruction]]:
    """List what has no law: of the base, and what the other programs alone have."""
    yield from ((template.base, one) for one in template.lost)
    for structure in template.structures:
        for pair in structure.computations:
            yield from ((structure.programs[1], one) for one in pair.new_only())


class _Counted(Predictor):
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


# Bands: what came out on the tuning families of docs/fit.csv, real by predicted.

_DISTANCES: Final[tuple[tuple[float, Distance], ...]] = (
    (1, "between"), (2, "to 2×"), (4, "to 4×"), (float("inf"), "beyond"),
)  # fmt: skip
_ALIKE_BANDS: Final[Mapping[Distance, tuple[float, float]]] = {
    "between": (0.98, 1.02),
    "to 2×": (0.97, 1.03),
    "to 4×": (0.93, 1.07),
}
_MEMORY_BANDS: Final[Mapping[Distance, tuple[float, float]]] = {
    "between": (0.85, 1.1),
    "to 2×": (0.8, 1.2),
    "to 4×": (0.75, 1.3),
}
_WORK_BANDS: Final[Mapping[Distance, tuple[float, float]]] = {
    "between": (0.92, 1.06),
    "to 2×": (0.85, 1.1),
    "to 4×": (0.8, 1.15),
}


def find_band(
    fit: Predictor, point: Sizes, metric: str, value: Number
) -> tuple[Number, Number] | None:
    """Return between what the real figure is, nine times in ten; None beyond what was tried."""
    bands = _MEMORY_BANDS if metric in MEMORY else _WORK_BANDS
    band = (_ALIKE_BANDS if fit.is_alike else bands).get(fit.distance(point))
    return (_round(metric, value * band[0]), _round(metric, value * band[1])) if band else None
