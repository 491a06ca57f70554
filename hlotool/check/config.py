"""The budgets a project keeps: `hlotool.toml`, or `[tool.hlotool]` in `pyproject.toml`.

    baseline = "hlotool-baseline.json"

    [[budget]]
    name = "temp memory"
    module = "train_step"
    metric = "buffers.temp_bytes"
    max = "8GiB"
    max_increase = "2%"
    message = "Did a remat policy change? See docs/memory.md."

Each `[[budget]]` has exactly one of `expression`, `metric`, `forbid` and `require`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import UsageError
from hlotool.inputs.read.text import display_name, read_bytes

CONFIG_NAME: Final = "hlotool.toml"
PYPROJECT_NAME: Final = "pyproject.toml"
KINDS: Final = ("expression", "metric", "forbid", "require")
SEVERITIES: Final = ("error", "warning")
_LIMITS: Final = ("max", "min", "max_increase", "max_increase_abs")
_TEXTS: Final = ("name", "module", "message", "severity")
_TOP_KEYS: Final = ("baseline", "budget", "module", "stage")


class RuleSpec(Struct, frozen=True):
    """One budget as written. `text` is the expression, the metric, or `rows: condition`.

    Limits are expressions as written, '' where not given; `line` is where the budget begins
    in its file, 0 where it came from the command line.
    """

    name: str
    kind: str  # one of KINDS
    text: str
    module: str = ""
    message: str = ""
    severity: str = "error"
    max: str = ""
    min: str = ""
    max_increase: str = ""
    max_increase_abs: str = ""
    line: int = 0

    @property
    def needs_baseline(self) -> bool:
        """Whether a limit speaks of an increase."""
        return bool(self.max_increase or self.max_increase_abs)


class Config(Struct, frozen=True):
    """What a configuration file says; `path` is '' where there is none.

    `baseline` is as written in the file, and relative to the directory it lies in.
    """

    path: str = ""
    baseline: str = ""
    module: str = ""
    stage: str = ""
    rules: tuple[RuleSpec, ...] = ()

    @property
    def baseline_path(self) -> str:
        """Where the baseline lies; '' where none is given."""
        return os.path.join(os.path.dirname(self.path), self.baseline) if self.baseline else ""  # noqa: PTH118,PTH120  (paths stay strings as typed)


def find_config(directory: str = ".") -> Config:
    """Read the configuration of a directory, or of the nearest one above that has any.

    `hlotool.toml` wins over a `pyproject.toml` beside it; one without `[tool.hlotool]` does
    not count. The search ends at the root of a git repository.
    """
    here = os.path.abspath(directory)  # noqa: PTH100
    while True:
        shown = os.path.relpath(here, directory)
        for name in (CONFIG_NAME, PYPROJECT_NAME):
            path = os.path.normpath(os.path.join(shown, name))  # noqa: PTH118
            if os.path.isfile(os.path.join(here, name)):  # noqa: PTH113,PTH118
                found = _read(path if directory == "." else os.path.join(here, name))  # noqa: PTH118
                if found is not None:
                    return found
        parent = os.path.dirname(here)  # noqa: PTH120
        if parent == here or os.path.exists(os.path.join(here, ".git")):  # noqa: PTH110,PTH118
            return Config()
        here = parent


def read_config(path: str) -> Config:
    """Read a configuration named by hand; raise UsageError where it says nothing of hlotool."""
    found = _read(path)
    if found is None:
        raise UsageError(f"{display_name(path)}: there is no [tool.hlotool] in it.")
    return found


def _read(path: str) -> Config | None:
    """Read a file; None for a pyproject.toml without a table for hlotool."""
    name = display_name(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: byte {error.start} is no UTF-8, which TOML is.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: {error}.") from error
    except RecursionError as error:
        raise UsageError(f"{name}: the tables nest too deep.") from error
    if os.path.basename(path) == PYPROJECT_NAME:  # noqa: PTH119
        tool = document.get("tool")
        table = tool.get("hlotool") if isinstance(tool, dict) else None
        if table is None:
            return None
    else:
        table = document
    return _Reader(name, text).config(table, path)


def _told_apart(rules: list[RuleSpec]) -> tuple[RuleSpec, ...]:
    """Add numbers to equal names, so that reports tell budgets apart."""
    seen: Counter[str] = Counter()
    found = []
    for rule in rules:
        seen[rule.name] += 1
        number = seen[rule.name]
        found.append(rule if number == 1 else replace(rule, name=f"{rule.name} ({number})"))
    return tuple(found)


def default_name(kind: str, text: str) -> str:
    """Name a budget by what it says."""
    return f"{kind} {text}" if kind in {"forbid", "require"} else text


class _Reader:
    """Turns a TOML table into a Config; every refusal names the file and the line."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = [
            number
            for number, line in enumerate(text.splitlines(), 1)
            if re.match(r"\s*\[\[\s*(?:tool\.hlotool\.)?budget\s*\]\]", line)
        ]

    def config(self, table: object, path: str) -> Config:
        """Read the whole table."""
        if not isinstance(table, Mapping):
            raise self.fail(0, "[tool.hlotool] is a table")
        self.check_keys(table, _TOP_KEYS, 0, "")
        budgets = table.get("budget", [])
        if not isinstance(budgets, list):
            raise self.fail(0, "budgets are written as [[budget]], each a table of its own")
        return Config(
            path,
            baseline=self.text(table, "baseline", 0),
            module=self.text(table, "module", 0),
            stage=self.text(table, "stage", 0),
            rules=_told_apart([self.rule(one, place) for place, one in enumerate(budgets)]),
        )

    def rule(self, table: object, place: int) -> RuleSpec:
        """Read one budget."""
        line = self.lines[place] if place < len(self.lines) else 0
        if not isinstance(table, Mapping):
            raise self.fail(line, "a budget is a table, written as [[budget]]")
        self.check_keys(table, (*KINDS, *_TEXTS, *_LIMITS), line, " of a budget")
        kinds = [key for key in KINDS if key in table]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise self.fail(
                line, f"a budget has exactly one of {', '.join(KINDS)}; this one has {found}"
            )
        kind = kinds[0]
        given = [key for key in _LIMITS if key in table]
        if kind == "metric" and not given:
            raise self.fail(line, f"a metric needs a limit: one of {', '.join(_LIMITS)}")
        if kind != "metric" and given:
            raise self.fail(line, f"{given[0]} goes with metric, not with {kind}")
        severity = self.text(table, "severity", line) or "error"
        if severity not in SEVERITIES:
            raise self.fail(line, f"severity is error or warning, not {severity!r}")
        text = self.text(table, kind, line)
        return RuleSpec(
            name=self.text(table, "name", line) or default_name(kind, text),
            kind=kind,
            text=text,
            module=self.text(table, "module", line),
            message=self.text(table, "message", line),
            severity=severity,
            **{key: self.limit(table, key, line) for key in _LIMITS},
            line=line,
        )

    def text(self, table: Mapping[str, object], key: str, line: int) -> str:
        """Read a text, '' where it is not given."""
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self.fail(line, f"{key} is a text in quotes, not {value!r}")
        return value

    def limit(self, table: Mapping[str, object], key: str, line: int) -> str:
        """Read a limit, which is a number or a text such as "8GiB" or "2%"."""
        value = table.get(key, "")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.fail(line, f'{key} is a number, or a text such as "8GiB" or "2%"')
        return str(value)

    def check_keys(
        self, table: Mapping[str, object], known: tuple[str, ...], line: int, of: str
    ) -> None:
        """Refuse a key that means nothing, and name the nearest that does."""
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                raise self.fail(line, f"there is no key {key!r}{of}; {hint}")

    def fail(self, line: int, message: str) -> UsageError:
        """Make the error."""
        place = f"{self.name}:{line}" if line else self.name
        return UsageError(f"{place}: {message}{'' if message.endswith('?') else '.'}")
