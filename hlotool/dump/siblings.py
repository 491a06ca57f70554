"""One file of a dump, and the files of the same module beside it, by their names.

Any file may be compressed. What the user names by hand wins over what is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import DumpedProgram, DumpFile, Input
from hlotool.dump.modules import read_module_head
from hlotool.dump.names import (
    COMPANIONS,
    COMPRESSIONS,
    OPTIONS,
    PROTO,
    TEXT,
    DumpFileName,
    Stage,
    find_dump_file_name,
    split_file_name,
    strip_compression,
)
from hlotool.dump.read import STDIN, choose_store, display_name, is_assignment_in
from hlotool.dump.text_kind import Detection, TextKind, refuse_kind
from hlotool.errors import UsageError
from hlotool.text import Source

_ENDING: Final = {kind: ending for ending, kind in COMPANIONS}
# The parts of a program that are read together.
PARTS: Final = (TextKind.MODULE, TextKind.ALLOCATIONS, TextKind.VALUES, TextKind.LIVE_RANGE)
# TPU prints one module as after_optimizations and again, unchanged, under this name; its
# companions are named after the first.
SAME_TEXT: Final = "_after_buffer_assignment"


def find_part(kind: TextKind) -> TextKind | None:
    """Return which part of a program a text of some kind is, None for any other text.

    Allocations with their values in one file are read as the allocations.
    """
    part = TextKind.ALLOCATIONS if kind is TextKind.BUFFERS else kind
    return part if part in PARTS else None


class NamedFiles(Struct, frozen=True):
    """Siblings the user names by hand; they win over those found by name."""

    buffers: str | None = None
    live_range: str | None = None
    module_text: str | None = None


def describe_file(
    path: str, source: Source, detection: Detection, named: NamedFiles, budget: ByteBudget
) -> Input:
    """Put one file and what stands beside it together."""
    kind, size = detection.kind, len(source.text)
    typed = find_part(kind)
    if kind is TextKind.DOCUMENT:
        if named != NamedFiles():
            raise UsageError("a JSON document takes no further files.")
        return Input(path, document=DumpFile(path, kind, size, source, budget=budget))
    if typed is None:
        raise refuse_kind(kind, f"{source.name}: ")
    files = {each: None if path == STDIN else find_sibling(path, each, budget) for each in PARTS}
    if kind is TextKind.BUFFERS:  # holds these two itself
        files[TextKind.VALUES] = files[TextKind.LIVE_RANGE] = None
    files[typed] = DumpFile(path, typed, size, source, is_settled=True, budget=budget)
    if typed is TextKind.MODULE and files[TextKind.ALLOCATIONS] is None:
        files[TextKind.ALLOCATIONS] = _find_in_proto(path, source, budget)
    _take_named(files, named, typed, budget)
    if typed is not TextKind.MODULE and files[TextKind.ALLOCATIONS] is None:
        wanted = f" There is no {display_name(_cut_ending(path))}-buffer-assignment.txt."
        raise refuse_kind(kind, f"{source.name}: ", "" if path == STDIN else wanted)
    module = files[TextKind.MODULE]
    head = read_module_head(source.text, detection.begin, with_signature=False)
    name = split_file_name(os.path.basename(module.raw_path if module else path))
    is_after = head.is_scheduled or typed is not TextKind.MODULE
    return Input(
        path,
        head.name or name.name,
        name.stage or (Stage.AFTER if is_after else None),
        module,
        files[TextKind.ALLOCATIONS],
        files[TextKind.VALUES],
        files[TextKind.LIVE_RANGE],
        find_debug_options(path, budget),
        _find_of_module(path, [f"before_optimizations{each}" for each in (TEXT, PROTO)], budget)
        if path != STDIN and name.stage is not Stage.BEFORE
        else None,
    )


def _find_in_proto(path: str, source: Source, budget: ByteBudget) -> DumpFile | None:
    """Return the buffer assignment in the proto that a text was made of, or that lies beside it."""
    if source.proto is not None:
        size = len(source.proto)
        return DumpFile(path, TextKind.ALLOCATIONS, size, is_assignment=True, data=source.proto)
    if path == STDIN:
        return None
    stem = _cut_ending(path)
    stems = (stem, stem.removesuffix(SAME_TEXT))
    return find_first_assignment(_find_first([f"{each}{PROTO}"], budget) for each in stems)


def _take_named(
    files: dict[TextKind, DumpFile | None], named: NamedFiles, typed: TextKind, budget: ByteBudget
) -> None:
    """Replace siblings by the files named by hand, and theirs by those beside them."""
    asked = (
        (TextKind.MODULE, named.module_text, "is a module text", "--module-text"),
        (TextKind.ALLOCATIONS, named.buffers, "is a buffer assignment", "--buffers"),
        (TextKind.LIVE_RANGE, named.live_range, "holds live ranges", "--live-range"),
    )
    for kind, path, what, option in asked:
        if not path:
            continue
        if typed is kind:
            raise UsageError(f"PATH {what} already; {option} names another.")
        file = files[kind] = DumpFile(path, kind, budget=budget)
        if kind is TextKind.ALLOCATIONS:
            files[kind] = find_first_assignment([file]) or file
            for each in {TextKind.VALUES, TextKind.LIVE_RANGE} - {typed}:
                files[each] = find_sibling(path, each, budget)


def find_first_assignment(protos: Iterable[DumpFile | None]) -> DumpFile | None:
    """Return the buffer assignment in the first of some files that is a proto with one."""
    for each in protos:
        if each and is_assignment_in(each.raw_path, each.budget):
            kind = TextKind.ALLOCATIONS
            return DumpFile(each.raw_path, kind, is_assignment=True, budget=each.budget)
    return None


def find_sibling(path: str, kind: TextKind, budget: ByteBudget) -> DumpFile | None:
    """Return the file of a kind that stands beside `path`, if there is one.

    The plain file wins over a compressed one, the text of a module over its proto. No file is its
    own sibling, compressed or not: an assignment called `x.txt` has the name its module's text
    would have.
    """
    stems = [_cut_ending(path)]
    if kind is TextKind.MODULE:
        endings: tuple[str, ...] = (TEXT, PROTO)
    else:
        endings = (_ENDING[kind],)
        if stems[0].endswith(f"after_optimizations{SAME_TEXT}"):
            stems.append(stems[0].removesuffix(SAME_TEXT))
    found = _find_first([each + ending for ending in endings for each in stems], budget, kind)
    is_itself = found and strip_compression(found.raw_path) == strip_compression(path)
    return None if is_itself else found


def _cut_ending(path: str) -> str:
    """Return a path without the ending of a module's text or of a companion, or as it is."""
    plain = strip_compression(path)
    for ending in (*_ENDING.values(), TEXT, ".hlo", PROTO):
        if plain.endswith(ending):
            return plain.removesuffix(ending)
    return plain


