"""Causes: what is said of one reason for which two programs differ, and what finders look at.

`Cause` is the record, CAUSE_MEANINGS and MEASURE_MEANINGS say what its words mean. `Evidence` holds
two programs and all that their comparison lists; `InputPair` the texts that XLA was given, from
which `Triage` says whether the program, a flag or the compiler can have made the difference.
Scopes are read off JAX's op_names; a family are scopes that differ in one number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.origin import find_scope, read_origin
from hlotool.compare.changes.collectives import CollectiveChange
from hlotool.compare.changes.figures import MetricRow
from hlotool.compare.changes.header import HeaderChange, compare_headers
from hlotool.compare.changes.instructions import LEFT, RIGHT, InstructionChange
from hlotool.compare.changes.memory import ValuePair, pair_rows
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.structure import are_equal
from hlotool.dump.files import DumpFile
from hlotool.hlo import Instruction, Module
from hlotool.hlo.attribute_values import drop_metadata
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.table import BYTES, COUNT, FLOPS, NUMBER, WHOLE, column, figure
from hlotool.table.words import fold_numbers
from hlotool.text import Source

CAUSE_MEANINGS: Final[Mapping[str, str]] = {
    "rematerialization lost": "values live from the forward to the backward pass that were made "
    "again before",
    "rematerialization gained": "values are made again that lived from the forward to the "
    "backward pass before",
    "donation lost": "outputs have memory of their own that took that of donated parameters",
    "donation gained": "outputs take the memory of donated parameters, which had their own",
    "layers added": "members of a numbered family, layer_0 … layer_11, that only the new side has",
    "layers removed": "members of a numbered family, layer_0 … layer_11, that only the old side "
    "has",
    "loop unrolled": "copies of a loop's body stand where the old side has the loop",
    "loop rolled": "a loop stands where the old side has copies of its body",
    "trip count": "a loop makes more rounds, or fewer",
    "dimension": "arrays grew or shrank as a dimension of the inputs did: twice the batch, say",
    "products moved": "matrix products that other code computes: Triton, cuBLAS, YNNPACK, XLA",
    "dtype widened": "results of partners take more bits an element",
    "dtype narrowed": "results of partners take fewer bits an element",
    "dtype inside fusions": "operations inside fusions compute in another element type",
    "overlap lost": "a larger part of what collectives send has nothing at all that hides it",
    "overlap gained": "a smaller part of what collectives send has nothing at all that hides it",
    "collectives": "collectives of a kind are more, or fewer, not by layers that are new or gone",
    "axes": "collectives run over other axes of the mesh",
    "sharding": "parameters are cut otherwise among the devices",
    "operations": "opcodes and functions are new in a scope, or gone from it",
    "fusing": "there are more fusions for the same operations, or fewer",
    "values at the peak": "values are new at the peak, or gone from it, and no other reason "
    "accounts for half of its difference",
    "other": "what differs where there is no other reason",
}

MEASURE_MEANINGS: Final[Mapping[str, str]] = {
    "peak": "bytes held at the peak",
    "peak of all layers": "bytes that all layers of a numbered family hold at the peak",
    "donated": "bytes of donated parameters",
    "results": "bytes of the results of one run",
    "wire": "bytes that a device sends in one run",
    "exposed": "bytes that a device sends in one run with nothing that hides them",
    "traffic": "bytes moved in memory in one run",
}

CauseKind: TypeAlias = Literal[
    "rematerialization lost",
    "rematerialization gained",
    "donation lost",
    "donation gained",
    "layers added",
    "layers removed",
    "loop unrolled",
    "loop rolled",
    "trip count",
    "dimension",
    "products moved",
    "dtype widened",
    "dtype narrowed",
    "overlap lost",
    "overlap gained",
    "collectives",
    "axes",
    "sharding",
    "operations",
    "fusing",
    "values at the peak",
    "dtype inside fusions",
    "other",
]
Measure: TypeAlias = Literal[
    "peak", "peak of all layers", "donated", "results", "wire", "exposed", "traffic"
]


class Cause(Struct, frozen=True, kw_only=True):
    """One reason; which fields it has goes by its kind (docs/diff.md).

    `delta_bytes` is right − left of what `measure` says: bytes held at the peak, by all layers at
    the peak, donated, of results in one run, sent in one run, sent with nothing that hides them,
    moved in memory in one run.
    """

    kind: Annotated[
        CauseKind,
        column(
            "what kind of reason it is",
            heading="reason",
            min_width=WHOLE,
            word_meanings=CAUSE_MEANINGS,
        ),
    ]
    count: Annotated[int, column("how many values, parameters, … it is about", COUNT, hide_order=2)]
    subject: Annotated[
        str | None, column("what it is about: names, opcodes, a collective", null_text="")
    ] = None
    scope: Annotated[
        str | None, column("where in the user's program", null_text="", is_path=True, hide_order=3)
    ] = None
    left: Annotated[str | None, column("what it is" + LEFT, heading="old", null_text="")] = None
    right: Annotated[str | None, column("what it is" + RIGHT, heading="new", null_text="")] = None
    measure: Annotated[
        Measure | None,
        column("what its bytes are", null_text="", hide_order=1, word_meanings=MEASURE_MEANINGS),
    ] = None
    delta_bytes: Annotated[
        int | None,
        column("right minus left", BYTES, heading="difference", is_signed=True, null_text=""),
    ] = None
    delta_flops: Annotated[
        int | None, figure("flops in one run, right minus left", FLOPS, is_signed=True)
    ] = None
    delta_wire_bytes: Annotated[
        int | None, figure("wire bytes in one run, right minus left", BYTES, is_signed=True)
    ] = None

    @property
    def more(self) -> int | None:
        """How many more the right side has than the left, None where a side has no number."""
        numbers = [int(side) for side in (self.left, self.right) if side and side.isdecimal()]
        return numbers[1] - numbers[0] if numbers[1:] else None


_BUILD: Final = figure("number of the TPU compiler's build", NUMBER)
_BACKEND: Final = figure("whose marks the text bears; null where none")


class Triage(Struct, frozen=True):
    """What both sides were compiled from, and under what. Null where a dump does not tell."""

    is_input_identical: Annotated[
        bool | None,
        figure(
            "whether the texts before optimizations are the same program; null where one is missing"
        ),
    ]
    has_same_operations: Annotated[
        bool | None,
        figure("whether these run the same operations on the same shapes, put into any functions"),
    ]
    flag_count: Annotated[
        int | None, figure("flags that differ; null where a side printed none", COUNT)
    ]
    left_build: Annotated[int | None, _BUILD]
    right_build: Annotated[int | None, _BUILD]
    left_backend: Annotated[str | None, _BACKEND] = None
    right_backend: Annotated[str | None, _BACKEND] = None

    @property
    def has_other_backend(self) -> bool:
        """Whether the sides were compiled for different backends, and both are known."""
        backends = {self.left_backend, self.right_backend}
        return None not in backends and len(backends) > 1


# What names places in the user's files is no part of a program.
_TABLES: Final = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*", re.MULTILINE
)
# What a function of its own adds to, or takes from, the same program.
_OF_CALLS: Final = frozenset(("call", "parameter", "tuple", "get-tuple-element", "constant"))


class InputPair:
    """What XLA was given on both sides; a side that has no such text is None."""

    def __init__(self, left: DumpFile | None, right: DumpFile | None) -> None:
        self._files = left, right

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
        left, right = self.sources
        return left.text, right.text

    @cached_property
    def programs(self) -> tuple[Program, Program]:
        """Both programs."""
        left, right = (parse_module(source) for source in self.sources)
        return Program(left.name, left), Program(right.name, right)

    @cached_property
    def is_same(self) -> bool | None:
        """Whether the programs are the same but for names and metadata; None without a text.

        Equal texts are the same; others are compared as all programs are.
        """
        if not self.is_whole:
            return None
        left, right = (_TABLES.sub("", drop_metadata(text)) for text in self.texts)
        if left == right:
            return True
        one, other = self.programs
        has_same_header = not compare_headers(one.expect_module(), other.expect_module())
        return has_same_header and are_equal(one, other)

    @cached_property
    def has_same_operations(self) -> bool | None:
        """Whether both run the same operations on the same shapes; None without a text.

        So do programs that differ in what is a function of its own: releases of JAX do.
        """
        if not self.is_whole or self.is_same:
            return self.is_same
        left, right = map(_count_operations, self.programs)
        return left == right


def _count_operations(program: Program) -> Counter[tuple[str, str]]:
    """Count the runs of each operation by opcode and shape; calls are what they call."""
    found: Counter[tuple[str, str]] = Counter()
    for one, runs in list_executed(program):
        if one.opcode not in _OF_CALLS:
            found[one.opcode, str(one.shape)] += runs
    return found


_OP_NAME: Final = re.compile(r'op_name="([^"\\]*+(?:\\.[^"\\]*+)*+)"')


class Evidence(Struct, eq=False, dict=True):
    """Two programs that have modules, what their comparison lists, and what XLA was given."""

    left: Program
    right: Program
    reasoner: Reasoner
    inputs: InputPair
    metrics: Mapping[str, MetricRow]
    collectives: Sequence[CollectiveChange]
    instructions: Sequence[InstructionChange]
    header: Sequence[HeaderChange]

    @property
    def modules(self) -> tuple[Module, Module]:
        """Both modules."""
        return self.left.expect_module(), self.right.expect_module()

    @cached_property
    def op_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """All op_names of both sides: of what XLA was given where both are there."""
        inputs = self.inputs
        texts = inputs.texts if inputs.is_whole else [one.source.text for one in self.modules]
        left, right = (frozenset(found[1] for found in _OP_NAME.finditer(text)) for text in texts)
        return left, right

    @cached_property
    def values(self) -> Sequence[ValuePair]:
        """The values that hold memory at either peak, those that are the same in pairs."""
        return pair_rows(self.left.peak_rows, self.right.peak_rows, self.reasoner.pairs)

    def delta(self, path: str) -> float:
        """Return by how much a metric differs, 0 where a side does not know it."""
        row = self.metrics.get(path)
        return (row.delta if row else None) or 0


def list_scopes(op_names: Iterable[str]) -> frozenset[str]:
    """Return the different scopes of op_names."""
    return frozenset(scope for scope in map(find_scope, op_names) if scope)


def is_within(scope: str, outer: str) -> bool:
    """Say whether a scope is another, or stands in it."""
    return scope == outer or scope.startswith(f"{outer}/")


def list_executed(program: Program) -> Iterator[tuple[Instruction, int]]:
    """Yield what runs on its own, with how often it does in one run, at least."""
    executions = program.executions
    for computation in executions.executed:
        runs = executions.lower_bound(computation)
        for one in computation.instructions:
            yield one, runs


def find_inner_scope(one: Instruction) -> str | None:
    """Return the scope of an instruction, or of the last inside a fusion that has one."""
    body = one.callee() if one.opcode == "fusion" else None
    return read_origin(one, reversed(body.instructions) if body else ()).scope


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
