"""A part of a module, as people paste it: made whole, with holes where text is missing.

What stands between fences, in a Python string, in a notebook's cell, or behind the marks of a
quotation is HLO where a line is `name = type opcode(`, with a type and an opcode that XLA has.
Computations are taken as they stand; lines without one become the entry. What is not there is
written in: an operand from outside as the result of a custom call to `OUTSIDE`, of which nothing is
known, a computation that was not pasted as one that holds such a call. So all that a hole leaves
open is unknown to each analysis, and figures are bounds by the rules that hold for any program.

    ROOT %y = f32[4]{0} add(f32[4]{0} %x, f32[4]{0} %x)

    ENTRY %fragment { %x = f32[4]{0} custom-call(), custom_call_target="outside the text"
    ROOT %y = f32[4]{0} add(f32[4]{0} %x, f32[4]{0} %x)
    }

Lines stay where they are, so that errors and notes name those of the text that was pasted. What
else is wrong with it stays wrong: the parser says so.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from hlotool.hlo.opcodes import (
    CALL_KEYS,
    CONTROL_FLOW,
    ELEMENTWISE,
    MAY_CALL,
    OPCODES,
    OUTSIDE,
    sugared_opcode,
)
from hlotool.hlo.scanner import NAME
from hlotool.hlo.shape import DTYPE_BITS
from hlotool.table.words import count_noun, list_some
from hlotool.text import DeviceCounts, Source

_MOST_TRIED: Final = 1 << 20  # characters of a text that is no dump, to tell whether it holds HLO
_ARRAY: Final = (
    rf"(?:{'|'.join(DTYPE_BITS)})\[[\d,<= ]*\](?:\{{[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)*\}})?"
)
_TUPLE: Final = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
_INSTRUCTION: Final = re.compile(
    rf"[ \t]*(?P<root>ROOT[ \t]+)?(?P<name>%?{NAME})[ \t]*=[ \t]*"
    rf"(?P<type>{_ARRAY}|{_TUPLE})[ \t]+(?P<opcode>[a-z][a-z0-9\-]*)\("
)
_COMPUTATION: Final = re.compile(
    rf"[ \t]*(?P<entry>ENTRY[ \t]+)?(?P<name>%?{NAME})[ \t]*(?:\(.*\)[ \t]*->.*)?\{{[ \t]*$"
)
_CLOSE: Final = re.compile(r"[ \t]*\}")
_HEADER: Final = re.compile(rf"[ \t]*HloModule[ \t]+(?P<name>{NAME})(?P<more>.*)")
_KEPT: Final = re.compile(r", (?:num_partitions|replica_count)=\d+")
_OPERAND: Final = re.compile(
    rf"(?:(?P<type>{_ARRAY})[ \t]+)?(?:/\*[^*]*\*/[ \t]*)?"
    rf"(?P<name>%{NAME}|(?<![\w%.\-]){NAME}(?![\w\[(]))"
)
_CALLED: Final = re.compile(rf"\b(?:{'|'.join(CALL_KEYS)})=(\{{[^}}]*\}}|%?{NAME})")
_CALLEE: Final = re.compile(rf"%?({NAME})")
_PARAMETER: Final = re.compile(r"parameter\((\d+)\)")
_LEFT_OUT: Final = frozenset(("", "...", "…"))
_LONGEST: Final = 6  # digits of a parameter's number
_UNKNOWN_TYPE: Final = "opaque[]"
# Whose operands have its own type, where the text leaves theirs out.
_OF_ONE_TYPE: Final = ELEMENTWISE - {"compare", "complex", "convert", "imag", "real", "select"} | {
    "all-reduce",
    "collective-permute",
    "copy",
}
# What it calls is small beside what it does itself; all else does what it calls.
_REDUCING: Final = MAY_CALL - CONTROL_FLOW - {"custom-call", "fusion", "map", "scan"}
# How HLO is wrapped where it is pasted.
_QUOTE: Final = re.compile(r"^(?:[ \t]*>)+ ?", re.MULTILINE)
_CELL: Final = re.compile(r'^[ \t]*"(.*?)(?:\\n)?",?[ \t]*$', re.MULTILINE)
_ESCAPE: Final = re.compile(r"\\(n|t|\"|'|\\)")
_ESCAPED: Final = {"n": "\n", "t": "\t"}


class Fragment(Struct, frozen=True):
    """A module made of a fragment, and in sentences what is missing in it."""

    source: Source
    notes: tuple[str, ...]


class _Line(Struct):
    """An instruction: its line in the text, and how it is written in the module."""

    number: int
    text: str
    name: str
    type: str
    opcode: str


# Without these a last line is cut, where all that it opens is closed.
_CALLEES: Final = {"call": "to_apply=", "conditional": "_computation", "while": "body="}


class _Part(Struct):
    """A computation, or the instructions that stand in none."""

    name: str
    is_entry: bool
    number: int  # of the line that it begins in
    lines: list[_Line] = field(default_factory=list)
    is_bare: bool = False  # instructions that stand in no computation


class _Mended(Struct):
    """What was found missing, for the notes."""

    outside: list[str] = field(default_factory=list)  # operands
    computations: list[str] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)  # lines that are cut in their middle
    others: list[int] = field(default_factory=list)  # lines inside computations that are no HLO
    open_line: int | None = None  # where the text ends inside a computation
    has_no_entry: bool = False
    is_alone: bool = False  # nothing says that it is the entry: who calls it is missing
    has_spaces: bool = False

    @property
    def is_part(self) -> bool:
        """Whether anything is missing."""
        is_cut = bool(self.dropped) or self.open_line is not None or self.has_no_entry
        return is_cut or self.is_alone or bool(self.outside or self.computations)


def find_fragment(source: Source, *, is_dump: bool = True) -> Fragment | None:
    """Return the module that a text holds a part of, None where it holds no instruction.

    In what is told to be a dump every line of a computation must be HLO but the last one: what is
    wrong there is for the parser to say. Of another text the first megabyte is looked at.
    """
    text = source.text if is_dump else _unwrap(source.text)
    if not any(_is_instruction(line) for line in text[:_MOST_TRIED].splitlines()):
        return None
    lines = text.split("\n")
    mended = _Mended(has_spaces="T(" in text or "S(" in text)
    header, parts = _read_parts(lines, mended)
    if is_dump and mended.others:
        return None
    if not (parts := [one for one in parts if one.lines]):
        return None
    name = _HEADER.match(lines[header]) if header is not None else None
    if not any(one.is_entry for one in parts):
        if name and not parts[-1].is_bare:  # the entry comes last, and is cut off
            parts.append(_Part("fragment", is_entry=True, number=len(lines) - 1))
            mended.has_no_entry = True
        else:
            parts[-1].is_entry = mended.is_alone = True
    out = [""] * (len(lines) + 1)
    out[0] = f"HloModule {name['name']}{''.join(_KEPT.findall(name['more']))}" if name else ""
    _write_parts(parts, out, mended)
    for callee in mended.computations:
        out[-1] += f"%{callee} {{ ROOT %outside = {_UNKNOWN_TYPE} {_call_outside()} }} "
    counts = source.counts if name else DeviceCounts(None, None)
    found = Source(
        "\n".join(out), source.name, source.first_line - 1, counts, is_fragment=mended.is_part
    )
    return Fragment(found, tuple(_note(source.name, mended, parts)))


def _unwrap(text: str) -> str:
    """Undo what pasting did: entities, no-break spaces, quotation marks, strings of programs."""
    text = text.replace("\xa0", " ").replace("\u200b", "")
    if "&gt;" in text or "&lt;" in text or "&quot;" in text:
        text = html.unescape(text)
    if "\n>" in text or text.startswith(">"):
        text = _QUOTE.sub("", text)
    if text.count("\\n") > text.count("\n"):  # one string of Python's
        return _ESCAPE.sub(_unescape, text.strip().strip("b'\""))
    if '\\n",' in text:  # a cell of a notebook, a string for each line
        text = _ESCAPE.sub(_unescape, _CELL.sub(lambda found: found[1], text))
    return text


def _unescape(found: re.Match[str]) -> str:
    return _ESCAPED.get(found[1], found[1])


def _is_instruction(line: str) -> re.Match[str] | None:
    if (found := _INSTRUCTION.match(line)) is None:
        return None
    opcode = found["opcode"]
    return found if opcode in OPCODES or sugared_opcode(opcode) else None


def _read_parts(lines: list[str], mended: _Mended) -> tuple[int | None, list[_Part]]:
    """Return the line of the header, and the computations; lines that are no HLO are left out."""
    header: int | None = None
    parts: list[_Part] = []
    part: _Part | None = None
    last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    for number, line in enumerate(lines):
        if found := _is_instruction(line):
            if part is None:
                name = f"fragment_{len(parts)}" if parts else "fragment"
                part = _Part(name, is_entry=False, number=number, is_bare=True)
                parts.append(part)
            needed = _CALLEES.get(found["opcode"], "")
            if _is_whole(line, found.end() - 1) and (needed in line or number != last):
                name = found["name"].removeprefix("%")
                part.lines.append(_Line(number, line, name, found["type"], found["opcode"]))
            else:
                mended.dropped.append(number + 1)
        elif "{" in line and (head := _COMPUTATION.match(line)):
            name = head["name"].removeprefix("%")
            part = _Part(name, is_entry=head["entry"] is not None, number=number)
            parts.append(part)
        elif part is None:
            header = number if header is None and _HEADER.match(line) else header
        elif _CLOSE.match(line):
            part = None
        elif line.strip() not in _LEFT_OUT:
            (mended.dropped if number == last else mended.others).append(number + 1)
    if part is not None and not part.is_bare:
        mended.open_line = len(lines)
    return header, parts


def _is_whole(line: str, opening: int) -> bool:
    """Whether every bracket and string that opens behind the opcode is closed."""
    depth, at = 0, opening
    while at < len(line):
        char = line[at]
        if char == '"':
            at = line.find('"', at + 1)
            while at > 0 and line[at - 1] == "\\":
                at = line.find('"', at + 1)
            if at < 0:
                return False
        elif char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        at += 1
    if depth or "..." in line[opening:]:
        return False
    last = line.rstrip().rpartition(", ")[2]  # `metadat` is no attribute, `index=1}` ends one
    return last[-1:] in ")}]" or ("=" in last[:-1] and not last.endswith(","))


def _find_operands(line: str) -> tuple[int, int]:
    """Return where the operands of an instruction stand."""
    found = _INSTRUCTION.match(line)
    start = found.end() if found else 0
    depth, at = 1, start
    while at < len(line) and depth:
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        at += 1
    return start, at - 1


def _call_outside() -> str:
    return f'custom-call(), custom_call_target="{OUTSIDE}"'


def _write_parts(parts: list[_Part], out: list[str], mended: _Mended) -> None:
    """Write all computations, callees first as XLA prints them."""
    known = {one.name for one in parts}
    broken: set[str] = set()  # what a fusion of these moves, they do not tell
    for part in parts:
        for line in part.lines:
            called = list(_list_called(line.text))
            missing = [one for one in called if one not in known]
            is_unknown = line.opcode == "fusion" and not broken.isdisjoint(called)
            if is_unknown or (missing and line.opcode not in _REDUCING):
                line.text = _write_outside(line)
            mended.computations += [one for one in missing if one not in mended.computations]
        if _write_part(part, out, mended):
            broken.add(part.name)


def _write_part(part: _Part, out: list[str], mended: _Mended) -> bool:
    """Write a computation: its own lines, and what they lack on the line before the first.

    Return whether they lack anything.
    """
    defined: set[str] = set()
    holes: dict[str, str] = {}
    numbers: set[int] = set()
    for line in part.lines:
        start, end = _find_operands(line.text)
        if line.opcode == "parameter":
            # A number that no line can have is for the parser to refuse.
            number = line.text[start:end].strip()
            numbers |= {int(number)} if number.isdecimal() and len(number) < _LONGEST else set()
        is_lost = False
        for name, type_ in _list_operands(line, start, end):
            if name in defined or name in holes:
                is_lost = is_lost or holes.get(name) == _UNKNOWN_TYPE
                continue
            # Where values have memory spaces, an operand may lie in another than the result.
            is_same = line.opcode in _OF_ONE_TYPE and not mended.has_spaces
            known = type_ or (line.type if is_same else None)
            holes[name] = known or _UNKNOWN_TYPE
            is_lost = is_lost or known is None
        if is_lost:  # of an operand without type nothing follows but the result's
            line.text = _write_outside(line)
        defined.add(line.name)
    missing = set(range(max(numbers, default=-1) + 1)) - numbers
    written = [f"%{name} = {type_} {_call_outside()}" for name, type_ in holes.items()]
    written += [f"%outside.{one} = {_UNKNOWN_TYPE} parameter({one})" for one in sorted(missing)]
    mended.outside += [f"{name}" for name in holes]
    if part.is_entry and (mended.dropped or mended.open_line is not None or not part.lines):
        written.append(f"%outside = {_UNKNOWN_TYPE} {_call_outside()}")
    if not part.lines:
        out[-1] += f"ENTRY %{part.name} {{ {written[0]} }} "
        return True
    first = part.lines[0].number
    head = f"{'ENTRY ' if part.is_entry else ''}%{part.name} {{ {' '.join(written)}"
    out[first] = f"{out[first]}\n{head}" if first == 0 else f"{out[first]} {head}"
    for line in part.lines:
        out[line.number + 1] = line.text
    out[part.lines[-1].number + 1] += " }"
    return bool(written)


def _list_operands(line: _Line, start: int, end: int) -> Iterator[tuple[str, str | None]]:
    """List the names of an instruction's operands, with their types where the text has them."""
    if line.opcode in {"parameter", "constant", "iota"}:
        return
    has_marks = "%" in line.text
    for found in _OPERAND.finditer(line.text, start, end):
        name = found["name"]
        if has_marks and not name.startswith("%"):
            continue
        yield name.removeprefix("%").partition("#")[0], found["type"]


