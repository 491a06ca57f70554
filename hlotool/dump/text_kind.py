"""Which lines of a log begin like another, and what stands behind?

The prefixes that a logger puts before each line of a message differ in their numbers only.

Where do modules begin in a text that also holds other things?

At a line that starts with `HloModule`. In a log a prefix may stand before it, on the first
line of the module or on every one.

Tell what a text is: an HLO module, a part of a buffer assignment, or none of ours.

Only the first words decide, never the name of the file; nothing is parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct

from hlotool.hlo.scanner import NAME
from hlotool.oom.wordings import holds_message

_PIECE: Final = re.compile(r"[0-9]++|[ \t]++|[^0-9 \t]++")
_DIGITS: Final = re.compile(r"[0-9]++")
_BLANKS: Final = re.compile(r"[ \t]++")


class Prefix:
    """The prefix of one line, and all that differ from it in numbers and blanks alone."""

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


_WORD: Final = "HloModule"
_LONGEST_PREFIX: Final = 200
# Strings on one line and comments are passed over; a `/*` that is not closed before the next
# one is a path.
_TOKEN: Final = re.compile(
    rf'"(?:[^"\\\n]++|\\.)*+"|//[^\n]*+|/\*(?:[^*/]++|\*(?!/)|/(?!\*))*+\*/|{_WORD}'
)
_NO_PREFIX: Final = re.compile(r"""["'`]|/\*""")  # of a log: a string or a comment
_HEADER: Final = re.compile(
    rf"{_WORD}[ ]++%?+{NAME}[ ]*+(?:(?P<more>,\s*+[a-z_]++=)[^\n]*+|(?=\n|\Z))"
)
# What stands behind a header: an index table, or the first line of a computation.
_BEGINS: Final = re.compile(
    rf"[ \t]*+(?:(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+$"
    rf"|(?:ENTRY[ ]++)?+(?:%?+{NAME}[ ]*+)?+(?:\([^\n]*)?\{{)",
    re.MULTILINE,
)
_EMPTY: Final = re.compile(r"[ \t]*+(?://[^\n]*+)?+(?:\n|\Z)")


class Heading(Struct, frozen=True):
    """Where the first word of a module stands, and the prefix before it on its line."""

    position: int
    prefix: str = ""


def find_headings(text: str) -> Iterator[Heading]:
    """Yield the headers of modules in order; strings and comments that look so do not count.

    header = [ prefix ] "HloModule" " " name ( "," key "=" … | end of the line )

    Behind a prefix a module must follow below: a log also mentions modules.
    """
    if _WORD not in text:
        return
    for token in _TOKEN.finditer(text):
        position = token.start()
        if token.group() != _WORD:
            continue
        begin = max(position - _LONGEST_PREFIX - 1, 0)
        line_start = text.rfind("\n", begin, position) + 1
        if line_start == 0 and begin > 0:
            continue
        prefix = text[line_start:position]
        header = _HEADER.match(text, position)
        if header and not prefix.strip():
            yield Heading(position)
        elif header and not _NO_PREFIX.search(prefix) and _begins_below(text, header, prefix):
            yield Heading(position, prefix)


def _begins_below(text: str, header: re.Match[str], prefix: str) -> bool:
    """Whether a module begins below a header; where the text ends there, whether it may have."""
    own, start = Prefix(prefix), header.end() + 1
    while start < len(text):
        begin = own.end_in(text, start)
        empty = _EMPTY.match(text, begin)
        if empty is None:
            return _BEGINS.match(text, begin) is not None
        start = empty.end()
    return header["more"] is not None


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
    # What it does not read, each with a sentence of its own (see `refusals`).
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

Table = tuple[tuple[TextKind, re.Pattern[str]], ...]


def _make_table(*rows: tuple[TextKind, str]) -> Table:
    return tuple((kind, re.compile(text, re.VERBOSE)) for kind, text in rows)


# Tried in this order at the first word. Grammar in the regular expressions.
_OURS: Final = _make_table(
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
_FOREIGN: Final = _make_table(
    (TextKind.EMPTY, r"\Z"),
    (
        TextKind.MLIR,
        r"""\#\w[\w.]*+\s*+= | !\w++\s*+= | (?:builtin\.)?+module\b[^\n]*\{ | "builtin\.module"
        | func\.func\b | func\s++(?:private|public)?+\s*+@
        | %[\w\#:,\ %]++=\s*+"?+[a-z_]++\.[a-z]""",
    ),
    (TextKind.JAXPR, r"\{\s*+(?:\x1b\[[\d;]*+m)*+lambda\b|let\ \w++\ =\ \{\s*+lambda\b"),
    (
        TextKind.LLVM_IR,
        r""";\ ModuleID | source_filename\ = | target\ (?:datalayout|triple)\ =
        | define\ .*\{ | declare\  | @[\w.]++\ =\ """,
    ),
    (TextKind.PTX, r"\.version\ \d"),
    (TextKind.THUNKS, r"\d{3,}+:\ k[A-Z]\w++\b"),
    (TextKind.JSON, r'\{\s*+(?:"|\})|\[\s*+(?:["{\[\]\d\-])'),
    (TextKind.PROTO_TEXT, r"\w++\s*+\{\s*+(?:\w++\s*+[{:]|\})|\w++:\s"),
    (TextKind.FLAGS, r"--\w"),
    (TextKind.HTML, r"<(?:!DOCTYPE|html|\?xml)"),
    (TextKind.COLORED, r"\x1b\["),
    (TextKind.DOT, r"(?:strict\s++)?+(?:di)?+graph\b[^\n]*\{"),
)
_FIRST_WORD: Final = re.compile(_SKIP)
_BEGIN_MARK: Final = re.compile(r"^\*\*\* Begin \S.* \*\*\*$", re.MULTILINE)
_SCHEMA: Final = re.compile(r'"schema"\s*+:\s*+"hlotool/')


def detect_kind(text: str) -> Detection:
    """Say what a text holds and where its first word stands; any text has an answer.

    Blanks and comments (`//` and `/* */`) before the first word do not count. Where the
    first word says nothing, a line `*** Begin NAME ***` makes it a stream, and the header of
    a module (see `find_headings`) a module with something else, a log, before it. Any other text
    with an out-of-memory message is one, but for JSON.
    """
    first = _FIRST_WORD.match(text)
    begin = first.end() if first else 0
    kind = _find_kind(_OURS, text, begin)
    if kind is TextKind.ALLOCATIONS and _has_values(text, begin):
        return Detection(TextKind.BUFFERS, begin)
    if kind is not None:
        return Detection(kind, begin)
    if mark := _BEGIN_MARK.search(text):
        return Detection(TextKind.STREAM, mark.start(), mark.start() > begin)
    if heading := next(find_headings(text), None):
        return Detection(TextKind.MODULE, heading.position, has_preamble=True)
    foreign = _find_kind(_FOREIGN, text, begin) or TextKind.UNKNOWN
    if foreign is TextKind.JSON and _SCHEMA.search(text, begin):
        return Detection(TextKind.DOCUMENT, begin)
    if foreign is not TextKind.JSON and holds_message(text):
        return Detection(TextKind.OUT_OF_MEMORY, begin)
    return Detection(foreign, begin)


def _find_kind(table: Table, text: str, begin: int) -> TextKind | None:
    """Return the first kind whose pattern stands at an offset."""
    return next((kind for kind, each in table if each.match(text, begin)), None)


def _has_values(text: str, begin: int) -> bool:
    """Whether a buffer assignment is the old one-file form."""
    return text.find("\nTotal bytes used:", begin) >= 0 or text.find("\nUsed values:", begin) >= 0
