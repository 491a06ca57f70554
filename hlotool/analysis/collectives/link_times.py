"""How long would collectives take on a link? An estimate, and a lower bound at that."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.chips import find_chip
from hlotool.errors import UsageError

_NUMBER: Final = r"\s*(\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?)\s*"
_BANDWIDTH: Final = re.compile(_NUMBER + r"(?:([kKMGT]?)(i?)B(?:/s|ps)?)?\s*")
_LATENCY: Final = re.compile(_NUMBER + r"(s|ms|us|µs|ns)\s*")
_POWERS: Final = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


class LinkSpeed(Struct, frozen=True):
    """What a device can send; `description` says where the figures come from."""

    bytes_per_second: float
    latency_seconds: float
    description: str
    is_within_node: bool = False

    def __str__(self) -> str:
        latency = f" plus {self.latency_seconds * 1e6:g} µs each" if self.latency_seconds else ""
        return f"{self.bytes_per_second / 1e9:g} GB/s{latency} ({self.description})"


def find_link_speed(
    chip: str | None, bandwidth: str | None, latency: str | None, chip_file: str = ""
) -> LinkSpeed | None:
    """Return the speed the user asked for; None where neither chip nor bandwidth is given.

    `bandwidth` (`450GB/s`) and `latency` (`5us`) win over the chip's own. Raises UsageError
    for what is neither, for an unknown chip, and for one whose link no source states.
    """
    if chip is None and bandwidth is None:
        if latency is not None or chip_file:
            raise UsageError("--latency and --chip-file need --chip or --bandwidth.")
        return None
    found = find_chip(chip, chip_file) if chip is not None else None
    seconds = parse_latency(latency) if latency is not None else None
    if bandwidth is not None:
        if seconds is None:
            seconds = (found.link_latency_seconds if found else None) or 0.0
        return LinkSpeed(parse_bandwidth(bandwidth), seconds, "as given")
    if found is None or found.link_bytes_per_second is None:
        raise UsageError(f"the link of {chip!r} is not known; give it with --bandwidth.")
    if seconds is None:
        seconds = found.link_latency_seconds or 0.0
    return LinkSpeed(
        found.link_bytes_per_second,
        seconds,
        f"{found.description}: {found.link}",
        found.is_link_within_node,
    )


def estimate_collective_times(
    rows: Iterable[CollectiveRow], link: LinkSpeed
) -> tuple[CollectiveRow, ...]:
    """Set `estimated_seconds` of every row, for all its executions in one run.

    wire_bytes over the bandwidth plus the latency once for each execution; what moves
    nothing takes no time. Nothing is said of other traffic on the link, of switches that
    reduce, and of the time to read and write memory. None where executions or bytes are
    unknown, and across nodes where the link joins only the devices of one.
    """
    return tuple(replace(row, estimated_seconds=_estimate(row, link)) for row in rows)


def _estimate(row: CollectiveRow, link: LinkSpeed) -> float | None:
    if row.wire_bytes is None or row.executions is None:
        return None
    if not row.wire_bytes:
        return 0.0
    if link.is_within_node and row.span == "cross":
        return None
    return (row.wire_bytes / link.bytes_per_second + link.latency_seconds) * row.executions


def parse_bandwidth(text: str) -> float:
    """Read bytes a second: `450GB/s`, `90e9`, `45 GiB/s`.

    bandwidth = number [ [ "k" | "M" | "G" | "T" ] [ "i" ] "B" [ "/s" | "ps" ] ]
    """
    match = _BANDWIDTH.fullmatch(text)
    value = 0.0
    if match is not None:
        value = float(match[1]) * (1024 if match[3] else 1000) ** _POWERS[match[2] or ""]
    if not 0 < value < float("inf"):
        raise UsageError(f"--bandwidth {text}: expected bytes a second, as in 450GB/s.")
    return value


def parse_latency(text: str) -> float:
    """Read seconds: `5us`, `0.1 ms`.

    latency = number ( "s" | "ms" | "us" | "µs" | "ns" )
    """
    match = _LATENCY.fullmatch(text)
    if match is None:
        raise UsageError(f"--latency {text}: expected a time, as in 5us.")
    return float(match[1]) * _SECONDS[match[2]]
