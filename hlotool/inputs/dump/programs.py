"""Tell which files of a directory are one program, and which text stands for it.

By name and by content: the number in a name alone proves nothing. XLA gives one program two
numbers when it copies the module on the way (openxla/xla issue 7193), and two programs one
number when two processes write into one directory.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from msgspec import Struct

from hlotool.inputs.dump.files import DumpFile, Input, StageChoice
from hlotool.inputs.dump.groups import Group, Text
from hlotool.inputs.dump.names import Role, Stage
from hlotool.inputs.read.first_lines import may_be_same_program

_SAME_TEXT: Final = "_after_buffer_assignment"  # the text the assignment's own name stands for
_MAX_TRIES: Final = 64
_DIGITS: Final = re.compile(r"([0-9]{1,18})")


class PassText(Struct, frozen=True):
    """The module as it was between two passes, or at a step inside one."""

    file: DumpFile
    step: int
    pipeline: str  # or the pass, for a step inside it
    after_pass: str
    before_pass: str


class Program(Struct, frozen=True):
    """One compiled program of a directory: its texts by stage, and what belongs to them."""

    name: str
    directory: str
    number: int | None  # that of the text after optimizations, if there is one
    before: DumpFile | None
    after: DumpFile | None
    loose: DumpFile | None  # a text of which neither name nor header tells the stage
    passes: tuple[PassText, ...]  # in the order XLA ran them
    others: tuple[DumpFile, ...]  # further texts: after_spmd_partitioner, TPU's after_codegen
    buffers: DumpFile | None
    values: DumpFile | None
    live_range: DumpFile | None
    debug_options: DumpFile | None

    def inputs(self, stage: StageChoice) -> tuple[Input, ...]:
        """Return what a command reads of this program at a stage, nothing if it has none.

        A text whose stage nobody knows belongs to every choice.
        """
        found = []
        if self.before and stage != "after":
            found.append(self._input(self.before, Stage.BEFORE))
        if self.loose:
            found.append(self._input(self.loose, None))
        if stage != "before" and (self.after or (self.buffers and not self.loose)):
            found.append(self._input(self.after, Stage.AFTER))
        return tuple(found)

    def _input(self, text: DumpFile | None, stage: Stage | None) -> Input:
        """Put a text and what belongs to it together."""
        has_buffers = stage is not Stage.BEFORE
        leading = text or self.buffers
        return Input(
            path=leading.path if leading else self.directory,
            name=self.name,
            stage=stage,
            module=text,
            buffers=self.buffers if has_buffers else None,
            values=self.values if has_buffers else None,
            live_range=self.live_range if has_buffers else None,
            debug_options=self.debug_options,
        )


def pair_programs(groups: list[Group]) -> tuple[Program, ...]:
    """Make programs of groups: split what does not belong together, join what does.

    A group whose texts before and after optimization cannot be one program (see
    `may_be_same_program`) is two. A group with only a text before and one with only a text
    after, of one directory, copy and name, are one program if they can be: each text after
    takes the nearest earlier number that fits, else the nearest later one.
    """
    split = [part for group in groups for part in _split(group)]
    joined = _join(sorted(split, key=_order))
    return tuple(_make_program(group) for group in sorted(joined, key=_order))


def _split(group: Group) -> list[Group]:
    """Part the text before optimization from a group that it does not fit."""
    before, after = group.staged(Stage.BEFORE), group.staged(Stage.AFTER)
    if not before or not after or may_be_same_program(before[0].head, after[0].head):
        return [group]
    alone = Group(group.directory, group.prefix, group.origin, group.number, group.name)
    alone.texts = before
    alone.debug_options = group.debug_options
    group.texts = [text for text in group.texts if text.stage is not Stage.BEFORE]
    return [alone, group]


def _join(groups: list[Group]) -> list[Group]:
    """Join groups of different numbers that are one program."""
    waiting: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        if group.number is not None and group.staged(Stage.BEFORE) and not _has_after(group):
            waiting.setdefault((group.directory, group.origin, group.name), []).append(group)
    gone: set[int] = set()
    for group in groups:
        if group.number is None or group.staged(Stage.BEFORE) or not group.staged(Stage.AFTER):
            continue
        candidates = waiting.get((group.directory, group.origin, group.name), [])
        partner = _choose_partner(group, candidates)
        if partner is not None:
            candidates.remove(partner)
            group.absorb(partner)
            gone.add(id(partner))
    return [group for group in groups if id(group) not in gone]


def _choose_partner(group: Group, candidates: list[Group]) -> Group | None:
    """Return the group with the text before optimization that fits, nearest by number.

    `candidates` are in the order of their numbers; earlier ones are tried first. No more
    than _MAX_TRIES on either side are, so that thousands of modules of one name take linear
    time.
    """
    after = group.staged(Stage.AFTER)[0].head
    place = bisect_left(candidates, group.number or 0, key=lambda each: each.number or 0)
    earlier = candidates[max(place - _MAX_TRIES, 0) : place]
    for each in [*reversed(earlier), *candidates[place : place + _MAX_TRIES]]:
        if may_be_same_program(each.staged(Stage.BEFORE)[0].head, after):
            return each
    return None


def _has_after(group: Group) -> bool:
    """Whether a group holds anything from after optimization."""
    return bool(group.staged(Stage.AFTER)) or bool(group.companions)


def _order(group: Group) -> tuple[str, list[str | int], int, str]:
    """Sort by directory, copy, number and name; digits in a copy's prefix count as numbers."""
    number = -1 if group.number is None else group.number
    return group.directory, _natural(group.prefix), number, group.name


