"""What does each kind of reason say, and what do its bytes count?

One reason for which two programs differ, found by comparing them.

Which parts of the user's program does a text name? Read off its op_names.

What the finders of causes look at.

Which numbered parts does a program have: `layer_0` … `layer_11`?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.origin import find_scope, read_origin
from hlotool.compare.causes.triage import InputPair
from hlotool.compare.changes.collectives import CollectiveChange
from hlotool.compare.changes.figures import MetricRow
from hlotool.compare.changes.header import HeaderChange
from hlotool.compare.changes.instructions import LEFT, RIGHT, InstructionChange
from hlotool.compare.changes.memory import ValuePair, pair_rows
from hlotool.compare.changes.reasons import Reasoner
from hlotool.hlo import Instruction, Module
from hlotool.program.program import Program
from hlotool.table import BYTES, COUNT, FLOPS, WHOLE, column, figure
from hlotool.table.names import fold_numbers

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
            wants=WHOLE,
            word_meanings=CAUSE_MEANINGS,
        ),
    ]
    count: Annotated[int, column("how many values, parameters, … it is about", COUNT, give_way=2)]
    subject: Annotated[
        str | None, column("what it is about: names, opcodes, a collective", null_text="")
    ] = None
    scope: Annotated[
        str | None, column("where in the user's program", null_text="", is_path=True, give_way=3)
    ] = None
    left: Annotated[str | None, column("what it is" + LEFT, heading="old", null_text="")] = None
    right: Annotated[str | None, column("what it is" + RIGHT, heading="new", null_text="")] = None
    measure: Annotated[
        Measure | None,
        column("what its bytes are", null_text="", give_way=1, word_meanings=MEASURE_MEANINGS),
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


_OP_NAME: Final = re.compile(r'op_name="([^"\\]*+(?:\\.[^"\\]*+)*+)"')


def list_op_names(text: str) -> frozenset[str]:
    """Return the different op_names of a module's text."""
    return frozenset(found[1] for found in _OP_NAME.finditer(text))


def list_scopes(op_names: Iterable[str]) -> frozenset[str]:
    """Return the different scopes of op_names."""
    return frozenset(scope for scope in map(find_scope, op_names) if scope)


def list_outermost(scopes: Iterable[str]) -> list[str]:
    """Return scopes that stand in no other of them, without numbers, by name.

    >>> list_outermost(["layer_0/mlp", "layer_1/mlp/norm", "layer_1/mlp"])
    ['layer_*/mlp']
    """
    found: list[str] = []
    for scope in sorted({fold_numbers(each) for each in scopes}):
        if not any(is_within(scope, outer) for outer in found):
            found.append(scope)
    return found


def is_within(scope: str, outer: str) -> bool:
    """Say whether a scope is another, or stands in it."""
    return scope == outer or scope.startswith(f"{outer}/")


class Evidence:
    """Two programs that have modules, what their comparison lists, and what XLA was given."""

    def __init__(
        self,
        programs: tuple[Program, Program],
        reasoner: Reasoner,
        inputs: InputPair,
        metrics: Mapping[str, MetricRow],
        *,
        collectives: Sequence[CollectiveChange],
        instructions: Sequence[InstructionChange],
        header: Sequence[HeaderChange],
    ) -> None:
        self.left, self.right = programs
        self.pairs = reasoner.pairs
        self._reasoner = reasoner
        self.inputs = inputs
        self.metrics = metrics
        self.collectives = collectives
        self.instructions = instructions
        self.header = header

    @property
    def modules(self) -> tuple[Module, Module]:
        """Both modules."""
        return self.left.expect_module(), self.right.expect_module()

    @cached_property
    def op_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """All op_names of both sides: of what XLA was given where both are there."""
        inputs = self.inputs
        if inputs.is_whole:
            left, right = inputs.texts
        else:
            left, right = (module.source.text for module in self.modules)
        return list_op_names(left), list_op_names(right)

    @cached_property
    def values(self) -> Sequence[ValuePair]:
        """The values that hold memory at either peak, those that are the same in pairs."""
        return pair_rows(self.left.peak_rows, self.right.peak_rows, self.pairs)

    def have_same_operands(self, left: Instruction, right: Instruction) -> bool:
        """Say whether partners have partners for operands."""
        return all(one.kind != "operands" for one in self._reasoner.reasons(left, right))

    def has_same_opcode(self, one: Instruction) -> bool:
        """Say whether an instruction of either side has a partner that is what it is."""
        partner = self.pairs.get(one) or self._reasoner.back.get(one)
        return partner is not None and partner.opcode == one.opcode

    def delta(self, path: str) -> float:
        """Return by how much a metric differs, 0 where a side does not know it."""
        row = self.metrics.get(path)
        return (row.delta if row else None) or 0


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


def find_families(scopes: Iterable[str]) -> Families:
    """Return the members of each family, the scopes that differ in one number, by its name.

    >>> find_families(["layer_0/mlp", "layer_1/mlp"])["layer_*"] == {"layer_0", "layer_1"}
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


def list_members(members: Iterable[str]) -> list[str]:
    """Return members in the order of their numbers.

    >>> list_members({"layer_10", "layer_9"})
    ['layer_9', 'layer_10']
    """
    return sorted(members, key=lambda name: (len(name), name))
