"""The parts of a dump file's name, put together by XLA and taken apart here.

Follows xla/service/dump.cc (`FilenameFor` and its callers) and the names seen in dumps. What a
file holds is said by its `TextKind`, as far as the name tells; a number in a name alone proves
nothing, see `groups`. `short_path` names one of a directory's files in a few words.
"""

from __future__ import annotations

import os
import re
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.dump.read import display_name, relative_path
from hlotool.dump.text_kind import TextKind


class Stage(Enum):
    """Where in the compilation a module text was printed."""

    BEFORE = "before"  # before_optimizations: what XLA was given
    PASS = "pass"  # noqa: S105  (after one pass; per-pass dumps)
    OTHER = "other"  # between the two, without a number: after_spmd_partitioner
    AFTER = "after"  # after_optimizations and, on TPU, its neighbours


# Microseconds since 1970, of --xla_dump_include_timestamp. Shorter numbers somebody else put there.
_TIMESTAMP: Final = re.compile(r"(?:^|[._\-])[0-9]{13,}\Z")
# Which of several texts after optimization stands for the program, best first, where no
# buffer assignment names one: the last that is scheduled and has its memory spaces.
_AFTER_ORDER: Final = (
    "after_optimizations",
    "after_optimizations_after_buffer_assignment",
    "after_codegen",
    "after_optimizations_before_buffer_assignment",
)


class DumpFileName(Struct, frozen=True):
    """The parts of a dump file's name; '' and None where it has no such part."""

    prefix: str = ""  # what stands before `module_`: a timestamp, or what a copy put there
    number: int | None = None  # None only for a name that XLA would not give
    name: str = ""  # the module's; '' where XLA left it out, see `find_dump_file_name`
    build: int | None = None  # N of `cl_N`
    suffix: str = ""  # from after the name to before the extension: `cpu_after_optimizations`
    kind: TextKind | None = None  # what it holds, None where the name does not tell
    is_proto: bool = False  # whether it is an HLO protobuf, read as the text XLA prints of it
    stage: Stage | None = None
    step: int | None = None  # position among the per-pass dumps of a module
    pipeline: str = ""
    after_pass: str = ""
    before_pass: str = ""
    stem: str = ""  # the file name up to the companion's ending: what siblings share

    @property
    def untimed_prefix(self) -> str:
        """The prefix without XLA's timestamp: what tells copies of several dumps apart."""
        return _TIMESTAMP.sub("", self.prefix)

    @property
    def after_rank(self) -> int:
        """Rank among several texts after optimization: 0 is the one to choose."""
        own = self.suffix[max(self.suffix.find("after_"), 0) :]
        return _AFTER_ORDER.index(own) if own in _AFTER_ORDER else len(_AFTER_ORDER)


