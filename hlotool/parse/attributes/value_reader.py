"""How is the value of an attribute read once, and blamed in its place?

Values are kept by function and text. One that does not parse is read again in place, so that
the error points into the dump.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from hlotool.errors import ParseError
from hlotool.ir.instruction import Instruction
from hlotool.parse.attributes.split import find_value
from hlotool.parse.scanner import Scanner
from hlotool.parse.styles import REQUIRED
from hlotool.source import Source

T = TypeVar("T")


class ValueReader:
    """Reads the values of one module, few of which have a spelling of their own."""

    def __init__(self) -> None:
        # Any: one cache holds the values of all the functions that read some.
        self._cache: dict[tuple[Callable[[Scanner], Any], str], Any] = {}

    def read(self, instruction: Instruction, key: str, parse: Callable[[Scanner], T]) -> T | None:
        """Return a value, None where the attribute is absent; raise if its opcode needs it."""
        return self.read_text(instruction, key, instruction.attributes.get(key), parse)

    def read_text(
        self, instruction: Instruction, key: str, text: str | None, parse: Callable[[Scanner], T]
    ) -> T | None:
        """Return the value that a text is; None, or raise, where there is none."""
        if text is None:
            if REQUIRED.get(instruction.opcode) == key:
                fail_at(instruction, key, f"{instruction.opcode} needs an attribute {key}=")
            return None
        found = self._cache.get((parse, text))
        if found is None:
            found = self._cache[parse, text] = parse_value(instruction, key, text, parse)
        value: T = found
        return value


def parse_value(instruction: Instruction, key: str, text: str, parse: Callable[[Scanner], T]) -> T:
    """Parse a value alone; on failure parse it in place for an error with its place."""
    try:
        return _parse_whole(Scanner(Source(text)), parse)
    except ParseError:
        span = _find_span(instruction, key)
        if span is None:
            raise
        return _parse_whole(Scanner(instruction.computation.module.source, *span), parse)


def fail_at(instruction: Instruction, key: str, message: str) -> NoReturn:
    """Raise at the value of `key`, or where the attributes begin if it is absent."""
    start = instruction.start
    span = _find_span(instruction, key) or (start, start + 1)
    raise ParseError(message, instruction.computation.module.source, *span)


def _find_span(instruction: Instruction, key: str) -> tuple[int, int] | None:
    """Return where the value of an attribute stands, None if it was not written as one."""
    try:
        scanner = Scanner(instruction.computation.module.source, instruction.start)
        return find_value(scanner, key)
    except ParseError:  # an operand written in place: no attributes follow it
        return None


def _parse_whole(scanner: Scanner, parse: Callable[[Scanner], T]) -> T:
    """Parse a value and insist that nothing stands behind it."""
    value = parse(scanner)
    scanner.expect_end()
    return value
