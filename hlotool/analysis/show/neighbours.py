"""What is inside a fusion, a loop or a computation?

Which instructions give to one, and which take from it?

Ways lead through calls: what a parameter of a called computation holds was given by the callers,
and its root is what the callers return. A reducer's parameters are given element by element, by
nobody in particular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.calls import list_branches
from hlotool.analysis.origin import find_origin, write_short_source
from hlotool.analysis.show.subjects import InstructionName, ShapeText, SizeBytes
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.module import all_operands
from hlotool.hlo.values import ShapeIndex
from hlotool.table import BYTES, FLOPS, NUMBER, column, figure


class BodyRow(Struct, frozen=True):
    """One instruction inside; figures of one execution."""

    of: Annotated[str, figure("the subject")]
    computation: Annotated[str, figure("the computation that holds it", heading="in")]
    name: InstructionName
    opcode: Annotated[str, column("the opcode")]
    shape: ShapeText
    operands: Annotated[tuple[str, ...], column("its operands by name", give_way=3)]
    size_bytes: Annotated[int | None, figure("size of the result", BYTES, is_summed=False)]
    flops: Annotated[
        int | None,
        column(
            "flops of one execution; null where nothing is known of them",
            FLOPS,
            give_way=1,
            lower_if="is_flops_lower_bound",
        ),
    ]
    is_flops_lower_bound: Annotated[bool, figure("whether a part of its flops is unknown")]
    scope: Annotated[str | None, column("module path in the op_name", is_path=True)]


def list_body(of: str, computation: Computation, costs: CostModel) -> tuple[BodyRow, ...]:
    """Return the instructions of a computation, in the order of the text."""
    return tuple(_make_row(of, one, costs) for one in computation.instructions)


def _make_row(of: str, one: Instruction, costs: CostModel) -> BodyRow:
    cost = costs.of(one)
    is_unknown = cost.is_total_lower_bound and not cost.total_flops
    return BodyRow(
        of,
        one.computation.name,
        one.name,
        one.opcode,
        str(one.shape),
        tuple(operand.name for operand in one.operands),
        costs.find_size_bytes(one.shape),
        None if is_unknown else cost.total_flops,
        cost.is_total_lower_bound,
        find_origin(one).scope,
    )


Relation: TypeAlias = Literal["operand", "user"]

_GIVING: Final = frozenset(("fusion", "call", "async-start"))


class NeighbourRow(Struct, frozen=True):
    """One instruction on a way to or from the subject."""

    of: Annotated[str, figure("the subject")]
    relation: Annotated[
        Relation, column("operand where it gives to the subject, user where it takes")
    ]
    hops: Annotated[int, column("steps away from the subject", NUMBER, give_way=3)]
    name: InstructionName
    opcode: Annotated[str, column("the opcode")]
    shape: ShapeText
    size_bytes: SizeBytes
    computation: Annotated[str, figure("the computation that holds it")]
    scope: Annotated[str | None, column("module path in the op_name", is_path=True)]
    source: Annotated[str | None, figure("file and line without directories")]
    reached_from: Annotated[
        str, figure("the neighbour, or the subject, one step nearer from which it was reached")
    ]


Callers: TypeAlias = Mapping[Computation, Sequence[Instruction]]


def find_neighbours(
    subject: Instruction,
    index: ShapeIndex | None,
    hops: int,
    callers: Callers,
    costs: CostModel,
) -> tuple[NeighbourRow, ...]:
    """Return what is at most so many steps away, operands first; each instruction once a way.

    Of a part of the subject's tuple, at `index`, that is what gives to this part or takes it, as
    far as a tuple or a loop tells. `callers` are the instructions that name each computation.
    """
    part = index[0] if index else None
    ways: tuple[tuple[Relation, Callable[[Instruction], Iterable[Instruction]]], ...] = (
        ("operand", lambda one: find_givers(one, callers.get(one.computation, ()))),
        ("user", lambda one: find_takers(one, callers.get(one.computation, ()))),
    )
    rows = []
    for relation, following in ways:
        met = {subject}
        ring: list[Instruction] = [subject]
        for hop in range(1, hops + 1):
            reached = {one: each for each in reversed(ring) for one in following(each)}
            if hop == 1 and part is not None:
                reached = dict.fromkeys(_keep_part(reached, subject, part, relation), subject)
            ring = [one for one in reached if one not in met]
            met.update(ring)
            for one in ring:
                place = _Place(subject.full_name, relation, hop, reached[one].full_name)
                rows.append(_make_neighbour_row(one, place, costs))
    return tuple(rows)


def find_givers(
    instruction: Instruction, callers: Iterable[Instruction]
) -> tuple[Instruction, ...]:
    """Return the operands; of a called computation's parameter, what the callers give."""
    if instruction.opcode != "parameter":
        return instruction.operands
    given = (_find_given(caller, instruction) for caller in callers)
    return tuple(dict.fromkeys(one for one in given if one is not None))


def find_takers(
    instruction: Instruction, callers: Iterable[Instruction]
) -> tuple[Instruction, ...]:
    """Return the users; of a computation's root, the callers too."""
    return (*instruction.users, *(callers if instruction.is_root else ()))


def _keep_part(
    reached: Iterable[Instruction], subject: Instruction, part: int, relation: Relation
) -> Iterator[Instruction]:
    """Yield of what gives to a tuple, or takes it, what has to do with one part of it."""
    if relation == "operand" and subject.opcode == "tuple":
        yield subject.operands[part]
        return
    for one in reached:
        if relation == "operand":
            is_state = subject.opcode == "while" and one.opcode == "tuple"
            yield one.operands[part] if is_state else one
        elif one.opcode != "get-tuple-element" or one.tuple_index == part:
            yield one


def _find_given(caller: Instruction, parameter: Instruction) -> Instruction | None:
    """Return what a caller gives a parameter of what it calls; None where that is not one value."""
    if caller.opcode == "while":
        return caller.operands[0]
    if caller.opcode == "conditional":
        branches = list_branches(caller)
        place = 1 + branches.index(parameter.computation)
        return caller.operands[place] if place < len(caller.operands) else None
    if caller.opcode not in _GIVING:
        return None
    given = all_operands(caller)
    number = parameter.parameter_number
    return given[number] if number < len(given) else None


class _Place(Struct, frozen=True):
    """Where a neighbour stands, as seen from its subject."""

    of: str
    relation: Relation
    hops: int
    reached_from: str


def _make_neighbour_row(one: Instruction, place: _Place, costs: CostModel) -> NeighbourRow:
    origin = find_origin(one)
    return NeighbourRow(
        of=place.of,
        relation=place.relation,
        hops=place.hops,
        name=one.full_name,
        opcode=one.opcode,
        shape=str(one.shape),
        size_bytes=costs.find_size_bytes(one.shape),
        computation=one.computation.name,
        scope=origin.scope,
        source=write_short_source(origin.source_file, origin.source_line),
        reached_from=place.reached_from,
    )
