"""Which of a group's texts stands for the program, and which companions are its own?"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.groups import FileGroup
from hlotool.inputs.dump.member import ModuleText
from hlotool.inputs.dump.program import DumpedProgram, PassText
from hlotool.inputs.dump.role import Role, Stage
from hlotool.inputs.dump.siblings import find_assignment
from hlotool.source import DeviceCounts

_SAME_TEXT: Final = "_after_buffer_assignment"  # the text the assignment's own name stands for


def make_program(group: FileGroup) -> DumpedProgram:
    """Choose the texts that stand for a program, and the companions of the chosen one."""
    _lend_counts(group)
    before, loose = group.staged(Stage.BEFORE), group.staged(None)
    after = _choose_after(group)
    chosen = after or (loose[0] if loose else None)
    suffix = _companion_suffix(group, chosen)
    heads = [text.head.name for text in (after, *before, *loose) if text and text.head.name]
    taken = {id(after), *(id(text) for text in before[:1] + loose[:1])}
    return DumpedProgram(
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
        buffers=group.companions.get((suffix, Role.BUFFERS)) or _find_in_proto(group, chosen),
        values=group.companions.get((suffix, Role.VALUES)),
        live_range=group.companions.get((suffix, Role.LIVE_RANGE)),
        debug_options=group.debug_options,
    )


def _lend_counts(group: FileGroup) -> None:
    """Let protos take the devices that they do not count from a text of the same module."""
    texts = [each for each in group.texts if each.name.role is not Role.PROTO and each.head.name]
    known = {each.head.name: each.head for each in reversed(texts)}
    for place, one in enumerate(group.texts):
        head = known.get(one.head.name)
        if one.name.role is Role.PROTO and head is not None:
            counts = DeviceCounts(head.replica_count, head.num_partitions)
            group.texts[place] = replace(one, file=replace(one.file, counts=counts))


def _choose_after(group: FileGroup) -> ModuleText | None:
    """Return the one text after optimization that stands for the program.

    The one the buffer assignment is named after, if there is one; else by its name.
    """
    assigned = {suffix for suffix, role in group.companions if role is Role.BUFFERS}

    def rank(text: ModuleText) -> tuple[bool, int, str]:
        suffix = text.name.suffix
        return suffix not in assigned, text.name.after_rank, suffix

    return min(group.staged(Stage.AFTER), key=rank, default=None)


def _companion_suffix(group: FileGroup, text: ModuleText | None) -> str:
    """Return the suffix by which the chosen text's companions are named."""
    suffixes = sorted(suffix for suffix, role in group.companions if role is Role.BUFFERS)
    if text is None:
        return suffixes[0] if suffixes else ""
    own = text.name.suffix
    return own if own in suffixes else own.removesuffix(_SAME_TEXT)


def _find_in_proto(group: FileGroup, text: ModuleText | None) -> DumpFile | None:
    """Return the buffer assignment that stands in the proto of a text, or in that of the same."""
    if text is None or text.stage is not Stage.AFTER:
        return None
    own = text.name.suffix
    protos = (group.protos.get(suffix) for suffix in (own, own.removesuffix(_SAME_TEXT)))
    found = (find_assignment(proto.raw_path) for proto in protos if proto)
    return next((each for each in found if each), None)


def _order_passes(group: FileGroup) -> tuple[PassText, ...]:
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
    return tuple(sorted(texts, key=lambda each: (each.step, each.file.raw_path)))
