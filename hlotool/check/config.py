"""What does a table of a configuration say, and what is wrong with it?

What a project keeps in `hlotool.toml`, or in `[tool.hlotool]` of `pyproject.toml`.

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

From the `[[custom_call]]` of a configuration to rules: each expression is parsed once.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Annotated, Final, TypeVar, get_args

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import asdict, fields, replace

from hlotool.analysis.cost.custom_calls import CALL_FIGURES
from hlotool.check.budget import (
    NO_LINES,
    Budget,
    BudgetTable,
    Count,
    CustomCallTable,
    TableLines,
    WrittenCall,
    expect_pattern,
    find_tables,
)
from hlotool.dump.files import StageChoice
from hlotool.dump.read import display_name, read_bytes
from hlotool.errors import UsageError
from hlotool.program.call_rules import CallRule
from hlotool.table.expression.check import Vocabulary, parse_number
from hlotool.table.expression.nodes import Expression
from hlotool.table.names import suggest
from hlotool.table.words import join_words

TABLES: Final = {"budget": "budgets", "custom_call": "custom calls"}  # of which there are many
_OF: Final = {BudgetTable: " of a budget", CustomCallTable: " of a custom_call"}
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_NO_CHOICE: Final = "Invalid enum value "

Record = TypeVar("Record", bound=Struct)


def convert_table(
    table: dict[str, object], record: type[Record], name: str, lines: TableLines
) -> Record:
    """Read a table; raise UsageError with its place, where it does not fit."""
    try:
        return convert(table, record)
    except ValidationError as error:
        key, message = _explain(str(error), record)
        place = lines.place(name, key)
        raise UsageError(f"{place}: {message}{'' if message.endswith('?') else '.'}") from error


def _explain(error: str, record: type[Struct]) -> tuple[str, str]:
    """Put what msgspec found into the words of a configuration; name the key, '' for none."""
    keys = {each.name: each.type for each in fields(record)}
    unknown = _UNKNOWN.match(error)
    if unknown:
        of = _OF.get(record, "")
        return unknown[1], f"there is no key {unknown[1]!r}{of}; {suggest(unknown[1], keys)}"
    what, _, place = error.replace(" | null`", "`").partition(" - at `$.")
    key = place.rstrip("`").partition("[")[0]
    if key in TABLES:
        return "", f"{TABLES[key]} are written as [[{key}]], each a table of its own"
    if what.startswith(_NO_CHOICE):
        choices = [word for part in (keys[key], *get_args(keys[key])) for word in get_args(part)]
        words = [word for word in choices if isinstance(word, str)]
        return key, f"{key} is {join_words(words, 'or')}, not {what.removeprefix(_NO_CHOICE)}"
    return key, f"{key}: {what[:1].lower()}{what[1:]}" if key else what


CONFIG_NAME: Final = "hlotool.toml"
PYPROJECT_NAME: Final = "pyproject.toml"
_TABLE_LINE: Final = re.compile(r"\[\[\s*(?:tool\.hlotool\.)?(budget|custom_call)\s*\]\]")
_OWN_LINE: Final = re.compile(r"\[\s*tool\.hlotool\s*\]")

_Record = TypeVar("_Record", bound=Struct)


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
        text = read_bytes(path).decode("utf-8-sig")
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


def _make_config(table: object, path: str, text: str) -> Config:
    """Read the table of a file, and each of the tables in it with its line."""
    name = display_name(path)
    if not isinstance(table, dict):
        raise UsageError(f"{name}: [tool.hlotool] must be a table.")
    tables = tuple(find_tables(text))
    said = convert_table(table, _File, name, _find_own(tables, name))
    budgets = [
        Budget(**asdict(read), lines=lines)
        for read, lines in _read_tables(said.budget, BudgetTable, "budget", tables, name)
    ]
    calls = _read_tables(said.custom_call, CustomCallTable, "custom_call", tables, name)
    custom_calls = tuple(WrittenCall(**asdict(read), lines=lines) for read, lines in calls)
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


def _find_own(tables: Iterable[tuple[str, TableLines]], name: str) -> TableLines:
    """Return the lines of the keys that stand in no table of their own."""
    if os.path.basename(name) != PYPROJECT_NAME:  # noqa: PTH119
        return next((lines for _, lines in tables), NO_LINES)
    return next((lines for header, lines in tables if _OWN_LINE.match(header)), NO_LINES)


def _read_tables(
    tables: Sequence[dict[str, object]],
    record: type[_Record],
    key: str,
    lines: Iterable[tuple[str, TableLines]],
    name: str,
) -> Iterator[tuple[_Record, TableLines]]:
    """Read the tables written as `[[key]]`, each with its lines; none for those in an array."""
    found = ((one, _TABLE_LINE.match(header)) for header, one in lines)
    own = (one for one, match in found if match and match[1] == key)
    for table, place in zip(tables, chain(own, repeat(NO_LINES)), strict=False):
        yield convert_table(table, record, name, place), place


def _told_apart(budgets: Iterable[Budget]) -> tuple[Budget, ...]:
    """Name every budget, and add numbers to equal names, so that reports tell them apart."""
    seen: Counter[str] = Counter()
    found = []
    for one in budgets:
        seen[one.title] += 1
        number = seen[one.title]
        found.append(replace(one, name=one.title if number == 1 else f"{one.title} ({number})"))
    return tuple(found)


_VOCABULARY: Final = Vocabulary(CALL_FIGURES)


def compile_call_costs(config: Config) -> tuple[CallRule, ...]:
    """Check what a configuration says of custom calls, and parse it.

    Raises QueryError where an expression does not parse or names what no call has, UsageError
    for a target that is no regular expression.
    """
    name = display_name(config.path)
    return tuple(_compile(one, name) for one in config.custom_calls)


def _compile(written: WrittenCall, name: str) -> CallRule:
    place = partial(written.lines.place, name)
    return CallRule(
        expect_pattern(written.target, "target", place("target")),
        _parse(written.flops, f"{place('flops')}: flops"),
        _parse(written.bytes, f"{place('bytes')}: bytes"),
    )


def _parse(count: Count, place: str) -> Expression | None:
    return None if count is None else parse_number(str(count), _VOCABULARY, place)
