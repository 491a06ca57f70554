"""What an out-of-memory message says, and the sentences that it begins with, as patterns.

Sizes are rounded as the message writes them; `Size.slack_bytes` keeps how far that may be, so that
`63.80G` and an exact number of bytes can be found to be the same.

Adding a wording is adding a pattern to `_WORDINGS`; `_HINTS` must hold a word of it. The wordings
are those of XLA's compilers (TPU), its runtimes (PJRT, stream executor), the BFC allocator that it
shares with TensorFlow, the drivers of CUDA and ROCm, and of PyTorch.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from math import prod
from typing import Final, Literal, TypeAlias

from msgspec import Struct

When: TypeAlias = Literal["compile", "load", "run"]


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


# A size in a pattern: `63.80G`, `12.50GiB`, `2.00 MiB`, `-2.55G`, `0B`, `4,237,689,856 bytes`.
SIZE: Final = (
    r"-?\d{1,30}+(?:,\d{3}){0,8}+(?:\.\d{1,6}+)?+"
    r"(?:\ ?(?:[KMGTPEkmgtpe](?:iB|B)?+|bytes?+|B)(?![A-Za-z]))?+"
)
# Patterns of messages are compiled by `re` when they are first met: hardly any text is one.
_PARTS: Final = r"(?P<number>-?[\d,]++)(?:\.(?P<decimals>\d++))?\s?(?P<unit>[A-Za-z]?)(?P<rest>\w*)"
_SCALE: Final = {letter: 1 << (10 * power) for power, letter in enumerate("KMGTPE", 1)}


def parse_size(text: str) -> Size:
    """Read a size that `SIZE` has matched.

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


def find_size(text: str) -> Size | None:
    """Read a size that cannot be below zero, None for one that is: nothing is known of it then."""
    return None if text.startswith("-") else parse_size(text)


# Every message has one of these. Logs have millions of lines, and searching twenty patterns in each
# would take minutes: most lines, and most texts, are done with after these words.
_HINTS: Final = (
    *("ut of memory", "OOM ", "OutOfMemory", "OUT_OF_MEMORY", "hipError_t", "ttempting to "),
    *(
        "would exceed memory",
        "ailed to alloc",
        "ould not allocate",
        "PA budget",
        "MemoryAllocation",
        "Hbm usage",
        "enough memory.",
        " scoped ",
        "emory size limit",
    ),
    *("program allocations in", ". Size: ", "XLA Label: ", "XLA label: ", "Parameter Subshape: "),
)


def is_hinted(text: str) -> bool:
    """Whether a text, or a line of one, has a word that every message has."""
    return any(hint in text for hint in _HINTS)


def holds_message(text: str) -> bool:
    """Whether a text has an out-of-memory message, or the list of one."""
    for hint in _HINTS:
        position = text.find(hint)
        while position >= 0:
            line_end = text.find("\n", position)
            line_end = line_end if line_end >= 0 else len(text)
            line = text[text.rfind("\n", 0, position) + 1 : line_end]
            if find_head(line) or find_orphan(line):
                return True
            position = text.find(hint, line_end)
    return False


_LONGEST_LINE: Final = 1 << 20  # characters of a line that are looked at


