"""From a directory, or what else holds many programs, to its programs and what a command reads.

A stream of many files, a text of several modules and a profile hold many programs as well. Of those
`--module` chooses; those of one name are told apart by their places.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from hlotool.dump import groups as grouping
from hlotool.dump import read
from hlotool.dump.budget import DEFAULT_BUDGET, ByteBudget
from hlotool.dump.files import DumpedProgram, DumpFile, Input, Inputs, StageChoice
from hlotool.dump.identity import find_folder, name_inputs
from hlotool.dump.modules import FoundModules, read_module_head, split_modules, split_stream
from hlotool.dump.names import Stage, short_path, split_file_name, strip_compression
from hlotool.dump.stores import Entry
from hlotool.dump.text_kind import HOW_TO_DUMP, TextKind, detect_kind
from hlotool.errors import InputError, NothingCheckedError
from hlotool.proto.kind import PROFILE_ENDING, PROTO_ENDING, holds_assignment
from hlotool.table import Unit
from hlotool.table.units import format_value
from hlotool.table.words import list_some
from hlotool.text import Pattern, Source

Found = tuple[tuple[DumpedProgram, ...], tuple[str, ...]]  # programs, and notes

_NAMES_LISTED: Final = 8
_NUMBER: Final = re.compile(r"#([0-9]+)")


def choose_inputs(
    path: str,
    found: Found,
    stage: StageChoice,
    pattern: Pattern | None,
    *,
    is_directory: bool = False,
) -> Inputs:
    """Return one input for each program whose name a pattern matches.

    With one chosen of what is no directory it counts as a file. Raises NothingCheckedError if
    --module means none, InputError if those it means have no text at the stage.
    """
    programs, notes = found
    chosen = choose_programs(path, programs, pattern) if pattern else programs
    if not chosen and pattern:
        listed = list_some(sorted({each.name for each in programs}), _NAMES_LISTED, ", …")
        raise NothingCheckedError(
            f"{read.display_name(path)}: --module {pattern.text!r} matches no module; "
            f"there are: {listed}."
        )
    if inputs := tuple(one for each in chosen for one in each.inputs(stage)):
        return Inputs(path, is_directory or len(chosen) > 1, inputs, notes)
    other: StageChoice = "before" if stage == "after" else "after"
    count = sum(bool(each.inputs(other)) for each in chosen)
    raise InputError(
        f"{read.display_name(path)}: no program has text from {stage} optimizations; "
        f"{count} of {len(chosen)} have text from {other} optimizations (--stage {other})."
    )


def choose_programs(
    directory: str, programs: Sequence[DumpedProgram], pattern: Pattern
) -> tuple[DumpedProgram, ...]:
    """Return the programs that --module means, none where nothing fits.

    module = place | "#" number | regular expression | what the program is called

    The first of these that any program fits decides: a place is what `hlotool summary` shows of a
    program, letter by letter. The expression is searched in names, where it holds `#` in
    `NAME#NUMBER` too; if no name has it, in places. What a program is called is `FOLDER/NAME`, with
    its arguments where these tell it from others.
    """
    number = _NUMBER.fullmatch(pattern.text)
    places = {
        id(each): {short_path(one.path, directory) for one in each.texts} for each in programs
    }

    def has_name(one: DumpedProgram) -> bool:
        numbered = one.number is not None and "#" in pattern.text
        return pattern.is_found(one.name) or (
            numbered and pattern.is_found(f"{one.name}#{one.number}")
        )

    fits = (
        lambda one: pattern.text in places[id(one)],
        lambda one: number is not None and one.number == int(number[1]),
        has_name,
        lambda one: any(map(pattern.is_found, places[id(one)])),
    )
    found = (tuple(filter(fit, programs)) for fit in fits)
    if chosen := next((chosen for chosen in found if chosen), ()):
        return chosen
    called = name_inputs(Inputs(directory, True, tuple(each.texts[-1] for each in programs)))
    return tuple(
        each
        for each, name in zip(programs, called, strict=True)
        if pattern.text in {name, "/".join((find_folder(each.texts[-1], directory), each.name))}
    )


def collect_programs(directory: str, root: str = "", budget: ByteBudget = DEFAULT_BUDGET) -> Found:
    """Return the programs of a dump directory and everything below it, and notes.

    Sorted by directory, number and name, the modules of texts that hold several last. `root` is
    what the paths of an archive begin with, if it is open. Raises InputError if there are none.
    """
    files, notes = _walk_directory(root or read.find_root(directory, budget) or directory, budget)
    members = []
    for folder, entry in files:
        path = os.path.join(folder, entry.name)
        file = DumpFile(path, size_bytes=entry.size_bytes, budget=budget)
        members.append(grouping.make_member(folder, entry.name, file))
    groups, parts, around = _take_parts(grouping.group_files(members))
    groups, more = grouping.adopt_buffers(groups)
    profiled, broken = _find_profiled(members, budget)
    programs = grouping.pair_programs(groups) + parts + profiled
    if programs:
        return programs, notes + around + more + broken
    if broken:
        raise InputError(*broken)
    name = read.display_name(directory)
    what = {
        0: "the directory is empty",
        1: "the only file in this directory is not an HLO module",
    }.get(len(members), f"none of the {len(members):,} files in this directory is an HLO module")
    raise InputError(f"{name}: {what}.", HOW_TO_DUMP)


def list_in_stream(source: Source) -> Found:
    """Return the programs of a stream; a second copy of a file counts as another directory."""
    members = []
    for section in split_stream(source):
        text = section.source
        file = DumpFile(text.name, size_bytes=len(text.text), source=text)
        members.append(grouping.make_member(f"{section.copy}", section.name, file))
    groups, notes = grouping.adopt_buffers(grouping.group_files(members))
    if not (programs := grouping.pair_programs(groups)):
        raise InputError(
            f"{source.name}: none of the {len(members)} sections between *** Begin and *** End "
            "is an HLO module.",
            HOW_TO_DUMP,
        )
    return programs, notes


def make_parts(path: str, found: FoundModules) -> tuple[DumpedProgram, ...]:
    """Return a program for each module of a text, numbered from 1.

    One without a name is called as the file is. The header says whether it is after
    optimization.
    """
    programs = []
    for number, source in enumerate(found.modules, 1):
        begin = detect_kind(source.text).begin
        head = read_module_head(source.text, begin, with_signature=False)
        size, stage = len(source.text), Stage.AFTER if head.is_scheduled else None
        file = DumpFile(path, TextKind.MODULE, size, source, number, is_settled=True)
        name = head.name or split_file_name(os.path.basename(path)).name
        programs.append(DumpedProgram(name, number, (Input(file.place, name, stage, file),)))
    return tuple(programs)


def _take_parts(
    groups: list[grouping.FileGroup],
) -> tuple[list[grouping.FileGroup], tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Take the texts of several modules out of groups; return what is left, programs and notes.

    Only texts that XLA did not name are looked at: it writes one module into a file. Of one that
    cannot be read, who reads it gets the error.
    """
    programs: list[DumpedProgram] = []
    notes: list[str] = []
    for group in groups:
        for text in tuple(group.texts) if group.number is None else ():
            try:
                source = text.file.source or read.read_source(text.file.raw_path, text.file.budget)
            except InputError:
                continue
            detection = detect_kind(source.text)
            if detection.kind is not TextKind.MODULE:
                continue
            found = split_modules(source, detection)
            notes += found.notes()
            if len(found.modules) > 1:
                programs += make_parts(text.file.raw_path, found)
                group.texts.remove(text)
    return [each for each in groups if each.texts or each.companions], tuple(programs), tuple(notes)


