"""What becomes of a dump that a command is asked about, and what is wrong with that."""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from typing import Any, Final, Literal, TypeAlias

from hlotool.cli import run
from hlotool.commands.shared.command import all_documents
from hlotool.table import Block, Unit

Outcome: TypeAlias = Literal["answered", "answered with a note", "refused"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("answered", "answered with a note", "refused")

_ANSWERED: Final = (0, 1, 4)  # 1: a budget is exceeded; 4: it had nothing to measure
_REFUSED: Final = 3
_UNLIKE: Final = 2  # programs that differ in more, or less, than one size
_AGREEING: Final = ("summary", "buffers", "collectives")
_PATIENCE_SECONDS: Final = 60  # on a busy machine; a mutant takes some milliseconds
_LARGEST_SHARE: Final = 1 + 1e-9
_PARTS: Final = (
    ("peak_bytes", "allocated_bytes"),
    ("alias_bytes", "argument_bytes"),
    ("alias_bytes", "output_bytes"),
    ("donated_bytes", "parameter_bytes"),
    ("exposed_bytes_per_step", "sent_bytes_per_step"),
    ("exposed_seconds", "transfer_seconds"),
    ("distinct_count", "fusion_count"),
)
# "Available after request: -2.55G": what an out-of-memory message itself says.
_SUM_OF_A_MESSAGE: Final = re.compile(r"\.parts\[\d+\]\.size_bytes")
# A cause that saves where others cost has a negative share, and the others more than the whole.
_SHARE_OF_A_DIFFERENCE: Final = re.compile(r"\.account\[\d+\]\.share")
_NO_FIGURES: Final = {Unit.TEXT, Unit.LIST, Unit.MEASURE}  # a measure may have any unit


class Hang(BaseException):
    """A command did not end; nothing in the program may catch this."""


def ask(*args: str) -> Outcome:
    """Run a command in this process; raise AssertionError if what it does is wrong."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), _time_limit():
        code = run(list(args))
    said = err.getvalue()
    if code == _REFUSED or (args[0] == "fit" and code == _UNLIKE):
        assert said.startswith("hlotool: "), said
        return "refused"
    assert code in _ANSWERED, f"exit code {code}: {said}"
    if "--json" in args:
        mistakes = list(find_impossible(json.loads(out.getvalue(), parse_constant=_refuse)))
        assert not mistakes, mistakes[:5]
    return "answered with a note" if said else "answered"


def expect_agreement(path: str) -> None:
    """Ask three commands about one program: what two of them tell, both tell alike."""
    summary, buffers, collectives = (_ask_json(name, path) for name in _AGREEING)
    if summary is None:
        return
    if buffers is not None:
        for key in ("totals", "peak", "estimated"):
            ours, theirs = summary["memory"].get(key), buffers.get(key)
            assert ours == theirs, f"memory.{key}: {ours} in the summary, {theirs} in buffers"
    if collectives is not None:
        totals = collectives["totals"]
        for key in summary["collectives"].keys() & totals.keys():
            ours, theirs = summary["collectives"][key], totals[key]
            assert ours == theirs, f"collectives.{key}: {ours} in the summary, {theirs} in its own"
        executions = [row["executions"] for row in collectives["rows"]]
        if None not in executions:
            assert sum(executions) == totals["executions"], executions


def _ask_json(name: str, path: str) -> dict[str, Any] | None:
    """Return a command's answer, None where it refuses."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()), _time_limit():
        code = run([name, path, "--json", *(["-n", "0"] if name != "summary" else [])])
    return json.loads(out.getvalue()) if code == 0 else None


def find_impossible(document: Any, place: str = "") -> Iterator[str]:
    """List figures that nothing can have: negative sizes and counts, shares above 1."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _check(key, value, f"{place}.{key}")
            yield from find_impossible(value, f"{place}.{key}")
        yield from _check_parts(document, place)
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from find_impossible(value, f"{place}[{number}]")


def _check(key: str, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if _SUM_OF_A_MESSAGE.fullmatch(place):
        return
    if not math.isfinite(value):
        yield f"{place} is {value}"
    if _SHARE_OF_A_DIFFERENCE.fullmatch(place):
        return
    is_share = key == "share" or key.endswith("_share")
    if (is_share or key in _never_negative()) and value < 0:
        yield f"{place} is {value}"
    if is_share and value > _LARGEST_SHARE:
        yield f"{place} is {value}"


def _check_parts(record: dict[str, Any], place: str) -> Iterator[str]:
    """Hold parts against the whole, and the peak against what its holders occupy."""
    for part, whole in _PARTS:
        known, limit = record.get(part), record.get(whole)
        if known is not None and limit is not None and known > limit:
            yield f"{place}: {part} {known} > {whole} {limit}"
    if record.get("schema") == "hlotool/buffers/v2" and record["at"] is not None:
        held = sum(row["live_bytes"] for row in record["rows"])
        if held != record["at"]["bytes"]:
            yield f"the rows hold {held}, and at.bytes is {record['at']['bytes']}"


@cache
def _never_negative() -> frozenset[str]:
    """Return the keys of all figures but differences, and those that may have any unit."""
    signed: set[str] = set()
    found: set[str] = set()
    for field in _all_fields():
        may_be_negative = field.is_signed or field.unit in _NO_FIGURES
        (signed if may_be_negative else found).add(field.name)
    return frozenset(found - signed)


def _all_fields() -> Iterator[Any]:
    for spec in all_documents():
        for rows in spec.row_lists:
            yield from rows.fields
        yield from spec.scalars.fields if spec.scalars else ()
        for block in spec.blocks:
            yield from _block_fields(block)


def _block_fields(block: Block) -> Iterator[Any]:
    yield from block.fields
    for inner in getattr(block, "blocks", ()):
        yield from _block_fields(inner)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} in JSON")


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise Hang if what is done inside does not end."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
