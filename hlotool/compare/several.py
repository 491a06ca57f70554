"""The figures of more than two programs, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Final

from msgspec import Struct, defstruct
from msgspec.structs import replace

from hlotool.compare.answer import SideFacts
from hlotool.compare.changes.figures import (
    ESTIMATED_TIME,
    JUDGED,
    MetricRow,
    by_path,
    compare_metrics,
)
from hlotool.compare.changes.instructions import RELATIVE_DELTA
from hlotool.compare.inputs import DiffSide
from hlotool.compare.report import estimate_times
from hlotool.table import MEASURE, PERCENT, Block, DocumentSpec, RowList, Unit, column, figure

NOT_LEVEL: Final = "the buffer assignment that only some have; memory is estimated for all"


class SideFigure(Struct, frozen=True):
    """A figure of one side, and how it differs from the first side's."""

    metric: Annotated[str, column("the figure, as budgets name it")]
    side: Annotated[str, column("what the user calls the side")]
    figure: Annotated[
        int | float | None, column("the figure; null where the side does not know it", MEASURE)
    ]
    delta: Annotated[
        int | float | None,
        column(
            "this side minus the first",
            MEASURE,
            heading="difference",
            is_signed=True,
            lower_if="is_delta_lower_bound",
            upper_if="is_delta_upper_bound",
        ),
    ]
    relative_delta: Annotated[float | None, RELATIVE_DELTA]
    is_lower_bound: Annotated[bool, figure("whether the figure is a lower bound")]
    is_upper_bound: Annotated[bool, figure("whether the figure is an upper bound")]
    is_delta_lower_bound: Annotated[bool, figure("whether the difference is a lower bound")]
    is_delta_upper_bound: Annotated[bool, figure("whether the difference is an upper bound")]
    unit: Unit


class SideRow(Struct, frozen=True):
    """One side: what the user calls it, where it lies."""

    label: Annotated[str, column("the user's name for it")]
    path: Annotated[str, column("its path")]
    module: Annotated[str | None, column("the module's name; null where a document has none")]
    backend: Annotated[str | None, figure("the backend that the text shows; null if none")]


class SeveralFacts(Struct, frozen=True):
    """What holds of all sides."""

    differs: Annotated[bool, figure("whether any figure that all sides know differs")]
    not_compared: Annotated[tuple[str, ...], figure("what some sides do not have")]


FIGURES: Final = RowList(
    "figures",
    SideFigure,
    "every figure of every side, the first side's first",
    has_total=False,
    limit=0,
)
SIDES: Final = RowList(
    "sides",
    SideRow,
    "the sides in the given order; the first is the reference",
    has_total=False,
    limit=0,
)


def compare_sides(sides: Sequence[DiffSide]) -> list[tuple[MetricRow, ...]]:
    """Compare each side with the first, the first with itself. Raises what the analyses raise."""
    first = sides[0]
    return [
        (*compare_metrics(first.figures, side.figures), *_compare_time(first, side))
        for side in sides
    ]


def _compare_time(first: DiffSide, side: DiffSide) -> Iterator[MetricRow]:
    """Yield by how much a step takes longer than the first side's, where no chip gives seconds."""
    time = estimate_times(first, side)
    if time is None or time.old_seconds is not None or time.relative_delta is None:
        return
    yield MetricRow(
        ESTIMATED_TIME,
        relative_delta=time.relative_delta,
        ratio=1 + time.relative_delta,
        is_old_lower_bound=time.is_old_lower_bound,
        is_new_lower_bound=time.is_new_lower_bound,
        is_lower_bound=time.is_new_lower_bound,
        is_upper_bound=time.is_old_lower_bound,
        unit=Unit.SECONDS,
    )


_read_values: Final = attrgetter(
    *("new", "delta", "relative_delta", "is_new_lower_bound", "is_new_upper_bound"),
    *("is_lower_bound", "is_upper_bound", "unit"),
)


def list_figures(
    compared: Sequence[Iterable[MetricRow]], facts: Sequence[SideFacts]
) -> list[SideFigure]:
    """Put the figures of all sides in one list."""
    columns = [by_path(rows) for rows in compared]
    return [
        SideFigure(metric, side.label, *_read_values(row))
        for metric in dict.fromkeys(metric for rows in columns for metric in rows)
        for rows, side in zip(columns, facts, strict=True)
        if (row := rows.get(metric))
    ]


def list_sides(facts: Iterable[SideFacts]) -> list[SideRow]:
    """List the sides as they were given."""
    return [
        SideRow(
            each.label,
            each.input.path,
            each.module.name if each.module else None,
            each.module.backend if each.module else None,
        )
        for each in facts
    ]


def list_links(sides: Iterable[DiffSide]) -> tuple[str, ...]:
    """List the links that the user states, by which the times of sides are estimated."""
    programs = [side.program for side in sides if side.program and side.program.module]
    times = [one.step_time for one in programs]
    return tuple(dict.fromkeys(link for time in times if time for link in time.links))


DIFF_SEVERAL: Final = DocumentSpec(
    "diff-several",
    "the figures of more than two programs, side by side",
    scalars=Block("facts", SeveralFacts, "the comparison as a whole"),
    row_lists=(FIGURES, SIDES),
)


def spread(figures: Sequence[SideFigure], labels: Sequence[str]) -> tuple[RowList, list[object]]:
    """Return the figures as a table has them: a row a figure, a column a side.

    Kept are figures that differ, and those of which less is better.
    """
    record = _make_record(labels)
    rows: list[object] = []
    for metric in dict.fromkeys(one.metric for one in figures):
        found = {one.side: one for one in figures if one.metric == metric}
        is_same = not any(one.delta or one.relative_delta for one in found.values())
        if metric not in JUDGED and is_same:
            continue
        values: dict[str, object] = {"metric": metric}
        for number, label in enumerate(labels):
            one = found.get(label)
            if one:
                values[f"side_{number}"] = one.figure
                values[f"change_{number}"] = one.relative_delta
                values[f"is_lower_{number}"] = one.is_lower_bound
                values[f"is_upper_{number}"] = one.is_upper_bound
        rows.append(record(**values, unit=next(iter(found.values())).unit))
    return replace(FIGURES, record=record), rows


def _make_record(labels: Sequence[str]) -> type[Struct]:
    """Make the record of a row with a column for each side, and one for its difference."""
    fields: list[tuple[str, object] | tuple[str, object, object]] = [
        ("metric", Annotated[str, column("the figure")]),
        ("unit", Unit),
    ]
    for number, label in enumerate(labels):
        flags = f"is_lower_{number}", f"is_upper_{number}"
        value = column("the figure", MEASURE, heading=label, lower_if=flags[0], upper_if=flags[1])
        fields.append((f"side_{number}", Annotated[int | float | None, value], None))
        declare, heading = (column if number else figure), f"vs {labels[0]}"
        says = "relative to the first"
        change = declare(says, PERCENT, heading=heading, is_signed=True, null_text="")
        fields.append((f"change_{number}", Annotated[float | None, change], None))
        fields += [(flag, bool, False) for flag in flags]
    return defstruct("SpreadRow", fields, frozen=True)
