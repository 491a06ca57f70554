"""`hlotool fit`: what a program would take at sizes at which it was not compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.messages import say_all
from hlotool.commands.shared.output import print_document
from hlotool.compare.fit import report as fits
from hlotool.compare.fit.predict import OVERFLOW
from hlotool.compare.inputs import Argument, DiffSide, find_candidates, read_side
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import StageChoice
from hlotool.errors import UsageError
from hlotool.program.program import Assumptions
from hlotool.table import Document, InputPaths, Line, quote_braces
from hlotool.table.units import parse_size
from hlotool.table.words import list_some

_EXAMPLE: Final = """\
hlotool fit batch16/ batch32/ --vary batch=16,32 --hbm 80GiB
hlotool fit layers4/ layers8/ --at layers=48
hlotool fit a/ b/ c/ --vary batch=8,16,8 --vary sequence=1024,1024,2048 --json"""
_VALUES: Final = re.compile(r"([^=]+)=(\d+(?:,\d+)*)")
_FEWEST: Final = 2


@document_command("fit", fits.FIT, example=_EXAMPLE)
@click.argument("paths", metavar="A B [C…]", nargs=-1, callback=shared.hide_typed)
@shared.option(
    "--vary NAME=N,…", "Name the variable, with its value in each program.", multiple=True
)
@shared.option(
    "--at NAME=N,…", "Predict the program at a size, such as batch=96; repeatable.", multiple=True
)
@shared.option(
    "--hbm SIZE", "Find the largest size that fits; --chip gives its memory.", default=""
)
@shared.option(
    "--stage", shared.STAGE_HELP, type=click.Choice(["before", "after"]), default="after"
)
@shared.module_option
@shared.add_options(shared.OF_SEVERAL)
def fit(
    paths: tuple[str, ...],
    *,
    vary: tuple[str, ...],
    at: tuple[str, ...],
    hbm: str,
    stage: StageChoice,
    module: str | None,
    unpacking: ByteBudget,
    options: shared.RowOptions,
    **values: Any,
) -> None:
    """Predict another size from compilations at two or three sizes."""
    if len(paths) < _FEWEST:
        raise UsageError("hlotool fit needs compilations at two sizes: hlotool fit A B.")
    named = _read_vary(vary, len(paths))
    points = [_read_point(text) for text in at]
    limit_bytes = parse_size(hbm, "--hbm") if hbm else None
    assumptions = shared.read_assumptions(values, shared.take_config(values))
    chip = assumptions.machine.chip if assumptions.machine else None
    if limit_bytes is None and chip:
        limit_bytes = chip.hbm_bytes
    sides = [_read(path, stage, module, unpacking, assumptions) for path in paths]
    programs = [side.program for side in sides if side.program]
    fits.check_programs(programs, {side.build for side in sides})
    report = fits.fit_programs(programs, named, points, limit_bytes)
    rows = {one.name: getattr(report, one.name) for one in fits.FIT.row_lists}
    if limit_bytes is None:
        del rows["limits"]
    document = Document(
        fits.FIT,
        InputPaths(paths[0]),
        scalars=report.facts,
        rows=rows,
        lines=tuple(_describe(report)),
        notes=tuple(_note(report)),
        shown=("sizes", "laws", "terms"),
        focus="sizes",
    )
    print_document(document, options)


def _read_vary(texts: tuple[str, ...], count: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        match = _VALUES.fullmatch(text)
        numbers = tuple(int(one) for one in match[2].split(",")) if match else ()
        if match is None or len(numbers) != count or 0 in numbers:
            raise UsageError(f"--vary {text}: write NAME=N,… with the value in each of {count}.")
        found[match[1]] = numbers
    return found


def _read_point(text: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for part in text.split(","):
        if (match := _VALUES.fullmatch(part)) is None:
            raise UsageError(f"--at {text}: write NAME=N, such as batch=96.")
        found[match[1]] = int(match[2])
    return found


def _read(
    path: str,
    stage: StageChoice,
    module: str | None,
    unpacking: ByteBudget,
    assumptions: Assumptions,
) -> DiffSide:
    """Read the one program of a path."""
    candidates, notes = find_candidates(Argument(path, path), stage, module, unpacking)
    say_all(notes)
    if len(candidates) > 1:
        raise UsageError(f"{path} holds {len(candidates)} programs; choose one with --module.")
    side, _ = read_side(candidates[0], path, assumptions)
    if side.program is None:
        raise UsageError(f"{path}: a saved answer has no program to fit.")
    side.program.expect_module()
    say_all(side.notes())
    return side


def _describe(report: fits.FitReport) -> Iterator[Line]:
    for one in report.variables:
        said, what = f"{one.variable} {' → '.join(map(str, one.values))}", one.dimensions[0]
        if len(one.dimensions) > 1:
            what = f"{len(one.dimensions)} dimensions, such as {what}"
        yield Line(said if said == what else f"{said}: {what}")  # without a name it has that of one
        if len(one.alike) > 1:
            told = f"{list_some(one.alike)} change alike; "
            told += "if several sizes changed, no law below is valid"
            yield Line(told)
    yield Line("{matched_share} of the bytes follow a law", fits.FIT_FACTS, report.facts)
    yield from (Line(_describe_limit(row), fits.LIMIT, row) for row in report.limits)


def _describe_limit(row: fits.FitRow) -> str:
    """Say what fits by the law, what surely, and which sizes to compile."""
    name = quote_braces(row.variable)
    held = f" with {quote_braces(row.others)}" if row.others else ""
    if row.fits is None:
        return f"no {name} fits {{limit_bytes}}{held} by this law"
    if row.next_value is None:
        return f"{name} is not limited: even {{fits}} fits {{limit_bytes}}{held} by this law"
    band = ""
    if row.surely_fits is None:
        band = " (none at the high end of the band)"
    elif row.is_band_end:
        band = " (tried only up to {surely_fits})"
    elif row.surely_fits != row.fits:
        band = " (up to {surely_fits} at the high end of the band)"
    return (
        f"{name} fits {{limit_bytes}}{held} up to {{fits}} by this law{band}. Compile {{fits}} "
        "and {next_value} to be sure; {limited_by} holds most there"
    )


def _note(report: fits.FitReport) -> Iterator[Line]:
    if report.facts.worst_ratio is not None and not report.facts.is_alike:
        told = "the worst prediction for a given program is {worst_ratio} times the real figure"
        yield Line(told, fits.FIT_FACTS, report.facts)
    if any(row.part == OVERFLOW for row in report.terms):
        yield Line("assumed: 112 MiB of a TPU's vmem hold values, as on v5e")
    if report.lost:
        yield Line(
            f"{len(report.lost)} instructions follow no law, because the compiler chose "
            "differently for one size (--rows lost)"
        )
    for row in report.laws[1:]:
        if row.peak_at and row.from_value > report.laws[0].from_value:
            full = ", and a TPU's vmem is full" if row.is_vmem_full else ""
            told = (
                f"from {row.variable}={row.from_value} on, memory is fullest at {row.peak_at}{full}"
            )
            yield Line(told)
    if any(row.law is None for row in report.laws):
        yield Line(
            "a figure without a law is not a polynomial: sizes are padded, or trip counts change"
        )
