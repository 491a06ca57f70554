"""Typed attribute values, each by the function that knows its notation.

Source: xla/hlo/parser/hlo_parser.cc. Every function takes a Scanner on one value and
raises ParseError where the notation breaks.

Which output shares memory with which parameter or operand, and which parameter is donated?

`metadata={...}`: a regex for what machines print, a scanner for everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

from hlotool.hlo.scanner import STRING, Scanner, unquote
from hlotool.hlo.values import (
    Alias,
    BackendConfig,
    DimLabels,
    Donor,
    Metadata,
    PaddingDimension,
    ShapeIndex,
    SliceDimension,
    WindowDimension,
)

_KEY = re.compile(r"[a-z_]+")
_NUMBER = r"-?[0-9]{1,18}"
_SIZES = re.compile(rf"{_NUMBER}(?:x{_NUMBER})*+")
_PAD = rf"{_NUMBER}_{_NUMBER}(?:_[0-9]{{1,18}})?"
_PADS = re.compile(rf"{_PAD}(?:x{_PAD})*+")
_LABELS = re.compile(r"([0-9bf?]+)_([0-9io?]+)->([0-9bf?]+)")
_WINDOW_DEFAULTS = {"size": 1, "stride": 1, "lhs_dilate": 1, "rhs_dilate": 1, "rhs_reversal": 0}


def parse_integers(scanner: Scanner) -> tuple[int, ...]:
    """Read `{1,2,3}`."""
    scanner.expect("{", "before the numbers")
    numbers: list[int] = []
    while not scanner.accept_token("}"):
        numbers.append(scanner.expect_integer("a number"))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after a number")
            break
    return tuple(numbers)


def parse_numbers(scanner: Scanner) -> tuple[int, ...]:
    """Read `{0,1}` or a bare `3`."""
    scanner.skip_blanks()
    if scanner.peek() == "{":
        return parse_integers(scanner)
    return (scanner.expect_integer("a number"),)


def parse_pairs(scanner: Scanner) -> tuple[tuple[int, int], ...]:
    """Read `{{0,1},{1,0}}`: source and target of each pair."""
    scanner.expect("{", "before the pairs")
    pairs: list[tuple[int, int]] = []
    while not scanner.accept_token("}"):
        start = scanner.pos
        pair = parse_integers(scanner)
        if len(pair) != 2:  # noqa: PLR2004 (source and target)
            scanner.fail("expected a pair {source,target}", start, scanner.pos)
        pairs.append((pair[0], pair[1]))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after a pair")
            break
    return tuple(pairs)


def parse_computation_names(scanner: Scanner) -> tuple[str, ...]:
    """Read a computation's name `%f`, or a list `{%f, %g}`."""
    return _parse_names(scanner, "a computation's name")


def parse_instruction_names(scanner: Scanner) -> tuple[str, ...]:
    """Read an instruction's name `%a`, or a list `{%a, %b}`."""
    return _parse_names(scanner, "an instruction's name")


def _parse_names(scanner: Scanner, what: str) -> tuple[str, ...]:
    if not scanner.accept_token("{"):
        return (scanner.expect_name(what),)
    names: list[str] = []
    while not scanner.accept_token("}"):
        names.append(scanner.expect_name(what))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after a name")
            break
    return tuple(names)


def parse_window(scanner: Scanner) -> tuple[WindowDimension, ...]:
    """Read a window; parts left out have their default, all have the rank of `size`.

    window = "{" { key "=" ( sizes | pads ) } "}"
    sizes  = integer { "x" integer }      pads = low "_" high { "x" low "_" high }
    """
    start = scanner.pos
    scanner.expect("{", "before the window")
    parts: dict[str, list[int]] = {}
    pads: list[tuple[int, int]] = []
    while not scanner.accept_token("}"):
        key = scanner.expect_match(_KEY, "size, stride, pad, lhs_dilate, rhs_dilate or '}'")
        scanner.expect("=", f"after {key!r}")
        if key == "pad":
            text = scanner.expect_match(_PADS, "low_high for each dimension")
            pads = [(int(one.split("_")[0]), int(one.split("_")[1])) for one in text.split("x")]
        else:
            text = scanner.expect_match(_SIZES, "a number for each dimension")
            parts[key] = [int(one) for one in text.split("x")]
        scanner.accept_token(",")
    rank = max([len(pads), *map(len, parts.values())], default=0)
    filled = {key: parts.get(key, [value] * rank) for key, value in _WINDOW_DEFAULTS.items()}
    pads = pads or [(0, 0)] * rank
    ranks = [len(pads), *(len(values) for values in filled.values())]
    if set(ranks) != {rank}:
        scanner.fail("the window's parts differ in rank", start, scanner.pos)
    return tuple(
        WindowDimension(
            filled["size"][number],
            filled["stride"][number],
            *pads[number],
            filled["lhs_dilate"][number],
            filled["rhs_dilate"][number],
            bool(filled["rhs_reversal"][number]),
        )
        for number in range(rank)
    )


