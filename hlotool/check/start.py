"""The first hlotool.toml of a project: limits from the figures that its programs have today."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from glob import escape
from typing import Final

from hlotool.dump.identity import Identity
from hlotool.dump.saved import SavedSummary

_LIMITED: Final = {"memory": "buffers.peak_bytes", "sent": "collectives.sent_bytes_per_step"}
_UNITS: Final = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
_LEAST: Final = 10  # of its unit, so that rounding up adds little


def write_config(modules: Mapping[str, SavedSummary], baseline: str) -> str:
    """Return a configuration: what any program may grow, and what each may take, a tenth more.

    A figure that is not known, or 0 everywhere, has no limit. Programs of one name and
    folder share the limit of the largest.
    """
    lines = [f"baseline = {json.dumps(baseline)}", "", "# Any program: beyond the baseline."]
    for what, metric in _LIMITED.items():
        sizes = [_read(one, metric) for one in modules.values()]
        if any(sizes) and None not in sizes:
            lines += [*_write_budget(f"growth of {what}", metric), 'max_increase = "5%"']
    lines += ["", "# Each program: a tenth more than today."]
    has_folders = any(one.identity and one.identity.folder for one in modules.values())
    for what, metric in _LIMITED.items():
        most: Counter[tuple[str, str]] = Counter()
        for one in modules.values():
            known = one.identity or Identity()
            most |= Counter({(known.folder, known.name): _read(one, metric) or 0})
        for (folder, name), size in most.items():
            about = escape(f"{folder}/{name}") if has_folders else f"^{name}$"
            limit = _write_size(size * 11 // 10)
            lines += _write_budget(f"{what} of {f'{folder}/{name}'.lstrip('/')}", metric)
            lines += [f"module = {json.dumps(about)}", f'max = "{limit}"']
    return "\n".join([*lines, ""])


def _write_budget(name: str, metric: str) -> Iterator[str]:
    yield from ("", "[[budget]]", f"name = {json.dumps(name)}", f'metric = "{metric}"')


def _read(module: SavedSummary, metric: str) -> int | None:
    block, _, name = metric.rpartition(".")
    found = module.record(block).get(name)
    return found if isinstance(found, int) else None


def _write_size(size: int) -> str:
    unit = next(one for one, width in _UNITS.items() if size >= _LEAST * width or width == 1)
    return f"{-(-size // _UNITS[unit])}{unit}"
