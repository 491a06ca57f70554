"""From the PATH a user typed to the files a command reads: the way into this room.

A path leads to a file with what stands beside it, or to many programs. What is no file is taken as
well: a text, and what JAX has compiled in this process. Of JAX's live objects the attributes alone
are read, JAX is never imported:

* A compiled function (`jax.stages.Compiled`): `as_text()`; the buffer assignment of
  `memory_analysis().serialized_buffer_assignment_proto`; and, to follow the ids in that,
  `runtime_executable().hlo_modules()`, each with `as_serialized_hlo_module_proto()`.
* A lowered one (`jax.stages.Lowered`) is refused: it is known by `compile()` and `compiler_ir()`.
"""

from __future__ import annotations

import os
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from hlotool.dump import directory, read
from hlotool.dump.budget import DEFAULT_BUDGET, ByteBudget
from hlotool.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.dump.groups import read_header_line
from hlotool.dump.modules import read_module_head, split_modules
from hlotool.dump.names import split_file_name
from hlotool.dump.siblings import NamedFiles, describe_file, list_beside
from hlotool.dump.text_kind import TextKind, detect_kind, is_refused
from hlotool.errors import BudgetError, HlotoolError, InputError, NothingCheckedError, UsageError
from hlotool.proto.kind import is_profile, write_field
from hlotool.text import DeviceCounts, Pattern, PatternError, Source, parse_pattern

# What may be a log, or a line of one.
_LOGS: Final = (TextKind.OUT_OF_MEMORY, TextKind.LOG, TextKind.STREAM, TextKind.JSON)


class _Wanted(Struct, frozen=True):
    """What is read of a PATH: texts of a stage, modules by name, and files named by hand."""

    stage: StageChoice
    pattern: Pattern | None
    named: NamedFiles = NamedFiles()
    budget: ByteBudget = DEFAULT_BUDGET

    def choose(self, path: str, found: directory.Found, *, is_directory: bool = False) -> Inputs:
        """Return the inputs of the programs that are wanted."""
        return directory.choose_inputs(
            path, found, self.stage, self.pattern, is_directory=is_directory
        )

    def refuse_named(self, path: str) -> None:
        """Refuse files named by hand where there may be many programs."""
        if self.named != NamedFiles():
            raise UsageError(
                f"{read.display_name(path)} has whole programs; --buffers, --live-range and "
                "--module-text need a single file."
            )


def resolve_inputs(
    path: str,
    stage: StageChoice = "after",
    module_pattern: str | None = None,
    named: NamedFiles | None = None,
    *,
    also: tuple[TextKind, ...] = (),
    budget: ByteBudget = DEFAULT_BUDGET,
) -> Inputs:
    """Return what a PATH leads to: one input for a file, one for each program of a directory.

    `-` is standard input. A stream of several programs, and a text of several modules, count as
    a directory. `also` are kinds of text that are no dump, and what the caller reads as well:
    a text with an out-of-memory message, whatever else it holds, a log with messages alone, and a
    memory-usage report with no module beside it. Raises InputError for what is missing, unreadable
    or no dump, NothingCheckedError if `module_pattern` (a regular expression searched in module
    names) leaves none, UsageError for a bad pattern or for files named by hand beside a directory.
    """
    wanted = _Wanted(stage, parse_module_pattern(module_pattern), named or NamedFiles(), budget)
    # Nobody can read a pipe again: whatever it turns out to be, that is told from these bytes.
    content = read.read_bytes(path, budget) if read.is_read_once(path) else None
    if content is None:
        root = read.find_root(path, budget)
    else:
        root = read.find_root_in(content, read.display_name(path), budget)
    if root is not None:
        wanted.refuse_named(path)
        return wanted.choose(
            path, directory.collect_programs(path, root, budget), is_directory=True
        )
    try:
        data = read.unpack(
            read.read_bytes(path, budget) if content is None else content, path, budget
        )
        if is_profile(data):
            wanted.refuse_named(path)
            return wanted.choose(path, directory.list_in_profile(path, data, budget))
        source = _make_source(path, data, budget)
        if (other := _find_other_kind(path, source, also, budget)) is None:
            return _find_in_source(path, source, wanted)
    except BudgetError:
        raise
    except InputError as error:
        # A file that is not there was not refused.
        if content is not None or read.choose_store(path, budget).find_size(path) is None:
            raise
        if (found := _find_beside(path, error, wanted)) is None:
            raise
        return found
    wanted.refuse_named(path)
    file = DumpFile(path, other, len(source.text), source, is_settled=True, budget=budget)
    return Inputs(path, False, (Input(path, other=file),))


