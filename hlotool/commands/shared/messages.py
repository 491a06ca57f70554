"""How is an estimated figure written: with what it promises behind it?

Which command line does the next thing, about the same dump?

Which figures are worse than `--threshold` allows, in a line?
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import Final

import click
from click.core import ParameterSource

from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.estimate.assignment import Promised, find_promise
from hlotool.analysis.memory.figures import MemoryEstimate
from hlotool.compare.changes.figures import MetricRow
from hlotool.table import Line, Unit, quote_braces
from hlotool.table.units import format_value

_NAMES: Final[dict[Promised, str]] = {
    "peak": "peak_bytes",
    "temp_peak": "temp_peak_bytes",
    "allocated": "allocated_bytes",
}


def write_promised(
    figure: Promised, estimated: MemoryEstimate, backend: Backend | None, color: int = 0
) -> str:
    """Return the template of a figure, `{peak_bytes} (typically within 1 %)`.

    The temp peak of space 0 is an upper bound on TPU.
    """
    name = _NAMES[figure]
    size: int | None = getattr(estimated, name)
    promise = find_promise(figure, backend, color)
    if promise is not None and size is not None:
        return f"{{{name}}} (typically {promise.words(size)})"
    is_most = figure == "temp_peak" and backend == "tpu" and not color
    return f"at most {{{name}}}" if is_most else f"{{{name}}}"


def repeat_command(kept: Collection[str], *added: str) -> str:
    """Return the command line as typed, of its parameters those that are `kept`, and `added`."""
    context = click.get_current_context()
    words = context.command_path.split()
    for each in context.command.params:
        name = each.name or ""
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name in kept:
            is_option = isinstance(each, click.Option)
            words += (
                [*each.opts[-1:], context.params[name]] if is_option else [context.params[name]]
            )
    return shlex.join([*words, *added])


def worse_line(rows: Sequence[MetricRow], label: str = "") -> Line:
    """Name the figures that have grown by more, with their differences."""
    parts = ", ".join(f"{row.metric} {_write(row)}" for row in rows)
    side = f"{label} is " if label else ""
    return Line(quote_braces(f"{side}worse than --threshold allows: {parts}"))


def _write(row: MetricRow) -> str:
    delta = format_value(row.delta, row.unit, is_signed=True)
    if row.relative_delta is None:
        return delta
    return f"{delta} ({format_value(row.relative_delta, Unit.PERCENT, is_signed=True)})"
