"""Texts that are not, or not enough of, HLO, and the sentences that say so.

Print styles that leave out too much (the options are those of HloPrintOptions,
xla/hlo/ir/hlo_print_options.h); templates that are yet to be filled in; lines of something else.

Programs that make HLO keep it with `$0`, `${type}`, `{type}`, `%s` or `TYPE` in the place of
what varies. No name, number or type of HLO looks so, but in the place of a name `%s` is one.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import ParseError
from hlotool.text import Source

NO_NAMES: Final = (
    "computation names are missing: this text was printed with print_ids off, so "
    "operands are ambiguous; dump it again with ids"
)
NO_SHAPE: Final = (
    "the shape of {} is missing, and cannot be inferred: write it, or print the text again "
    "with print_result_shape on"
)
NO_OPCODE: Final = (
    "hlotool does not know the opcode {0}, so its shape is unknown: correct the name, or "
    "write the shape of a newer opcode"
)
NO_OPERANDS: Final = (
    "operand names are missing: this text was printed with print_operand_names off; "
    "dump it again with operand names"
)
CUT_OPERANDS: Final = (
    "operand names are missing: this text was printed with compact_operands, which cuts long "
    "lists; dump it again without"
)
DELETED_OPERAND: Final = (
    "an operand is missing: XLA prints 'null' for one that a pass has deleted and not yet replaced"
)

# One attribute that XLA's own parser insists on (hlo_parser.cc, those marked required), and the
# opcodes that need it; the names of computations are not among them, since they are another print
# option.
_REQUIRED: Final = {
    "custom_call_target": "custom-call",
    "dim_labels": "convolution",
    "dimensions": (
        "all-gather all-gather-start concatenate reduce reduce-scatter reverse sort transpose"
    ),
    "direction": "compare",
    "dynamic_slice_sizes": "dynamic-slice",
    "index": "get-tuple-element",
    "index_vector_dim": "scatter",
    "iota_dimension": "iota",
    "padding": "pad",
    "slice": "slice",
    "slice_sizes": "gather",
    "source_target_pairs": "collective-permute collective-permute-start",
}
REQUIRED: Final = {opcode: key for key, opcodes in _REQUIRED.items() for opcode in opcodes.split()}

_MARK: Final = "$"
# Compiled when met: few texts have anything of this.
_WORD: Final = r"\$(?:\{[^}\n]*+\}|\w++)"
# Behind one of these nothing is told of a `$`: all of a string or comment is passed over.
_STRING: Final = r'"(?:[^"\\]++|\\(?s:.))*+"'
_STEP: Final = rf"{_STRING}|//[^\n]*+|/\*(?s:.*?)\*/|(\$)"
_PLACEHOLDER: Final = r"%[a-z](?![\w.\-])|\{[A-Za-z_]\w*+\}(?=\[)|[A-Z][A-Z0-9_]*+(?=[\[(\],])"

NAMELESS: Final = frozenset(("a shape", "a dimension", "an opcode", "a count"))  # no names there


def check_template(source: Source) -> None:
    """Raise ParseError at the first `$` outside strings and comments: HLO has none.

    What a backend configuration holds is the backend's business.
    """
    text = source.text
    at = text.find(_MARK)
    while at >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if (line.count('"') - line.count('\\"')) % 2 == 0:  # it may stand in no string
            break
        at = text.find(_MARK, at + 1)
    else:
        return
    for token in re.finditer(_STEP, text):
        word = re.compile(_WORD).match(text, token.start()) if token[1] else None
        if word and not _is_in_config(text, word.start()):
            raise ParseError(describe_template(word.group()), source, *word.span())


def _is_in_config(text: str, at: int) -> bool:
    begin = text.rfind("backend_config=", 0, at)
    body = re.sub(_STRING, "", text[begin:at]) if begin >= 0 else ""
    return body.count("{") > body.count("}")


def find_placeholder(text: str, at: int) -> str | None:
    """Return the word at an offset where none of HLO can stand, if it is one to be replaced."""
    match = re.compile(f"{_WORD}|{_PLACEHOLDER}").match(text, at)
    return match.group() if match else None


def describe_template(word: str) -> str:
    """Say that a text is a template, and which word of it shows that."""
    return f"this text is a template with the placeholder {word!r}; fill it in first"


_OTHER_COMMENT: Final = r"\s*+[;#]"
# As absl and glog, Python's logging and most others begin a line: level and date, or a date.
_LOG: Final = r"\s*+\[?(?:[IWEF]\d{4}\ |\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2})"
_COLOR: Final = r"\x1b\[[\d;]*+m"


def describe_foreign_line(line: str) -> str:
    """Return a hint where a line is none of HLO, '' where nothing tells.

    foreign = ( ";" | "#" ) … | prefix-of-a-log … | … colour-code …
    """
    if re.match(_OTHER_COMMENT, line):
        return "inside a module only // and /* */ make a comment; ; and # do not"
    if re.match(_LOG, line):
        return "this looks like a line of a log inside the module"
    if re.search(_COLOR, line):
        return "the line holds codes for colours: save the text without them"
    return ""
