"""`hlotool text`: the HLO text of a module, as XLA prints it, or one computation of it."""

from __future__ import annotations

import click

from hlotool.commands.shared.command import HelpfulCommand
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.options import dump_options, option
from hlotool.commands.shared.output import write_text
from hlotool.commands.shared.request import Request
from hlotool.dump.read import display_name
from hlotool.dump.text_kind import detect_kind
from hlotool.errors import InputError, ParseError, UsageError
from hlotool.hlo.header_parser import list_computations
from hlotool.table.words import suggest
from hlotool.text import Source

_EXAMPLES = (
    "hlotool text module_0001.jit_step.gpu_after_optimizations.hlo.pb > step.txt",
    "hlotool text dump/ --module jit_step --computation fused_add",
    "hlotool text dump/ --module jit_step --stage before -o before.txt",
)


@click.command("text", cls=HelpfulCommand, examples=_EXAMPLES)
@dump_options
@option("--computation NAME", "Only this computation.", default="")
@option("-o, --output FILE", "Write to FILE instead of stdout.", default="")
def text(request: Request, *, computation: str, output: str) -> None:
    """Print the HLO text of a module, or of a protobuf as XLA prints it.

    Texts are printed unchanged; a note says if one is cut off.
    """
    source = _read_one(request)
    found = _cut(source, computation) if computation else source.text
    _note_cut(source)
    write_text((found if found.endswith("\n") else f"{found}\n",), output)


def _read_one(request: Request) -> Source:
    """Return the text of the one module that PATH and the options lead to."""
    inputs = request.find().inputs
    name = display_name(request.path)
    if len(inputs) > 1:
        raise UsageError(f"{name}: {len(inputs):,} modules match; choose one with --module.")
    if (module := inputs[0].module) is None:
        raise InputError(f"{name}: this has no module, and hlotool prints only modules.")
    return module.read()


def _note_cut(source: Source) -> None:
    """Say that a text stops inside a computation, or before the entry."""
    what = "" if "\nENTRY" in f"\n{source.text}" else "has no ENTRY"
    try:
        list_computations(source, detect_kind(source.text).begin)
    except ParseError as error:
        what = f"cannot be read to its end: {error.message}"
    if what:
        say(f"{display_name(source.name)}: the text {what}; it may be cut.")


def _cut(source: Source, name: str) -> str:
    """Return one computation of a module, from its name to its closing brace."""
    computations = list_computations(source, detect_kind(source.text).begin)
    wanted = name.removeprefix("%")
    for each in computations:
        if each.name == wanted:
            return source.text[each.start : each.end]
    known = [each.name for each in computations if each.name]
    raise UsageError(
        f"--computation: {display_name(source.name)} has no computation {wanted!r}; "
        f"{suggest(wanted, known)}"
    )
