"""Causes: what is said of one reason for which two programs differ, and what finders look at.

`Cause` is the record, KINDS and MEASURE_MEANINGS say what its words mean. `Evidence` holds
two programs and all that their comparison lists; `InputPair` the texts that XLA was given, from
which `Triage` says whether the program, a flag or the compiler can have made the difference.
Scopes are read off JAX's op_names; a family are scopes that differ in one number.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from msgspec import Struct, convert

from hlotool.analysis.origin import Origin, find_scope, read_origin, write_short_source
from hlotool.analysis.shardings.report import ShardingReport
from hlotool.analysis.shardings.witness import find_declared_meshes
from hlotool.compare.changes.collectives import CollectiveChange
from hlotool.compare.changes.figures import MetricRow
from hlotool.compare.changes.header import HeaderChange, compare_headers
from hlotool.compare.changes.instructions import NEW, OLD, InstructionChange
from hlotool.compare.changes.memory import ValuePair, pair_rows
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.proof import compute_the_same
from hlotool.compare.match.structure import are_equal, compare_structure
from hlotool.dump.files import DumpFile
from hlotool.hlo import Instruction, Module
from hlotool.hlo.attribute_values import drop_metadata, drop_tables
from hlotool.hlo.parser import parse_module
from hlotool.hlo.scanner import unquote
from hlotool.program.program import Program
from hlotool.table import NUMBER, Shown, column, figure
from hlotool.table.words import fold_numbers, list_some
from hlotool.text import Source


class Kind(Struct, frozen=True, forbid_unknown_fields=True):
    """What holds of all reasons of a kind: a table of hlotool/data/reasons.toml."""

    meaning: str
    order: float = 10  # in which edits are told
    says: str = ""


def _read_kinds() -> dict[str, Kind]:
    path = os.path.normpath(os.path.join(__file__, "../../../data/reasons.toml"))  # noqa: PTH118
    with open(path, "rb") as file:  # noqa: PTH123  as in table/renamed
        return convert(tomllib.load(file), dict[str, Kind])


KINDS: Final[Mapping[str, Kind]] = _read_kinds()
MEASURE_MEANINGS: Final[Mapping[str, str]] = {
    "peak": "bytes held at the peak",
    "peak of all layers": "bytes that all layers of a numbered family hold at the peak",
    "donated": "bytes of donated parameters",
    "results": "bytes of the results of one step",
    "parameters": "bytes of parameters on a device",
    "sent": "bytes that a device sends per step",
    "exposed": "bytes that a device sends per step without any overlap",
    "traffic": "bytes moved in memory per step",
}

if TYPE_CHECKING:  # the words of both are those of the tables
    CauseId: TypeAlias = str
    Measure: TypeAlias = str
else:
    CauseId = Literal[tuple(KINDS)]
    Measure = Literal[tuple(MEASURE_MEANINGS)]


def _show_id(cause: Cause) -> Shown:
    return Shown(cause.id.replace("-", " "))


class Cause(Struct, frozen=True):
    """One reason; which fields it has goes by its id (docs/differences.md).

    `delta_bytes` is new − old of what `measure` says: bytes held at the peak, by all layers at
    the peak, donated, of results per step, of parameters on a device, sent per step, sent with
    nothing that hides them, moved in memory per step.
    """

    id: Annotated[
        CauseId,
        column(
            "kind of reason",
            heading="reason",
            word_meanings={name: kind.meaning for name, kind in KINDS.items()},
            shown=_show_id,
        ),
    ]
    count: Annotated[
        int | None, column("number of its values, parameters, …; null if not counted", null_text="")
    ]
    subject: Annotated[
        str | None, column("its subject: names, opcodes, a collective", null_text="")
    ] = None
    scope: Annotated[
        str | None, column("location in the user's program", null_text="", is_path=True)
    ] = None
    old: Annotated[str | None, column("value" + OLD, heading="old", null_text="")] = None
    new: Annotated[str | None, column("value" + NEW, heading="new", null_text="")] = None
    measure: Annotated[
        Measure | None, column("meaning of its bytes", null_text="", word_meanings=MEASURE_MEANINGS)
    ] = None
    delta_bytes: Annotated[
        int | None, column("new minus old", heading="difference", is_signed=True, null_text="")
    ] = None
    delta_flops: Annotated[int | None, figure("flops per step, new minus old", is_signed=True)] = (
        None
    )
    delta_sent_bytes: Annotated[
        int | None, figure("bytes sent per step, new minus old", is_signed=True)
    ] = None
    source: Annotated[
        str | None, column("files and lines of what changed, shortened", null_text="")
    ] = None

    @property
    def more(self) -> int | None:
        """How many more the new side has than the old side, None where a side has no number."""
        numbers = [int(side) for side in (self.old, self.new) if side and side.isdecimal()]
        return numbers[1] - numbers[0] if numbers[1:] else None


_BUILD: Final = figure("number of the TPU compiler's build", NUMBER)
_BACKEND: Final = figure("the backend that the text shows; null if none")


class Triage(Struct, frozen=True):
    """What both sides were compiled from, and under what. Null where a dump does not tell."""

    is_input_identical: Annotated[
        bool | None,
        figure("whether the texts before optimizations are proven equal; null if one is missing"),
    ]
    flag_count: Annotated[int | None, figure("flags that differ; null if a side printed none")]
    old_build: Annotated[int | None, _BUILD]
    new_build: Annotated[int | None, _BUILD]
    old_backend: Annotated[str | None, _BACKEND] = None
    new_backend: Annotated[str | None, _BACKEND] = None

    @property
    def has_other_backend(self) -> bool:
        """Whether the sides were compiled for different backends, and both are known."""
        backends = {self.old_backend, self.new_backend}
        return None not in backends and len(backends) > 1


class InputPair:
    """What XLA was given on both sides; a side that has no such text is None."""

    def __init__(self, old: DumpFile | None, new: DumpFile | None) -> None:
        self._files = old, new

    @property
    def is_whole(self) -> bool:
        """Whether both sides have a text."""
        return None not in self._files

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The texts there are."""
        return tuple(file.read() for file in self._files if file)

    @property
    def texts(self) -> tuple[str, str]:
        """Both texts."""
        old, new = self.sources
        return old.text, new.text

    @cached_property
    def programs(self) -> tuple[Program, Program]:
        """Both programs."""
        old, new = (parse_module(source) for source in self.sources)
        return Program(old.name, old), Program(new.name, new)

    @cached_property
    def is_same(self) -> bool | None:
        """Whether the programs are proven to compute the same; None without a text.

        Equal texts are the same; others are, if they are equal but for names, metadata, order, and
        what is a function of its own: releases of JAX differ in that.
        """
        if not self.is_whole:
            return None
        old, new = (drop_tables(drop_metadata(text)) for text in self.texts)
        if old == new:
            return True
        one, other = self.programs
        modules = one.expect_module(), other.expect_module()
        meshes = [set(find_declared_meshes(module).values()) for module in modules]
        if meshes[0] != meshes[1] or compare_headers(*modules):
            return False
        return are_equal(one, other) or compute_the_same(one, other)


