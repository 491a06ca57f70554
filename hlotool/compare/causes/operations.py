"""What does the user's program compute now that it did not, and the reverse?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from hlotool.analysis.origin.scope import find_scope
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.fields.paths import fold_numbers
from hlotool.ir.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, TRANSCENDENTAL
from hlotool.program.program import Program

# The compiler itself writes these and takes them away.
_COMPILED: Final = frozenset(("convert", "bitcast-convert", "reduce-precision"))
_GIVEN: Final = (ELEMENTWISE | MATRIX_PRODUCTS) - _COMPILED
_OPTIMIZED: Final = TRANSCENDENTAL
_FUNCTION: Final = re.compile(r"(?:^|/)(jit\(\w+\))")


def find_operations(evidence: Evidence) -> Iterator[Cause]:
    """Yield each scope of both sides in which functions or opcodes are new or gone.

    Functions are those that JAX names: `jit(silu)`. Of the texts before optimizations, if both
    are there and run different operations, all opcodes that compute are compared; else of the
    compiled ones transcendental opcodes alone, as XLA rewrites the rest. `count` are instructions
    in the text, numbered scopes together.
    """
    inputs = evidence.inputs
    if inputs.has_same_operations:
        return
    programs = inputs.programs if inputs.is_whole else (evidence.left, evidence.right)
    wanted = _GIVEN if inputs.is_whole else _OPTIMIZED
    left, right = (_count(program, wanted) for program in programs)
    functions = [_list_functions(names) for names in evidence.op_names]
    for scope in sorted(left.keys() & right.keys()):
        called = [each.get(scope, set()) for each in functions]
        gone = {each: left[scope][each] for each in left[scope] if each not in right[scope]}
        new = {each: right[scope][each] for each in right[scope] if each not in left[scope]}
        names = [sorted(called[0] - called[1]), sorted(called[1] - called[0])]
        if gone or new or any(names):
            yield Cause(
                kind="operations",
                count=sum(gone.values()) + sum(new.values()),
                scope=scope or None,
                left=", ".join([*names[0], *sorted(gone)]) or None,
                right=", ".join([*names[1], *sorted(new)]) or None,
            )


def _list_functions(op_names: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the functions that stand inside each scope, without the outermost."""
    found: dict[str, set[str]] = {}
    for name in op_names:
        scope = find_scope(name)
        calls = _FUNCTION.findall(name)
        if scope and calls:
            inner = calls[1:] if name.startswith(calls[0]) else calls
            found.setdefault(fold_numbers(scope), set()).update(inner)
    return found


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
