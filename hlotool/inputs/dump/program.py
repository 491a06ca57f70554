"""One program of a directory: all its texts, and what a command reads of them at a stage."""

from __future__ import annotations

from msgspec import Struct

from hlotool.inputs.dump.files import DumpFile, Input, StageChoice
from hlotool.inputs.dump.role import Stage
from hlotool.ir.measurement import Measurement


class PassText(Struct, frozen=True):
    """The module as it was between two passes, or at a step inside one."""

    file: DumpFile
    step: int
    pipeline: str  # or the pass, for a step inside it
    after_pass: str
    before_pass: str


class DumpedProgram(Struct, frozen=True):
    """One compiled program of a directory: its texts by stage, and what belongs to them."""

    name: str
    directory: str
    # That of the text after optimizations, if there is one; or which module of one text it is.
    number: int | None
    before: DumpFile | None = None
    after: DumpFile | None = None
    loose: DumpFile | None = None  # a text of which neither name nor header tells the stage
    passes: tuple[PassText, ...] = ()  # in the order XLA ran them
    others: tuple[DumpFile, ...] = ()  # further texts: after_spmd_partitioner, TPU's after_codegen
    buffers: DumpFile | None = None
    values: DumpFile | None = None
    live_range: DumpFile | None = None
    debug_options: DumpFile | None = None
    measured: Measurement | None = None

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
            path=leading.place if leading else self.directory,
            name=self.name,
            stage=stage,
            module=text,
            buffers=self.buffers if has_buffers else None,
            values=self.values if has_buffers else None,
            live_range=self.live_range if has_buffers else None,
            debug_options=self.debug_options,
            before=None if text is self.before else self.before,
            measured=self.measured if has_buffers else None,
        )
