"""Why an instruction differs from its counterpart, and what speaks for the two being counterparts.

Each reason has a kind, which scripts may test, and the two sides as texts. Operands are compared by
whether they match, so a reason is never a consequence of names; what an added or a removed
instruction does to its users' operand lists is told by its own row. What speaks for a pair, and
what against it, is the answer of `hlotool diff --why NAME`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import zip_longest
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.origin import find_scope
from hlotool.compare.match.comparable import comparable_literal, config_changes, trip_count
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.signature import family
from hlotool.compare.match.structure import Structure
from hlotool.errors import UsageError
from hlotool.hlo import ArrayShape, Instruction, Layout, Shape, TupleShape
from hlotool.table import DocumentSpec, RowList, column, figure
from hlotool.table.words import suggest


def shape_changes(old: Shape, new: Shape) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, old, new) for each respect; of a tuple, the first array that differs.

    A tuple of other length or nesting has changed its shape, whatever its arrays do.
    """
    here, there = list(old.leaves_with_index()), list(new.leaves_with_index())
    if [index for index, _ in here] != [index for index, _ in there]:
        yield "shape", describe_shape(old), describe_shape(new)
        return
    told: set[str] = set()
    for (index, one), (_, other) in zip(here, there, strict=True):
        place = "{" + ",".join(map(str, index)) + "} " if index else ""
        for kind, before, after in _array_changes(one, other):
            if kind not in told:
                told.add(kind)
                yield kind, place + before, after


def pair_arrays(old: Shape, new: Shape) -> list[tuple[ArrayShape, ArrayShape]]:
    """Return the arrays of two shapes in pairs; none where one holds more."""
    here, there = list(old.leaves()), list(new.leaves())
    return list(zip(here, there, strict=True)) if len(here) == len(there) else []


def list_other_sizes(old: Collection[int], new: Collection[int]) -> list[tuple[int, int, int]]:
    """List each dimension of another size, with both; none where there are more or fewer."""
    if len(old) != len(new):
        return []
    sizes = enumerate(zip(old, new, strict=True))
    return [(axis, a, b) for axis, (a, b) in sizes if a != b and a > 0 and b > 0]


def describe_shape(shape: Shape) -> str:
    """Write an array as XLA does; of a tuple only how many arrays it holds."""
    if isinstance(shape, TupleShape):
        return f"a tuple of {sum(1 for _ in shape.leaves())}"
    return str(shape)


def scaling(old: Shape, new: Shape) -> str:
    """Say by which factor shapes differ, if they do in no other way; '' if in another way.

    Of every array at most one dimension may have changed, and by the same factor in all.
    """
    here, there = list(old.leaves_with_index()), list(new.leaves_with_index())
    if [index for index, _ in here] != [index for index, _ in there]:
        return ""
    factors: set[Fraction] = set()
    for (_, one), (_, other) in zip(here, there, strict=True):
        if len(one.dims) != len(other.dims) or one.dynamic != other.dynamic:
            return ""
        changed = [(a, b) for a, b in zip(one.dims, other.dims, strict=True) if a != b]
        if len(changed) > 1 or any(a <= 0 or b <= 0 for a, b in changed):
            return ""
        factors.update(Fraction(b, a) for a, b in changed)
    return f"×{factors.pop()}" if len(factors) == 1 else ""


def _array_changes(old: ArrayShape, new: ArrayShape) -> Iterator[tuple[str, str, str]]:
    if old.dtype != new.dtype:
        yield "dtype", old.dtype, new.dtype
    if (old.dims, old.dynamic) != (new.dims, new.dynamic):
        yield "shape", str(old), str(new)
    here, there = old.layout or Layout(), new.layout or Layout()
    if here.memory_space != there.memory_space:
        yield "memory space", str(here.memory_space), str(there.memory_space)
    is_comparable = len(old.dims) == len(new.dims) or here.tiles != there.tiles
    here_alone, there_alone = (replace(one, memory_space=0) for one in (here, there))
    if is_comparable and here_alone != there_alone:
        yield "layout", str(here), str(there)


