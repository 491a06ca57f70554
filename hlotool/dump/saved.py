"""JSON documents that hlotool wrote, read again: figures to compare with.

One reader brings what an older version wrote up to date (`update_document`): answers, baselines,
lines of a history and rows of a cache. Of newer and older documents what is known is read; a figure
that is not there is unknown.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct, ValidationError, convert

from hlotool.dump.budget import DEFAULT_BUDGET, Allowance
from hlotool.dump.compression import decompress
from hlotool.dump.identity import Identity
from hlotool.errors import InputError
from hlotool.hlo.attribute_values import drop_metadata, keep_op_names
from hlotool.table.renamed import update_keys
from hlotool.table.units import LARGEST_FIGURE
from hlotool.text import Source

SUMMARY_SCHEMA: Final = "hlotool/summary/v2"
DIRECTORY_SCHEMA: Final = "hlotool/summary-directory/v2"
BASELINE_SCHEMA: Final = "hlotool/baseline/v2"
PLACE_MARK: Final = " @ "  # between a module's name and its place, in an older baseline

_MOST_DIGITS: Final = len(str(LARGEST_FIGURE)) - 1
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SHOWN: Final = 20  # characters of a number that is refused

Record: TypeAlias = dict[str, object]  # figures by name, and lists that are no figures

# Where a summary holds the record of a block of metrics that is not called as its place.
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "buffers": ("memory", "totals"),
    "buffers.estimated": ("memory", "estimated"),
    "collectives.host": ("host",),
}


class SavedMemory(Struct, frozen=True, omit_defaults=True):
    """Figures of a buffer assignment, and of an estimate in its place."""

    totals: Record | None = None
    estimated: Record | None = None


class SavedOpcode(Struct, frozen=True, omit_defaults=True):
    """How many instructions of an opcode run."""

    opcode: str
    executed_count: int | None = None


class SavedSummary(Struct, frozen=True, omit_defaults=True):
    """The figures of one module, in the places where a summary holds them."""

    module: Record | None = None
    memory: SavedMemory | None = None
    collectives: Record | None = None
    host: Record | None = None
    cost: Record | None = None
    fusions: Record | None = None
    measured: Record | None = None
    shardings: Record | None = None
    step_time: Record | None = None
    opcodes: tuple[SavedOpcode, ...] | None = None
    identity: Identity | None = None
    input_program: str | None = None  # what `pack_program` made of the text before optimizations

    def record(self, block: str) -> Mapping[str, object]:
        """Return the record of a block of metrics such as `buffers`, empty if it is not there."""
        found: object = self
        for key in _PLACES.get(block, (block,)):
            found = getattr(found, key, None)
        return found if isinstance(found, dict) else {}


class SavedModule(Struct, frozen=True):
    """The figures of one module, what it is called, and which it is, as far as that was kept.

    `key` is what the document calls it. Documents of before identities were kept tell the place of
    one of several of its name.
    """

    name: str
    figures: SavedSummary
    place: str = ""
    identity: Identity | None = None
    key: str = ""


class SummaryDocument(SavedSummary, frozen=True, tag_field="schema", tag=SUMMARY_SCHEMA):
    """`hlotool summary FILE --json`."""

    def saved_modules(self) -> tuple[SavedModule, ...]:
        """Return the one module it is about."""
        return (SavedModule(str((self.module or {}).get("name", "")), self),)


class DirectoryRow(Struct, frozen=True):
    """One program of a directory."""

    module: str = ""
    path: str = ""
    place: str = ""
    instruction_count: int | None = None
    allocated_bytes: int | None = None
    temp_bytes: int | None = None
    peak_bytes: int | None = None
    collective_count: int | None = None
    sent_bytes_per_step: int | None = None
    total_flops_per_step: int | None = None
    folder: str | None = None
    arguments: tuple[str, ...] | None = None
    fingerprint: str | None = None
    is_memory_lower_bound: bool = False
    is_sent_lower_bound: bool = False
    is_sent_upper_bound: bool = False
    is_total_lower_bound: bool = False
    is_total_upper_bound: bool = False

    @property
    def identity(self) -> Identity | None:
        """Which program it is; None in a document of before that was kept."""
        if self.folder is None:
            return None
        return Identity(self.module, self.folder, self.arguments, self.fingerprint)

    def figures(self) -> dict[str, object]:
        """Return its figures by the names of metrics, and the flags that make them bounds."""
        return {
            "module.instruction_count": self.instruction_count,
            "buffers.allocated_bytes": self.allocated_bytes,
            "buffers.temp_bytes": self.temp_bytes,
            "buffers.peak_bytes": self.peak_bytes,
            "collectives.count": self.collective_count,
            "collectives.sent_bytes_per_step": self.sent_bytes_per_step,
            "cost.total_flops_per_step": self.total_flops_per_step,
            "buffers.is_lower_bound": self.is_memory_lower_bound,
            "collectives.is_lower_bound": self.is_sent_lower_bound,
            "collectives.is_upper_bound": self.is_sent_upper_bound,
            "cost.is_total_lower_bound": self.is_total_lower_bound,
            "cost.is_upper_bound": self.is_total_upper_bound,
        }


class DirectoryDocument(Struct, frozen=True, tag_field="schema", tag=DIRECTORY_SCHEMA):
    """`hlotool summary DIRECTORY --json`."""

    modules: tuple[DirectoryRow, ...] = ()

    def saved_modules(self) -> tuple[SavedModule, ...]:
        """Return the programs in the order of their paths, which is that of the directory."""
        rows = sorted(self.modules, key=lambda row: row.path)
        names = Counter(row.module for row in rows)
        return tuple(
            SavedModule(
                row.module,
                make_summary(row.figures()),
                row.place if names[row.module] > 1 else "",
                row.identity,
            )
            for row in rows
        )


class BaselineDocument(Struct, frozen=True, tag_field="schema", tag=BASELINE_SCHEMA):
    """`hlotool check --update-baseline`; modules by what they are called (`name_programs`).

    Before identities were kept the name was all, or `NAME @ PLACE`.
    """

    hlotool_version: str = ""
    modules: dict[str, SavedSummary] = {}

    def saved_modules(self) -> tuple[SavedModule, ...]:
        """Return the modules as they stand in the document."""
        return tuple(
            SavedModule(one.identity.name, one, "", one.identity, key)
            if one.identity
            else SavedModule(
                key.partition(PLACE_MARK)[0], one, key.partition(PLACE_MARK)[2], key=key
            )
            for key, one in self.modules.items()
        )


class SavedDocument(Struct, frozen=True):
    """A document, and the modules it tells of."""

    path: str
    schema: str
    modules: tuple[SavedModule, ...]


def read_saved(source: Source) -> SavedDocument:
    """Read a summary, the summary of a directory, or a baseline.

    Raises InputError for any other document, and where a figure stands in a wrong place.
    """
    schema, document = _parse(source)
    try:
        found = convert(document, SummaryDocument | DirectoryDocument | BaselineDocument)
    except ValidationError as error:
        raise InputError(f"{source.name}: this {schema} document is damaged: {error}.") from error
    return SavedDocument(source.name, schema, found.saved_modules())


_MOST_PACKED: Final = 256_000  # characters
_PART: Final = 0.05  # of the texts that it was packed from
_ALWAYS_PACKED: Final = 4_096  # characters of a small program, of which that is more
_FILTERS: Final = ({"id": lzma.FILTER_LZMA2, "preset": 9},)


def pack_program(text: str, of_length: int) -> str | None:
    """Pack the text of a program, with scopes if there is room; None where there is none at all.

    It may take 5 % of the texts of the program, which have `of_length`, and 256,000 characters.
    """
    room = min(_MOST_PACKED, max(_ALWAYS_PACKED, int(_PART * of_length)))
    for kept in (keep_op_names(text), drop_metadata(text)):
        data = lzma.compress(kept.encode(errors="surrogateescape"), filters=[*_FILTERS])
        packed = base64.b85encode(data).decode("ascii")
        if len(packed) <= room:
            return packed
    return None


def unpack_program(packed: str, name: str) -> Source:
    """Return the text that was packed; raise InputError where it is damaged."""
    try:
        data = base64.b85decode(packed)
    except ValueError as error:
        raise InputError(f"{name}: the program in this baseline is damaged: {error}.") from error
    allowance = Allowance(name, DEFAULT_BUDGET, len(data))
    return Source(decompress(data, name, allowance).decode(errors="surrogateescape"), name)


_VERSION: Final = re.compile(r"(hlotool/(?P<name>[a-z-]+)/v)1")


def update_document(document: object) -> object:
    """Return JSON that any version of hlotool wrote as that of today writes it.

    Version 1 has other names. A baseline holds modules by names of the user, which stay.
    """
    schema = document.get("schema") if isinstance(document, dict) else None
    older = _VERSION.fullmatch(schema) if isinstance(schema, str) else None
    if older is None or not isinstance(document, dict):
        return document
    made = update_keys(document, older["name"])
    modules = document.get("modules")
    if isinstance(made, dict):
        made["schema"] = f"{older[1]}2"
        if isinstance(modules, dict):
            made["modules"] = {
                name: update_keys(one, older["name"]) for name, one in modules.items()
            }
    return made


def read_schema(text: str) -> str:
    """Return what a JSON document says it is, '' for any other text."""
    try:
        return _parse(Source(text))[0]
    except InputError:
        return ""


def make_summary(figures: Mapping[str, object]) -> SavedSummary:
    """Put figures by the names of metrics where a summary holds them."""
    made: Record = {}
    for path, value in figures.items():
        block, _, name = path.rpartition(".")
        inner: Any = made
        for key in _PLACES.get(block, (block,)):
            inner = inner.setdefault(key, {})
        inner[name] = value
    return convert(made, SavedSummary)


def _parse(source: Source) -> tuple[str, object]:
    """Return the schema of a document that can be read, and its JSON."""
    try:
        document = json.loads(
            source.text, parse_int=_read_int, parse_float=_read_float, parse_constant=_refuse
        )
        if _SURROGATE.search(source.text):  # half of a pair is a byte of a path, or no text
            json.dumps(document, ensure_ascii=False).encode(errors="surrogateescape")
    except ValueError as error:
        raise InputError(f"{source.name}: this is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise InputError(f"{source.name}: this JSON is nested too deeply.") from error
    written = document.get("schema") if isinstance(document, dict) else None
    document = update_document(document)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in (SUMMARY_SCHEMA, DIRECTORY_SCHEMA, BASELINE_SCHEMA):
        raise InputError(
            f"{source.name}: a {written} document cannot be compared; give one that "
            "hlotool summary --json or hlotool check --update-baseline wrote."
        )
    return schema, document


def _read_int(digits: str) -> int:
    """Read a whole number; raise ValueError for one that is no size for a figure."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"{digits[:_SHOWN]}… is too large")
    return int(digits)


def _read_float(digits: str) -> float:
    """Read a number with a point; raise ValueError for one that is no size for a figure."""
    value = float(digits)
    if abs(value) > LARGEST_FIGURE:
        raise ValueError(f"{digits[:_SHOWN]} is too large")
    return value


def _refuse(word: str) -> float:
    """Refuse what JSON does not have, though Python reads it: NaN and Infinity."""
    raise ValueError(f"{word} is not a number")
