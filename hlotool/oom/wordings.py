"""What messages say, how they write sizes, and the sentences that hlotool/data/wordings.toml has.

Sizes are rounded as a message writes them; `Size.slack_bytes` keeps how far that may be, so that
`63.80G` and an exact number of bytes can be found to be the same.
"""

from __future__ import annotations

import os
import re
import tomllib
from fractions import Fraction
from functools import cache
from math import prod
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

When: TypeAlias = Literal["compile", "load", "run"]
Kind: TypeAlias = Literal[
    "out-of-memory",
    "rematerialization",
    "involuntary-reshard",
    "donation-unused",
    "slow-compilation",
    "slow-constant-folding",
    "took",
    "cache-miss",
    "retracing",
    "allocator",
]


class Size(Struct, frozen=True):
    """A size as a message writes it; `slack_bytes` is how far rounding may have moved it."""

    bytes: int
    slack_bytes: int = 0


class ListedBuffer(Struct, frozen=True):
    """One entry of the list of what holds memory; None where the message does not say."""

    size_bytes: int | None = None
    unpadded_bytes: int | None = None
    shape: str | None = None  # as it is written, with the layout where there is one
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    label: str | None = None  # the instruction, or its opcode alone
    allocation_type: str | None = None
    is_parameter: bool = False
    padding: Size | None = None  # as the message writes it
    slack_bytes: int = 0  # how far rounding may have moved its sizes


class MemoryPart(Struct, frozen=True):
    """One line of a sum that a message writes out: `program 63.80G` of `Total hbm usage`."""

    group: str
    name: str
    size_bytes: int | None  # None where the message says that it is unknown
    slack_bytes: int = 0


class OutOfMemory(Struct, frozen=True):
    """The last message of a text; None where it does not say."""

    when: When
    space: str | None = None  # hbm, vmem, … where it is named
    device: str | None = None
    program: str | None = None
    requested: Size | None = None
    available: Size | None = None
    limit: Size | None = None  # all that a program may have, whatever else is allocated
    excess: Size | None = None  # how far the message says that it is too much
    buffers: tuple[ListedBuffer, ...] = ()
    parts: tuple[MemoryPart, ...] = ()
    message_count: int = 1  # messages in the text that ask for something else count once each
    has_beginning: bool = True  # False where only the list is left
    has_end: bool = True  # False where it stops inside the list, or entries of it are missing
    cut_size: str | None = None  # of the size at which the text stops: what is left


# A size in a pattern: `63.80G`, `12.50GiB`, `2.00 MiB`, `-2.55G`, `0B`, `4,237,689,856 bytes`.
SIZE: Final = (
    r"-?\d{1,30}+(?:,\d{3}){0,8}+(?:\.\d{1,6}+)?+"
    r"(?:\ ?(?:[KMGTPEkmgtpe](?:iB|B)?+|bytes?+|B)(?![A-Za-z]))?+"
)
# Patterns of messages are compiled by `re` when they are first met: hardly any text is one.
_PARTS: Final = r"(?P<number>-?[\d,]++)(?:\.(?P<decimals>\d++))?\s?(?P<unit>[A-Za-z]?)(?P<rest>\w*)"
_SCALE: Final = {letter: 1 << (10 * power) for power, letter in enumerate("KMGTPE", 1)}


def parse_size(text: str) -> Size:
    """Read a size that `SIZE` has matched; without a unit it is in bytes.

    size := number [ "." digits ] [ " " ] [ ("K" | "M" | "G" | "T" | "P" | "E") ["i"] ["B"]
          | "B" | "bytes" ]

    A lone K, M, G is KiB, MiB, GiB, as XLA means it. What is scaled is rounded to its last digit.
    """
    match = re.match(_PARTS, text)
    if match is None:
        return Size(0)
    decimals = match["decimals"] or ""
    number = Fraction(int(f"{match['number'].replace(',', '')}{decimals}"), 10 ** len(decimals))
    unit = match["unit"].upper()
    scale = _SCALE.get(unit, 1)
    slack = Fraction(scale, 2 * 10 ** len(decimals)) if scale > 1 else Fraction(0)
    return Size(int(number * scale), int(slack))


def find_size(text: str, *, has_unit: bool = False) -> Size | None:
    """Read a size, None for one of which nothing is known.

    That is one below zero, and one that a cut may have shortened: a fraction has a unit, and where
    `has_unit` each size.
    """
    is_bare = not text.strip()[-1:].isalpha()
    if text.startswith("-") or (is_bare and (has_unit or "." in text)):
        return None
    return parse_size(text)


