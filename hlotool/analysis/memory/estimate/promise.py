"""How far off may an estimate be?

Measured against XLA's own assignments (docs/accuracy.md, tests/test_analysis_estimate.py), with
some room: of small programs little is off, but that may be much of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend

Promised: TypeAlias = Literal["peak", "temp_peak", "allocated"]

_KIB: Final = 1024


class Promise(Struct, frozen=True):
    """An estimate is typically off by no more than so much of it, or than so many KiB."""

    percent: int
    least_kib: int

    def margin_bytes(self, size_bytes: int) -> int:
        """Return how far an estimate of this size may be off."""
        return max(size_bytes * self.percent // 100, self.least_kib * _KIB)

    def words(self, size_bytes: int) -> str:
        """Say it of an estimate of this size."""
        is_small = self.margin_bytes(size_bytes) == self.least_kib * _KIB
        return f"within {self.least_kib} KiB" if is_small else f"within {self.percent} %"


_PEAK: Final = Promise(1, 4)
_TEMP_PEAK: Final = Promise(2, 4)
_ALLOCATED: Final = Promise(1, 4)
_TPU_ALLOCATED: Final = Promise(3, 512)
_PROMISES: Final[Mapping[tuple[Promised, Backend], Promise]] = {
    ("peak", "cpu"): _PEAK,
    ("peak", "gpu"): _PEAK,
    ("peak", "tpu"): _PEAK,
    ("temp_peak", "cpu"): _TEMP_PEAK,  # on TPU it is at most as estimated
    ("temp_peak", "gpu"): _TEMP_PEAK,
    ("allocated", "cpu"): _ALLOCATED,
    ("allocated", "gpu"): _ALLOCATED,
    ("allocated", "tpu"): _TPU_ALLOCATED,
}


def find_promise(figure: Promised, backend: Backend | None, color: int = 0) -> Promise | None:
    """Return what was measured of a figure; nothing was outside space 0, or if it is unknown."""
    return _PROMISES.get((figure, backend)) if backend and not color else None
