"""What the readers of one module share: its source, shapes, names and computations."""

from __future__ import annotations

from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.hlo.fast_reader import OpcodeKinds
from hlotool.hlo.inference.rules import SizeLimit
from hlotool.hlo.module import Computation, Instruction, Module
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.shape import Shape
from hlotool.hlo.shape_parser import ShapeCache, parse_shape

_NUMBERS: Final = list(map(str, range(1000)))  # of parameters, in their usual order


class Builder:
    """A module under construction.

    `wrapped` has the computations made for async sugar, by all steps of the operation.
    """

    def __init__(self, scanner: Scanner, module: Module, shapes: ShapeCache) -> None:
        self.scanner = scanner
        self.module = module
        self.shapes = shapes
        self.kinds = OpcodeKinds()
        self.wrapped: dict[Instruction, Computation] = {}
        self.inferred = SizeLimit()
        self._numbers: dict[str, int] = {}  # behind names that are taken
        self._has_entry = False

    def intern_shape(self) -> Shape:
        """Parse a shape at the cursor; equal spellings give the same object."""
        start = self.scanner.pos
        shape = parse_shape(self.scanner)
        return self.shapes.setdefault(self.scanner.text[start : self.scanner.pos], shape)

    def unique_name(self, wanted: str) -> str:
        """Return `wanted`, or `wanted.N` when a computation has that name already."""
        name = wanted
        while name in self.module.computations:
            self._numbers[wanted] = self._numbers.get(wanted, 0) + 1
            name = f"{wanted}.{self._numbers[wanted]}"
        return name

    def add_computation(self, computation: Computation, start: int) -> None:
        """Register a computation that has been read; refuse one that XLA would."""
        name = computation.name
        if name in self.module.computations:
            self._fail(f"a computation {name!r} is already defined", start, len(name))
        if not computation.instructions:
            self._fail(f"the computation {name!r} has no instructions", start, len(name))
        if computation.is_entry:
            if self._has_entry:
                self._fail("a module has only one ENTRY", start, len(name))
            self._has_entry = True
        parameters = [one for one in computation.instructions if one.opcode == "parameter"]
        if [one.literal for one in parameters] == _NUMBERS[: len(parameters)]:
            computation.parameters = tuple(parameters)
        else:
            self._check_numbers(parameters)
        self.module.computations[name] = computation

    def _check_numbers(self, parameters: list[Instruction]) -> None:
        """Refuse parameters that are not numbered 0, 1, 2, … in some order."""
        free = set(map(str, range(len(parameters))))
        for one in parameters:
            if one.literal not in free:
                expected = f"from 0 to {len(parameters) - 1}" if len(parameters) > 1 else "0"
                start = one.start - 1 - len(one.literal)
                self._fail(
                    f"expected a parameter number {expected} that no other has",
                    start,
                    len(one.literal),
                )
            free.remove(one.literal)

    def _fail(self, message: str, start: int, length: int) -> NoReturn:
        raise ParseError(message, self.module.source, start, start + length)

    def forget_after(self, count: int) -> None:
        """Drop all computations but the first `count`: a body is read a second time."""
        while len(self.module.computations) > count:
            self.module.computations.popitem()
