"""What is read of out-of-memory messages that were written with a key, and by others: counted once.

    python tests/accuracy/messages.py

testdata/out_of_memory/judge has the texts: cut, wrapped, quoted, flattened, or none at all. A size
is right where it is that of the key in the digits that the message prints.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from dump_files import TESTDATA

from hlotool.analysis.memory_text import report_out_of_memory
from hlotool.oom.message import parse_out_of_memory
from hlotool.oom.wordings import holds_message
from hlotool.text import Source

MESSAGES = TESTDATA / "out_of_memory" / "judge" / "messages.toml"
NEAR = 0.006  # of a size: `1.27G` may be half a hundredth off


def read_answer(text: str) -> dict[str, Any] | None:
    """Return what is read of a text, None if it holds no message."""
    if not holds_message(text):
        return None
    report = report_out_of_memory(parse_out_of_memory(Source(text)))
    largest = max(report.rows, key=lambda row: row.size_bytes or 0, default=None)
    figures = {name: getattr(report.figures, name) for name in report.figures.__struct_fields__}
    return figures | {
        "largest_bytes": largest.size_bytes if largest else None,
        "largest_op_name": largest.op_name if largest else None,
    }


def list_misses(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is not as the key of a message says."""
    answer = read_answer(entry["text"])
    if answer is None or entry.get("is_none"):
        if (answer is None) != bool(entry.get("is_none")):
            yield "no message is found" if answer is None else "a message is found"
        return
    for name in entry.get("unknown", ()):
        if answer[name] is not None:
            yield f"{name}: {answer[name]} is told, and nothing tells it"
    for name in entry.keys() - {"name", "form", "text", "unknown", "is_none"}:
        told, real = answer[name], entry[name]
        is_size = name.endswith("_bytes") and told is not None
        if not (abs(told - real) <= NEAR * real if is_size else told == real):
            yield f"{name}: {told}, not {real}"


def main() -> None:
    """Count, and list what is missed."""
    entries = tomllib.loads(MESSAGES.read_text("utf-8"))["message"]
    counts: Counter[tuple[str, bool]] = Counter()
    for entry in entries:
        misses = sorted(list_misses(entry))
        counts[entry["form"], not misses] += 1
        if misses:
            sys.stdout.write(f"{entry['form']} {entry['name']}: {'; '.join(misses)}\n")
    right = sum(count for (_, is_right), count in counts.items() if is_right)
    sys.stdout.write(f"{right} of {len(entries)} right\n")


if __name__ == "__main__":
    main()