def _write_outside(line: _Line) -> str:
    """Return an instruction of which no more is known than what it makes."""
    root = "ROOT " if line.text.lstrip().startswith("ROOT") else ""
    return f"{root}%{line.name} = {line.type} {_call_outside()}"


def _list_called(text: str) -> Iterator[str]:
    for found in _CALLED.finditer(text):
        yield from _CALLEE.findall(found[1])


def _note(name: str, mended: _Mended, parts: list[_Part]) -> Iterator[str]:
    """Say what is missing, where anything is."""
    missing = []
    if mended.outside:
        values = count_noun(len(mended.outside), "value comes", "values come")
        missing.append(f"{values} from outside ({list_some(mended.outside)})")
    if mended.computations:
        those = count_noun(len(mended.computations), "computation is", "computations are")
        missing.append(f"{those} not there ({list_some(mended.computations)})")
    if mended.dropped:
        places = list_some([str(one) for one in mended.dropped])
        missing.append(f"line {places} is cut and left out")
    elif mended.open_line is not None:
        missing.append(f"the text ends in line {mended.open_line}, inside a computation")
    if mended.has_no_entry:
        missing.append(f"the text ends before ENTRY, in line {parts[-1].number + 1}")
    if missing:
        told = "; ".join(missing)
        yield f"{name}: this is part of a program: {told}. Figures marked ≥ count only this part."
    else:
        yield f"{name}: this is part of a program; hlotool takes {parts[-1].name} for its entry."
