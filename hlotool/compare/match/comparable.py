"""In which spelling are literals and frontend attributes compared?"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Final

from hlotool.compare.match.terms import ELIDED, Terms, is_small
from hlotool.ir import ArrayShape, Instruction

# Frontend attributes that hold a name or a number of one build.
_NOTES: Final = frozenset(
    (
        "async_collective_name",
        "chain_id",
        "fingerprint_before_lhs",
        "kernel_metadata",
        "MegascaleRendezvousKeyName",
        "_xla_host_transfer_rendezvous",
    )
)
_BLANKS = re.compile(r"(?:/\*.*?\*/|\s)++", re.DOTALL)


def comparable_literal(instruction: Instruction, terms: Terms) -> str:
    """Return a constant's or parameter's literal in one spelling, ELIDED if not compared."""
    literal, shape = instruction.literal, instruction.shape
    if not literal or instruction.opcode != "constant":
        return literal
    if not (terms.has_small_constants if is_small(shape) else terms.has_large_constants):
        if not isinstance(shape, ArrayShape) or shape.element_count != 1:
            return ELIDED
        if ELIDED in literal or not shape.dtype.startswith(("s", "u", "pred")):
            return ELIDED
    text = without_blanks(literal)
    if isinstance(shape, ArrayShape) and shape.element_count == 1:
        text = text.strip("{}")
    if isinstance(shape, ArrayShape) and shape.dtype == "pred":
        text = text.replace("true", "1").replace("false", "0")
    return text


def without_blanks(text: str) -> str:
    """Drop blanks, line ends and comments; values that hold strings keep those whole."""
    return text if '"' in text else _BLANKS.sub("", text)


def comparable_frontend(values: Mapping[str, str], *, is_strict: bool) -> Hashable:
    """Return the frontend attributes that count, sorted; None where none does."""
    kept = tuple(
        sorted((key, text) for key, text in values.items() if is_strict or key not in _NOTES)
    )
    return kept or None
