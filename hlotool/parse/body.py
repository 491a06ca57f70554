"""The body of a computation: whole lines by the quick reader, all else by the descent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.parse.builder import Builder
from hlotool.parse.instructions.fast_lines import LINE, OPENING_LINE, read_lines
from hlotool.parse.instructions.instruction import InstructionReader


class BodyReader:
    """Reads the instructions of one computation, and bodies nested in them.

    `head` is where the computation's name stands, None where it has none. Without `by_line`
    the descent reads all, alone.
    """

    def __init__(
        self, builder: Builder, computation: Computation, head: int | None, *, by_line: bool
    ) -> None:
        self.builder = builder
        self.scanner = builder.scanner
        self.computation = computation
        self.defined: dict[str, Instruction] = {}
        self.head = head
        self.by_line = by_line

    @cached_property
    def descent(self) -> InstructionReader:
        """What reads an instruction that the quick reader leaves; most bodies need none."""
        return InstructionReader(
            self.builder, self.computation, self.defined, self.head, self._read_nested
        )

    def read_to_close(self) -> None:
        """Read instructions up to and over the closing brace.

        body = instruction { instruction } "}"
        """
        scanner = self.scanner
        while True:
            if self.by_line:
                self._read_lines()
            if scanner.accept_token("}"):
                break
            self.descent.read()
        if len(self.defined) != len(self.computation.instructions):  # the descent says where
            scanner.fail("a name is defined twice in this computation")

    def _read_nested(self, computation: Computation) -> None:
        BodyReader(self.builder, computation, None, by_line=self.by_line).read_to_close()

    def _read_lines(self) -> None:
        """Read whole lines as long as the quick reader can, and bodies that begin below one."""
        scanner = self.scanner
        while scanner.accept("\n"):
            scanner.pos = self._read_matches(LINE.finditer(scanner.text, scanner.pos))
            at_end = scanner.starts_with("}")
            opening = None if at_end else OPENING_LINE.match(scanner.text, scanner.pos)
            if opening is None or not self._accept_opening(opening):
                return

    def _accept_opening(self, line: re.Match[str]) -> bool:
        """Read an instruction whose attributes go on below its line, if it is one."""
        instructions = self.computation.instructions
        count = len(instructions)
        self._read_matches([line])
        if len(instructions) == count:
            return False
        self.scanner.pos = instructions[-1].start
        self.descent.read_attributes(instructions[-1])
        return True

    def _read_matches(self, lines: Iterable[re.Match[str]]) -> int:
        builder = self.builder
        return read_lines(self.computation, self.defined, builder.shapes, builder.kinds, lines)