def format_shape(shape: Shape, *, with_layout: bool = True) -> str:
    """Write a shape as XLA does, tuples in full."""
    if isinstance(shape, TupleShape):
        parts = (format_shape(each, with_layout=with_layout) for each in shape.elements)
        return f"({', '.join(parts)})"
    if not with_layout or shape.layout is None or not shape.dims:
        return str(shape)
    space = shape.layout.memory_space
    text = str(shape.layout)
    return f"{shape}{text[:-1]}{':' * (':' not in text)}S({space})}}" if space else f"{shape}{text}"


_KINDS: Final = {
    "index": "tuple index",
    "kind": "fusion kind",
    "backend_config": "backend config",
    "replica_groups": "replica groups",
    "source_target_pairs": "source target pairs",
    "custom_call_target": "custom call target",
    "control-predecessors": "control dependencies",
    "frontend_attributes": "frontend attributes",
    "output_to_operand_aliasing": "aliasing",
}
# Kinds of reasons; any other attribute that differs is one under its own name.
REASON_MEANINGS: Final[Mapping[str, str]] = {
    "shape": "the dimensions of the result differ",
    "dtype": "the element type of the result differs",
    "layout": "the order of dimensions in memory or the tiles differ",
    "memory space": "the memory space of the result differs",
    "opcode": "one operation was replaced by another",
    "operands": "the operands are not counterparts; an inserted one has its own row",
    "constant": "the value of the constant differs",
    "parameter number": "the parameter has another number",
    "async": "an operation became asynchronous or synchronous",
    "trip count": "the trip count differs",
    "called computations": "the number of called computations differs",
    "sharding": "its sharding differs",
    **{title: f"its attribute {key} differs" for key, title in _KINDS.items()},
}
_LONGEST: Final = 60  # characters of a side's text
_SEARCHED: Final = 64  # unpaired instructions looked through on the way to a paired one


class Reason(Struct, frozen=True):
    """One difference of a pair: its kind, and what stands on each side ('' for nothing).

    Reasons of one `pattern` are folded: a batch that doubles is one change in all shapes.
    """

    kind: str
    old: str = ""
    new: str = ""
    pattern: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.old} → {self.new}" if self.old or self.new else self.kind


