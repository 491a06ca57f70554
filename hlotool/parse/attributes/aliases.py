"""Which output shares memory with which parameter or operand, and which parameter is donated?"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from hlotool.ir.values import Alias, Donor, ShapeIndex
from hlotool.parse.scanner import Scanner

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
