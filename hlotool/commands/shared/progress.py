"""A progress bar on stderr, when stderr is a terminal and the work lasts above a second.

It ends with an estimate of the time left: what is not done yet takes as long as what is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 1.0


@contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Give a function that says how many of `length` steps were done since its last call."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield _ignore
        return
    meter = _Meter(label, length)
    try:
        yield meter.advance
    finally:
        meter.close()


def track(items: Iterable[T], label: str, length: int) -> Iterator[T]:
    """Yield items, and show how many are done once it takes long."""
    with progress(label, length) as advance:
        for item in items:
            yield item
            advance(1)


class _Meter:
    """Counts steps, and draws only after the user has waited."""

    def __init__(self, label: str, length: int) -> None:
        self.label = label
        self.length = length
        self.done = 0
        self.bar: Any = None
        self.started = time.monotonic()

    def advance(self, steps: int) -> None:
        """Count steps; draw the bar or move it on."""
        self.done += steps
        if self.bar is not None:
            self.bar.update(steps)
        elif time.monotonic() - self.started > PATIENCE_SECONDS:
            import click  # noqa: PLC0415  most runs are over before

            self.bar = click.progressbar(length=self.length, label=self.label, file=sys.stderr)
            self.bar.start -= time.monotonic() - self.started  # it counts from when it is drawn
            self.bar.last_eta = 0.0
            self.bar.update(self.done)

    def close(self) -> None:
        """Leave the bar's line, if there is one."""
        if self.bar is not None:
            self.bar.render_finish()


def _ignore(steps: int) -> None:
    """Do nothing: nobody is looking."""
