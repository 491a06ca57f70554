"""What becomes of a dump that a command is asked about, and what is wrong with that."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from typing import Any, Final, Literal, TypeAlias

from declarations import all_documents

from hlotool.cli import run
from hlotool.fields import Block, Unit

Outcome: TypeAlias = Literal["answered", "answered with a note", "refused"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("answered", "answered with a note", "refused")

_ANSWERED: Final = (0, 1, 4)  # 1: a budget is exceeded; 4: it had nothing to measure
_REFUSED: Final = 3
_PATIENCE_SECONDS: Final = 60  # on a busy machine; a mutant takes some milliseconds
_LARGEST_SHARE: Final = 1 + 1e-9
_NO_FIGURES: Final = {Unit.TEXT, Unit.LIST, Unit.MEASURE}  # a measure may have any unit


class Hang(BaseException):
    """A command did not end; nothing in the program may catch this."""


def ask(*args: str) -> Outcome:
    """Run a command in this process; raise AssertionError if what it does is wrong."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), _time_limit():
        code = run(list(args))
    said = err.getvalue()
    if code == _REFUSED:
        assert said.startswith("hlotool: "), said
        return "refused"
    assert code in _ANSWERED, f"exit code {code}: {said}"
    if "--json" in args:
        mistakes = list(find_impossible(json.loads(out.getvalue(), parse_constant=_refuse)))
        assert not mistakes, mistakes[:5]
    return "answered with a note" if said else "answered"


def find_impossible(document: Any, place: str = "") -> Iterator[str]:
    """List figures that nothing can have: negative sizes and counts, shares above 1."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _check(key, value, f"{place}.{key}")
            yield from find_impossible(value, f"{place}.{key}")
        yield from _check_peak(document, place)
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from find_impossible(value, f"{place}[{number}]")


def _check(key: str, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if not math.isfinite(value):
        yield f"{place} is {value}"
    units = _units().get(key)
    if units is None:
        return
    if value < 0:
        yield f"{place} is {value}"
    if units == {Unit.PERCENT} and value > _LARGEST_SHARE:
        yield f"{place} is {value}"


def _check_peak(record: dict[str, Any], place: str) -> Iterator[str]:
    """Nothing is larger than what holds it."""
    for part, whole in (
        ("peak_bytes", "allocated_bytes"),
        ("overlapped_bytes", "wire_bytes_per_run"),
    ):
        known = record.get(part), record.get(whole)
        if all(isinstance(one, int) for one in known) and known[0] > known[1]:
            yield f"{place}: {part} {known[0]} > {whole} {known[1]}"


@cache
def _units() -> dict[str, set[Unit]]:
    """Return the units of every figure that is never negative, by its key."""
    found: dict[str, set[Unit]] = {}
    signed = set()
    for field in _all_fields():
        if field.is_signed or field.unit in _NO_FIGURES:
            signed.add(field.name)
        found.setdefault(field.name, set()).add(field.unit)
    return {name: units for name, units in found.items() if name not in signed}


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
