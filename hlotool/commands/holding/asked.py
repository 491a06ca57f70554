"""What the options of `hlotool buffers` ask, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from hlotool.analysis.memory.answer import ROWS
from hlotool.analysis.memory.values.value_rows import BufferRow
from hlotool.commands.shared.request import Request
from hlotool.errors import UsageError
from hlotool.program.program import Program


class Asked(Struct, frozen=True):
    """What the command's own options ask for."""

    at: str = "peak"
    is_all: bool = False
    space: str = "0"
    peak_count: int | None = None
    has_timeline: bool = False
    has_donation: bool = False
    limit_bytes: int | None = None
    has_stacks: bool = False
    without: Callable[[BufferRow], bool] | None = None


def list_given(asked: Asked, request: Request) -> dict[str, bool]:
    """Say which options are given that ask about a program."""
    return {
        "--at": asked.at != "peak",
        "--all": asked.is_all,
        "--space": asked.space != "0",
        "--peaks": asked.peak_count is not None,
        "--timeline": asked.has_timeline,
        "--donation": asked.has_donation,
        "--hbm": asked.limit_bytes is not None,
        "--chip": names_chip(request),
        "--without": asked.without is not None,
        "--stack": asked.has_stacks,
        "--budget": bool(request.budgets),
    }


def compile_without(text: str) -> Callable[[BufferRow], bool]:
    """Return what --without asks of a value."""
    from hlotool.query.where import compile_where  # noqa: PLC0415  pyparsing is slow to import

    return compile_where(text, ROWS.fields, "--without")


def expect_words(text: str, program: Program) -> None:
    """Raise QueryError for a word of --without that the program cannot hold."""
    from hlotool.query.where import expect_row_words  # noqa: PLC0415  the same

    expect_row_words(text, ROWS.fields, (), program.find_words, "--without")


def refuse_contradictions(asked: Asked, request: Request) -> None:
    """Raise UsageError for options that contradict each other."""
    if asked.is_all and asked.at != "peak":
        raise UsageError(
            "--all shows values at any time, --at those of one instant; give only one."
        )
    if asked.limit_bytes is not None and names_chip(request):
        raise UsageError("--hbm and --chip each name a limit; give only one.")
    if asked.without is not None and (asked.limit_bytes is not None or names_chip(request)):
        raise UsageError(
            "--hbm and --chip are about the program as it is, --without about less; give only one. "
            "Alone, --without gives the peak of what is left: where that is above a limit it does "
            "not fit, where it is below it may, as more than the peak is reserved. Alone, --hbm "
            "lists what a program that does not fit would have to do without."
        )


def names_chip(request: Request) -> bool:
    """Whether --chip is given."""
    machine = request.assumptions.machine
    return machine is not None and machine.chip is not None and machine.must_fit
