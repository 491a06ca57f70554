"""How much longer does an answer take from a proto than from the text that XLA prints of it?

Whole processes, in turns: the same program as both, copies of one text with names of their own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench.measure import Comparison, Effort, process_seconds, take_turns
from bench.parse import multiply

_LIMIT: Final = 2.0
_COMMANDS: Final = ("summary", "fusions")
# A process of its own: jaxlib's threads forbid the fork that other sections measure.
_WRITE = """
import sys
from pathlib import Path
from jaxlib import _hlo
text, proto = map(Path, sys.argv[1:])
data = _hlo.hlo_module_from_text(text.read_text(encoding="utf-8")).as_serialized_hlo_module_proto()
proto.write_bytes(data)
printed = _hlo.HloModule.from_serialized_hlo_module_proto(data).to_string()
text.write_text(printed, encoding="utf-8")
"""


def compare_protos(path: Path, effort: Effort) -> Iterator[Comparison]:
    """Compare whole answers from a proto with those from its text."""
    with tempfile.TemporaryDirectory() as folder:
        text, proto = write_both(path, Path(folder), effort.proto_bytes)
        megabytes = text.stat().st_size / 1e6
        for command in _COMMANDS:
            ours, theirs = take_turns(
                effort.large_rounds, _run(command, proto), _run(command, text)
            )
            name = f"{command} of a proto, {megabytes:.0f} MB as text"
            yield Comparison(name, ours, theirs, "s", _LIMIT)


def write_both(path: Path, folder: Path, size_bytes: int) -> tuple[Path, Path]:
    """Write a program of some size as text and as a proto, into a folder each."""
    text, proto = folder / "large.txt", folder / "alone" / "large.hlo.pb"
    proto.parent.mkdir()
    text.write_text(multiply(path.read_text(encoding="utf-8"), size_bytes), encoding="utf-8")
    subprocess.run([sys.executable, "-c", _WRITE, str(text), str(proto)], check=True)
    return text, proto


def _run(command: str, path: Path) -> partial[float]:
    """Return what runs a command about a file and says how long it took."""
    words = [sys.executable, "-m", "hlotool", command, "--json", str(path)]
    return partial(process_seconds, words)