class Given(Struct, frozen=True):
    """The programs in which edits are looked for: what XLA was given, else the compiled ones."""

    programs: tuple[Program, Program]
    reasoner: Reasoner
    is_input: bool


class Claim(Struct, frozen=True):
    """A cause, and the instructions that it changed: of programs given to XLA, or compiled."""

    cause: Cause
    touched: Collection[Instruction] = ()


MOST_LINES: Final = 2
_OP_NAME: Final = re.compile(r'op_name=("[^"\\]*+(?:\\.[^"\\]*+)*+")')


class Evidence(Struct, eq=False, dict=True):
    """Two programs that have modules, what their comparison lists, and what XLA was given."""

    old: Program
    new: Program
    reasoner: Reasoner
    inputs: InputPair
    metrics: Mapping[str, MetricRow]
    collectives: Sequence[CollectiveChange]
    instructions: Sequence[InstructionChange]
    header: Sequence[HeaderChange]

    @cached_property
    def given(self) -> Given:
        """The programs in which edits are looked for, and what is paired in them."""
        if not self.inputs.is_whole:
            return Given((self.old, self.new), self.reasoner, is_input=False)
        programs = self.inputs.programs
        return Given(programs, Reasoner(compare_structure(*programs)), is_input=True)

    @property
    def modules(self) -> tuple[Module, Module]:
        """Both modules."""
        return self.old.expect_module(), self.new.expect_module()

    @cached_property
    def shardings(self) -> tuple[ShardingReport, ShardingReport]:
        """Where the arrays of both sides lie."""
        return self.old.shardings, self.new.shardings

    @cached_property
    def named(self) -> tuple[Mapping[str, Instruction], Mapping[str, Instruction]]:
        """The instructions of both sides by their full names."""
        old, new = ({one.full_name: one for one in each.instructions()} for each in self.modules)
        return old, new

    @cached_property
    def op_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """All op_names of both sides: of what XLA was given where both are there."""
        inputs = self.inputs
        texts = inputs.texts if inputs.is_whole else [one.source.text for one in self.modules]
        old, new = (frozenset(map(unquote, set(_OP_NAME.findall(text)))) for text in texts)
        return old, new

    @cached_property
    def scopes(self) -> tuple[frozenset[str], frozenset[str]]:
        """All scopes of `op_names`, numbers of layers aside."""
        old, new = map(fold_scopes, self.op_names)
        return old, new

    @cached_property
    def values(self) -> Sequence[ValuePair]:
        """The values that hold memory at either peak, those that are the same in pairs."""
        return pair_rows(self.old.peak_rows, self.new.peak_rows, self.reasoner.pairs)

    def delta(self, path: str) -> float:
        """Return by how much a metric differs, 0 where a side does not know it."""
        row = self.metrics.get(path)
        return (row.delta if row else None) or 0