# By when what they tell of happens; the first that is found in a line counts. Groups are fields of
# the message, SIZE is a size as messages write it.
_WORDINGS: Final[dict[When, tuple[str, ...]]] = {
    "compile": (
        r"""Ran\ out\ of\ memory\ in\ memory\ space\ (?P<space>\w++)
        (?:\ while\ allocating\ on\ stack\ for\ (?P<label>%?[^\n]{1,2000}?)(?=\.\ |\.?$))?+
        (?:\..{0,300}?Used\ (?P<requested>SIZE)\ of\ (?P<available>SIZE))?""",
        r"""Ran\ out\ of\ memory\ on\ (?P<space>\w++),[^()\n]{0,200}+\((?P<requested>SIZE)\)
        \ exceeds\ available\ \w++\ \((?P<available>SIZE)\)
        (?:\.\ HLO\ module:\ (?P<program>[\w.\-]{1,300}?)\.?(?=\s|$))?+""",
        r"""Allocation\ \(size=(?P<requested>SIZE)\)\ would\ exceed\ memory
        \ \(size=(?P<available>SIZE)\)(?:\ ::\ (?P<label>[^\n]{0,300}?space=(?P<space>\w++)))?+""",
        r"""[Uu]sage:?\ (?P<requested>SIZE),\ SparseCore\ Hbm\ usage:?\ (?P<more>SIZE),
        \ exceeding\ available\ bytes:\ (?P<available>SIZE)""",
        r"""unlikely\ to\ have\ enough\ memory\.
        \ Requires\ (?P<requested>SIZE),\ has\ (?P<available>SIZE)\ available""",
        r"""(?:[Ss]coped\ )?+[Aa]llocation\ with\ size\ (?P<requested>SIZE)
        (?:\ and\ limit\ (?P<available>SIZE))?+\ exceed(?:s|ed)(?:\ the)?+\ scoped\ (?P<space>\w++)
        \ limit(?:\ of\ (?P<limit>SIZE))?+""",
        r"Insufficient\ scoped\ (?P<space>\w++):\ (?P<requested>SIZE)\ >\ (?P<available>SIZE)",
        r"""Shared\ (?P<space>memory)\ size\ limit\ exceeded:
        \ requested\ (?P<requested>SIZE),\ available:\ (?P<available>SIZE)""",
    ),
    "load": (
        r"""(?:program\ '(?P<program>[^'\n]{1,300})':\ )?+
        Attempting\ to\ reserve\ (?P<requested>SIZE)\ at\ the\ (?:bottom|top)\ of\ memory
        (?:\.\ That\ was\ not\ possible\.\ There\ are\ (?P<free>SIZE)\ free
        (?:,\ SIZE\ reserved,\ and\ (?P<available>SIZE)\ reservable)?+)?+""",
    ),
    "run": (
        r"""Attempting\ to\ allocate\ (?P<requested>SIZE)\.\ That\ was\ not\ possible
        (?:\.\ There\ are\ (?P<available2>SIZE)\ free
        (?:\.\ [^()\n]{0,60}?largest\ contiguous\ region[\w\ ]{0,30}?\ is
        \ (?P<available>SIZE))?+)?+
        (?:[.;]*+\ \((?P<device>\w{1,40}?)_(?P<space>HBM)\d*+\))?+""",
        r"""Could\ not\ allocate\ (?P<requested>SIZE)
        \ in\ memory\ (?P<device>\w{1,40}?)_(?P<space>HBM)\d*+
        (?:;\ (?P<available>SIZE)\ allocatable)?+""",
        r"""(?:Allocator\ \((?P<device>\w++)\)\ )?+[Rr]an\ out\ of\ memory\ trying\ to\ allocate
        \ (?P<requested>SIZE)(?:\ \(rounded\ to\ (?P<exact>\d++)\))?+
        (?!.*not\ a\ failure)""",
        r"""[Oo]ut\ of\ memory\ (?:while\ trying\ to\ allocate|allocating)\ (?P<requested>SIZE)""",
        r"""[Ff]ailed\ to\ allocate\ request\ for\ (?P<requested>SIZE)\ \((?P<exact>\d++)B\)
        (?:\ on\ device\ ordinal\ (?P<device>\d++))?+""",
        r"""[Ff]ailed\ to\ allocate\ (?P<requested>SIZE)(?:\ \((?P<exact>\d++)(?:\ bytes|B)\))?+
        \ from\ device:\ (?:CUDA_ERROR_OUT_OF_MEMORY|HIP_ERROR_OutOfMemory|hipErrorOutOfMemory
        |hipError_t\(1?002\)|RESOURCE_EXHAUSTED|out\ of\ memory)""",
        r"""(?:(?P<device>\w++)\ )?+cuMemAllocAsync\ failed\ to\ allocate\ (?P<requested>SIZE)""",
        r"""failed\ to\ alloc\ (?P<requested>SIZE)\ (?:on\ (?P<space>host)|unified\ memory)""",
        r"""could\ not\ allocate\ pinned\ (?P<space>host)\ memory
        \ of\ size:\ (?P<requested>SIZE)""",
        r"""Not\ enough\ PA\ budget\ for\ allocation:\ pa_allocated=(?P<in_use>SIZE),
        \ rounded_size=(?P<requested>SIZE),\ pa_budget=(?P<limit>SIZE)""",
        r"""OOM\ when\ allocating\ tensor\ (?:with|of)\ shape\ ?\[(?P<dimensions>[\d,]*+)\]
        (?:\ and\ type\ (?P<dtype>\w++)(?:\ on\ (?P<device>\S++))?+)?+""",
        r"""(?:CUDA|HIP|XPU)\ out\ of\ memory\.\ Tried\ to\ allocate\ (?P<requested>SIZE)
        (?:.{0,20}?GPU\ (?P<device>\d++)(?:
            \ has\ a\ total\ capacity\ of\ (?P<limit>SIZE)\ of\ which\ (?P<available>SIZE)\ is\ free
            |;\ (?P<limit2>SIZE)\ total\ capacity;\ SIZE\ already\ allocated;
             \ (?P<available2>SIZE)\ free))?""",
        r"""CUDA_ERROR_OUT_OF_MEMORY|HIP_ERROR_OutOfMemory|hipErrorOutOfMemory
        |cudaErrorMemoryAllocation""",
    ),
}