def parse_dim_labels(scanner: Scanner) -> DimLabels:
    """Read `b01f_01io->b01f`; a digit is the number of a spatial dimension, `?` is unused."""
    start = scanner.pos
    scanner.skip_blanks()
    match = scanner.accept_match(_LABELS)
    if match is None:
        scanner.fail_expected("dimension labels such as b01f_01io->b01f")
    lhs, rhs, output = match.groups()
    ranks = [sum(char.isdigit() for char in labels) for labels in (lhs, rhs, output)]
    needed = ((lhs, "bf"), (rhs, "io"), (output, "bf"))
    if len(set(ranks)) != 1 or any(
        sorted(char for char in labels if char.isdigit()) != [str(n) for n in range(ranks[0])]
        or any(labels.count(letter) != 1 for letter in letters)
        for labels, letters in needed
    ):
        scanner.fail("the labels must name batch, features and each spatial dimension once", start)

    def spatial(labels: str) -> tuple[int, ...]:
        return tuple(labels.index(str(number)) for number in range(ranks[0]))

    return DimLabels(
        lhs.index("b"), lhs.index("f"), spatial(lhs),
        rhs.index("i"), rhs.index("o"), spatial(rhs),
        output.index("b"), output.index("f"), spatial(output),
    )  # fmt: skip


def parse_slices(scanner: Scanner) -> tuple[SliceDimension, ...]:
    """Read `{[0:4], [0:1024:2]}`."""
    scanner.expect("{", "before the slice")
    dims: list[SliceDimension] = []
    while not scanner.accept_token("}"):
        scanner.expect("[", "before a dimension of the slice")
        start = scanner.expect_integer("where the slice starts")
        scanner.expect(":", "after the start")
        limit = scanner.expect_integer("where the slice ends")
        stride = scanner.expect_integer("the stride") if scanner.accept_token(":") else 1
        scanner.expect("]", "after a dimension of the slice")
        dims.append(SliceDimension(start, limit, stride))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after a dimension of the slice")
            break
    return tuple(dims)


def parse_padding(scanner: Scanner) -> tuple[PaddingDimension, ...]:
    """Read `1_1_2x0_-3`: low, high and interior of each dimension."""
    text = scanner.expect_match(_PADS, "padding such as 0_1x2_2_1")
    return tuple(PaddingDimension(*map(int, one.split("_"))) for one in text.split("x"))


def parse_backend_config(scanner: Scanner) -> BackendConfig:
    """Read JSON, a quoted string, or raw braces that are no JSON; nothing is refused."""
    text = unquote(scanner.text[scanner.pos : scanner.end].strip())
    scanner.pos = scanner.end
    try:
        value = json.loads(text)
        if "\\u" in text:  # may have made half a character, which nobody can print
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        value = None
    return BackendConfig(text, value if isinstance(value, dict) else None)


T = TypeVar("T")

_KIND = re.compile(r"may-alias|must-alias")
# An alias of a whole parameter, as most are.
_ALIAS = re.compile(r" ?\{([0-9]{1,9}|)\}: \(([0-9]{1,9}), \{\}(?:, (may-alias|must-alias))?\)")


def parse_aliases(scanner: Scanner) -> tuple[Alias, ...]:
    """Read `{ alias, alias }`."""
    return tuple(_parse_list(scanner, _parse_alias))


def parse_donors(scanner: Scanner) -> tuple[Donor, ...]:
    """Read `{ donor, donor }`."""
    return tuple(_parse_list(scanner, _parse_donor))


def _parse_list(scanner: Scanner, parse_item: Callable[[Scanner], T]) -> list[T]:
    """Read `{ item, item }`."""
    scanner.expect("{", "before the list")
    items: list[T] = []
    if not scanner.accept_token("}"):
        items.append(parse_item(scanner))
        while scanner.accept_token(","):
            items.append(parse_item(scanner))
        scanner.expect("}", "or ',' after an entry of the list")
    return items


def _parse_index(scanner: Scanner) -> ShapeIndex:
    """Read a shape index `{0, 1}`."""
    scanner.expect("{", "before a shape index")
    index: list[int] = []
    if not scanner.accept_token("}"):
        index.append(scanner.expect_count("an index"))
        while scanner.accept_token(","):
            index.append(scanner.expect_count("an index"))
        scanner.expect("}", "or ',' after an index")
    return tuple(index)


