"""What a project keeps in `hlotool.toml`, or in `[tool.hlotool]` of `pyproject.toml`.

baseline = "hlotool-baseline.json"
chip = "h100"
devices_per_node = 8

[[budget]]
name = "temp memory"
module = "train_step"
metric = "buffers.temp_bytes"
max = "8GiB"
max_increase = "2%"
message = "Did a remat policy change?"

[[custom_call]]
target = "^my_kernel$"
flops = "2 * operand0_elements * operand1_dim1"
bytes = "operand_bytes + result_bytes"
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Annotated, Final, TypeVar, get_args

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import asdict, fields, replace

from hlotool.check.budget import Budget, BudgetTable
from hlotool.check.custom_call import CustomCallTable, WrittenCall
from hlotool.errors import UsageError
from hlotool.inputs import StageChoice
from hlotool.inputs.read.text import display_name, read_bytes
from hlotool.query.names import either, suggest

CONFIG_NAME: Final = "hlotool.toml"
PYPROJECT_NAME: Final = "pyproject.toml"
_TABLE_LINE: Final = re.compile(r"\s*\[\[\s*(?:tool\.hlotool\.)?(budget|custom_call)\s*\]\]")
_MOST_BYTES: Final = 1 << 18
_MOST_TABLES: Final = {"budget": 1000, "custom_call": 100}
_DEEP_KEY: Final = re.compile(r"(?:[\w\"'-]++[ \t]*+\.[ \t]*+){32}")
_TABLES: Final = {"budget": "budgets", "custom_call": "custom calls"}  # of which there are many
_OF: Final = {BudgetTable: " of a budget", CustomCallTable: " of a custom_call"}
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_NO_CHOICE: Final = "Invalid enum value "

Record = TypeVar("Record", bound=Struct)


class Config(Struct, frozen=True):
    """What a configuration file says; `path` is '' where there is none.

    `baseline` is as written in the file, and relative to the directory it lies in.
    """

    path: str = ""
    baseline: str = ""
    module: str = ""
    stage: StageChoice | None = None
    budgets: tuple[Budget, ...] = ()
    custom_calls: tuple[WrittenCall, ...] = ()
    chip: str = ""
    devices_per_node: int | None = None

    @property
    def baseline_path(self) -> str:
        """Where the baseline lies; '' where none is given."""
        return os.path.join(os.path.dirname(self.path), self.baseline) if self.baseline else ""  # noqa: PTH118,PTH120  (paths stay strings as typed)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a file, its tables not yet read."""

    baseline: str = ""
    module: str = ""
    stage: StageChoice | None = None
    chip: str = ""
    devices_per_node: Annotated[int, Meta(ge=1)] | None = None
    budget: tuple[dict[str, object], ...] = ()
    custom_call: tuple[dict[str, object], ...] = ()


def find_config(directory: str = ".") -> Config:
    """Read the configuration of a directory, or of the nearest one above that has any.

    `hlotool.toml` wins over a `pyproject.toml` beside it; one without `[tool.hlotool]` does
    not count. The search ends at the root of a git repository.
    """
    try:
        here = os.path.abspath(directory)  # noqa: PTH100
    except OSError:  # the working directory was deleted
        return Config()
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
        raise UsageError(f"{display_name(path)}: it has no [tool.hlotool] table.")
    return found


def _read(path: str) -> Config | None:
    """Read a file; None for a pyproject.toml without a table for hlotool."""
    name = display_name(path)
    try:
        text = _refuse_huge(read_bytes(path), name).decode("utf-8-sig")
        if _DEEP_KEY.search(text):  # in which tomllib takes quadratic time
            raise UsageError(f"{name}: the tables are nested too deeply.")
        table: object = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: byte {error.start} is not UTF-8, as TOML must be.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: {error}.") from error
    except ValueError as error:
        raise UsageError(f"{name}: a number in it is too large.") from error
    except RecursionError as error:
        raise UsageError(f"{name}: the tables are nested too deeply.") from error
    if os.path.basename(path) == PYPROJECT_NAME:  # noqa: PTH119
        tool = table.get("tool") if isinstance(table, dict) else None
        table = tool.get("hlotool") if isinstance(tool, dict) else None
        if table is None:
            return None
    return _make_config(table, path, text)