class Wording(Struct, frozen=True):
    """One sentence of a log: a table of hlotool/data/wordings.toml."""

    id: str
    kind: Kind
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    when: When | None = None


@cache
def list_wordings() -> tuple[Wording, ...]:
    """Return all sentences, in order. Compiling them takes 10 ms, and few texts are logs."""
    path = os.path.normpath(os.path.join(__file__, "../../data/wordings.toml"))  # noqa: PTH118
    with open(path, "rb") as file:  # noqa: PTH123
        tables = tomllib.load(file)["wording"]
    texts = (one["pattern"].strip().replace("SIZE", SIZE) for one in tables)
    patterns = (re.compile(text, re.VERBOSE) for text in texts)
    return tuple(
        Wording(one["id"], one["kind"], tuple(one["hints"]), pattern, one.get("when"))
        for one, pattern in zip(tables, patterns, strict=True)
    )


# Of the list of an out-of-memory message, each line of which may be the first that is left.
_LIST_HINTS: Final = (
    *("program allocations in", ". Size: ", "XLA Label: ", "XLA label: ", "Parameter Subshape: "),
    *("OOM Debugging", " usage >= "),
)


@cache
def _list_hints(kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    """Return the words of which each line with a message has one.

    Logs have millions of lines, and searching thirty patterns in each would take minutes: most
    lines, and most texts, are done with after these words.
    """
    found = [hint for one in list_wordings() if one.kind in kinds for hint in one.hints]
    return (*dict.fromkeys(found), *(_LIST_HINTS if "out-of-memory" in kinds else ()))


_OUT_OF_MEMORY: Final[tuple[Kind, ...]] = ("out-of-memory",)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


def holds_message(text: str, kinds: tuple[Kind, ...] = _OUT_OF_MEMORY) -> bool:
    """Whether a text has a message of these kinds, or the list of an out-of-memory message.

    A short text may be wrapped: its sentences go on in the next line.
    """
    if _holds(text, kinds):
        return True
    return len(text) <= _LONGEST_WRAPPED and _holds(unwrap(text), kinds)


def unwrap(text: str) -> str:
    """Return a text as one line."""
    return " ".join(line.strip() for line in text.split("\n"))


def _holds(text: str, kinds: tuple[Kind, ...]) -> bool:
    for hint in _list_hints(kinds):
        position = text.find(hint)
        while position >= 0:
            line_end = text.find("\n", position)
            line_end = line_end if line_end >= 0 else len(text)
            line = text[text.rfind("\n", 0, position) + 1 : line_end]
            if find_wording(line, kinds) or find_orphan(line):
                return True
            position = text.find(hint, line_end)
    return False


_LONGEST_LINE: Final = 1 << 20  # characters of a line that are looked at
_LONGEST_WRAPPED: Final = 1 << 16


def find_wording(
    line: str, kinds: tuple[Kind, ...] = KINDS
) -> tuple[Wording, re.Match[str]] | None:
    """Return the first sentence of these kinds that a line has, and where."""
    if not any(hint in line for hint in _list_hints(kinds)):
        return None
    for one in list_wordings():
        if one.kind in kinds and (match := one.pattern.search(line, 0, _LONGEST_LINE)):
            return one, match
    return None


# The list alone, where the beginning of the message is lost.
_ORPHAN: Final = (
    r"BufferAssignment OOM Debugging|Largest program allocations in (?P<space>\w++)"
    rf"|^Total (?P<total>\w++) usage >= {SIZE}:"
    rf"|^\s*+(?P<number>\d{{1,9}})\. Size: {SIZE}\s*+$"
    r"|^\s*+(?:XLA (?P<label>[Ll]abel)|Entry Parameter Subshape): "
)
_SHAPE: Final = r"shape = '(?P<shape>[^']++)'"


def find_head(line: str, *, is_cut: bool = False) -> OutOfMemory | None:
    """Return what the first sentence of a message says, None if a line has none.

    Of a line that is cut, a number at its end may be the beginning of a longer one.
    """
    found = find_wording(line, _OUT_OF_MEMORY)
    if found is None:
        return None
    groups = found[1].groupdict()
    if is_cut:
        ends = {name: found[1].end(name) == len(line) and line[-1].isdigit() for name in groups}
        groups = {name: None if ends[name] else text for name, text in groups.items()}
    return _read(found[0].when or "run", groups)


def find_orphan(line: str) -> OutOfMemory | None:
    """Return a message without its beginning, where a line is of the list of one."""
    if not any(hint in line for hint in _LIST_HINTS):
        return None
    match = re.search(_ORPHAN, line[:_LONGEST_LINE])
    if match is None:
        return None
    space = match["space"] or match["total"]
    is_compiler = space or match["number"] or match["label"] == "label"
    return OutOfMemory("compile" if is_compiler else "run", space, has_beginning=False)


def _read(when: When, found: dict[str, str | None]) -> OutOfMemory:
    """Make a message of the groups of a wording."""
    requested = _find_size(found, "exact", "requested")
    dimensions, dtype = found.get("dimensions"), found.get("dtype")
    if dimensions is not None and dtype:
        requested = measure_tensor(dimensions, dtype)
    more = _find_size(found, "more")
    if requested and more:
        slack = requested.slack_bytes + more.slack_bytes
        requested = Size(requested.bytes + more.bytes, slack)
    limit = _find_size(found, "limit", "limit2")
    available = _find_size(found, "available", "available2", "free", "limit")
    in_use = _find_size(found, "in_use")
    if limit and in_use:
        available = Size(max(limit.bytes - in_use.bytes, 0))
    limit = limit or (available if when == "compile" else None)
    space = (found.get("space") or ("hbm" if more or "free" in found else "")).lower()
    place = {"memory": "shared memory"}.get(space, space) or None
    buffers = _list_label(found.get("label"), requested)
    if dimensions is not None:
        buffers = (describe_tensor(dimensions, dtype, requested),)
    who = found.get("device"), found.get("program")
    return OutOfMemory(when, place, *who, requested, available, limit, buffers=buffers)


def _list_label(label: str | None, requested: Size | None) -> tuple[ListedBuffer, ...]:
    """Return the one buffer that did not fit, where the sentence describes it."""
    if label is None:
        return ()
    shape = re.search(_SHAPE, label)
    size = requested.bytes if requested else None
    return (ListedBuffer(size, shape=shape["shape"] if shape else None, label=label),)


def _find_size(found: dict[str, str | None], *names: str) -> Size | None:
    """Return the size of the first of these groups that a wording has found."""
    texts = (found.get(name) for name in names)
    return next((find_size(text) for text in texts if text), None)


# TensorFlow tells a tensor: its shape, its type under its own names, and in later lines its node.
_LONGEST: Final = 2000  # characters of dimensions, and of a node's name
_BYTES: Final = {"bool": 1, "half": 2, "bfloat16": 2, "float": 4, "double": 8, "complex64": 8}
_BYTES_BY_BITS: Final = r"[a-z]+?(?P<bits>8|16|32|64|128)(?:_t)?"
_NAMES: Final = {
    "bool": "pred",
    "half": "f16",
    "bfloat16": "bf16",
    "float": "f32",
    "double": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
_INTEGER: Final = re.compile(r"(?P<sign>u?)int(?P<bits>4|8|16|32|64)(?:_t)?")
_NODE: Final = re.compile(
    rf"\[\[(?:Node: |\{{\{{node |node )(?P<node>[^\s\]}}]{{1,{_LONGEST}}})"
    rf"|\[Op:(?P<op>\w{{1,{_LONGEST}}})"
)


def measure_tensor(dimensions: str, dtype: str) -> Size | None:
    """Return the bytes of a tensor, None where its type is unknown."""
    bits = re.fullmatch(_BYTES_BY_BITS, dtype)
    size = _BYTES.get(dtype) or (int(bits["bits"]) // 8 if bits else None)
    sizes = [each[:18] for each in dimensions.split(",") if each][:64]
    return None if size is None else Size(prod(map(int, sizes)) * size)


def describe_tensor(dimensions: str, dtype: str | None, size: Size | None) -> ListedBuffer:
    """Return the tensor as a buffer: `f32[64,9]`, or `[64,9]` where no type is given."""
    integer = _INTEGER.fullmatch(dtype or "")
    name = f"{'u' if integer['sign'] else 's'}{integer['bits']}" if integer else None
    written = name or _NAMES.get(dtype or "", dtype or "")
    return ListedBuffer(size.bytes if size else None, shape=f"{written}[{dimensions[:_LONGEST]}]")


def find_node(line: str) -> str | None:
    """Return the node, or else the operation, that a line names in brackets.

    node := "[[" ( "Node: " | "{{node " | "node " ) name … | "[Op:" operation
    """
    match = _NODE.search(line, 0, 1 << 20)
    return (match["node"] or match["op"]) if match else None