def _make_program(group: Group) -> Program:
    """Choose the texts that stand for a program, and the companions of the chosen one."""
    before, loose = group.staged(Stage.BEFORE), group.staged(None)
    after = _choose_after(group)
    chosen = after or (loose[0] if loose else None)
    suffix = _companion_suffix(group, chosen)
    heads = [text.head.name for text in (after, *before, *loose) if text and text.head.name]
    taken = {id(after), *(id(text) for text in before[:1] + loose[:1])}
    return Program(
        name=heads[0] if heads else group.name,
        directory=group.directory,
        number=group.number,
        before=before[0].file if before else None,
        after=after.file if after else None,
        loose=loose[0].file if loose else None,
        passes=_order_passes(group),
        others=tuple(
            text.file
            for text in group.texts
            if id(text) not in taken and text.stage is not Stage.PASS
        ),
        buffers=group.companions.get((suffix, Role.BUFFERS)),
        values=group.companions.get((suffix, Role.VALUES)),
        live_range=group.companions.get((suffix, Role.LIVE_RANGE)),
        debug_options=group.debug_options,
    )


def _choose_after(group: Group) -> Text | None:
    """Return the one text after optimization that stands for the program.

    The one the buffer assignment is named after, if there is one; else by its name.
    """
    assigned = {suffix for suffix, role in group.companions if role is Role.BUFFERS}

    def rank(text: Text) -> tuple[bool, int, str]:
        suffix = text.name.suffix
        return suffix not in assigned, text.name.after_rank, suffix

    return min(group.staged(Stage.AFTER), key=rank, default=None)


def _companion_suffix(group: Group, text: Text | None) -> str:
    """Return the suffix by which the chosen text's companions are named."""
    suffixes = sorted(suffix for suffix, role in group.companions if role is Role.BUFFERS)
    if text is None:
        return suffixes[0] if suffixes else ""
    own = text.name.suffix
    return own if own in suffixes else own.removesuffix(_SAME_TEXT)


def _order_passes(group: Group) -> tuple[PassText, ...]:
    """Return the texts between passes by their step."""
    texts = [
        PassText(
            each.file,
            each.name.step or 0,
            each.name.pipeline,
            each.name.after_pass,
            each.name.before_pass,
        )
        for each in group.staged(Stage.PASS)
    ]
    return tuple(sorted(texts, key=lambda each: (each.step, each.file.location)))


def _natural(text: str) -> list[str | int]:
    """Split a text so that numbers in it sort as numbers."""
    return [int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(text))]
