"""Injuries that know the format: what is written is well formed, and cannot be."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import Final

from mutants import Mutation

_DEFINED = re.compile(r"^ *(?:ROOT )?(%?[\w.\-]+)(?= = )", re.MULTILINE)
_COMPUTATION = re.compile(r"^(?:ENTRY )?(%?[\w.\-]+) (?=[({])", re.MULTILINE)
_OPERANDS = re.compile(r"(?<=[a-z0-9\-])\(([^()=]*,[^()=]*)\)")
_WORD = re.compile(r"%?[A-Za-z_][\w.\-]*")
_CALLEE = re.compile(
    r"\b(?:calls|to_apply|body|condition|branch_computations)=(\{[^{}]*\}|[^\s,{}]+)"
)
_ATTRIBUTE = re.compile(r", [a-z_]+=(?:\{[^{}]*\}|[^,{}\s]+)")
_GROUPS = re.compile(
    r"replica_groups=(\{(?:\{[^{}]*\},?)*\}|\[[\d,]+\]<=\[[\d,]+\](?:T\([\d,]+\))?)"
)
_VALUE = re.compile(r"\b[a-z_]+=([A-Za-z][A-Za-z_]*)\b")
_SHAPE = re.compile(r"\b[a-z]+[0-9]*[a-z0-9]*\[[\d,<=]*\](?:\{[^{}\s]*\})?")
_OPCODE = re.compile(r"(?<= )([a-z][a-z\-]+)(?=\()")
_NUMBER = re.compile(r"-?\d+")
_ID = re.compile(
    r"(?:channel_id|stack_frame_id|index|parent_frame_id|\w+_id|dimensions|operand_\w+)=\{?(-?\d+)"
    r"|parameter\((\d+)\)"
)
_WINDOW = re.compile(r"(?:size|stride|pad|lhs_dilate|rhs_dilate|padding|slice)=\{?\[?([\d_x:\-]+)")
_TRIPS = re.compile(r"\"n\":\"(\d+)\"|\bconstant\((\d+)\)|\"(?:flops|bytes_accessed)\":\"?(\d+)")
_PLACE = re.compile(r"size[= ](\d+)|offset=(\d+)|allocation (\d+)|@(\d+)|parameter (\d+)")
_LIFE = re.compile(r"\}:(\d+)-\d+|\}:\d+-(\d+)|: (\d+) bytes|^ +(\d+):", re.MULTILINE)

_SMALL: Final = ("0", "1", "-1", "2", "3", "-2")
_LARGE: Final = (
    "1000000",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1" + "0" * 30,
    "9" * 400,
)
_ODD_GROUPS: Final = (
    *("{}", "{{}}", "{{0,0}}", "{{-1,2}}", "{{0},{0}}", "{{0,1},{2}}", "{{5000000000}}"),
    *("[1000000,1000000]<=[1000000000000]", "[1,1000000000]<=[1000000000]", "[2,3]<=[5]"),
    *("[0,0]<=[0]", "[0,4]<=[0]", "[2,2]<=[2,2]T(0,0)", "[2,2]<=[2,2]T(1)", "[4,2]<=[2,4]T(1,0)"),
)


def _replace(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def _find_spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """List where the first group that matched stands, or the whole match."""
    return [match.span(match.lastindex or 0) for match in pattern.finditer(text)]


def swap_operands(random_: random.Random, text: str) -> str:
    spans = _find_spans(_OPERANDS, text)
    if not spans:
        return text
    start, end = random_.choice(spans)
    operands = text[start:end].split(", ")
    random_.shuffle(operands)
    return _replace(text, (start, end), ", ".join(operands))


def refer_to_itself(random_: random.Random, text: str) -> str:
    """Let an instruction be its own operand, or of a computation that calls it."""
    return _refer(random_, text, is_own=True)


def refer_to_another(random_: random.Random, text: str) -> str:
    return _refer(random_, text, is_own=False)


def _refer(random_: random.Random, text: str, *, is_own: bool) -> str:
    names = _DEFINED.findall(text) + _COMPUTATION.findall(text)
    known = set(names)
    used = [match.span() for match in _WORD.finditer(text) if match.group() in known]
    if not used:
        return text
    span = random_.choice(used)
    above = _DEFINED.findall(text, 0, span[0]) + _COMPUTATION.findall(text, 0, span[0])
    return _replace(text, span, above[-1] if is_own and above else random_.choice(names))


def call_another(random_: random.Random, text: str) -> str:
    spans, names = _find_spans(_CALLEE, text), _COMPUTATION.findall(text)
    if not spans or not names:
        return text
    one, other = random_.choice(names), random_.choice(names)
    written = random_.choice((one, one, one, "{}", f"{{{one}, {other}}}", f"{{{one}}}"))
    return _replace(text, random_.choice(spans), written)


def change_number(random_: random.Random, text: str, pattern: re.Pattern[str] = _NUMBER) -> str:
    spans = _find_spans(pattern, text)
    if not spans:
        return text
    span = random_.choice(spans)
    written = text[span[0] : span[1]]
    near = str(int(written) + random_.choice((-1, 1, 7))) if _NUMBER.fullmatch(written) else "0"
    return _replace(
        text, span, random_.choice((near, random_.choice(_SMALL), random_.choice(_LARGE)))
    )


def change_window(random_: random.Random, text: str) -> str:
    """Change one number of a window, a padding or a slice."""
    spans = _find_spans(_WINDOW, text)
    if not spans:
        return text
    start, end = random_.choice(spans)
    return _replace(text, (start, end), change_number(random_, text[start:end]))


def change_groups(random_: random.Random, text: str) -> str:
    spans = _find_spans(_GROUPS, text)
    return _replace(text, random_.choice(spans), random_.choice(_ODD_GROUPS)) if spans else text


def exchange(random_: random.Random, text: str, pattern: re.Pattern[str]) -> str:
    """Write one thing of the text where another of its kind stands."""
    spans = _find_spans(pattern, text)
    if not spans:
        return text
    start, end = random_.choice(spans)
    return _replace(text, random_.choice(spans), text[start:end])


def change_word(random_: random.Random, text: str) -> str:
    """Write an unknown word for a direction, a kind or another value, or one of another."""
    spans = _find_spans(_VALUE, text)
    if not spans:
        return text
    if random_.random() < 0.5:
        return _replace(text, random_.choice(spans), "XX")
    return exchange(random_, text, _VALUE)


def move_attribute(random_: random.Random, text: str) -> str:
    """Drop an attribute, or write it once more behind another."""
    spans = _find_spans(_ATTRIBUTE, text)
    if not spans:
        return text
    start, end = random_.choice(spans)
    if random_.random() < 0.5:
        return text[:start] + text[end:]
    at = random_.choice(spans)[1]
    return text[:at] + text[start:end] + text[at:]


def cut_at_a_line(random_: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: random_.randrange(len(lines))])


def paste(random_: random.Random, text: str) -> str:
    """Take some lines, as people paste them: perhaps one is missing, or all are quoted."""
    lines = text.splitlines(keepends=True)
    begin = random_.randrange(len(lines))
    taken = lines[begin : random_.randrange(begin, len(lines)) + 1]
    if random_.random() < 0.3:
        del taken[random_.randrange(len(taken))]
    quote = random_.choice(("", "", "    ", "> "))
    return "".join(f"{quote}{line}" for line in taken)


FORMAT_MUTATIONS: Final[dict[str, Mutation]] = {
    "swapped operands": swap_operands,
    "itself as operand or callee": refer_to_itself,
    "another as operand or callee": refer_to_another,
    "other callees": call_another,
    "wrong ids": partial(change_number, pattern=_ID),
    "wrong windows and slices": change_window,
    "wrong groups": change_groups,
    "wrong trips and costs": partial(change_number, pattern=_TRIPS),
    "wrong numbers": change_number,
    "wrong words": change_word,
    "exchanged shapes": partial(exchange, pattern=_SHAPE),
    "exchanged opcodes": partial(exchange, pattern=_OPCODE),
    "moved attributes": move_attribute,
    "cut at a line": cut_at_a_line,
    "fragments": paste,
}
BUFFER_MUTATIONS: Final[dict[str, Mutation]] = {
    "overlapping allocations": partial(change_number, pattern=_PLACE),
    "exchanged allocations": partial(exchange, pattern=_PLACE),
    "wrong live ranges": partial(change_number, pattern=_LIFE),
}