COMPRESSIONS: Final = (".gz", ".xz", ".zst", ".bz2")
TEXT: Final = ".txt"
PROTO: Final = ".hlo.pb"
# Endings of the files that stand beside a module text `STEM.txt`.
COMPANIONS: Final = (
    ("-buffer-assignment-values.txt", TextKind.VALUES),
    ("-buffer-assignment.txt", TextKind.ALLOCATIONS),
    ("-live-range.txt", TextKind.LIVE_RANGE),
    ("-memory-usage-report.txt", TextKind.MEMORY_REPORT),
)
# The first that fits counts, so the longer ones stand before `.txt`.
_ENDINGS: Final[dict[str, TextKind | None]] = {
    **dict(COMPANIONS),
    "-memory-usage-report.pb": None,
    PROTO: TextKind.MODULE,
    ".hlo_snapshot.pb": None,
    TEXT: TextKind.MODULE,
    ".hlo": TextKind.MODULE,
}
OPTIONS: Final = ".debug_options"
_START: Final = re.compile(r"(?:(?P<prefix>[0-9]+)\.)?module_(?P<number>[0-9]{4,18})\.")
_LATE_START: Final = re.compile(r"(?P<prefix>.*)[._\-]module_(?P<number>[0-9]{4,18})\.", re.DOTALL)
# As short as can be: a target may hold a dot, as `sm_9.0a_gpu`, and is no part of the name.
_NAME: Final = r"(?:(?P<name>.+?)\.)??"
_TARGET: Final = r"(?:(?:sm_[0-9]+(?:\.[0-9]+)?[a-z]?|gfx[^.]+|[^._]+)_)?(?:[^._]+_)?"
_BETWEEN_PASSES: Final = re.compile(
    r"(?:(?P<name>.+)\.)?(?P<step>[0-9]{4,18})\.(?P<pipeline>[^.]*)"
    r"\.after_(?P<after>.+?)\.before_(?P<before>.+)",
    re.DOTALL,
)
_DURING_PASS: Final = re.compile(
    r"(?:(?P<name>.+)\.)?(?P<step>[0-9]{4,18})\.(?P<pipeline>[^.]+)\.(?P<after>[^.]+)", re.DOTALL
)
_FIXED: Final = re.compile(
    rf"{_NAME}(?P<suffix>before_optimizations"
    rf"|{_TARGET}after_optimizations(?:_(?:before|after)_buffer_assignment)?"
    r"|after_codegen|after_spmd_partitioner)",
    re.DOTALL,
)
_LAST_PART: Final = re.compile(r"(?:(?P<name>.+)\.)?(?P<suffix>[^.]*)", re.DOTALL)
_BUILD: Final = re.compile(r"(?:(?P<name>.*)\.)?cl_(?P<build>[0-9]{1,18})", re.DOTALL)


def strip_compression(filename: str) -> str:
    """Return a file name without `.gz` and its like."""
    for ending in COMPRESSIONS:
        if filename.endswith(ending):
            return filename.removesuffix(ending)
    return filename


def find_dump_file_name(filename: str) -> DumpFileName | None:
    """Take a file name apart, or return None if XLA would not have given it.

    filename := [prefix "."] "module_" NNNN ["." name] [".cl_" N] "." rest [compression]
    rest     := stage (".txt" | ".hlo.pb" | companion) | "debug_options" | other
    stage    := "before_optimizations" | [target "_"] "after_optimizations" [tpu]
              | "after_codegen" | "after_spmd_partitioner"
              | NNNN "." pipeline ".after_" pass ".before_" pass
              | NNNN "." pass "." step
    target   := "cpu" | "gpu" | "sm_9.0a_gpu" | "gfx942_gpu" | …
    tpu      := "_before_buffer_assignment" | "_after_buffer_assignment"
    companion := "-buffer-assignment.txt" | "-buffer-assignment-values.txt"
              | "-live-range.txt" | "-memory-usage-report." ("txt" | "pb")
    compression := ".gz" | ".xz" | ".zst" | ".bz2"

    The name may hold dots. XLA leaves it out where the file name would exceed 255
    characters, so files of one module may differ in that. The prefix is a timestamp, or
    whatever somebody put before the name (then set off by one of `.`, `_`, `-`).
    """
    if "module_" not in filename:
        return None
    plain = strip_compression(filename)
    start = _START.match(plain) or _LATE_START.match(plain)
    if start is None:
        return None
    rest = plain[start.end() :]
    ending = next((each for each in _ENDINGS if rest.endswith(each)), None)
    found = DumpFileName(start["prefix"] or "", int(start["number"]))
    if ending is None:
        is_options = plain.endswith(OPTIONS)
        name, build = _split_build(f".{rest}".removesuffix(OPTIONS)[1:])
        kind = TextKind.DEBUG_OPTIONS if is_options else None
        return replace(found, name=name, build=build, kind=kind, stem=plain.removesuffix(OPTIONS))
    body = rest.removesuffix(ending)
    # The order counts: `0003.p.after_dce.before_optimizations` would be a stage as well.
    between = _BETWEEN_PASSES.fullmatch(body)
    fixed = None if between else _FIXED.fullmatch(body)
    step = between or (None if fixed else _DURING_PASS.fullmatch(body))
    parts = fixed or step or _LAST_PART.fullmatch(body)
    name, build = _split_build((parts["name"] or "") if parts else "")
    found = replace(
        found,
        name=name,
        build=build,
        suffix=body,
        kind=_ENDINGS[ending],
        is_proto=ending == PROTO,
        stem=plain.removesuffix(ending),
    )
    if fixed:
        return replace(found, suffix=fixed["suffix"], stage=_fixed_stage(fixed["suffix"]))
    if step is None:
        return replace(found, suffix=parts["suffix"]) if parts else found
    return replace(
        found,
        suffix=body[step.start("step") :],
        stage=Stage.PASS,
        step=int(step["step"]),
        pipeline=step["pipeline"],
        after_pass=step["after"],
        before_pass=step.groupdict().get("before", ""),
    )