def list_in_profile(path: str, data: bytes, budget: ByteBudget) -> Found:
    """Return the programs of one profile, and notes.

    Raises InputError if it is broken, or has no program.
    """
    name = read.display_name(path)
    directory, entries = os.path.dirname(path), list[Entry]()
    if path != read.STDIN:
        with suppress(OSError):
            entries = read.choose_store(path, budget).list_directory(directory or ".")
    names = sorted(each.name for each in entries)
    found = (each for each in names if strip_compression(each).endswith(PROTO_ENDING))
    protos = [os.path.join(directory, each) for each in found]
    return _read_profiles(name, [(path, data)], protos, budget)


def _find_profiled(members: Iterable[grouping.GroupMember], budget: ByteBudget) -> Found:
    """Return the programs of all profiles among files, and what is wrong with some."""
    # The profiles of one run of a profiler lie in one directory, `plugins/profile/RUN`, a file for
    # each host; protos beside them are of programs that the profiles may lack.
    runs: defaultdict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for member in members:
        path = member.file.raw_path
        for number, ending in enumerate((PROFILE_ENDING, PROTO_ENDING)):
            if strip_compression(path).endswith(ending):
                runs[member.directory][number].append(path)
    programs: list[DumpedProgram] = []
    notes: list[str] = []
    for directory, (profiles, protos) in runs.items():
        try:
            spaces = [(path, read.read_unpacked(path, budget)) for path in profiles]
            found, unmeasured = _read_profiles(directory, spaces, protos, budget)
        except InputError as error:
            notes.append(error.lines[0])
            continue
        programs += found
        notes += unmeasured if profiles else ()
    return tuple(programs), tuple(notes)


