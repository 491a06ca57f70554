"""Typed attribute values, each by the function that knows its notation.

Source: xla/hlo/parser/hlo_parser.cc. Every function takes a Scanner on one value and
raises ParseError where the notation breaks.
"""

from __future__ import annotations

import json
import re

from hlotool.ir.values import (
    BackendConfig,
    DimLabels,
    PaddingDimension,
    SliceDimension,
    WindowDimension,
)
from hlotool.parse.scanner import Scanner
from hlotool.parse.strings import unquote

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