def list_scopes(op_names: Iterable[str]) -> frozenset[str]:
    """Return the different scopes of op_names."""
    return frozenset(scope for scope in map(find_scope, op_names) if scope)


def fold_scopes(op_names: Iterable[str]) -> frozenset[str]:
    """Return the different scopes of op_names, numbers of layers aside."""
    return frozenset(map(fold_numbers, list_scopes(op_names)))


def is_within(scope: str, outer: str) -> bool:
    """Say whether a scope is another, or stands in it."""
    return scope == outer or scope.startswith(f"{outer}/")


def list_executed(program: Program) -> Iterator[tuple[Instruction, int]]:
    """Yield what runs on its own, with how often it does per step, at least."""
    executions = program.executions
    for computation in executions.executed:
        runs = executions.lower_bound(computation)
        for one in computation.instructions:
            yield one, runs


def fold_scope(one: Instruction) -> str:
    """Return the scope of an instruction, numbers of layers aside; '' where it has none."""
    return fold_numbers(find_scope(one.metadata().op_name) or "")


def find_main_scope(some: Iterable[Instruction]) -> str | None:
    """Return the scope that most of some instructions stand in, None where it is unknown."""
    scopes = Counter(scope for one in some if (scope := fold_numbers(find_inner_scope(one) or "")))
    return scopes.most_common(1)[0][0] if scopes else None


def find_inner_scope(one: Instruction) -> str | None:
    """Return the scope of an instruction, or of the last inside a fusion that has one."""
    return _read_inner(one).scope


def list_sources(some: Iterable[Instruction], new: Module | None = None) -> str | None:
    """List the lines that most of some instructions come from, those of `new` if it has any."""
    lines: Counter[tuple[bool, str]] = Counter()
    for one in some:
        origin = _read_inner(one)
        line = write_short_source(origin.source_file, origin.source_line)
        lines.update([(one.module is new, line)] if line else ())
    is_new = any(is_own for is_own, _ in lines)
    told = [line for (is_own, line), _ in lines.most_common() if is_own == is_new]
    return list_some(told, MOST_LINES) or None


def _read_inner(one: Instruction) -> Origin:
    body = one.callee() if one.opcode == "fusion" else None
    return read_origin(one, reversed(body.instructions) if body else ())


Families: TypeAlias = Mapping[str, frozenset[str]]


def list_families(scopes: Iterable[str]) -> Families:
    """List the members of each family, the scopes that differ in one number, by its name.

    >>> list_families(["layer_0/mlp", "layer_1/mlp"])["layer_*"] == {"layer_0", "layer_1"}
    True
    """
    found: dict[str, set[str]] = {}
    for scope in scopes:
        parts = scope.split("/")
        for index, part in enumerate(parts):
            if fold_numbers(part) != part:
                member = "/".join(parts[: index + 1])
                found.setdefault(fold_numbers(member), set()).add(member)
    return {family: frozenset(members) for family, members in found.items()}