class Reasoner:
    """Says why counterparts differ; `pairs` and `back` are all counterparts of both modules.

    `reasons` lists why a pair differs, callees' contents aside.
    """

    def __init__(self, structure: Structure) -> None:
        self.signatures = structure.signatures
        self.exact = structure.numbers.signature
        self.pairs = structure.counterparts()
        self.back = structure.back()
        self.flow = structure.flow
        self.loops, self.copies = structure.loops, structure.copies
        self._same = {(one.old, one.new) for one in structure.computations if one.is_equal}
        self.reasons = cache(self._list_reasons)
        self._known_own: dict[Hashable, tuple[Reason, ...]] = {}

    @cached_property
    def changed(self) -> Mapping[tuple[Instruction, Instruction], tuple[Reason, ...]]:
        """The pairs that differ, with why; of computations that hold the same none are asked."""
        return {
            (old, new): found
            for old, new in self.pairs.items()
            if (old.computation, new.computation) not in self._same
            and (found := self.reasons(old, new))
        }

    def _list_reasons(self, old: Instruction, new: Instruction) -> tuple[Reason, ...]:
        """List why a pair differs, () where it does not, callees' contents aside."""
        if old is new:  # of a program that is compared with itself
            return ()
        operands = () if self._have_same_operands(old, new) else (Reason("operands"),)
        return (*self._own(old, new), *operands)

    def _own(self, old: Instruction, new: Instruction) -> tuple[Reason, ...]:
        """Return what differs in the instructions themselves, found once for all that say so."""
        numbers = self.exact(old), self.exact(new)
        if numbers[0] == numbers[1]:
            return ()
        # Channels are no part of the number, but of the text of a reason.
        key = *numbers, old.attributes.get("channel_id"), new.attributes.get("channel_id")
        found = self._known_own.get(key)
        if found is None:
            found = self._known_own[key] = tuple(self._find_own(old, new))
        return found

    def _find_own(self, old: Instruction, new: Instruction) -> Iterator[Reason]:
        """Yield what differs in the instructions themselves."""
        is_async_change = old.opcode != new.opcode and family(old) == family(new)
        if is_async_change:
            is_start = old.opcode.endswith("-start"), new.opcode.endswith("-start")
            yield Reason("async", *("async" if one else "sync" for one in is_start))
        elif old.opcode != new.opcode:
            yield Reason("opcode", old.opcode, new.opcode)
        shape = self.signatures.shape
        if not is_async_change and shape(old.shape) != shape(new.shape):
            for kind, before, after in shape_changes(old.shape, new.shape):
                pattern = scaling(old.shape, new.shape) if kind == "shape" else ""
                yield Reason(kind, before, after, pattern)
        terms = self.signatures.terms
        literals = comparable_literal(old, terms), comparable_literal(new, terms)
        if literals[0] != literals[1] and old.opcode == new.opcode:
            kind = "parameter number" if old.opcode == "parameter" else "constant"
            yield Reason(kind, *map(_cut, literals))
        yield from self._attributes(old, new)
        called = [len(one.called_computations()) for one in (old, new)]
        if called[0] != called[1] and not is_async_change:
            yield Reason("called computations", str(called[0]), str(called[1]))

    def _attributes(self, old: Instruction, new: Instruction) -> Iterator[Reason]:
        if old.opcode != new.opcode:
            old, new = _operation(old), _operation(new)
        here = dict(self.signatures.attributes(old))
        there = dict(self.signatures.attributes(new))
        for key in sorted(here.keys() | there.keys()):
            if here.get(key) == there.get(key):
                continue
            if key == "backend_config":
                configs = old.backend_config(), new.backend_config()
                trips = [trip_count(config) or "none" for config in configs]
                if trips[0] != trips[1]:
                    yield Reason("trip count", *trips)
                changes = config_changes(*configs, is_strict=self.signatures.terms.is_strict)
                if changes:
                    yield Reason("backend config", *map(_cut, changes))
            else:
                texts = (one.attributes.get(key, "none") for one in (old, new))
                yield Reason(_KINDS.get(key, key), *map(_cut, texts))

    def _have_same_operands(self, old: Instruction, new: Instruction) -> bool:
        here = [_undone(one) for one in old.operands]
        there = [_undone(one) for one in new.operands]
        # With more operands on one side places say nothing; those with counterparts must be in
        # order.
        if len(here) != len(there):
            mapped = [self.pairs[one] for one in here if one in self.pairs]
            return mapped == [one for one in there if one in self.back]
        return all(
            self._are_same(one, other) for one, other in zip_longest(here, there) if one or other
        )

    def _are_same(self, old: Instruction, new: Instruction) -> bool:
        """Say whether two operands are counterparts, or differ by rows of their own.

        An operand of the old side without counterpart was removed, one of the new side added; if
        what they stand on leads to the other side's operand, both are new, or it is one copy more,
        there is nothing to add.
        """
        counterpart, origin = self.pairs.get(old), self.back.get(new)
        if counterpart is new or counterpart is origin is None:
            return True
        meanings = self.flow.meanings(new)  # fusions and calls looked through
        if any(self.pairs.get(one) in meanings for one in self.flow.meanings(old)):
            return True
        if origin is None:
            return self._is_copy(new, counterpart) or _leads_to(new, counterpart, self.back)
        if counterpart is not None:
            return False
        return self._is_copy(old, origin) or _leads_to(old, origin, self.pairs)

    def _is_copy(self, one: Instruction, other: Instruction | None) -> bool:
        """Say whether two instructions of one side compute the same from the same."""
        return (
            other is not None
            and one.operands == other.operands
            and self.exact(one) == self.exact(other)
        )


def _leads_to(start: Instruction, goal: Instruction | None, paired: Pairs) -> bool:
    """Say whether unpaired instructions alone lie between an operand and `goal`."""
    pending, seen = [start], {start}
    while pending and len(seen) <= _SEARCHED:
        for operand in pending.pop().operands:
            one = _undone(operand)
            if one is goal:
                return True
            if one not in paired and one not in seen:
                seen.add(one)
                pending.append(one)
    return False