def _parse_alias(scanner: Scanner) -> Alias:
    """Read `{output index}: (number, {index}[, may-alias|must-alias])`."""
    usual = scanner.accept_match(_ALIAS)
    if usual:
        element, parameter, kind_text = usual.groups()
        return Alias((int(element),) if element else (), int(parameter), (), kind_text or "")
    output = _parse_index(scanner)
    scanner.expect(":", "after the output's index")
    scanner.expect("(", "before the aliased number")
    number = scanner.expect_count("a number")
    scanner.expect(",", "after the number")
    index = _parse_index(scanner)
    kind = ""
    if scanner.accept_token(","):
        kind = scanner.expect_match(_KIND, "may-alias or must-alias")
    scanner.expect(")", "after the alias")
    return Alias(output, number, index, kind)


def _parse_donor(scanner: Scanner) -> Donor:
    """Read `(parameter, {index})`."""
    scanner.expect("(", "before a donated parameter")
    parameter = scanner.expect_count("a parameter number")
    scanner.expect(",", "after the parameter number")
    index = _parse_index(scanner)
    scanner.expect(")", "after the donated parameter")
    return Donor(parameter, index)


_PAIR = re.compile(
    rf"([A-Za-z_]\w*+)=(?:({STRING})|(-?[0-9]{{1,18}})|(\{{[^{{}}\"]*+\}}|true|false))(?: |,|\Z)",
    re.ASCII,
)
_KEY_METADATA = re.compile(r"[A-Za-z_]\w*+", re.ASCII)
_WORD = re.compile(r"[\w.\-+]+", re.ASCII)
_STRINGS = frozenset(("op_type", "op_name", "source_file", "deduplicated_name", "scheduling_name"))
_NUMBERS = frozenset(
    ("source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id")
)

# As machines print it among other attributes, to its closing brace.
_WHOLE = re.compile(rf", ?metadata=\{{(?:[^{{}}\"]++|{STRING})*+\}}")
_MOST_KEPT: Final = 16_384  # values: one text is read again and again, and repeated by others


def drop_metadata(text: str, count: int = 0) -> str:
    """Return a text without the metadata in it; all of them, or the first `count`.

    What no machine prints may stay.
    """
    return _WHOLE.sub("", text, count)


@lru_cache(maxsize=_MOST_KEPT)
def read_metadata(text: str) -> Metadata | None:
    """Read a value as machines print it; None when it is not of that form."""
    if not text.startswith("{") or not text.endswith("}"):
        return None
    strings: dict[str, str] = {}
    numbers: dict[str, int] = {}
    other: dict[str, str] = {}
    pos, end = 1, len(text) - 1
    while pos < end:
        match = _PAIR.match(text, pos, end)
        if match is None:
            return None
        key, string, number, rest = match.groups()
        if string is not None and key in _STRINGS:
            strings[key] = unquote(string)
        elif number is not None and key in _NUMBERS:
            numbers[key] = int(number)
        elif key in _STRINGS or key in _NUMBERS:
            return None
        else:
            other[key] = string or number or rest
        pos = match.end()
    return Metadata(**strings, **numbers, other=other)  # type: ignore[arg-type]


def parse_metadata(scanner: Scanner) -> Metadata:
    """Read metadata by hand.

    metadata = "{" { key "=" ( string | integer | word | "{" … "}" ) [","] } "}"

    Keys that XLA has since dropped or added are kept in `other`.
    """
    scanner.expect("{", "before the metadata")
    strings: dict[str, str] = {}
    numbers: dict[str, int] = {}
    other: dict[str, str] = {}
    while not scanner.accept_token("}"):
        key = scanner.expect_match(_KEY_METADATA, "a metadata key or '}'")
        scanner.expect("=", f"after {key!r}")
        scanner.skip_blanks()
        start = scanner.pos
        if key in _STRINGS:
            strings[key] = unquote(scanner.expect_string(f"the value of {key!r}"))
        elif key in _NUMBERS:
            numbers[key] = scanner.expect_integer(f"the value of {key!r}")
        elif scanner.peek() in {"{", "["}:
            scanner.skip_group(f"the value of {key!r}")
            other[key] = scanner.text[start : scanner.pos]
        elif scanner.peek() in {'"', "'"}:
            other[key] = scanner.expect_string(f"the value of {key!r}")
        else:
            other[key] = scanner.expect_match(_WORD, f"a value of {key!r}")
        scanner.accept_token(",")
    return Metadata(**strings, **numbers, other=other)  # type: ignore[arg-type]