def refuse_path(path: str, why: str) -> Input:
    """Return what stands for one of several paths of which nothing can be read."""
    name = split_file_name(os.path.basename(path)).name
    return Input(read.display_name(path), name, refused=why.partition("\n")[0])


def _find_other_kind(
    path: str, source: Source, also: tuple[TextKind, ...], budget: ByteBudget
) -> TextKind | None:
    """Return which of some kinds that are no dump a text is, None if it is none of them."""
    detection = detect_kind(source.text)
    if TextKind.OUT_OF_MEMORY in also:
        may_be = detection.kind in _LOGS
        if detection.kind is TextKind.MODULE:  # a dump holds nothing else and is not looked through
            found = split_modules(source, detection)
            may_be = bool(found.before_count or found.behind_count)
        from hlotool.oom.wordings import holds_message  # noqa: PLC0415  most texts are dumps

        if may_be and holds_message(source.text):
            return TextKind.OUT_OF_MEMORY
    if TextKind.LOG in also and detection.kind in {TextKind.OUT_OF_MEMORY, TextKind.LOG}:
        return TextKind.LOG
    is_report = detection.kind is TextKind.MEMORY_REPORT and TextKind.MEMORY_REPORT in also
    return TextKind.MEMORY_REPORT if is_report and not list_beside(path, budget) else None


def _find_beside(path: str, error: HlotoolError, wanted: _Wanted) -> Inputs | None:
    """Return what the nearest text beside a refused file leads to, None where there is none."""
    # Only what was wrong: what to give instead was found.
    refusal = (
        error.lines[0].removeprefix(f"{read.display_name(path)}: ").partition(";")[0].rstrip(".")
    )
    for beside in list_beside(path, wanted.budget):
        try:
            source = _make_source(beside, read.read_unpacked(beside, wanted.budget), wanted.budget)
            found = _find_in_source(beside, source, wanted)
        except InputError:
            continue
        of, other = read.display_name(path), read.display_name(beside)
        note = f"{of}: {refusal}. The answer uses {other}, next to it."
        return replace(found, notes=(note, *found.notes))
    return None


def _find_in_source(path: str, source: Source, wanted: _Wanted) -> Inputs:
    """Return what a text holds: one input, or one for each of its programs."""
    detection = detect_kind(source.text)
    if detection.kind is TextKind.STREAM:
        wanted.refuse_named(path)
        return wanted.choose(path, directory.list_in_stream(source))
    notes: tuple[str, ...] = ()
    if detection.kind is TextKind.MLIR:
        from hlotool.dump.mlir import convert_mlir  # noqa: PLC0415  most texts are dumps

        source = convert_mlir(source.text.encode(), source.name)
        told = "this is MLIR; the answer is about its HLO before any optimization"
        notes = (f"{source.name}: {told}.",)
        detection = detect_kind(source.text)
    elif is_refused(detection.kind):
        from hlotool.dump.fragment import find_fragment  # noqa: PLC0415  the same

        if (fragment := find_fragment(source, is_dump=False)) is not None:
            source, notes = fragment.source, fragment.notes
            detection = detect_kind(source.text)
    elif detection.kind is TextKind.MODULE:
        modules = split_modules(source, detection)
        notes = modules.notes()
        if len(modules.modules) > 1:
            wanted.refuse_named(path)
            return wanted.choose(path, (directory.make_parts(path, modules), notes))
        (source,) = modules.modules
        detection = detect_kind(source.text)
    found = describe_file(path, source, detection, wanted.named, wanted.budget)
    pattern = wanted.pattern
    if pattern and not pattern.is_found(found.name):
        if found.document is not None:
            raise NothingCheckedError(
                f"{source.name}: --module does not choose in a saved answer; --where does."
            )
        raise NothingCheckedError(
            f"{source.name}: the module is called {found.name!r}, which --module "
            f"{pattern.text!r} does not match."
        )
    return Inputs(path, False, (found,), notes)