@cache
def _compile_wordings() -> tuple[tuple[When, re.Pattern[str]], ...]:
    """Return the patterns. Compiling them takes 8 ms, and few texts have a hint of a message."""
    return tuple(
        (when, re.compile(text.replace("SIZE", SIZE), re.VERBOSE))
        for when, texts in _WORDINGS.items()
        for text in texts
    )


# The list alone, where the beginning of the message is lost.
_ORPHAN: Final = (
    r"BufferAssignment OOM Debugging|Largest program allocations in (?P<space>\w++)"
    rf"|^\s*+\d{{1,9}}\. Size: {SIZE}\s*+$|^\s*+(?:XLA [Ll]abel|Entry Parameter Subshape): "
)
_SHAPE: Final = r"shape = '(?P<shape>[^']++)'"


def find_head(line: str) -> OutOfMemory | None:
    """Return what the first sentence of a message says, None if a line has none."""
    if not is_hinted(line):
        return None
    for when, pattern in _compile_wordings():
        match = pattern.search(line, 0, _LONGEST_LINE)
        if match is not None:
            return _read(when, match.groupdict())
    return None


def find_orphan(line: str) -> OutOfMemory | None:
    """Return a message without its beginning, where a line is of the list of one."""
    if not is_hinted(line):
        return None
    match = re.search(_ORPHAN, line[:_LONGEST_LINE])
    if match is None:
        return None
    when: When = "compile" if match["space"] else "run"
    return OutOfMemory(when, match["space"], has_beginning=False)


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
    space = (found.get("space") or ("hbm" if more or "free" in found else "")).lower()
    return OutOfMemory(
        when,
        {"memory": "shared memory"}.get(space, space) or None,
        found.get("device"),
        found.get("program"),
        requested,
        available,
        limit or (available if when == "compile" else None),
        buffers=_list_label(found.get("label"), requested)
        if dimensions is None
        else (describe_tensor(dimensions, dtype, requested),),
    )


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
    shape = f"{written}[{dimensions[:_LONGEST]}]"
    return ListedBuffer(size.bytes if size else None, shape=shape)


def find_node(line: str) -> str | None:
    """Return the node, or else the operation, that a line names in brackets.

    node := "[[" ( "Node: " | "{{node " | "node " ) name … | "[Op:" operation
    """
    match = _NODE.search(line, 0, 1 << 20)
    return (match["node"] or match["op"]) if match else None
