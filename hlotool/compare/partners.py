"""What speaks for a pair of instructions, and what against it: `hlotool diff --why NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.origin import find_scope
from hlotool.compare.match.structure import Structure
from hlotool.errors import UsageError
from hlotool.hlo import Instruction
from hlotool.table import DocumentSpec, RowList, column, figure
from hlotool.table.names import suggest

Respect: TypeAlias = Literal[
    "expression", "operation", "operands", "users", "scope", "op_name", "shape", "opcode", "name"
]


class Likeness(Struct, frozen=True):
    """One respect in which the instructions of a pair agree or not."""

    left_name: Annotated[str, figure("the instruction on the left")]
    right_name: Annotated[str, figure("the instruction on the right")]
    evidence: Annotated[
        Respect,
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
    old, new = (
        next((one for one in side.instructions() if name in {one.full_name, one.name}), None)
        for side in (structure.left, structure.right)
    )
    if old is None and new is None:
        hint = suggest(name, [one.full_name for one in structure.right.instructions()])
        raise UsageError(f"--why: neither side has an instruction {name!r}; {hint}")
    pairs = structure.partners()
    back = {right: left for left, right in pairs.items()}
    found: list[tuple[Instruction | None, Instruction | None]] = []
    if old is not None:
        found.append((old, pairs.get(old)))
    if new is not None and (back.get(new), new) not in found:
        found.append((back.get(new), new))
    return found


def compare_partners(left: Instruction, right: Instruction, structure: Structure) -> list[Likeness]:
    """List what two partners have in common, and what not, what counts most first.

    Operands and users are the same where all on one side are partners of all on the other.
    """
    numbers, partners = structure.numbers, structure.partners()
    found = []

    def add(respect: Respect, old: str | None, new: str | None, *, is_same: bool) -> None:
        row = Likeness(left.full_name, right.full_name, respect, is_same, old, new)
        found.append(row)

    add("expression", None, None, is_same=numbers.up(left) == numbers.up(right))
    add("operation", None, None, is_same=numbers.signature(left) == numbers.signature(right))
    near: tuple[tuple[Respect, Sequence[Instruction], Sequence[Instruction]], ...] = (
        ("operands", left.operands, right.operands),
        ("users", left.users, right.users),
    )
    for respect, here, there in near:
        old, new = (", ".join(one.full_name for one in side) or None for side in (here, there))
        is_same = len(here) == len(there) and {partners.get(one) for one in here} == set(there)
        add(respect, old, new, is_same=is_same)
    op_names = left.metadata().op_name, right.metadata().op_name
    scopes = [find_scope(name) if name else None for name in op_names]
    texts: tuple[tuple[Respect, str | None, str | None], ...] = (
        ("scope", scopes[0], scopes[1]),
        ("op_name", op_names[0] or None, op_names[1] or None),
        ("shape", str(left.shape), str(right.shape)),
        ("opcode", left.opcode, right.opcode),
        ("name", left.full_name, right.full_name),
    )
    for respect, old, new in texts:
        add(respect, old, new, is_same=old == new and old is not None)
    return found
