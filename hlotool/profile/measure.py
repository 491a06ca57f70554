"""From the bytes of one run's profiles to programs, each with its times."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hlotool.hlo.measurement import Measurement
from hlotool.profile.events import Tally, is_device, list_device_events, list_host_events
from hlotool.profile.programs import METADATA_PLANE, Label, ProfiledProgram, list_programs
from hlotool.profile.space import Space


class MeasuredProgram(Struct, frozen=True):
    """A program that a profile names, and its times if any event is of it."""

    path: str  # the file that its proto lies in
    label: Label
    data: bytes
    measured: Measurement | None


def list_protos(space: Space) -> list[ProfiledProgram]:
    """Return the programs whose protos lie in a profile."""
    return [
        program
        for plane in space.planes()
        if plane.name == METADATA_PLANE
        for program in list_programs(space, plane)
    ]


def measure_programs(
    found: Sequence[tuple[str, ProfiledProgram]], spaces: Sequence[Space]
) -> list[MeasuredProgram]:
    """Measure the programs of one run of a profiler; each comes with the path of its proto.

    Events of devices win over those of hosts, which launched them. Raises InputError for a
    profile that is broken.
    """
    programs = [program for _, program in found]
    devices, hosts = Tally(programs), Tally(programs)
    for space in spaces:
        for plane in space.planes():
            if is_device(plane):
                devices.add(list_device_events(space, plane), space.name)
            elif plane.name != METADATA_PLANE:
                hosts.add(list_host_events(space, plane), space.name)
    return [
        MeasuredProgram(
            path, program.label, program.data, devices.measure(number) or hosts.measure(number)
        )
        for number, (path, program) in enumerate(found)
    ]
