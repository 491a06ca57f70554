"""Which texts between passes does a compilation have, and which pass made each?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.inputs import DumpedProgram, DumpFile, PassText

Key: TypeAlias = tuple[str, str, int]
_START: Final = "pipeline-start"


class Step(Struct, frozen=True):
    """One text. `culprit` is the pass that ran since the text before, or what it ran between."""

    number: int | None
    name: tuple[str, str]  # the pipeline and the pass, as the file's name says them
    culprit: str
    pipeline: str  # of the culprit, '' where it is of none
    file: DumpFile


def list_steps(program: DumpedProgram) -> list[Step]:
    """List the texts of one program's passes, with those before and after all of them."""
    steps: list[Step] = []
    if program.before:
        steps.append(_end("before optimizations", program.before))
    for index, each in enumerate(program.passes):
        name = each.pipeline, _after(each)
        steps.append(Step(each.step, name, *find_culprit(program.passes, index), each.file))
    if program.after:
        steps.append(_end("after optimizations", program.after))
    return steps


def _end(name: str, file: DumpFile) -> Step:
    return Step(None, ("", name), name, "", file)


def _after(text: PassText) -> str:
    return text.after_pass.removeprefix("after_")


def find_culprit(passes: Sequence[PassText], index: int) -> tuple[str, str]:
    """Name what changed the module between the text before this one and this one, and its pipeline.

    That is the pass that the file's name says it follows. At the start of a pipeline there is
    none: the pipeline's passes are yet to run. If a pass of another pipeline opened it, that pass
    is running, and the next text of its pipeline names it: `spmd-partitioning` cleans up in a
    pipeline of its own, at whose start all is partitioned. Otherwise something ran between two
    pipelines (xla/hlo/pass/hlo_pass_pipeline.cc dumps at the start of each).
    """
    this = passes[index]
    if _after(this) != _START:
        return _after(this), this.pipeline
    known = {one.pipeline for one in passes[:index]} - {this.pipeline}
    for later in passes[index + 1 :]:
        if later.pipeline in known:
            if _after(later) != _START:
                return _after(later), later.pipeline
            known.discard(later.pipeline)  # begun anew: it was not open here
    before = passes[index - 1].pipeline if index else ""
    return (f"between {before} and {this.pipeline}" if before else f"before {this.pipeline}"), ""


def name_steps(steps: Sequence[Step]) -> list[Key]:
    """Name each step by its pass, and which run of it this is."""
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for step in steps:
        keys.append((*step.name, seen[step.name]))
        seen[step.name] += 1
    return keys


def merge_keys(left: Sequence[Key], right: Sequence[Key]) -> list[Key]:
    """Put the keys of both into one order that both have."""
    known = set(left)
    behind: dict[Key | None, list[Key]] = {}
    last: Key | None = None
    for key in right:
        if key in known:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    merged = list(behind.get(None, ()))
    for key in left:
        merged += [key, *behind.get(key, ())]
    return merged
