"""What a project says to hlotool, as it is written: budgets, costs of custom calls, and defaults.

It stands in `hlotool.toml`, or in `[tool.hlotool]` of `pyproject.toml`:

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

Expressions are texts here, which `rule` compiles: every command reads the configuration, and few
need the expression language.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Annotated, Final, Literal, TypeAlias, TypeVar, get_args

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import fields, replace

from hlotool.dump.files import StageChoice
from hlotool.dump.read import display_name, read_bytes
from hlotool.dump.stores import is_address
from hlotool.errors import UsageError
from hlotool.table.words import join_words, suggest
from hlotool.text import Pattern, PatternError, cut_secrets, parse_pattern

CONFIG_NAME: Final = "hlotool.toml"
PYPROJECT_NAME: Final = "pyproject.toml"
KINDS: Final = ("expression", "metric", "forbid", "require")
LIMITS: Final = ("max", "min", "max_increase", "max_increase_abs")

Severity: TypeAlias = Literal["error", "warning"]
Number: TypeAlias = int | float
Limit: TypeAlias = str | int | float | None  # a number, or a text such as "8GiB" or "2%"
Count: TypeAlias = str | int | float | None  # an expression, or a number as it stands


class TableLines(Struct, frozen=True):
    """Where a table begins, 0 for the keys before any, and where each of its keys stands."""

    line: int
    keys: Mapping[str, int]

    def place(self, config: str, key: str) -> str:
        """Return `hlotool.toml:4`, or the file alone where no line is known."""
        line = self.keys.get(key, self.line)
        return f"{config}:{line}" if line else config


NO_LINES: Final = TableLines(0, {})


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of many tables of a kind; None where a key is not given.

    `lines` says where it stands, none where that is not known. TOML's reader does not tell: it is
    set later, and its name in the file is one that nobody writes.
    """

    lines: TableLines = field(default=NO_LINES, name="[lines]")


