"""`hlotool diff`: what changed between two dumps, several, or the passes of one.

The arguments choose the form: two sides with one program each, two directories, more than two
sides, --passes, --trace, --why and --text. Each form refuses what goes with another before anything
is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from msgspec.structs import replace

from hlotool.commands.diff import answers
from hlotool.commands.diff.passes import print_passes, print_trace
from hlotool.commands.diff.text import worse_line
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.messages import say_all
from hlotool.commands.shared.output import make_look, print_document, write_text
from hlotool.compare import inputs
from hlotool.compare.answer import DIFF
from hlotool.compare.changes.figures import find_worse, parse_threshold
from hlotool.compare.changes.reasons import DIFF_WHY
from hlotool.compare.changes.text import write_texts
from hlotool.compare.directory import DIFF_DIRECTORY
from hlotool.compare.pairing import Pairing, choose_pair, pair_candidates, parse_map
from hlotool.compare.report import BLOCKS, DiffOptions
from hlotool.compare.several import DIFF_SEVERAL
from hlotool.compare.survivors import DIFF_PASSES
from hlotool.compare.trace import DIFF_TRACE
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import StageChoice
from hlotool.errors import UsageError
from hlotool.table import DocumentSpec
from hlotool.table.unified import render_unified
from hlotool.table.words import suggest

_EXAMPLE = """\
hlotool diff before/ after/
hlotool diff before/ after/ --threshold '2%,64MiB' --exit-code
hlotool diff --passes dump/ --trace 'opcode == "all-gather"'"""
_BOTH = 2  # OLD and NEW


def _choose_specs(values: Mapping[str, Any]) -> tuple[DocumentSpec, ...]:
    """Return what this form of diff can print: the lists that `--rows` may name."""
    if values["trace"]:
        return (DIFF_TRACE,)
    if values["passes"]:
        return (DIFF_PASSES,)
    if values["why"]:
        return (DIFF_WHY,)
    if values["stat"]:
        return (DIFF_DIRECTORY,)
    return (DIFF_SEVERAL,) if len(values["sides"]) > _BOTH else (DIFF, DIFF_DIRECTORY)


@document_command(
    "diff",
    DIFF,
    DIFF_DIRECTORY,
    DIFF_SEVERAL,
    DIFF_WHY,
    DIFF_PASSES,
    DIFF_TRACE,
    example=_EXAMPLE,
    formats=(*shared.FORMATS, "comment"),
    renamed={"--only": "--blocks"},
    choose_specs=_choose_specs,
)
@click.argument("sides", metavar="OLD NEW…", nargs=-1, callback=shared.hide_typed)
@shared.option(
    "--stage", shared.STAGE_HELP, type=click.Choice(["before", "after"]), default="after"
)
@shared.module_option
@shared.option(
    "--map OLD=NEW", "Pair these two modules: names, paths or locations.", "renamed", multiple=True
)
@shared.option("--blocks BLOCK,…", f"Of {', '.join(BLOCKS)}.", default="")
@shared.option("--strict", "Also compare autotuned choices and channel numbers.")
@shared.option("--unfold", "List every changed instruction separately.")
@shared.option("--full", "Show all lists in full.")
@shared.option("--stat", "Print one line per pair of programs, worst first.")
@shared.option("--exit-code", "Exit with 1 if anything differs.")
@shared.option(
    "--threshold LIMIT,…", "With --exit-code: fail only beyond LIMIT, as in 2%,64MiB.", default=""
)
@shared.option("--why NAME", "Show what an instruction shares with its counterpart.", default="")
@shared.option("--text", "Print a unified diff of normalized text.", "as_text")
@shared.option("--computation NAME", "With --text: only this computation.", default="")
@shared.option(
    "--passes DIR",
    "Show what each pass changed. Given twice, or with OLD and NEW: where dumps diverge.",
    multiple=True,
    is_flag=False,
    flag_value="",
    callback=shared.hide_typed,
)
@shared.option(
    "--trace EXPR",
    "With --passes: passes that add or remove matches.",
    default="",
    is_flag=False,
    flag_value="",
)
@shared.add_options(shared.OF_SEVERAL)
def diff(
    sides: tuple[str, ...],
    *,
    stage: StageChoice,
    module: str | None,
    renamed: tuple[str, ...],
    blocks: str,
    strict: bool,
    unfold: bool,
    full: bool,
    stat: bool,
    exit_code: bool,
    threshold: str,
    why: str,
    as_text: bool,
    computation: str,
    passes: tuple[str, ...],
    trace: str,
    unpacking: ByteBudget,
    options: shared.RowOptions,
    **values: Any,
) -> None:
    """Show what changed from OLD to NEW, most important first.

    Each is a dump, a directory, JSON of `hlotool summary`, or label=PATH.
    """
    if sides and passes and not any(passes):  # `diff OLD NEW --passes`
        sides, passes = (), sides
    form = "--text" if as_text else "--why" if why else "--stat" if stat else ""
    _check_usage(sides, passes, trace, form, computation)
    if (passes or as_text) and any(values.values()):
        name = "--passes" if passes else "--text"
        raise UsageError(f"{name} estimates no times: omit --chip, --bandwidth and the like.")
    compared = DiffOptions(_parse_blocks(blocks), is_strict=strict, is_folded=not unfold)
    assumptions = shared.read_assumptions(values, shared.take_config(values))
    limit = parse_threshold(threshold) if threshold else None
    names = [inputs.name_path(one) for one in sides] if len(sides) > _BOTH else ["old", "new"]
    arguments = [inputs.parse_argument(*each) for each in zip(sides, names, strict=False)]
    answers.name_sides(arguments)
    about = stage, module, compared, assumptions, limit, unpacking, options, full, stat, arguments
    asked = answers.Asked(*about)
    if trace:
        print_trace(passes[0], asked, trace)
        return
    if passes:
        _exit(exit_code, print_passes(passes, asked))
        return
    if len(sides) > _BOTH:
        differs, is_worse = answers.print_several(asked.for_several())
        _exit(exit_code, is_worse if limit else differs)
        return
    (old, notes), (new, more) = (
        inputs.find_candidates(one, stage, module, unpacking) for one in arguments
    )
    say_all((*notes, *more))
    pairs = pair_candidates(old, new, parse_map(renamed))
    if why:
        answers.print_counterparts(choose_pair(pairs, "--why"), why, asked)
        return
    if as_text:
        pair = choose_pair(pairs, "--text")
        differs = is_worse = _print_text(pair, computation, asked)
    elif len(pairs) == 1 and pairs[0].old and pairs[0].new and not stat:
        differs, is_worse = _print_one(pairs[0], asked)
    else:
        differs, is_worse = answers.print_directory(pairs, asked.for_several())
    _exit(exit_code, is_worse if limit else differs)


def _exit(asked: bool, found: bool) -> None:
    """End with 1 where --exit-code asks for it and there is something to tell."""
    if asked and found:
        click.get_current_context().exit(1)


def _check_usage(
    sides: tuple[str, ...], passes: tuple[str, ...], trace: str, form: str, computation: str
) -> None:
    """Refuse what does not go together; `form` is the option that asks for another answer."""
    if trace and len(passes) != 1:
        raise UsageError("--trace needs --passes DIR, given once.")
    if passes:
        if not any(passes):
            raise UsageError("--passes needs the directory of a dump: hlotool diff --passes DIR")
        if sides or len(passes) > _BOTH:
            raise UsageError("--passes DIR, given once or twice, replaces OLD and NEW.")
    elif len(sides) < _BOTH:
        raise UsageError(f"expected two paths, OLD and NEW, or more; found {len(sides)}.")
    elif len(sides) > _BOTH and form:
        raise UsageError(f"{form} compares two sides.")
    if computation and form != "--text":
        raise UsageError("--computation needs --text.")


def _parse_blocks(text: str) -> tuple[str, ...]:
    chosen = [part.strip() for part in text.split(",") if part.strip()]
    for name in chosen:
        if name not in BLOCKS:
            raise UsageError(f"--blocks: unknown block {name!r}; {suggest(name, BLOCKS)}")
    return tuple(one for one in BLOCKS if one in chosen) if chosen else BLOCKS


def _print_one(pair: Pairing, asked: answers.Asked) -> tuple[bool, bool]:
    """Compare two programs and print all blocks; say if anything differs, if any is worse."""
    report, notes, document = answers.compare_pair(pair, asked)
    say_all(notes)
    worse = find_worse(report.metrics, asked.threshold)
    if worse:
        document = replace(document, lines=(*document.lines, worse_line(worse)))
    print_document(document, asked.options)
    return report.differs, bool(worse)


def _print_text(pair: Pairing, computation: str, asked: answers.Asked) -> bool:
    """Print the normalised texts of two programs as a unified diff."""
    options = asked.options
    if options.format != "table":
        raise UsageError(f"--text prints only text; omit --format {options.format}.")
    structure = answers.read_structure(pair, asked, "--text")
    blocks = write_texts(structure, computation)
    before, after = (f"{one.label} {one.path}" for one in asked.sides)
    write_text((render_unified(blocks, (before, after), make_look(options)),), options.output)
    return any(block.differs for block in blocks)