def _undone(instruction: Instruction) -> Instruction:
    """Return the start of an asynchronous operation in place of its done."""
    while instruction.opcode.endswith("-done") and instruction.operands:
        instruction = instruction.operands[0]
    return instruction


def _operation(instruction: Instruction) -> Instruction:
    """Return what an async-start wraps, anything else as it is."""
    callee = instruction.callee() if instruction.opcode == "async-start" else None
    return callee.root if callee else instruction


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


Respect: TypeAlias = Literal[
    "expression", "operation", "operands", "users", "scope", "op_name", "shape", "opcode", "name"
]


class Likeness(Struct, frozen=True):
    """One respect in which the instructions of a pair agree or not."""

    old_name: Annotated[str, figure("the instruction on the old side")]
    new_name: Annotated[str, figure("the instruction on the new side")]
    evidence: Annotated[
        Respect,
        column(
            "expression: everything that leads to it; operation: everything but its "
            "operands; operands, users: these are counterparts"
        ),
    ]
    is_same: Annotated[bool, column("whether both agree in it", heading="same")]
    old: Annotated[str | None, column("on the old side", heading="old", null_text="")]
    new: Annotated[str | None, column("on the new side", heading="new", null_text="")]


LIKENESSES: Final = RowList(
    "evidence",
    Likeness,
    "criteria in which both agree, most important first",
    key="evidence",
    has_total=False,
    limit=0,
)
DIFF_WHY: Final = DocumentSpec(
    "diff-why", "reasons why two instructions match", row_lists=(LIKENESSES,)
)


def find_pairs(
    structure: Structure, name: str
) -> list[tuple[Instruction | None, Instruction | None]]:
    """Find the pairs of the instruction of that name, on the old and on the new side.

    There are two where old and new are counterparts of others; one side is None where an
    instruction has no counterpart. Raises UsageError where neither side has such an instruction.
    """
    before, after = (
        next((one for one in side.instructions() if name in {one.full_name, one.name}), None)
        for side in (structure.old, structure.new)
    )
    if before is None and after is None:
        hint = suggest(name, [one.full_name for one in structure.new.instructions()])
        raise UsageError(f"--why: no side has an instruction {name!r}; {hint}")
    pairs = structure.counterparts()
    back = {new: old for old, new in pairs.items()}
    found: list[tuple[Instruction | None, Instruction | None]] = []
    if before is not None:
        found.append((before, pairs.get(before)))
    if after is not None and (back.get(after), after) not in found:
        found.append((back.get(after), after))
    return found


def compare_counterparts(
    old: Instruction, new: Instruction, structure: Structure
) -> list[Likeness]:
    """List what two counterparts have in common, and what not, what counts most first.

    Operands and users are the same where all on one side are counterparts of all on the other.
    """
    numbers, counterparts = structure.numbers, structure.counterparts()
    found: list[tuple[Respect, bool, str | None, str | None]] = [
        ("expression", numbers.up(old) == numbers.up(new), None, None),
        ("operation", numbers.signature(old) == numbers.signature(new), None, None),
    ]
    near: tuple[tuple[Respect, Sequence[Instruction], Sequence[Instruction]], ...] = (
        ("operands", old.operands, new.operands),
        ("users", old.users, new.users),
    )
    for respect, here, there in near:
        before, after = (", ".join(one.full_name for one in side) or None for side in (here, there))
        is_same = len(here) == len(there) and {counterparts.get(one) for one in here} == set(there)
        found.append((respect, is_same, before, after))
    op_names = old.metadata().op_name, new.metadata().op_name
    scopes = [find_scope(name) if name else None for name in op_names]
    texts: tuple[tuple[Respect, str | None, str | None], ...] = (
        ("scope", scopes[0], scopes[1]),
        ("op_name", op_names[0] or None, op_names[1] or None),
        ("shape", str(old.shape), str(new.shape)),
        ("opcode", old.opcode, new.opcode),
        ("name", old.full_name, new.full_name),
    )
    found += [(kind, one == other is not None, one, other) for kind, one, other in texts]
    return [Likeness(old.full_name, new.full_name, *each) for each in found]