def _refuse_huge(content: bytes, name: str) -> bytes:
    if len(content) > _MOST_BYTES:
        raise UsageError(
            f"{name}: a configuration of more than {_MOST_BYTES >> 10} KiB is refused."
        )
    return content


def _make_config(table: object, path: str, text: str) -> Config:
    """Read the table of a file, and each of the tables in it with its line."""
    name = display_name(path)
    if not isinstance(table, dict):
        raise UsageError(f"{name}: [tool.hlotool] must be a table.")
    said = _convert(table, _File, name)
    budgets = [
        Budget(**asdict(read), line=line)
        for read, line in _read_tables(said.budget, BudgetTable, "budget", text, name)
    ]
    custom_calls = tuple(
        WrittenCall(**asdict(read), line=line)
        for read, line in _read_tables(said.custom_call, CustomCallTable, "custom_call", text, name)
    )
    return Config(
        path,
        said.baseline,
        said.module,
        said.stage,
        _told_apart(budgets),
        custom_calls,
        said.chip,
        said.devices_per_node,
    )


def _read_tables(
    tables: Sequence[dict[str, object]], record: type[Record], key: str, text: str, name: str
) -> Iterator[tuple[Record, int]]:
    """Read the tables written as `[[key]]`, each with its line; 0 for those inside an array."""
    if len(tables) > _MOST_TABLES[key]:
        raise UsageError(f"{name}: more than {_MOST_TABLES[key]:,} {_TABLES[key]} are refused.")
    found = (_TABLE_LINE.match(line) for line in text.splitlines())
    lines = [n for n, match in enumerate(found, 1) if match and match[1] == key]
    for table, line in zip(tables, chain(lines, repeat(0)), strict=False):
        yield _convert(table, record, f"{name}:{line}" if line else name), line


def _told_apart(budgets: Iterable[Budget]) -> tuple[Budget, ...]:
    """Name every budget, and add numbers to equal names, so that reports tell them apart."""
    seen: Counter[str] = Counter()
    found = []
    for one in budgets:
        seen[one.title] += 1
        number = seen[one.title]
        found.append(replace(one, name=one.title if number == 1 else f"{one.title} ({number})"))
    return tuple(found)


def _convert(table: dict[str, object], record: type[Record], place: str) -> Record:
    """Read a table; raise UsageError with its place where it does not fit the record."""
    try:
        return convert(table, record)
    except ValidationError as error:
        message = _explain(str(error), record)
        raise UsageError(f"{place}: {message}{'' if message.endswith('?') else '.'}") from error


def _explain(error: str, record: type[Struct]) -> str:
    """Put what msgspec found into the words of a configuration."""
    keys = {each.name: each.type for each in fields(record)}
    unknown = _UNKNOWN.match(error)
    if unknown:
        of = _OF.get(record, "")
        return f"there is no key {unknown[1]!r}{of}; {suggest(unknown[1], keys)}"
    what, _, place = error.replace(" | null`", "`").partition(" - at `$.")
    key = place.rstrip("`").partition("[")[0]
    if key in _TABLES:
        return f"{_TABLES[key]} are written as [[{key}]], each a table of its own"
    if what.startswith(_NO_CHOICE):
        choices = [word for part in (keys[key], *get_args(keys[key])) for word in get_args(part)]
        words = [word for word in choices if isinstance(word, str)]
        return f"{key} is {either(words)}, not {what.removeprefix(_NO_CHOICE)}"
    return f"{key}: {what[:1].lower()}{what[1:]}" if key else what
