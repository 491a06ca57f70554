"""Who asked for a collective: the user, or the partitioner?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from hlotool.hlo import Instruction

Maker: TypeAlias = Literal["spmd", "user"]

# The last part of an op_name is the primitive. These, and what begins like them, are JAX's own
# collectives; all others have none in them until the partitioner puts one there.
_COLLECTIVE: Final = (
    "psum", "pmax", "pmin", "ppermute", "pbroadcast", "pgather", "pcast", "all_gather",
    "all_to_all", "reduce_scatter", "ragged_all_to_all", "all_reduce",
)  # fmt: skip
_BY_PMAP: Final = "pmap("
_BY_JAX: Final = ("jit(", "pjit(", _BY_PMAP)


def find_maker(instructions: Iterable[Instruction], op_name: str) -> Maker | None:
    """Return `spmd`, `user`, or None where the dump does not tell.

    The attribute `is_spmd_generated` on any of `instructions` says spmd. Without it, the
    primitive in a JAX `op_name` tells: collective primitives are the user's, and any other
    primitive under jit has a collective only because the partitioner gave it one. Where XLA
    combined several and they differ, None.
    """
    for instruction in instructions:
        attributes = instruction.attributes
        if "frontend_attributes" in attributes and (
            instruction.frontend_attributes().get("is_spmd_generated") == "true"
        ):
            return "spmd"
    if not op_name.startswith(_BY_JAX):
        return None
    names = op_name.replace(":", ";").split(";")
    primitives = [name.rpartition("/")[2].rstrip(")") for name in names]
    are_collective = {_is_collective(one) for one in primitives if one}
    if len(are_collective) != 1:
        return None
    if are_collective.pop():
        return "user"
    return None if op_name.startswith(_BY_PMAP) else "spmd"


def _is_collective(primitive: str) -> bool:
    is_word = primitive.replace("_", "").isalnum()
    return is_word and primitive.startswith(_COLLECTIVE)
