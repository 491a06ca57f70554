"""From the PATH a user typed to the files a command reads: the way into this package."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.dump.compression import decompress
from hlotool.dump.directory import (
    find_among_modules,
    find_among_profiled,
    find_in_directory,
    find_in_stream,
)
from hlotool.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.dump.groups import read_header_line
from hlotool.dump.modules import find_modules, read_module_head
from hlotool.dump.names import Role
from hlotool.dump.read import STDIN, display_name, is_read_once, make_source, read_bytes
from hlotool.dump.siblings import NamedFiles, describe_file, find_text_beside, list_beside
from hlotool.dump.stores import find_root, find_root_in, find_store
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.errors import (
    HlotoolError,
    InputError,
    MissingPackageError,
    NothingCheckedError,
    UsageError,
)
from hlotool.oom.wordings import holds_message
from hlotool.pattern import Pattern, PatternError, parse_pattern
from hlotool.proto.kind import is_profile
from hlotool.text import DeviceCounts, Source

# What may be a log, or a line of one.
_LOGS: Final = (TextKind.OUT_OF_MEMORY, TextKind.STREAM, TextKind.JSON)


def find_inputs(
    path: str,
    stage: StageChoice = "after",
    module_pattern: str | None = None,
    named: NamedFiles | None = None,
    *,
    also: tuple[TextKind, ...] = (),
) -> Inputs:
    """Return what a PATH leads to: one input for a file, one for each program of a directory.

    `-` is standard input. A stream of several programs, and a text of several modules, count as
    a directory. `also` are kinds of text that are no dump, and what the caller reads as well:
    a text with an out-of-memory message, whatever else it holds, and a memory-usage report with
    no module beside it. Raises InputError
    for what is missing, unreadable or no dump, NothingCheckedError if `module_pattern` (a
    regular expression searched in module names) leaves none, UsageError for a bad pattern or
    for files named by hand beside a directory.
    """
    pattern = parse_module_pattern(module_pattern)
    named = named or NamedFiles()
    content = read_bytes(path) if is_read_once(path) else None
    root = find_root(path) if content is None else find_root_in(content, display_name(path))
    if root is not None:
        _refuse_named(named, path)
        return find_in_directory(path, stage, pattern, root)
    try:
        data = _read(path, content)
        if is_profile(data):
            _refuse_named(named, path)
            return find_among_profiled(path, data, stage, pattern)
        source = _make_source(path, data)
        other = _find_other_kind(path, source, also)
        if other is None:
            return _find_in_source(path, source, stage, pattern, named)
    except (InputError, MissingPackageError) as error:
        found = None if content is not None else _find_beside(path, error, stage, pattern, named)
        if found is None:
            raise
        return found
    _refuse_named(named, path)
    file = DumpFile(path, (other,), len(source.text), source, is_settled=True)
    return Inputs(path, False, (Input(path, other=file),))


def _find_other_kind(path: str, source: Source, also: tuple[TextKind, ...]) -> TextKind | None:
    """Return which of some kinds that are no dump a text is, None if it is none of them."""
    if TextKind.OUT_OF_MEMORY in also and _is_message(source):
        return TextKind.OUT_OF_MEMORY
    is_report = detect_kind(source.text).kind is TextKind.MEMORY_REPORT
    if is_report and TextKind.MEMORY_REPORT in also and not list_beside(path, (Role.MODULE,)):
        return TextKind.MEMORY_REPORT
    return None


def _find_beside(
    path: str,
    error: HlotoolError,
    stage: StageChoice,
    pattern: Pattern | None,
    named: NamedFiles,
) -> Inputs | None:
    """Return what the nearest text beside a refused file leads to, None where there is none.

    A file that is not there was not refused.
    """
    if find_store(path).find_size(path) is None:
        return None
    refusal = error.lines[0].removeprefix(f"{display_name(path)}: ").partition(";")[0].rstrip(".")
    for beside in list_beside(path, (Role.MODULE, Role.PROTO)):
        try:
            found = _find_in_source(
                beside, _make_source(beside, _read(beside)), stage, pattern, named
            )
        except (InputError, MissingPackageError):
            continue
        note = f"{display_name(path)}: {refusal}. This is about {display_name(beside)}, beside it."
        return replace(found, notes=(note, *found.notes))
    return None


def find_inputs_in_text(
    text: str, stage: StageChoice = "after", module_pattern: str | None = None
) -> Inputs:
    """Return what a text holds, as if it stood in a file."""
    pattern = parse_module_pattern(module_pattern)
    return _find_in_source(STDIN, Source(text, "<text>"), stage, pattern, NamedFiles())


def _is_message(source: Source) -> bool:
    """Whether a text, be it a log around a module, has an out-of-memory message.

    A dump is not looked through: it begins with what it is, and holds nothing else.
    """
    detection = detect_kind(source.text)
    if detection.kind is TextKind.MODULE:
        found = find_modules(source, detection)
        if not found.before_count and not found.behind_count:
            return False
    elif detection.kind not in _LOGS:
        return False
    return holds_message(source.text)


def _find_in_source(
    path: str,
    source: Source,
    stage: StageChoice,
    pattern: Pattern | None,
    named: NamedFiles,
) -> Inputs:
    """Return what a text holds: one input, or one for each of its programs."""
    detection = detect_kind(source.text)
    if detection.kind is TextKind.STREAM:
        _refuse_named(named, path)
        return find_in_stream(path, source, stage, pattern)
    notes: tuple[str, ...] = ()
    if detection.kind is TextKind.MODULE:
        modules = find_modules(source, detection)
        if len(modules.modules) > 1:
            _refuse_named(named, path)
            return find_among_modules(path, modules, stage, pattern)
        (source,), notes = modules.modules, modules.notes()
        detection = detect_kind(source.text)
    found = describe_file(path, source, detection, named)
    if pattern and not pattern.is_found(found.name):
        raise NothingCheckedError(
            f"{source.name}: the module is called {found.name!r}, which --module "
            f"{pattern.text!r} does not match."
        )
    return Inputs(path, False, (found,), notes)


def _refuse_named(named: NamedFiles, path: str) -> None:
    """Refuse files named by hand where there may be many programs."""
    if named != NamedFiles():
        raise UsageError(
            f"{display_name(path)} holds whole programs; --buffers, --live-range and "
            "--module-text go with a single file."
        )


def parse_module_pattern(text: str | None) -> Pattern | None:
    """Read the regular expression of --module."""
    try:
        return None if text is None else parse_pattern(text)
    except PatternError as error:
        raise UsageError(f"--module {text!r} is not a regular expression: {error}.") from error


def _read(path: str, content: bytes | None = None) -> bytes:
    """Read PATH, or take what was read, and unpack it."""
    return decompress(read_bytes(path) if content is None else content, display_name(path))


def _make_source(path: str, data: bytes) -> Source:
    """Return the text that the bytes of a file are."""
    return _count_beside(path, make_source(data, display_name(path)))


def _count_beside(path: str, source: Source) -> Source:
    """Take the devices that a proto does not count from the text of the same module beside it."""
    counts = source.counts
    if path == STDIN or counts is None or None not in {counts.replica_count, counts.num_partitions}:
        return source
    beside = find_text_beside(path)
    if beside is None:
        return source
    head = read_module_head(read_header_line(DumpFile(beside, ())), with_signature=False)
    own = read_module_head(source.text, with_signature=False)
    if head.name != own.name:
        return source
    return replace(source, counts=DeviceCounts(head.replica_count, head.num_partitions))
