"""What XLA and JAX write into a log beside out-of-memory messages, one record a message.

Which sentences are known, and where they are printed, stands in hlotool/data/wordings.toml. A
message that is said again is counted, not listed again.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.oom.message import EXECUTABLE, list_lines, read_operator
from hlotool.oom.wordings import Kind, Wording, find_size, find_wording
from hlotool.text import Source

_INSTRUCTION: Final = re.compile(
    r"\s*(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>\(.{1,9000}?\)|\S+) [a-z][\w\-]*\("
)
_DURATION: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>h|ms|us|µs|ns|m|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DEFINED: Final = re.compile(r"\s+(?:for )?(?P<name>[\w<>.]+)(?: id=\d+)? defined at (?P<at>\S+)")
_CHUNKS: Final = re.compile(r"(?P<count>\d{1,12}) Chunks of size (?P<size>\d{1,18}) totalling ")
_BEHIND: Final = 6  # lines behind a sentence that may belong to it
_SLOW: Final = ("slow-compilation", "slow-constant-folding")


class LogMessage(Struct, frozen=True):
    """One message; None where it does not say. `line` is that of the first, from 1."""

    kind: Kind
    line: int
    count: int = 1
    program: str | None = None
    device: str | None = None
    instruction: str | None = None
    shape: str | None = None
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    bytes: int | None = None  # asked for, reached by rematerialization, or in use
    before_bytes: int | None = None
    limit_bytes: int | None = None
    from_sharding: str | None = None
    to_sharding: str | None = None
    seconds: float | None = None
    reason: str | None = None

    @property
    def key(self) -> LogMessage:
        """What is the same when a message is said again."""
        return replace(self, line=0, count=1, seconds=None)


class Chunks(Struct, frozen=True):
    """Pieces of one size that an allocator has handed out."""

    size_bytes: int
    count: int


class Log(Struct, frozen=True):
    """The messages of a log in order, each once, and what the last allocator had handed out."""

    messages: tuple[LogMessage, ...]
    chunks: tuple[Chunks, ...]


def parse_log(source: Source) -> Log:
    """Return what a log says; raise InputError if it has no message.

    log := { message | line }

    The instruction of an alarm, and the reason for tracing again, stand on the lines behind it.
    """
    reader = _LogReader()
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        for item in list_lines(line):
            match = find_wording(item)
            if match is not None:
                behind = list(list_lines("\n".join(lines[number : number + _BEHIND])))
                reader.take(_read(match, number, behind))
            elif handed_out := _CHUNKS.search(item):
                reader.chunks.append(Chunks(int(handed_out["size"]), int(handed_out["count"])))
    if not reader.found:
        raise InputError(f"{source.name}: this holds no known message of XLA or JAX.")
    return Log(tuple(reader.found.values()), tuple(reader.chunks))


class _LogReader:
    """Puts together what several messages say of one thing, and counts what is said again.

    An alarm is said twice, the second time behind the time that it took. An allocator says its name
    before its chunks, and their sum behind them.
    """

    def __init__(self) -> None:
        self.found: dict[LogMessage, LogMessage] = {}
        self.chunks: list[Chunks] = []
        self._took: LogMessage | None = None

    def take(self, message: LogMessage) -> None:
        """Add a message."""
        if message.kind == "took":
            self._took = message
            return
        if message.kind == "allocator":
            message = self._join_allocator(message)
        known = self.found.get(message.key)
        count = known.count + 1 if known else 1
        took = self._took
        if message.kind in _SLOW and took and message.line - took.line <= _BEHIND:
            count, self._took = known.count if known else 1, None
            message = replace(message, seconds=took.seconds)
        line = known.line if known else message.line
        self.found[message.key] = replace(message, count=count, line=line)

    def _join_allocator(self, message: LogMessage) -> LogMessage:
        if message.device:
            self.chunks.clear()
            return message
        last = next(reversed(self.found.values()), None)
        if last is None or last.kind != "allocator" or last.bytes is not None:
            return message
        del self.found[last.key]
        return replace(last, bytes=message.bytes)


def _read(found: tuple[Wording, re.Match[str]], number: int, behind: list[str]) -> LogMessage:
    wording, match = found
    groups = match.groupdict()
    operation = groups.get("operation") or groups.get("operation2")
    if wording.kind == "slow-constant-folding":
        operation = next((text for text in behind if _INSTRUCTION.match(text)), None)
    instruction = _INSTRUCTION.match(operation) if operation else None
    op_name, file, at = read_operator(operation or "")
    reason = groups.get("shapes")
    executable = EXECUTABLE.search(match.string)
    program = groups.get("program") or (executable["program"] if executable else None)
    if wording.kind == "retracing":
        indented = takewhile(lambda text: text.startswith("  "), behind)
        reason = " ".join(map(str.strip, indented)) or None
        defined = next((one for text in behind if (one := _DEFINED.match(text))), None)
        program = defined["name"] if defined else None
        file, _, place = (groups["place"] or "").partition(" ")[0].partition(":")
        at = int(place.partition(":")[0]) if place[:1].isdecimal() else None
    sizes = {
        name: size.bytes if (text := groups.get(name)) and (size := find_size(text)) else None
        for name in ("requested", "exact", "reached", "in_use", "before", "limit", "available")
    }
    seconds = groups.get("seconds")
    return LogMessage(
        wording.kind,
        number,
        program=program,
        device=groups.get("device"),
        instruction=instruction["name"] if instruction else None,
        shape=instruction["shape"] if instruction else None,
        op_name=op_name,
        source_file=file or None,
        source_line=at,
        bytes=sizes["exact"] or sizes["requested"] or sizes["reached"] or sizes["in_use"],
        before_bytes=sizes["before"],
        limit_bytes=sizes["limit"] or sizes["available"],
        from_sharding=groups.get("from_sharding"),
        to_sharding=groups.get("to_sharding"),
        seconds=parse_duration(seconds) if seconds else None,
        reason=reason,
    )


def parse_duration(text: str) -> float | None:
    """Read what absl::FormatDuration writes, such as `2m3.5s`; None of anything else.

    duration := { number ( "h" | "m" | "s" | "ms" | "us" | "ns" ) }
    """
    parts = list(_DURATION.finditer(text))
    if "".join(part.group() for part in parts) != text.rstrip("."):
        return None
    return sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts) if parts else None
