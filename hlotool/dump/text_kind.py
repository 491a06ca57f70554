"""What a text is: an HLO module, a part of a buffer assignment, or none of ours.

Only the first words decide, never the name of the file; nothing is parsed here. A module begins at
a line that starts with `HloModule`; in a log a prefix may stand before it, on the first line of the
module or on every one. What is not read is refused in a sentence that says what to give instead.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Final

from msgspec import Struct

from hlotool.errors import InputError
from hlotool.hlo.scanner import NAME


class TextKind(Enum):
    """What a text holds; the value completes the sentence "this is …"."""

    # What hlotool reads.
    MODULE = "the text of an HLO module"
    BUFFERS = "a buffer assignment with its values in one file"  # as XLA wrote it until 2025
    ALLOCATIONS = "the allocations of a buffer assignment"
    VALUES = "the values of a buffer assignment"
    LIVE_RANGE = "the live ranges of a buffer assignment"
    MEMORY_REPORT = "a memory-usage report"
    DEBUG_OPTIONS = "a list of XLA debug options"
    DOCUMENT = "a JSON document of hlotool"
    STREAM = "a dump printed to standard output"
    OUT_OF_MEMORY = "an out-of-memory message"
    LOG = "a log with messages of XLA or JAX"
    # What it does not read, each with a sentence of its own in hlotool/data/kinds.toml.
    EMPTY = "empty"
    MLIR = "MLIR (StableHLO or another dialect)"
    JAXPR = "a jaxpr"
    LLVM_IR = "LLVM IR"
    PTX = "PTX assembly"
    THUNKS = "a list of XLA thunks"
    PROTO_TEXT = "a protobuf in text form"
    FLAGS = "a list of command-line flags"
    JSON = "JSON"
    HTML = "HTML"
    DOT = "a Graphviz graph"
    LAZY_IR = "PyTorch/XLA's lazy IR"
    ALLOCATOR = "a log of a memory allocator"
    COLORED = "text with codes for colours"
    UNKNOWN = "text of no known kind"


class Detection(Struct, frozen=True):
    """The kind of a text, and the offset at which its own first word stands."""

    kind: TextKind
    begin: int
    has_preamble: bool = False  # something that is no comment stands before `begin`


_NAME: Final = r"%?[A-Za-z_][\w.\-]*+"
_SKIP: Final = r"(?:\s++|//[^\n]*+|/\*(?s:.*?)\*/)*+"  # blanks and both kinds of comments
_INSTRUCTION: Final = rf"""
    (?:ROOT\s++)?+ {_NAME} \s++=\s*+
    (?: \( | [a-z]\w*+\[ | [a-z][a-z0-9\-]*+\( {_SKIP} (?:%|\w++\[|\)) )
"""
_TEMPLATE: Final = rf"""
    (?:ROOT\s++)?+ {_NAME} \s++=\s*+ (?:\$\{{?+\w++\}}?+ | %[a-z] | \{{\w++\}} | [A-Z]\w*+)\[
"""
_COMPUTATION: Final = rf"""
    (?:ENTRY\s++)?+ {_NAME} \s*+ (?:\( [^{{}}"]*+ \s*+)?+
    \{{ {_SKIP} (?:{_INSTRUCTION} | {_TEMPLATE})
"""


# Tried in this order at the first word, and compiled then: nearly every text is a module.
# Grammar in the regular expressions.
_OURS: Final = (
    (TextKind.MODULE, r"HloModule(?=[\s,])"),
    (TextKind.ALLOCATIONS, r"BufferAssignment:\s|allocation\ \d++:\ size"),
    (
        TextKind.MEMORY_REPORT,
        r"Memory\ Space:\ .*\(color=|Total\ bytes\ used:.*\s++Allocations\ sorted",
    ),
    (TextKind.VALUES, r"Total\ bytes\ used:|Used\ values:"),
    (TextKind.LIVE_RANGE, r"HloLiveRange\ (?:\(max|not\ available)"),
    (TextKind.DEBUG_OPTIONS, r"xla_\w++:\s"),
    (TextKind.MODULE, _COMPUTATION),
    (TextKind.MODULE, _INSTRUCTION),
)
_FIRST_WORD: Final = re.compile(_SKIP)
_BEGIN_MARK: Final = re.compile(r"^\*\*\* Begin \S.* \*\*\*$", re.MULTILINE)
_SCHEMA: Final = re.compile(r'"schema"\s*+:\s*+"hlotool/')
# Where these stand behind allocations, it is the old one-file form of a buffer assignment.
_VALUES_BEHIND: Final = ("\nTotal bytes used:", "\nUsed values:")


def detect_kind(text: str) -> Detection:
    """Say what a text holds and where its first word stands; any text has an answer.

    Blanks and comments (`//` and `/* */`) before the first word do not count. Where the
    first word says nothing, a line `*** Begin NAME ***` makes it a stream, and the header of
    a module (see `list_headings`) a module with something else, a log, before it. Any other text
    with an out-of-memory message is one, but for JSON.
    """
    first = _FIRST_WORD.match(text)
    begin = first.end() if first else 0
    kind = _find_first(_OURS, text, begin)
    if kind is TextKind.ALLOCATIONS and any(text.find(m, begin) >= 0 for m in _VALUES_BEHIND):
        return Detection(TextKind.BUFFERS, begin)
    if kind is not None:
        return Detection(kind, begin)
    if mark := _BEGIN_MARK.search(text):
        return Detection(TextKind.STREAM, mark.start(), mark.start() > begin)
    if heading := next(list_headings(text), None):
        return Detection(TextKind.MODULE, heading.position, has_preamble=True)
    kinds = _read_kinds().items()
    foreign_kinds = ((TextKind[name], one["begins"]) for name, one in kinds if "begins" in one)
    foreign = _find_first(foreign_kinds, text, begin) or TextKind.UNKNOWN
    if foreign is TextKind.JSON and _SCHEMA.search(text, begin):
        return Detection(TextKind.DOCUMENT, begin)
    from hlotool.oom.wordings import KINDS, holds_message  # noqa: PLC0415  most texts are dumps

    if foreign is not TextKind.JSON and holds_message(text):
        return Detection(TextKind.OUT_OF_MEMORY, begin)
    if foreign in {TextKind.UNKNOWN, TextKind.ALLOCATOR} and holds_message(text, KINDS):
        return Detection(TextKind.LOG, begin)
    return Detection(foreign, begin)


@cache
def _read_kinds() -> Mapping[str, Mapping[str, str]]:
    """Return what hlotool/data/kinds.toml has, by the names of kinds: `begins`, `says` or both."""
    path = os.path.normpath(os.path.join(__file__, "../../data/kinds.toml"))
    with open(path, encoding="utf-8") as file:
        return tomllib.loads(file.read())


def _find_first(table: Iterable[tuple[TextKind, str]], text: str, begin: int) -> TextKind | None:
    found = (kind for kind, each in table if re.compile(each, re.VERBOSE).match(text, begin))
    return next(found, None)


_WORD: Final = "HloModule"
_LONGEST_PREFIX: Final = 200
# Strings on one line and comments are passed over; a `/*` that is not closed before the next
# one is a path. Compiled when met, as the tables above are.
_TOKEN: Final = rf'"(?:[^"\\\n]++|\\.)*+"|//[^\n]*+|/\*(?:[^*/]++|\*(?!/)|/(?!\*))*+\*/|{_WORD}'
_NO_PREFIX: Final = re.compile(r"""["'`]|/\*""")  # of a log: a string or a comment
_HEADER: Final = rf"{_WORD}[ ]++%?+{NAME}[ ]*+(?:(?P<more>,\s*+[a-z_]++=)[^\n]*+|(?=\n|\Z))"
# What stands behind a header: an index table, or the first line of a computation.
_BEGINS: Final = (
    r"(?m)[ \t]*+(?:(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+$"
    rf"|(?:ENTRY[ ]++)?+(?:%?+{NAME}[ ]*+)?+(?:\([^\n]*)?\{{)"
)
_EMPTY: Final = re.compile(r"[ \t]*+(?://[^\n]*+)?+(?:\n|\Z)")


class Heading(Struct, frozen=True):
    """Where the first word of a module stands, and the prefix before it on its line."""

    position: int
    prefix: str = ""


def list_headings(text: str) -> Iterator[Heading]:
    """Yield the headers of modules in order; strings and comments that look so do not count.

    header = [ prefix ] "HloModule" " " name ( "," key "=" … | end of the line )

    Behind a prefix a module must follow below: a log also mentions modules.
    """
    if _WORD not in text:
        return
    for token in re.finditer(_TOKEN, text):
        position = token.start()
        if token.group() != _WORD:
            continue
        begin = max(position - _LONGEST_PREFIX - 1, 0)
        line_start = text.rfind("\n", begin, position) + 1
        if line_start == 0 and begin > 0:
            continue
        prefix = text[line_start:position]
        header = re.compile(_HEADER).match(text, position)
        if header and not prefix.strip():
            yield Heading(position)
        elif header and not _NO_PREFIX.search(prefix) and _begins_below(text, header, prefix):
            yield Heading(position, prefix)


def _begins_below(text: str, header: re.Match[str], prefix: str) -> bool:
    """Whether a module begins below a header; where the text ends there, whether it may have."""
    own, start = Prefix(prefix), header.end() + 1
    while start < len(text):
        begin = own.end_in(text, start)
        if (empty := _EMPTY.match(text, begin)) is None:
            return re.compile(_BEGINS).match(text, begin) is not None
        start = empty.end()
    return header["more"] is not None


_PIECE: Final = re.compile(r"[0-9]++|[ \t]++|[^0-9 \t]++")
_DIGITS: Final = re.compile(r"[0-9]++")
_BLANKS: Final = re.compile(r"[ \t]++")


class Prefix:
    """What a logger puts before a line; those of its other lines differ in numbers and blanks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = _PIECE.findall(text.rstrip())
        self._is_word = text[-1:].isalnum() or text[-1:].isspace()

    def end_in(self, text: str, start: int) -> int:
        """Return where the prefix of the line that begins at an offset ends; `start` if none."""
        at = start
        for piece in self._pieces:
            kind = _DIGITS if piece[0].isdecimal() else _BLANKS if piece.isspace() else None
            if kind is None:
                end = at + len(piece) if text.startswith(piece, at) else -1
            else:
                match = kind.match(text, at)
                end = match.end() if match else -1
            if end < 0:
                return start
            at = end
        return start if self._is_word and text[at : at + 1].strip() else at

    def blank_out(self, text: str) -> str:
        """Put blanks in the place of the prefix on each line that has it; columns stay."""
        lines = text.splitlines(keepends=True)
        ends = [self.end_in(line, 0) for line in lines]
        return "".join(" " * end + line[end:] for end, line in zip(ends, lines, strict=True))


MLIR_BYTECODE: Final = b"ML\xefR"  # how it begins
HOW_TO_DUMP: Final = (
    "To make a text dump, run the program with "
    'XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_as_text", '
    "or save what compiled.as_text() returns in JAX."
)

_LEADS_BY_ITSELF: Final = (
    TextKind.DEBUG_OPTIONS,
    TextKind.MEMORY_REPORT,
    TextKind.VALUES,
    TextKind.LIVE_RANGE,
    TextKind.OUT_OF_MEMORY,
    TextKind.LOG,
)


def is_refused(kind: TextKind) -> bool:
    """Whether a kind is none that hlotool reads, alone or with other files."""
    is_named = "says" in _read_kinds().get(kind.name, ())
    return is_named and kind not in {*_LEADS_BY_ITSELF, TextKind.COLORED}


def refuse_kind(kind: TextKind, lead: str, tail: str = "") -> InputError:
    """Return the error that says what a text is, behind the name of its file, and what to do."""
    unexpected = f"this is {kind.value}, which is not expected here."
    sentence = _read_kinds().get(kind.name, {}).get("says", unexpected)
    more = () if kind in _LEADS_BY_ITSELF else (HOW_TO_DUMP,)
    return InputError(f"{lead}{sentence}{tail}", *more)
