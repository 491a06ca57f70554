"""What does the user's program compute now that it did not, and the reverse?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hlotool.analysis.origin.scope import find_scope
from hlotool.diff.causes.cause import Cause
from hlotool.diff.causes.evidence import Evidence
from hlotool.fields.paths import fold_numbers
from hlotool.ir.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, TRANSCENDENTAL
from hlotool.program.program import Program

# The compiler itself writes these and takes them away.
_COMPILED: Final = frozenset(("convert", "bitcast-convert", "reduce-precision"))
_GIVEN: Final = (ELEMENTWISE | MATRIX_PRODUCTS) - _COMPILED
_OPTIMIZED: Final = TRANSCENDENTAL


def find_operations(evidence: Evidence) -> Iterator[Cause]:
    """Yield each scope of both sides in which opcodes are new or gone, one cause a scope.

    Of the texts before optimizations if both are there, and their programs differ: all that
    computes. Else of the compiled ones, transcendental opcodes alone: the rest XLA rewrites.
    `count` are instructions in the text, numbered scopes together.
    """
    inputs = evidence.inputs
    if inputs.is_same:
        return
    programs = inputs.programs if inputs.is_whole else (evidence.left, evidence.right)
    wanted = _GIVEN if inputs.is_whole else _OPTIMIZED
    left, right = (_count(program, wanted) for program in programs)
    for scope in sorted(left.keys() & right.keys()):
        gone = {each: left[scope][each] for each in left[scope] if each not in right[scope]}
        new = {each: right[scope][each] for each in right[scope] if each not in left[scope]}
        if gone or new:
            yield Cause(
                kind="operations",
                count=sum(gone.values()) + sum(new.values()),
                scope=scope or None,
                left=", ".join(sorted(gone)) or None,
                right=", ".join(sorted(new)) or None,
            )


def _count(program: Program, wanted: frozenset[str]) -> Mapping[str, dict[str, int]]:
    """Count opcodes by scope, '' where there is none; what reducers apply is no part of it."""
    found: dict[str, dict[str, int]] = {}
    for computation in program.expect_module().computations.values():
        for one in computation.instructions:
            name = one.metadata().op_name if one.opcode in wanted else ""
            if name:
                counts = found.setdefault(fold_numbers(find_scope(name) or ""), {})
                counts[one.opcode] = counts.get(one.opcode, 0) + 1
    return found
