"""What became of programs that were compiled with a remedy, or without a flaw, as XLA says.

testdata/advice/README.md has how they were made and drawn. Nothing here is hlotool's: what it tells
is joined by (backend, program, remedy).
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from dump_files import ROOT
from msgspec import Struct, convert

ADVICE: Final = ROOT / "testdata" / "advice"
TUNE, JUDGE = "tune", "judge"
FRESH = "judged"  # what judged since; of programs that no other half has
UNSEEN, ASIDE, SEALED = "unseen", "aside", "sealed"  # what judged then, in turn; remedies alone


def find_half(half: str) -> Path:
    """Return the folder of a half."""
    return (ADVICE if half in {TUNE, JUDGE} else ROOT / "testdata") / half


class Remedy(Struct, frozen=True):
    """A program as it is, and with a remedy applied to its source; without sizes, with `error`."""

    program: str
    kind: str
    backend: str
    chip: str
    remedy: str
    does: str
    base: str
    member: str
    base_allocated: int = 0
    base_peak: int = 0
    allocated: int = 0
    peak: int = 0
    error: str = ""

    @property
    def gain(self) -> int | None:
        """What XLA allocates less; below 0 where it is more, None where it does not compile."""
        return None if self.error else self.base_allocated - self.allocated

    @property
    def peak_gain(self) -> int | None:
        """How much lower the true peak is."""
        return None if self.error else self.base_peak - self.peak


class Flaw(Struct, frozen=True):
    """A program with a flaw and the same without it."""

    program: str
    kind: str
    backend: str
    chip: str
    does: str
    flaw: str
    mended: str
    same_program: bool
    allocated: int
    peak: int
    mended_allocated: int
    mended_peak: int


class Quiet(Struct, frozen=True):
    """A program without a flaw, though near to one."""

    program: str
    backend: str
    chip: str
    does: str
    member: str
    allocated: int
    peak: int


class OverLimit(Struct, frozen=True):
    """A limit at which a program does not fit, and its remedies, the one that gains most first."""

    program: str
    backend: str
    limit: int
    allocated: int
    best_first: tuple[str, ...]
    gains: tuple[int, ...]
    fits: tuple[str, ...]


class Facts(Struct, frozen=True):
    """All of a half."""

    remedy: tuple[Remedy, ...] = ()
    flaw: tuple[Flaw, ...] = ()
    quiet: tuple[Quiet, ...] = ()
    over_limit: tuple[OverLimit, ...] = ()


@cache
def read_facts(half: str) -> Facts:
    """Read the facts of a half."""
    found: dict[str, Any] = tomllib.loads((find_half(half) / "facts.toml").read_text("utf-8"))
    return convert(found, Facts)


def find_archive(half: str, backend: str) -> Path:
    """Return the archive that holds the members of a backend."""
    return find_half(half) / f"{backend}.tar.zst"


def list_real_gains(half: str) -> Sequence[tuple[str, str, str, int, int]]:
    """List backend, program, remedy, and what it gains: bytes allocated, and of the peak."""
    return [
        (one.backend, one.program, one.remedy, one.gain, one.peak_gain)
        for one in read_facts(half).remedy
        if one.gain is not None and one.peak_gain is not None
    ]
