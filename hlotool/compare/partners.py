"""Why are two instructions taken for one? What they have in common, and what not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.origin import find_scope
from hlotool.compare.match.structure import Structure
from hlotool.errors import UsageError
from hlotool.hlo import Instruction, Module
from hlotool.table import DocumentSpec, RowList, column, figure
from hlotool.table.names import suggest

Evidence: TypeAlias = Literal[
    "expression", "operation", "operands", "users", "scope", "op_name", "shape", "opcode", "name"
]


class Likeness(Struct, frozen=True):
    """One respect in which the instructions of a pair agree or not."""

    left_name: Annotated[str, figure("the instruction on the left")]
    right_name: Annotated[str, figure("the instruction on the right")]
    evidence: Annotated[
        Evidence,
        column(
            "expression: all that leads to it; operation: all that counts of it, operands aside; "
            "operands, users: these are partners of each other"
        ),
    ]
    is_same: Annotated[bool, column("whether both agree in it", heading="same")]
    left: Annotated[str | None, column("on the left", heading="old", null_text="")]
    right: Annotated[str | None, column("on the right", heading="new", null_text="")]


LIKENESSES: Final = RowList(
    "evidence",
    Likeness,
    "in what the two agree, what counts most first",
    key="evidence",
    has_total=False,
    limit=0,
)
DIFF_WHY: Final = DocumentSpec(
    "diff-why",
    "why two instructions are taken for one",
    row_lists=(LIKENESSES,),
)


def find_pairs(
    structure: Structure, name: str
) -> list[tuple[Instruction | None, Instruction | None]]:
    """Find the pairs of the instruction of that name, on the left and on the right.

    There are two where old and new are partners of others; one side is None where an instruction
    has no partner. Raises UsageError where neither side has such an instruction.
    """
    old, new = (find_named(side, name) for side in (structure.left, structure.right))
    if old is None and new is None:
        names = [one.full_name for one in structure.right.instructions()]
        hint = suggest(name, names)
        raise UsageError(f"--why: neither side has an instruction {name!r}; {hint}")
    pairs = structure.partners()
    back = {right: left for left, right in pairs.items()}
    found: list[tuple[Instruction | None, Instruction | None]] = []
    if old is not None:
        found.append((old, pairs.get(old)))
    if new is not None and (back.get(new), new) not in found:
        found.append((back.get(new), new))
    return found


def find_named(module: Module, name: str) -> Instruction | None:
    """Return the instruction of that name; None where there is none."""
    return next((one for one in module.instructions() if name in {one.full_name, one.name}), None)


def compare_partners(left: Instruction, right: Instruction, structure: Structure) -> list[Likeness]:
    """List what two partners have in common, and what not."""
    return list(_Comparer(left, right, structure).likenesses())


class _Comparer:
    """Compares two partners, respect by respect."""

    def __init__(self, left: Instruction, right: Instruction, structure: Structure) -> None:
        self.left = left
        self.right = right
        self.numbers = structure.numbers
        self.pairs = structure.partners()

    def likenesses(self) -> Iterator[Likeness]:
        """Yield what counts most first."""
        left, right = self.left, self.right
        yield self._by_number("expression", self.numbers.up)
        yield self._by_number("operation", self.numbers.signature)
        yield self._of_many("operands", left.operands, right.operands)
        yield self._of_many("users", left.users, right.users)
        names = left.metadata().op_name, right.metadata().op_name
        yield self._of_texts("scope", *(find_scope(name) if name else None for name in names))
        yield self._of_texts("op_name", *(name or None for name in names))
        yield self._of_texts("shape", str(left.shape), str(right.shape))
        yield self._of_texts("opcode", left.opcode, right.opcode)
        yield self._of_texts("name", left.full_name, right.full_name)

    def _by_number(self, evidence: Evidence, number: Callable[[Instruction], int]) -> Likeness:
        return self._row(evidence, is_same=number(self.left) == number(self.right))

    def _of_many(
        self, evidence: Evidence, left: Sequence[Instruction], right: Sequence[Instruction]
    ) -> Likeness:
        """Say whether all on one side are partners of all on the other, and name them."""
        partners = {self.pairs.get(one) for one in left}
        is_same = len(left) == len(right) and partners == set(right)
        texts = [", ".join(one.full_name for one in side) or None for side in (left, right)]
        return self._row(evidence, *texts, is_same=is_same)

    def _of_texts(self, evidence: Evidence, left: str | None, right: str | None) -> Likeness:
        return self._row(evidence, left, right, is_same=left == right and left is not None)

    def _row(
        self,
        evidence: Evidence,
        left: str | None = None,
        right: str | None = None,
        *,
        is_same: bool,
    ) -> Likeness:
        names = self.left.full_name, self.right.full_name
        return Likeness(*names, evidence, is_same, left, right)
