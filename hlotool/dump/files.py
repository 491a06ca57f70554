"""The records the commands get: a file of a dump, and the files that belong together.

`Input` is what a command reads at once, `DumpedProgram` all there is of one program of a directory.
No text is in them but of what can be read once only: `DumpFile.read` gives it.
"""

from __future__ import annotations

import filecmp
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.dump.budget import DEFAULT_BUDGET, ByteBudget
from hlotool.dump.modules import split_modules
from hlotool.dump.names import DumpFileName, Stage
from hlotool.dump.read import (
    display_name,
    make_assignment,
    make_source,
    read_head,
    read_source,
    read_unpacked,
)
from hlotool.dump.text_kind import TextKind, detect_kind, refuse_kind
from hlotool.errors import InputError
from hlotool.hlo.values import Measurement
from hlotool.text import DeviceCounts, Source

StageChoice: TypeAlias = Literal["before", "after", "all"]  # the texts --stage asks for


class DumpFile(Struct, frozen=True):
    """One file of a dump, or one section of a stream; read when asked, not before."""

    raw_path: str  # the path to open
    # What it has to hold; any other content is refused. Allocations may stand with the values.
    kind: TextKind = TextKind.MODULE
    size_bytes: int = 0  # on disk; 0 where unknown
    source: Source | None = None  # if already read
    part: int = 0  # which module of a text that holds several, from 1; else 0
    is_settled: bool = False  # whether `source` is known to be of the kind
    is_assignment: bool = False  # whether it is the buffer assignment in a proto, not the module
    data: bytes | None = None  # of a proto that lies in another file, or was read already
    counts: DeviceCounts | None = None  # by a text of the same module, if this is a proto
    budget: ByteBudget = DEFAULT_BUDGET  # within which it is read

    @property
    def place(self) -> str:
        """The path, and which module of it where there are several: `log.txt#2`."""
        return f"{self.path}#{self.part}" if self.part else self.path

    @property
    def path(self) -> str:
        """The path to open; that of a section of a stream tells which."""
        return self.source.name if self.source else display_name(self.raw_path)

    def read(self) -> Source:
        """Return the text; read it now unless it was read to find out what it is.

        Not kept: who needs it twice keeps it. Raises InputError where the file cannot be
        read, is not text, or holds something else than its kind.
        """
        if self.source and self.is_settled:
            return self.source
        if self.is_assignment:
            data = read_unpacked(self.raw_path, self.budget) if self.data is None else self.data
            return make_assignment(data, self.place)
        if self.data is not None:
            return self._expect_kind(make_source(self.data, self.place))
        source = self._expect_kind(self.source or read_source(self.raw_path, self.budget))
        known = source.counts
        # Where nothing in a proto proves both counts, the other text of the module has them.
        if (
            self.counts is None
            or known is None
            or None not in {known.replica_count, known.num_partitions}
        ):
            return source
        return replace(source, counts=self.counts)

    def _expect_kind(self, source: Source) -> Source:
        """Return a text of the kind, or raise InputError with what it is instead.

        What stands around a module is left out; a text of several modules is refused.
        """
        detection = detect_kind(source.text)
        kinds = [self.kind]
        if self.kind is TextKind.ALLOCATIONS:
            kinds.append(TextKind.BUFFERS)
        if detection.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            raise refuse_kind(detection.kind, f"{source.name}: expected {wanted}, but ")
        if self.kind is not TextKind.MODULE:
            return source
        modules = split_modules(source, detection).modules
        if len(modules) > 1:
            raise InputError(
                f"{source.name}: expected {TextKind.MODULE.value}, but this holds "
                f"{len(modules):,} of them; give this file as PATH to read them."
            )
        return modules[0]

    def is_same_as(self, other: DumpFile) -> bool:
        """Say whether two files are known to hold the same, byte for byte."""
        if self.data is not None or other.data is not None:
            return self.data == other.data
        if self.source and other.source:
            mine, theirs = self.source, other.source
            return (mine.text, mine.counts) == (theirs.text, theirs.counts)
        if self.source or other.source or self.part or other.part:
            return False
        try:
            return filecmp.cmp(self.raw_path, other.raw_path, shallow=False)
        except OSError:  # who reads them says what is wrong
            return False

    def head(self, limit_bytes: int) -> str:
        """Return the first part of the text, '' if it is not text; for looking at many."""
        if self.source:
            return self.source.text[:limit_bytes]
        return read_head(self.raw_path, limit_bytes, self.budget)


