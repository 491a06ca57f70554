"""`hlotool check --baseline`: what a check compares with, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hlotool.check.baseline import expect_apart, measure_baseline, read_modules, write_baseline
from hlotool.check.entry import Earlier, expect_keys
from hlotool.check.rule import Rule
from hlotool.commands.shared.files import write_file
from hlotool.commands.shared.progress import track
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.say import say, say_all
from hlotool.commands.shared.typed_line import repeat_command
from hlotool.compare.sides import Argument, Candidate, find_candidates
from hlotool.errors import UsageError
from hlotool.inputs import Failure, StageChoice
from hlotool.inputs.read.text import display_name
from hlotool.program.loading import load_program

_DEFAULT: Final = "hlotool-baseline.json"  # what a baseline is called that has no name yet
_CHOOSING: Final = (  # what decides which figures a baseline holds, and where it lies
    "path", "stage", "module", "buffers", "live_range", "module_text", "chip", "bandwidth",
    "node_bandwidth", "devices_per_node",
    "chip_file", "config", "baseline",
)  # fmt: skip


def find_baseline(
    path: str, rules: Sequence[Rule], stage: StageChoice
) -> tuple[Earlier, tuple[Failure, ...]]:
    """Return the modules of a baseline, and a failure where it is not there.

    The user is told how to write one, if a budget needs it.
    """
    needs_baseline = any(rule.needs_baseline for rule in rules)
    if not needs_baseline and (not path or Path(path).exists()):
        return Earlier(), ()
    if not path:
        command = repeat_command(_CHOOSING, "--baseline", _DEFAULT, "--update-baseline")
        say(f"there is no baseline; this writes one: {command}")
        return Earlier(), ()
    name = display_name(path)
    if not Path(path).exists():
        command = repeat_command(_CHOOSING, "--update-baseline")
        message = f"{name}: there is no such baseline; this writes it: {command}"
        return Earlier(missing=f"there is no baseline {name} yet"), (Failure(message, 3),)
    modules, notes = find_candidates(Argument("baseline", path), stage, None)
    say_all(notes)
    return Earlier(modules), ()


def write_figures(request: Request, path: str) -> None:
    """Write the figures of every module; with --module, beside those of the others."""
    if not path:
        raise UsageError("--update-baseline needs --baseline FILE, or baseline in hlotool.toml.")
    older = read_modules(path)
    kept = older if request.module else {}
    inputs = request.find().inputs
    candidates = [Candidate(one.name, request.path, one) for one in inputs]
    expect_keys(candidates, "--update-baseline")
    expect_apart(candidates, kept, path)
    modules = {}
    for one, candidate in track(zip(inputs, candidates, strict=True), "measuring", len(inputs)):
        program = load_program(
            one, request.path, with_buffers=True, assumptions=request.assumptions
        )
        request.tell(program.notes())
        modules[candidate.key] = measure_baseline(program)
    write_file(path, (write_baseline(modules, kept),), "--baseline")
    count = "1 module" if len(modules) == 1 else f"{len(modules)} modules"
    say(f"wrote the figures of {count} to {display_name(path)}")