def _read_profiles(
    place: str, profiles: Sequence[tuple[str, bytes]], protos: Sequence[str], budget: ByteBudget
) -> Found:
    """Return a program for each proto, by name and number, and whether nothing was measured.

    That is so where a profile was taken with no device that could be looked at.
    """
    from hlotool.profile.measure import read_profiles  # noqa: PLC0415  optional
    from hlotool.profile.space import Space  # noqa: PLC0415  optional

    spaces = [Space(path, read.display_name(path), data) for path, data in profiles]
    measured = read_profiles(spaces, ((path, read.read_unpacked(path, budget)) for path in protos))
    programs = []
    for at, (one, times) in enumerate(measured, 1):
        number = at if one.label.program is None else one.label.program
        file = DumpFile(one.path, size_bytes=len(one.data), part=number, data=one.data)
        buffers = None
        if holds_assignment(one.data):
            buffers = replace(file, kind=TextKind.ALLOCATIONS, is_assignment=True)
        whole = Input(file.place, one.label.name, Stage.AFTER, file, buffers, measured=times)
        programs.append(DumpedProgram(whole.name, number, (whole,)))
    programs.sort(key=lambda each: (each.name, each.number or 0))
    account = next((times.device_time for _, times in measured if times), None)
    if account is not None:
        parts = account.copies, account.collectives, account.unknown
        if (other := sum(parts)) <= account.all * _FEW:
            return tuple(programs), ()
        said = zip(("copies", "collectives' kernels", "unknown"), parts, strict=True)
        told = ", ".join(
            f"{format_value(each, Unit.SECONDS)} {what}" for what, each in said if each
        )
        share = f"{other / account.all:.1%} of the devices' time"
        return tuple(programs), (f"{place}: {share} belongs to no instruction: {told}.",)
    note = "no event of this profile belongs to an instruction of its programs; "
    none = "there are no planes of devices, and nothing is measured."
    return tuple(programs), (f"{place}: {note}{none}",)


_FEW: Final = 0.001  # of the devices' time: less is not worth a note

# XLA nests two levels (`--xla_dump_hlo_to_subfolder`: NAME/HOST_PID), users a few more.
MAX_DEPTH: Final = 16
MAX_FILES: Final = 200_000


def _walk_directory(
    path: str, budget: ByteBudget
) -> tuple[list[tuple[str, Entry]], tuple[str, ...]]:
    """Return the files below a directory, each with its own, sorted, and notes.

    Left out: what is no regular file, hidden files and directories, and what lies deeper than
    MAX_DEPTH. A link to a directory is followed once, and only where that is not met without it:
    links can lead round in circles. A subdirectory that cannot be read is a note; if `path`
    itself cannot, InputError is raised, as it is for more than MAX_FILES files.
    """
    found: list[tuple[str, Entry]] = []
    notes: list[str] = []
    pending, links = [(path, 0)], deque[tuple[str, int]]()
    met: set[Hashable] = set()
    while pending or links:
        directory, depth = pending.pop() if pending else links.popleft()
        try:
            store = read.choose_store(directory, budget)
            if (identity := store.identify(directory)) in met:
                continue
            met.add(identity)
            entries = store.list_directory(directory)
        except OSError as error:
            why = error.strerror or error
            message = f"{read.display_name(directory)}: the directory cannot be read ({why})."
            if depth == 0:
                raise InputError(message) from error
            notes.append(message)
            continue
        # Which of several links to one directory is followed must not hang on the file system.
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith("."):
                continue
            if not entry.is_directory:
                found.append((directory, entry))
            elif depth < MAX_DEPTH:
                below = links if entry.is_link else pending
                below.append((os.path.join(directory, entry.name), depth + 1))
        if len(found) > MAX_FILES:
            raise InputError(
                f"{read.display_name(path)}: this directory has more than {MAX_FILES:,} files; "
                "give the one with the dump."
            )
    return sorted(found, key=lambda each: (each[0], each[1].name)), tuple(notes)
