"""Which files of a directory are profiles, and which programs do they hold?

The profiles of one run of a profiler lie in one directory, `plugins/profile/RUN`, a file for each
host; `*.hlo_proto.pb` beside them are programs whose protos the profiles may lack.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from hlotool.dump.compression import decompress
from hlotool.dump.read import display_name, read_bytes
from hlotool.errors import InputError
from hlotool.profile.measure import MeasuredProgram, list_protos, measure_programs
from hlotool.profile.programs import Label, ProfiledProgram, make_program, read_label
from hlotool.profile.space import Space
from hlotool.proto.kind import PROTO_ENDING


def read_profile(path: str, data: bytes, beside: Iterable[str]) -> list[MeasuredProgram]:
    """Return the programs of one profile; `beside` are the protos in its directory.

    Raises InputError where it is broken, or holds no program.
    """
    return _expect([Space(data, display_name(path))], [path], beside)


def read_profiles(paths: Sequence[str], beside: Iterable[str]) -> list[MeasuredProgram]:
    """Return the programs of the profiles of one run, and of protos beside them.

    Raises as `read_profile` does.
    """
    spaces = [Space(decompress(read_bytes(path), path), path) for path in paths]
    return _expect(spaces, paths, beside)


def _expect(
    spaces: Sequence[Space], paths: Sequence[str], beside: Iterable[str]
) -> list[MeasuredProgram]:
    found = _read(spaces, paths, beside)
    if not found:
        size = sum(len(space.data) for space in spaces)
        raise InputError(
            f"{spaces[0].name}: this is a profile of {size:,} bytes, and none of its planes holds "
            "the HLO of a program; was it taken with enable_hlo_proto off?"
        )
    return found


def _read(
    spaces: Sequence[Space], paths: Sequence[str], beside: Iterable[str]
) -> list[MeasuredProgram]:
    """Join the programs of several hosts by name and number; the first one's proto stands."""
    found: dict[Label, tuple[str, ProfiledProgram]] = {}
    for path, space in zip(paths, spaces, strict=True):
        for program in list_protos(space):
            found.setdefault(program.label, (path, program))
    for path in beside:
        label = read_label(os.path.basename(path).partition(PROTO_ENDING)[0])
        program = make_program(label, decompress(read_bytes(path), path))
        names = {known.name for known in found}
        is_known = program.label in found or (label.program is None and program.label.name in names)
        if not is_known:
            found[program.label] = path, program
    return measure_programs(list(found.values()), spaces)
