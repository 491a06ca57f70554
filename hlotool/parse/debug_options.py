"""The `.debug_options` of a dump: which XLA flags the program was compiled under."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hlotool.source import Source

_LINE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?::\s*(?P<value>.*\S)|(?P<opens>\{))\s*")


def parse_debug_options(source: Source) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each flag as printed; XLA prints those that are not at their default.

    options = { name ":" value newline | name "{" options "}" }

    A flag that is given several times has several values, in order; the fields of a nested
    message are joined to its name with a dot. Lines that are none of these are skipped.
    """
    found: dict[str, list[str]] = {}
    path: list[str] = []
    for line in source.text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip() == "}" and path:
                path.pop()
        elif match["opens"]:
            path.append(match["name"])
        else:
            found.setdefault(".".join([*path, match["name"]]), []).append(match["value"])
    return {name: tuple(values) for name, values in found.items()}
