"""Which instruction a GPU kernel is of that names none: those in a CUDA or HIP graph.

XLA calls a kernel as its instruction, with `_` for what C does not take. What is left is told by
order: between two kernels of a launch that are known, as many of the same kinds as instructions of
the schedule that have no event of their own. The rest stays unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.hlo.values import DeviceTime
from hlotool.profile.space import Label, Marks, ProfiledProgram

KINDS: Final = DeviceTime.__struct_fields__
Kind: TypeAlias = Literal["joined", "named", "copies", "collectives", "unknown"]
_NOT_IN_C: Final = re.compile(r"\W")
# What drivers call copies, and libraries their kernels that communicate; XLA has some of its own.
_COPIES: Final = re.compile(r"Mem(?:cpy|set)|__amd_rocclr_(?:copy|fill)|Copy(?:Host|Device)To")
_COLLECTIVES: Final = re.compile(
    r"\b_?(?:nccl|rccl|nvshmem|mscclpp)|AllReduceKernel|RaggedAllToAllKernel", re.IGNORECASE
)


class Occurrence(Struct, frozen=True):
    """An event of an instruction, of no known one, or of a whole program: a run, without a line.

    `kernel` is what it is called, `line` the timeline of the plane that it lies on.
    """

    device: str
    label: Label
    begin_ps: int
    end_ps: int
    marks: Marks
    line: tuple[int, str] | None = None
    op: str | None = None
    kind: Kind = "joined"
    kernel: str = ""


def tell_kind(kernel: str) -> Kind:
    """Say what a kernel is that is of no known instruction."""
    if _COPIES.match(kernel):
        return "copies"
    return "collectives" if _COLLECTIVES.search(kernel) else "unknown"


class KernelNames:
    """The instructions of programs by the names of their kernels."""

    def __init__(self, programs: Collection[ProfiledProgram]) -> None:
        self._programs = {one.label: one for one in programs}
        self._places: dict[Label, dict[str, int]] = {}
        for one in programs:
            called = [_NOT_IN_C.sub("_", name) for name in one.roles.launched]
            counts = Counter(called)
            self._places[one.label] = {
                name: place for place, name in enumerate(called) if name and counts[name] == 1
            }

    def join(
        self, events: list[Occurrence], marked: Collection[tuple[Label, str]]
    ) -> Iterator[Occurrence]:
        """Yield kernels with their instructions, as far as these are known.

        `events` have the label of their program, or one of no program; `marked` are the
        instructions that other events name.
        """

        def tell_launch(one: Occurrence) -> tuple[str, int, int]:
            # What has no number of its launch is alone.
            launch = one.marks.launch
            return str(one.label), -1 if launch is None else launch, one.begin_ps * (launch is None)

        events.sort(key=lambda one: (tell_launch(one), one.begin_ps))
        for (_, launch, _), group in groupby(events, key=tell_launch):
            kernels = list(group)
            label = kernels[0].label
            if label not in self._places:
                called = {one.kernel for one in kernels}
                # Names such as `loop_add_fusion` are common: one of them alone proves nothing.
                shared = {one: len(called & names.keys()) for one, names in self._places.items()}
                fitting = [one for one, count in shared.items() if count > max(1, len(called) // 2)]
                label = fitting[0] if len(fitting) == 1 else label
            names = self._places.get(label, {})
            found = [names.get(one.kernel) for one in kernels]
            if launch >= 0 and label in self._programs:
                self._pair(label, kernels, found, marked)
            for one, place in zip(kernels, found, strict=True):
                if place is None:
                    yield one
                else:
                    op = self._programs[label].roles.launched[place]
                    yield replace(one, label=label, op=op, kind="named")

    def _pair(
        self,
        label: Label,
        kernels: Sequence[Occurrence],
        found: list[int | None],
        marked: Collection[tuple[Label, str]],
    ) -> None:
        """Fill the gaps between kernels that are known, where what is missing fits."""
        roles = self._programs[label].roles
        launched = roles.launched

        def is_apart(place: int) -> bool:
            name = launched[place]
            return not name or (label, name) in marked

        def kind(name: str) -> Kind:
            if name in roles.owners:
                return "collectives"
            return "copies" if name in roles.copies else "unknown"

        if not (known := [at for at, place in enumerate(found) if place is not None]):
            return
        first, last = found[known[0]] or 0, found[known[-1]] or 0
        while first and not is_apart(first - 1):
            first -= 1
        while last + 1 < len(launched) and not is_apart(last + 1):
            last += 1
        gaps = [(-1, first - 1), *((at, found[at] or 0) for at in known), (len(found), last + 1)]
        for (before, low), (after, high) in pairwise(gaps):
            names = launched[low + 1 : high]
            missing = [low + 1 + at for at, name in enumerate(names) if (label, name) not in marked]
            told = [tell_kind(one.kernel) for one in kernels[before + 1 : after]]
            if all(names) and [kind(launched[at]) for at in missing] == told:
                found[before + 1 : after] = missing