def split_file_name(filename: str) -> DumpFileName:
    """Take any file name apart; one that XLA would not give has no number.

    Of such a name, a companion's ending and a stage at the end still count; what stands
    before them is the name.
    """
    if (found := find_dump_file_name(filename)) is not None:
        return found
    plain = strip_compression(filename)
    ending = next((each for each in _ENDINGS if plain.endswith(each)), "")
    stem, kind = plain.removesuffix(ending), _ENDINGS.get(ending)
    found = DumpFileName(name=stem, kind=kind, is_proto=ending == PROTO, stem=stem)
    fixed = _FIXED.fullmatch(stem) if kind else None
    if fixed is None:
        return found
    suffix = fixed["suffix"]
    return replace(found, name=fixed["name"] or "", suffix=suffix, stage=_fixed_stage(suffix))


def _split_build(name: str) -> tuple[str, int | None]:
    """Take `cl_N` off the end of a module name."""
    build = _BUILD.fullmatch(name)
    return (build["name"] or "", int(build["build"])) if build else (name, None)


def _fixed_stage(suffix: str) -> Stage:
    """Return the stage of one of the suffixes without a number."""
    if suffix == "before_optimizations":
        return Stage.BEFORE
    return Stage.OTHER if suffix == "after_spmd_partitioner" else Stage.AFTER


_PROFILED: Final = re.compile(r"[^#]*\.xplane\.pb(?:\.\w+)?(#\d+)?")  # and the program in it
_PROFILES: Final = re.compile(r"(^|[/\\])plugins[/\\]profile[/\\]")  # the profiler's own folders


def short_path(path: str, directory: str) -> str:
    """Return where a file lies below a directory, with XLA's number instead of its name.

    `dump/train/module_0001.jit_step.sm_9.0a_gpu_after_optimizations.txt` in `dump` is
    `train #1`; a file that XLA would not name so keeps its name. The second module of a text
    is `#2` in that text. A program of a profile is called as the run of the profiler and by the
    program's number: `plugins/profile/2026_11_22/host.xplane.pb#12` is `2026_11_22 #12`.
    """
    file = display_name(directory)
    if path.startswith(f"{file}#"):
        return path.removeprefix(file)
    folder, name = os.path.split(relative_path(path, file))
    if profiled := _PROFILED.fullmatch(name):
        run = _PROFILES.sub(r"\1", f"{folder}/").rstrip("/")
        return f"{run} {profiled[1]}".strip() if profiled[1] else os.path.join(run, name)
    place, number = _locate(folder, name)
    return place if number is None else " ".join(filter(None, (place, f"#{number}")))


def folder_below(path: str, directory: str) -> str:
    """Return where a program lies below a directory, without XLA's number and name.

    A file that XLA would not name so is told apart by its own name. What stands in the text that
    the directory's path names lies nowhere below it: ''.
    """
    file = display_name(directory)
    if path == directory or path.startswith(f"{file}#"):
        return ""
    return _locate(*os.path.split(relative_path(path, file)))[0]


def _locate(folder: str, name: str) -> tuple[str, int | None]:
    """Return the folder and which copy of a dump a file is of, and XLA's number.

    A file without a number is told by its own name.
    """
    if (found := find_dump_file_name(name)) is None:
        return os.path.join(folder, name), None
    parts = (folder, found.untimed_prefix.strip("."))
    return " ".join(part for part in parts if part), found.number