def parse_module_pattern(text: str | None) -> Pattern | None:
    """Read the regular expression of --module."""
    try:
        return None if text is None else parse_pattern(text)
    except PatternError as error:
        raise UsageError(f"--module {text!r} is not a regular expression: {error}.") from error


def _make_source(path: str, data: bytes, budget: ByteBudget) -> Source:
    """Return the text that the bytes of a file are.

    The devices that a proto does not count are taken from the text of the same module beside it.
    """
    source = read.make_source(data, read.display_name(path))
    counts = source.counts
    if (
        path == read.STDIN
        or counts is None
        or None not in {counts.replica_count, counts.num_partitions}
    ):
        return source
    if (beside := next(iter(list_beside(path, budget)), None)) is None:
        return source
    head = read_module_head(read_header_line(DumpFile(beside, budget=budget)), with_signature=False)
    if head.name != read_module_head(source.text, with_signature=False).name:
        return source
    return replace(source, counts=DeviceCounts(head.replica_count, head.num_partitions))


def resolve_text(
    text: str, stage: StageChoice = "after", module_pattern: str | None = None
) -> Inputs:
    """Return what a text holds, as if it stood in a file."""
    wanted = _Wanted(stage, parse_module_pattern(module_pattern))
    return _find_in_source(read.STDIN, Source(text, "<text>"), wanted)


_NAME: Final = "<compiled>"
_MODULE: Final = 1  # fields of HloProto
_ASSIGNMENT: Final = 3
# What runtimes raise that keep no assignment; their own errors are RuntimeErrors.
_NOT_KNOWN: Final = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)


@runtime_checkable
class Compiled(Protocol):
    """What has a text, such as JAX's `Lowered.compile()`."""

    def as_text(self) -> str:
        """Return the module as HLO text."""


def resolve_compiled(
    compiled: Compiled, stage: StageChoice = "after", module_pattern: str | None = None
) -> Inputs:
    """Return what a compiled function holds: its text, and its buffer assignment if it has one.

    Raises UsageError for what is lowered and not compiled yet, and as `resolve_inputs` does.
    """
    if hasattr(compiled, "compile") and hasattr(compiled, "compiler_ir"):
        raise UsageError(
            "this function is lowered, but not compiled: there is no optimized program yet; "
            "call .compile(), and load what that returns."
        )
    found = resolve_text(compiled.as_text(), stage, module_pattern)
    data = _take_assignment(compiled) if len(found.inputs) == 1 else None
    if data is None:
        return found
    buffers = DumpFile(_NAME, TextKind.ALLOCATIONS, len(data), is_assignment=True, data=data)
    return replace(found, inputs=(replace(found.inputs[0], buffers=buffers),))


def _take_assignment(compiled: Any) -> bytes | None:
    """Return an HloProto of the module and its buffer assignment, None where there is none.

    Runtimes that do not keep it hand out no bytes, or raise.
    """
    if not hasattr(compiled, "memory_analysis"):
        return None
    try:
        assignment = compiled.memory_analysis().serialized_buffer_assignment_proto
        modules = compiled.runtime_executable().hlo_modules()
        module = modules[0].as_serialized_hlo_module_proto() if len(modules) == 1 else b""
    except _NOT_KNOWN:
        return None
    if not (isinstance(assignment, bytes) and isinstance(module, bytes) and assignment and module):
        return None
    return write_field(_MODULE, module) + write_field(_ASSIGNMENT, assignment)
