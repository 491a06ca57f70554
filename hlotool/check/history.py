"""What is a line of a history: the figures of one module in one run of `hlotool check`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

from msgspec import Meta, Struct, convert, to_builtins

from hlotool import __version__
from hlotool.check.baseline import known_metrics
from hlotool.check.results import RuleResult, Verdict, find_verdict
from hlotool.errors import InputError, UsageError
from hlotool.program.program import Program

HISTORY_SCHEMA: Final = "hlotool/check-history/v1"
_EPOCH: Final = re.compile(r"[0-9]{1,11}")


class HistoryLine(Struct, frozen=True, kw_only=True, tag_field="schema", tag=HISTORY_SCHEMA):
    """One module in one run; time and commit are as the caller gave them, null if not."""

    hlotool_version: str = ""
    time: Annotated[str | None, Meta(description="when it was, ISO 8601")] = None
    commit: Annotated[str | None, Meta(description="the commit that was compiled")] = None
    module: Annotated[str, Meta(description="the module, as baselines name it")]
    machine: Annotated[
        str | None, Meta(description="what times were estimated for; null where they were not")
    ] = None
    metrics: Annotated[
        dict[str, int | float | None],
        Meta(description="figures by the names that budgets have; one that is missing is unknown"),
    ]
    verdict: Annotated[
        Verdict | None,
        Meta(description="the worst of what the module's budgets came to; null where none was"),
    ] = None
    exceeded: Annotated[
        tuple[str, ...], Meta(description="the budgets that were exceeded, by name")
    ] = ()
    lower_bounds: Annotated[
        tuple[str, ...], Meta(description="metrics of which a part is unknown")
    ] = ()
    upper_bounds: Annotated[
        tuple[str, ...], Meta(description="metrics of which a part may not happen")
    ] = ()


def measure_line(program: Program, module: str, results: Sequence[RuleResult] = ()) -> HistoryLine:
    """Return the figures of a program, as far as they are known, and what its budgets came to.

    Time and commit are the caller's to add.
    """
    metrics: dict[str, int | float | None] = {
        path: value
        for path, value in known_metrics(program).items()
        if isinstance(value, int | float)
    }
    bounds = {path: program.bounds(path) for path in metrics}
    return HistoryLine(
        hlotool_version=__version__,
        module=module,
        machine=program.collectives.totals.machine if program.module else None,
        metrics=metrics,
        verdict=find_verdict(results),
        exceeded=tuple(one.name for one in results if one.status == "fail"),
        lower_bounds=tuple(path for path, (is_lower, _) in bounds.items() if is_lower),
        upper_bounds=tuple(path for path, (_, is_upper) in bounds.items() if is_upper),
    )


def write_lines(lines: Iterable[HistoryLine]) -> str:
    """Return the text of lines: JSON, each on a line of its own."""
    return "".join(json.dumps(to_builtins(line), allow_nan=False) + "\n" for line in lines)


def read_lines(data: bytes, name: str) -> dict[int, HistoryLine]:
    """Read a history, its lines by their numbers; raise InputError for a line of another kind."""
    found: dict[int, HistoryLine] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found[number] = convert(json.loads(line.decode("utf-8")), HistoryLine)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{name}:{number}: this line is none that hlotool check --history wrote: {error}."
            ) from error
    return found


def parse_time(text: str) -> str:
    """Return a time as ISO 8601; seconds since 1970 become UTC.

    time = digits | ISO 8601 date, or date and time
    """
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(text), UTC).isoformat().replace("+00:00", "Z")
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--time {text!r}: expected ISO 8601, as in 2026-01-31T12:00:00Z, or seconds since "
            "1970."
        ) from error
    return text