class Input(Struct, frozen=True):
    """The files of one program at one stage that a command reads together.

    At least one of `module`, `buffers`, `document` and `other` is there. `buffers` is the file
    with the allocations: the old form holds values and live ranges as well (`TextKind.BUFFERS`).
    """

    path: str  # what the user typed; in a directory the file that stands for the program
    name: str = ""  # of the module, '' if only a buffer assignment is there
    stage: Stage | None = None  # None where neither name nor header tells
    module: DumpFile | None = None
    buffers: DumpFile | None = None
    values: DumpFile | None = None
    live_range: DumpFile | None = None
    debug_options: DumpFile | None = None
    before: DumpFile | None = None  # the text before optimization, if `module` is another
    document: DumpFile | None = None  # a saved JSON document instead of a dump
    measured: Measurement | None = None  # by a profiler
    other: DumpFile | None = None  # a text that is no dump, for who asks for its kind
    called: str = ""  # as no other of those that are answered about, where that is known
    refused: str = ""  # why nothing of it can be read, where it is one of several paths

    @property
    def files(self) -> tuple[DumpFile, ...]:
        """All files there are."""
        files = (*self._parts, self.document, self.other)
        return tuple(file for file in files if file is not None)

    def is_same_as(self, other: Input) -> bool:
        """Say whether two inputs are dumps of the same files, byte for byte; flags aside."""
        if self.document or other.document or self.measured != other.measured:
            return False
        mine = (*self._parts, self.before)
        return all(
            one.is_same_as(two) if one and two else one is two
            for one, two in zip(mine, (*other._parts, other.before), strict=True)
        )

    @property
    def _parts(self) -> tuple[DumpFile | None, ...]:
        return self.module, self.buffers, self.values, self.live_range

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(file.size_bytes for file in self.files)


class Inputs(Struct, frozen=True):
    """What a PATH leads to: one input for a file, one for each program of a directory."""

    path: str
    is_directory: bool  # a stream of several programs counts as one
    inputs: tuple[Input, ...]
    notes: tuple[str, ...] = ()  # sentences for stderr: files passed over, choices made


class PassText(Struct, frozen=True):
    """The module as it was between two passes, or at a step inside one: its name says which."""

    file: DumpFile
    name: DumpFileName


class DumpedProgram(Struct, frozen=True):
    """One compiled program of a directory: what commands read of it, and its further texts."""

    name: str
    # That of the text after optimizations, if there is one; or which module of one text it is.
    number: int | None
    # At most one before optimizations, one of which neither name nor header tells the stage, and
    # one after, in this order.
    texts: tuple[Input, ...]
    passes: tuple[PassText, ...] = ()  # in the order XLA ran them
    others: tuple[DumpFile, ...] = ()  # further texts: after_spmd_partitioner, TPU's after_codegen

    def inputs(self, stage: StageChoice) -> tuple[Input, ...]:
        """Return what a command reads of this program at a stage, nothing if it has none.

        A text whose stage nobody knows belongs to every choice.
        """
        if stage == "all":
            return self.texts
        return tuple(one for one in self.texts if one.stage in (None, Stage(stage)))

    def find_text(self, stage: Stage) -> DumpFile | None:
        """Return the module's text of a stage, None where there is none."""
        return next((one.module for one in self.texts if one.stage is stage), None)