def find_debug_options(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return the `.debug_options` file of the module that a dump file belongs to.

    XLA names it without the stage, and without the timestamp.
    """
    return _find_without_stage(path, OPTIONS, budget)


def find_target(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return what says of the machine for which the module of a dump file was compiled."""
    found = _find_without_stage(path, ".gpu_target_config.pbtxt", budget)
    return found or _find_of_module(path, ["target_arguments.txt"], budget, TextKind.DEBUG_OPTIONS)


def find_pass_metadata(of: DumpedProgram | str, budget: ByteBudget) -> DumpFile | None:
    """Return what says when each pass of a program ran, or of that of a path.

    Its name has the number alone.
    """
    path = of if isinstance(of, str) else of.texts[0].path if of.texts else ""
    return _find_without_stage(path, ".metadata.textproto", budget)


def _find_without_stage(path: str, ending: str, budget: ByteBudget) -> DumpFile | None:
    directory, filename = os.path.split(path)
    if (name := find_dump_file_name(filename)) is None:
        return None
    module = f"module_{name.number:04d}"
    full = name.stem.removesuffix(name.suffix).removesuffix(".")
    # With a prefix that a copy was given; as XLA names it; and so for a name that is too long.
    bases = (full, full[full.find(module) :], module)
    paths = [os.path.join(directory, f"{base}{ending}") for base in bases]
    return _find_first(paths, budget, TextKind.DEBUG_OPTIONS)


def find_tpu_flags(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return the flags of the TPU compiler for the module that a dump file belongs to, by name."""
    return _find_of_module(path, ["tpu_comp_env.txt"], budget, TextKind.DEBUG_OPTIONS)


def find_codegen(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return the last text that the TPU compiler writes of a module, with its own estimates."""
    return _find_of_module(path, ["after_codegen.txt"], budget)


def _find_of_module(
    path: str, endings: list[str], budget: ByteBudget, kind: TextKind = TextKind.MODULE
) -> DumpFile | None:
    """Return the first file that is called like another of its module, but for the ending."""
    directory, filename = os.path.split(path)
    name = split_file_name(filename)
    if not name.suffix or not name.stem.endswith(name.suffix):
        return None
    stem = name.stem.removesuffix(name.suffix)
    return _find_first([os.path.join(directory, stem + ending) for ending in endings], budget, kind)


def find_proto(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return the proto of the module whose text a file is: the file itself if it is one."""
    stem = _cut_ending(path)
    stems = dict.fromkeys((stem, stem.removesuffix(SAME_TEXT)))
    return _find_first([f"{each}{PROTO}" for each in stems], budget)


def find_mlir(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return the program as JAX hands it to XLA, which lies in a folder of the module's name."""
    directory, filename = os.path.split(path)
    name = split_file_name(filename)
    if not name.suffix or not name.stem.endswith(name.suffix):
        return None
    stem = name.stem.removesuffix(name.suffix).removesuffix(".")
    return _find_first([os.path.join(directory, stem, "module.mlir")], budget)


_SHARDY: Final = "shardy"  # a folder of texts in MLIR, one folder a module
_AFTER_PROPAGATION: Final = ".after_propagation.mlir"


def find_shardy(path: str, budget: ByteBudget) -> DumpFile | None:
    """Return the last text of Shardy in which every value has its sharding."""
    directory, filename = os.path.split(path)
    own = split_file_name(filename)
    if own.number is None:
        return None
    folder = os.path.join(directory, _SHARDY, f"module_{own.number:04d}.{own.name}")
    try:
        names = [each.name for each in choose_store(folder, budget).list_directory(folder)]
    except OSError:
        return None
    found = [name for name in names if strip_compression(name).endswith(_AFTER_PROPAGATION)]
    return DumpFile(os.path.join(folder, max(found)), budget=budget) if found else None


_PROPAGATED: Final = ("shardy-xla", "sharding-propagation")  # the last pass before partitioning
_CLEANUP: Final = "spmd-cleanup"  # which begins with what the partitioner wrote


def find_partitioning(path: str, budget: ByteBudget) -> tuple[DumpFile | None, DumpFile | None]:
    """Return the texts of passes right before and right after the partitioner, by their names."""
    directory, filename = os.path.split(path)
    own = split_file_name(filename)
    if own.number is None:
        return None, None
    try:
        entries = choose_store(directory, budget).list_directory(directory)
    except OSError:
        return None, None
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    mark = f"module_{own.number:04d}."
    for entry in entries:
        name = split_file_name(entry.name) if mark in entry.name else None
        if name is None or name.step is None or name.is_proto or not _is_of_module(name, own):
            continue
        if name.after_pass in _PROPAGATED:
            before[name.step] = entry.name
        elif name.pipeline == _CLEANUP:
            after[name.step] = entry.name

    def open_file(name: str) -> DumpFile:
        path = os.path.join(directory, name)
        return DumpFile(
            path, size_bytes=choose_store(path, budget).find_size(path) or 0, budget=budget
        )

    return (
        open_file(before[max(before)]) if before else None,
        open_file(after[min(after)]) if after else None,
    )


def find_build(path: str) -> int | None:
    """Return the number of the TPU compiler's build, N of `cl_N` in a file's name."""
    return split_file_name(os.path.basename(path)).build


def list_beside(path: str, budget: ByteBudget) -> list[str]:
    """Return the texts of the same module that stand beside a file, the nearest first.

    First the file itself, compressed or in another form, then a text of the same stage, then a
    text after optimizations, then any.
    """
    directory, filename = os.path.split(path)
    own = split_file_name(filename)
    found = []
    try:
        others = [each.name for each in choose_store(directory, budget).list_directory(directory)]
    except OSError:
        return []
    for other in others:
        name = split_file_name(other)
        if other == filename or name.kind is not TextKind.MODULE:
            continue
        is_twin = name.stem == own.stem
        if is_twin or _is_of_module(name, own):
            not_after = name.stage is not Stage.AFTER
            nearness = (not is_twin, name.is_proto, name.suffix != own.suffix)
            rank = (*nearness, not_after, name.after_rank, other)
            found.append((rank, os.path.join(directory, other)))
    return [each for _, each in sorted(found)]


def list_twins(file: DumpFile) -> tuple[DumpFile, ...]:
    """Return the same text in other files beside one: compressed, or as a proto."""
    path, budget = file.raw_path, file.budget
    stem = split_file_name(os.path.basename(path)).stem
    beside = list_beside(path, budget)
    twins = (each for each in beside if split_file_name(os.path.basename(each)).stem == stem)
    return tuple(
        DumpFile(each, size_bytes=choose_store(each, budget).find_size(each) or 0, budget=budget)
        for each in twins
    )


def _is_of_module(name: DumpFileName, own: DumpFileName) -> bool:
    """Whether two files that XLA named are of one module; the first is a text of a stage."""
    if own.number is None or name.stage is None or name.number != own.number:
        return False
    if not f"{own.name}.".startswith(f"{name.name}."):
        return False  # the name of a kernel's file goes on after the module's
    return name.prefix == own.prefix or own.kind is TextKind.DEBUG_OPTIONS


def _find_first(
    paths: list[str], budget: ByteBudget, kind: TextKind = TextKind.MODULE
) -> DumpFile | None:
    """Return the first of some paths that is a file, plain or compressed."""
    for path in (each + ending for each in paths for ending in ("", *COMPRESSIONS)):
        if (size := choose_store(path, budget).find_size(path)) is not None:
            return DumpFile(path, kind, size, budget=budget)
    return None