class Budget(_Table, frozen=True, kw_only=True):
    """A `[[budget]]`, or an expression of `--budget`."""

    expression: str | None = None
    metric: str | None = None
    forbid: str | None = None
    require: str | None = None
    name: str = ""
    module: str = ""
    place: str = ""
    message: str = ""
    severity: Severity = "error"
    max: Limit = None
    min: Limit = None
    max_increase: Limit = None
    max_increase_abs: Limit = None

    def __post_init__(self) -> None:
        """Raise ValueError for keys that do not go together, and for a limit that is no number."""
        kinds = [key for key in KINDS if getattr(self, key) is not None]
        limits = self.limits
        for key in limits:
            limit = getattr(self, key)
            if isinstance(limit, float) and not math.isfinite(limit):
                raise ValueError(f"{key} must be a number, not {limit}")
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise ValueError(
                f"a budget needs exactly one of {', '.join(KINDS)}; this one has {found}"
            )
        if kinds == ["metric"] and not limits:
            raise ValueError(f"a metric needs a limit: one of {', '.join(LIMITS)}")
        if kinds != ["metric"] and limits:
            raise ValueError(f"{limits[0]} needs metric, not {kinds[0]}")

    @property
    def kind(self) -> str:
        """The one of KINDS that it has."""
        return next(key for key in KINDS if getattr(self, key) is not None)

    @property
    def names_path(self) -> bool:
        """Whether `module` is a pattern of paths, or of what a module is called."""
        return "/" in self.module or " (" in self.module

    @property
    def limits(self) -> tuple[str, ...]:
        """Those of LIMITS that it has."""
        return tuple(key for key in LIMITS if getattr(self, key) is not None)

    @property
    def text(self) -> str:
        """What it says: the expression, the metric, or `rows: condition`."""
        return str(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """Its name, else what it says."""
        said = f"{self.kind} {self.text}" if self.kind in {"forbid", "require"} else self.text
        return self.name or said

    def locate(self, config: str, key: str) -> str:
        """Return where a key of it stands, `hlotool.toml:4`; without a file, the option."""
        return self.lines.place(config, key) or "--budget"


class WrittenCall(_Table, frozen=True, kw_only=True):
    """A `[[custom_call]]`: what calls to some targets compute and move."""

    target: str = ""
    flops: Count = None
    bytes: Count = None

    def __post_init__(self) -> None:
        """Raise ValueError for one that is about no call, or says nothing."""
        if not self.target:
            raise ValueError("a custom_call needs a target")
        if self.flops is None and self.bytes is None:
            raise ValueError("a custom_call needs flops, bytes or both")


class _OwnKeys(Struct, frozen=True, kw_only=True):
    """The keys of a file that stand in no table of their own."""

    baseline: str = ""
    module: str = ""
    stage: StageChoice | None = None
    chip: str = ""
    devices_per_node: Annotated[int, Meta(ge=1)] | None = None


class _File(_OwnKeys, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All keys of a file, its tables not yet read: each is read with its own lines."""

    budget: tuple[dict[str, object], ...] = ()
    custom_call: tuple[dict[str, object], ...] = ()


class Config(_OwnKeys, frozen=True, kw_only=True):
    """What a configuration file says; `path` is '' where there is none.

    `baseline` is as written in the file, and relative to the directory it lies in.
    """

    path: str = ""
    budgets: tuple[Budget, ...] = ()
    custom_calls: tuple[WrittenCall, ...] = ()

    @property
    def baseline_path(self) -> str:
        """Where the baseline lies; '' where none is given.

        Raises UsageError for an address: who may change a file here, as with a pull request, could
        let this machine ask any server. The user types what is fetched.
        """
        path = os.path.join(os.path.dirname(self.path), self.baseline) if self.baseline else ""  # noqa: PTH118,PTH120  (paths stay strings as typed)
        if is_address(self.baseline) or is_address(path):
            name, shown = display_name(self.path), cut_secrets(self.baseline)
            raise UsageError(
                f"{name}: the baseline {shown} is an address, and hlotool fetches only "
                f"those on the command line; type --baseline {shown}."
            )
        return path


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
    is_pyproject = os.path.basename(path) == PYPROJECT_NAME  # noqa: PTH119
    try:
        text = read_bytes(path).decode("utf-8-sig")
        table: object = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: byte {error.start} is not UTF-8, as TOML must be.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: {error}.") from error
    except ValueError as error:  # of int(), for thousands of digits; tomllib lets it through
        raise UsageError(f"{name}: a number in it is too large.") from error
    except RecursionError as error:
        raise UsageError(f"{name}: the tables are nested too deeply.") from error
    if is_pyproject:
        tool = table.get("tool") if isinstance(table, dict) else None
        table = tool.get("hlotool") if isinstance(tool, dict) else None
        if table is None:
            return None
    if not isinstance(table, dict):
        raise UsageError(f"{name}: [tool.hlotool] must be a table.")
    tables = tuple(find_tables(text))
    # The keys of hlotool.toml stand before any header, those of pyproject.toml behind one.
    own = (lines for header, lines in tables if not is_pyproject or re.match(_OWN_LINE, header))
    said = _convert(table, _File, name, next(own, NO_LINES))
    return Config(
        path=path,
        budgets=_number_names(_read_tables(said.budget, Budget, "budget", tables, name)),
        custom_calls=tuple(
            _read_tables(said.custom_call, WrittenCall, "custom_call", tables, name)
        ),
        **{key: getattr(said, key) for key in _OwnKeys.__struct_fields__},
    )


_Record = TypeVar("_Record", bound=Struct)
_Written = TypeVar("_Written", bound=_Table)
# Compiled when met: most commands find no file.
_TABLE_LINE: Final = r"\[\[\s*(?:tool\.hlotool\.)?(budget|custom_call)\s*\]\]"
_OWN_LINE: Final = r"\[\s*tool\.hlotool\s*\]"


def _read_tables(
    tables: Sequence[dict[str, object]],
    record: type[_Written],
    key: str,
    lines: Iterable[tuple[str, TableLines]],
    name: str,
) -> Iterator[_Written]:
    """Read the tables written as `[[key]]`, each with its lines; none for those in an array."""
    found = ((one, re.match(_TABLE_LINE, header)) for header, one in lines)
    own = (one for one, match in found if match and match[1] == key)
    for table, place in zip(tables, chain(own, repeat(NO_LINES)), strict=False):
        yield replace(_convert(table, record, name, place), lines=place)


def _number_names(budgets: Iterable[Budget]) -> tuple[Budget, ...]:
    """Name every budget, and add numbers to equal names, so that reports tell them apart."""
    seen: Counter[str] = Counter()
    found = []
    for one in budgets:
        seen[one.title] += 1
        number = seen[one.title]
        found.append(replace(one, name=one.title if number == 1 else f"{one.title} ({number})"))
    return tuple(found)


# What msgspec says is wrong with a table, in the words of a configuration.

_UNKNOWN: Final = r"(?s)Object contains unknown field `(.*)`"
_NO_CHOICE: Final = "Invalid enum value "
_OF: Final[Mapping[type[Struct], str]] = {Budget: " of a budget", WrittenCall: " of a custom_call"}
_MANY: Final = {"budget": "budgets", "custom_call": "custom calls"}


def _convert(
    table: dict[str, object], record: type[_Record], name: str, lines: TableLines
) -> _Record:
    """Read a table; raise UsageError with its place, where it does not fit."""
    try:
        return convert(table, record)
    except ValidationError as error:
        key, message = _explain(str(error), record)
        place = lines.place(name, key)
        raise UsageError(f"{place}: {message}{'' if message.endswith('?') else '.'}") from error


def _explain(error: str, record: type[Struct]) -> tuple[str, str]:
    """Return the key that is wrong, '' for none, and what is."""
    keys = {each.name: each.type for each in fields(record) if each.name == each.encode_name}
    unknown = re.match(_UNKNOWN, error)
    if unknown:
        of = _OF.get(record, "")
        return unknown[1], f"there is no key {unknown[1]!r}{of}; {suggest(unknown[1], keys)}"
    # msgspec says: Expected `int | null`, got `str` - at `$.devices_per_node`
    what, _, place = error.replace(" | null`", "`").partition(" - at `$.")
    key = place.rstrip("`").partition("[")[0]
    if key in _MANY:
        return "", f"{_MANY[key]} are written as [[{key}]], each a table of its own"
    if what.startswith(_NO_CHOICE):
        choices = [word for part in (keys[key], *get_args(keys[key])) for word in get_args(part)]
        words = [word for word in choices if isinstance(word, str)]
        return key, f"{key} is {join_words(words, 'or')}, not {what.removeprefix(_NO_CHOICE)}"
    return key, f"{key}: {what[:1].lower()}{what[1:]}" if key else what


def expect_pattern(text: str, key: str, place: str) -> Pattern:
    """Read the pattern of a key; raise UsageError, which names both, if it is none."""
    try:
        return parse_pattern(text)
    except PatternError as error:
        raise UsageError(
            f"{place}: {key} {text!r} is not a regular expression: {error}."
        ) from error


# On which line a key stands.

_HEADER: Final = r"[ \t]*(\[.*)"
_KEY: Final = r"[ \t]*([\"']?)([A-Za-z0-9_-]+)\1[ \t]*="
_LONG_QUOTES: Final = r'"""|\'\'\''


def find_tables(text: str) -> Iterator[tuple[str, TableLines]]:
    """Yield the headers of a file in order, with their tables; what stands before any is first.

        line = [ blanks ] ( "[" … "]" | key [ blanks ] "=" … ) | anything else

    Keys are told by their first line; what stands inside a text of several lines is none.
    """
    header, begin, keys = "", 0, dict[str, int]()
    quotes = ""  # that a text of several lines will end with
    for number, line in enumerate(text.splitlines(), 1):
        is_inside = bool(quotes)
        for found in re.finditer(_LONG_QUOTES, line):
            quotes = found[0] if not quotes else "" if quotes == found[0] else quotes
        if is_inside:
            continue
        if match := re.match(_HEADER, line):
            yield header, TableLines(begin, keys)
            header, begin, keys = match[1], number, {}
        elif key := re.match(_KEY, line):
            keys.setdefault(key[2], number)
    yield header, TableLines(begin, keys)
