"""How is the name of a dump file taken apart? As XLA puts it together.

Follows xla/service/dump.cc (`FilenameFor` and its callers) and the names seen in dumps.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.inputs.dump.file_name import DumpFileName
from hlotool.inputs.dump.role import Role, Stage

COMPRESSIONS: Final = (".gz", ".xz", ".zst", ".bz2")
# Endings of the files that stand beside a module text `STEM.txt`.
COMPANIONS: Final = (
    ("-buffer-assignment-values.txt", Role.VALUES),
    ("-buffer-assignment.txt", Role.BUFFERS),
    ("-live-range.txt", Role.LIVE_RANGE),
    ("-memory-usage-report.txt", Role.MEMORY_REPORT),
)
_ENDINGS: Final = (
    *COMPANIONS,
    ("-memory-usage-report.pb", Role.OTHER),
    (".hlo.pb", Role.PROTO),
    (".hlo_snapshot.pb", Role.OTHER),
    (".txt", Role.MODULE),
    (".hlo", Role.MODULE),
)
_OPTIONS: Final = ".debug_options"
_START: Final = re.compile(r"(?:(?P<prefix>[0-9]+)\.)?module_(?P<number>[0-9]{4,18})\.")
_LATE_START: Final = re.compile(r"(?P<prefix>.*)[._\-]module_(?P<number>[0-9]{4,18})\.", re.DOTALL)
_NAME: Final = r"(?:(?P<name>.+?)\.)??"
_TARGET: Final = r"(?:(?:sm_[0-9]+(?:\.[0-9]+)?[a-z]?|gfx[^.]+|[^._]+)_)?(?:[^._]+_)?"
_BETWEEN_PASSES: Final = re.compile(
    r"(?:(?P<name>.+)\.)?(?P<step>[0-9]{4,18})\.(?P<pipeline>[^.]*)"
    r"\.after_(?P<after>.+?)\.before_(?P<before>.+)",
    re.DOTALL,
)
_DURING_PASS: Final = re.compile(
    r"(?:(?P<name>.+)\.)?(?P<step>[0-9]{4,18})\.(?P<pipeline>[^.]+)\.(?P<after>[^.]+)",
    re.DOTALL,
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
    for ending, role in _ENDINGS:
        if rest.endswith(ending):
            return _split(start, rest.removesuffix(ending), role, plain.removesuffix(ending))
    dotted = f".{rest}"
    is_options = dotted.endswith(_OPTIONS)
    name, build = _split_build(dotted.removesuffix(_OPTIONS)[1:])
    role = Role.DEBUG_OPTIONS if is_options else Role.OTHER
    return DumpFileName(
        *(start["prefix"] or "", int(start["number"]), name, build, "", role, None),
        stem=plain.removesuffix(_OPTIONS),
    )


def split_file_name(filename: str) -> DumpFileName:
    """Take any file name apart; one that XLA would not give has no number.

    Of such a name, a companion's ending and a stage at the end still count; what stands
    before them is the name.
    """
    found = find_dump_file_name(filename)
    if found is not None:
        return found
    plain = strip_compression(filename)
    matches = ((ending, role) for ending, role in _ENDINGS if plain.endswith(ending))
    ending, role = next(matches, ("", Role.OTHER))
    stem = plain.removesuffix(ending)
    fixed = _FIXED.fullmatch(stem) if role is not Role.OTHER else None
    if fixed is None:
        return DumpFileName("", None, stem, None, "", role, None, stem=stem)
    name, suffix = fixed["name"] or "", fixed["suffix"]
    return DumpFileName("", None, name, None, suffix, role, _fixed_stage(suffix), stem=stem)


def _split(start: re.Match[str], body: str, role: Role, stem: str) -> DumpFileName:
    """Find name and stage in the part between the number and the ending."""
    prefix, number = start["prefix"] or "", int(start["number"])
    step = _BETWEEN_PASSES.fullmatch(body)
    if fixed := None if step else _FIXED.fullmatch(body):
        name, build = _split_build(fixed["name"] or "")
        suffix = fixed["suffix"]
        stage = _fixed_stage(suffix)
        return DumpFileName(prefix, number, name, build, suffix, role, stage, stem=stem)
    if step := step or _DURING_PASS.fullmatch(body):
        parts = step.groupdict()
        name, build = _split_build(parts["name"] or "")
        return DumpFileName(
            *(prefix, number, name, build, body[step.start("step") :], role, Stage.PASS),
            *(int(parts["step"]), parts["pipeline"], parts["after"], parts.get("before", "")),
            stem=stem,
        )
    last = _LAST_PART.fullmatch(body)
    name, build = _split_build((last["name"] or "") if last else "")
    suffix = last["suffix"] if last else body
    return DumpFileName(prefix, number, name, build, suffix, role, None, stem=stem)


def _split_build(name: str) -> tuple[str, int | None]:
    """Take `cl_N` off the end of a module name."""
    build = _BUILD.fullmatch(name)
    return (build["name"] or "", int(build["build"])) if build else (name, None)


def _fixed_stage(suffix: str) -> Stage:
    """Return the stage of one of the suffixes without a number."""
    if suffix == "before_optimizations":
        return Stage.BEFORE
    return Stage.OTHER if suffix == "after_spmd_partitioner" else Stage.AFTER
