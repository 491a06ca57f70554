"""What was a program made of: files, and what the user says beside them?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Self

from msgspec.structs import replace

from hlotool.analysis.collectives.overlap.machine import Machine, fit_machine
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.summary.compilation import Compilation
from hlotool.errors import InputError
from hlotool.fields import InputPaths
from hlotool.ir import Mesh, Module
from hlotool.ir.buffers import BufferAssignment
from hlotool.ir.measurement import Measurement
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.mesh_beside import MeshBeside
from hlotool.program.named import NamedFigures
from hlotool.program.notes import note_chip, write_notes

_TEXT = InputPaths("<text>")


class GivenProgram(NamedFigures):
    """The module, the buffer assignment, or both; a measurement, and what may be asked for beside.

    `assumptions` are what the user says beside it.
    """

    def __init__(
        self,
        name: str,
        module: Module | None,
        assignment: BufferAssignment | None = None,
        paths: InputPaths = _TEXT,
        assumptions: Assumptions = NO_ASSUMPTIONS,
        *,
        mesh_beside: MeshBeside | None = None,
        measured: Measurement | None = None,
        ask_beside: Callable[[], Compilation] = Compilation,
    ) -> None:
        self.name = name
        self.module = module
        self.assignment = assignment
        self.assumptions = assumptions
        self.measured = measured
        self._mesh_beside = mesh_beside
        self._ask_beside = ask_beside
        self._paths = paths

    @property
    def paths(self) -> InputPaths:
        """The files it was read from so far: a mesh is looked for only when axes need it."""
        mesh_path = self._mesh_beside.path if self._mesh_beside else None
        return replace(self._paths, mesh_path=mesh_path) if mesh_path else self._paths

    def without_assignment(self) -> Self:
        """Return the same program as if it had no buffer assignment."""
        return type(self)(
            *(self.name, self.module, None, self._paths, self.assumptions),
            mesh_beside=self._mesh_beside,
            measured=self.measured,
            ask_beside=self._ask_beside,
        )

    def notes(self) -> tuple[str, ...]:
        """Say in sentences what of its files was not understood, or may be missing."""
        about_chip = self.note_chip()
        return (
            *write_notes(self.module, self.assignment),
            *((about_chip,) if about_chip else ()),
        )

    def note_chip(self) -> str:
        """Say that the chip named is for programs of another backend, '' if it is not."""
        named = self.assumptions.machine
        chip = named.chip if named else None
        is_left_out = chip is not None and (self.machine is None or self.machine.chip is None)
        return note_chip(self.expect_module(), chip) if chip and is_left_out else ""

    @cached_property
    def machine(self) -> Machine | None:
        """What the user knows of the machine, as far as it holds for programs of this backend.

        Raises UsageError where the chip must fit, and does not.
        """
        named = self.assumptions.machine
        if named is None or named.chip is None or named.chip.backend is None or not self.module:
            return named
        return fit_machine(named, find_backend(self.module))

    def expect_module(self) -> Module:
        """Return the module, or raise InputError where the dump has no text of it."""
        if self.module is None:
            raise InputError(
                f"{self.paths.path}: the text of the module is missing beside this buffer "
                "assignment; name it with --module-text. `hlotool buffers` needs none."
            )
        return self.module

    def find_words(self) -> frozenset[str]:
        """Return the opcodes that its text holds, known to hlotool or not."""
        instructions = self.module.instructions() if self.module else ()
        return frozenset(one.opcode for one in instructions)

    def _find_mesh(self) -> Mesh | None:
        return self._mesh_beside.find(self.expect_module()) if self._mesh_beside else None

    @property
    def _chip(self) -> Chip | None:
        return self.machine.chip if self.machine else None
