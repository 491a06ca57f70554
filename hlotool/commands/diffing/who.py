"""Who can have done it, as a sentence: the program, a flag, the compiler?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.compare.blocks.flags import FlagChange
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.triage import Triage

_FLAGS: Final = 3
_LONGEST: Final = 40  # characters of a flag's value


def write_triage(
    triage: Triage,
    flags: Sequence[FlagChange],
    causes: Sequence[Cause],
) -> str:
    """Say who did it; '' where nothing tells."""
    if triage.has_other_backend:  # then flags and builds are of different compilers
        return f"compiled for {triage.left_backend} and for {triage.right_backend}"
    parts = [*_input(triage, causes), *_flags(triage, flags)]
    return "; ".join(parts)


def _input(triage: Triage, causes: Sequence[Cause]) -> list[str]:
    """Say whether the input program did it, else who can have; builds in any case."""
    builds = _builds(triage)
    if triage.is_input_identical is None:
        return builds
    if triage.is_input_identical:
        return [f"input program identical: {_name_doers(triage)}"]
    if not triage.has_same_operations:
        return ["input program differs", *builds]
    if any(cause.kind.startswith("donation") for cause in causes):
        return ["input program differs in donation, not in its operations", *builds]
    return [f"input program has the same operations: {_name_doers(triage, 'their order')}"]


def _name_doers(triage: Triage, *others: str) -> str:
    """Name who can have done it where the program did not: the compiler, a flag, and others.

    Builds are known of TPU alone: other dumps name no version of the compiler.
    """
    old, new = triage.left_build, triage.right_build
    has_builds = old is not None and new is not None
    names = [] if has_builds and old == new else ["another compiler"]
    names += [] if triage.flag_count == 0 else ["a flag"]
    names = [*names, *others] or ["what no dump tells"]
    *first, last = names
    doers = f"{', '.join(first)} or {last}" if first else last
    if has_builds:
        known = _builds(triage) or [f"the build is cl_{old} on both sides"]
        return f"{doers} did it; {known[0]}"
    return f"{doers} did it; the dumps name no version of the compiler"


def _flags(triage: Triage, flags: Sequence[FlagChange]) -> list[str]:
    if triage.flag_count == 0:
        return ["no printed flag differs"]
    shown = [f"{one.flag} {_value(one.left)} → {_value(one.right)}" for one in flags[:_FLAGS]]
    more = f" and {len(flags) - _FLAGS} more" if len(flags) > _FLAGS else ""
    return [f"flags: {', '.join(shown)}{more}"] if flags else []


def _value(text: str | None) -> str:
    if text is None:
        return "(not printed)"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _builds(triage: Triage) -> list[str]:
    old, new = triage.left_build, triage.right_build
    return [f"compiler cl_{old} → cl_{new}"] if old != new and old and new else []
