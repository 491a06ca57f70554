"""Cases of testdata/collectives: what each expects of which collective, in its first lines.

    // options: mesh=data=4,model=2 devices_per_node=4 with_groups=true
    // options: chip=h100 bytes_per_second=1e9 between_bytes_per_second=1e8
    // row NAME: field=value …       every collective of the module has such a line
    // totals: field=value …
    // host NAME: field=value …      every transfer between device and host, as `row`
    // host_totals: field=value …

A list is written with commas, a list of lists with semicolons between, and a blank as `~`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tables import find_cases

from hlotool.analysis.collectives.machine import Machine, add_nodes, find_machine
from hlotool.analysis.collectives.mesh import parse_mesh_axes
from hlotool.analysis.collectives.report import NO_OPTIONS, CollectiveOptions, CollectiveReport
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

ROOT = Path(__file__).resolve().parents[1]
CASES = find_cases(ROOT / "testdata/collectives")

_LINE = re.compile(
    r"^// (?P<what>options|totals|host_totals|row|host)(?: (?P<name>\S+))?:(?P<pairs> .*=.*)$",
    re.MULTILINE,
)


def analyze(text: str, options: CollectiveOptions = NO_OPTIONS) -> CollectiveReport:
    """Analyze the collectives of a module with everything that can be known of it."""
    module = parse_module(Source(text, "case"))
    return Program("", module).analyze_collectives(options)


def read_options(text: str) -> CollectiveOptions:
    """Read the options line of a case."""
    lines = [match["pairs"] for match in _LINE.finditer(text) if match["what"] == "options"]
    found = read_pairs(lines[0]) if lines else {}
    return CollectiveOptions(
        mesh=parse_mesh_axes(found["mesh"]) if "mesh" in found else None,
        with_groups=found.get("with_groups") == "true",
        with_operands=True,
        machine=_read_machine(found),
    )


def _read_machine(found: dict[str, str]) -> Machine | None:
    speed = found.get("bytes_per_second")
    between = found.get("between_bytes_per_second")
    nodes = found.get("devices_per_node")
    return add_nodes(
        find_machine(
            found.get("chip"),
            float(speed) if speed else None,
            float(found["latency_seconds"]) if "latency_seconds" in found else None,
        ),
        int(nodes) if nodes else None,
        float(between) if between else None,
    )


def read_rows(text: str, what: str = "row") -> dict[str, dict[str, str]]:
    """Read what a case expects of each collective, or of each `host` transfer."""
    return {
        match["name"]: read_pairs(match["pairs"])
        for match in _LINE.finditer(text)
        if match["what"] == what
    }


def read_totals(text: str, what: str = "totals") -> dict[str, str]:
    """Read what a case expects of the totals; of those of host transfers, there may be nothing."""
    found = [read_pairs(each["pairs"]) for each in _LINE.finditer(text) if each["what"] == what]
    return found[0] if found or what == "totals" else {}


def read_pairs(text: str) -> dict[str, str]:
    """Split `field=value field=value`."""
    return dict(pair.split("=", 1) for pair in text.split())


def write(value: object) -> str:
    """Write a value as cases do."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return (";" if value and isinstance(value[0], tuple) else ",").join(map(write, value))
    return str(value).replace(" ", "~")
