"""The user's rules for custom calls whose text tells no cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.custom_calls import FindStated, StatedCost, read_call_figures
from hlotool.hlo import Instruction
from hlotool.text import Pattern

if TYPE_CHECKING:
    from hlotool.table.expression.nodes import Expression, Read

_Figures: TypeAlias = Mapping[str, int]
_Count: TypeAlias = Callable[[_Figures], int | None]


class CallRule(Struct, frozen=True):
    """A `[[custom_call]]`, its expressions parsed: flops and bytes of calls to some targets.

    Names in an expression are those of `CALL_FIGURES`. None is a figure that the rule leaves
    unknown.
    """

    target: Pattern
    flops: Expression | None = None
    bytes: Expression | None = None


def compile_call_rules(rules: Sequence[CallRule]) -> FindStated:
    """Return the function that says what the rules state of a custom call.

    For each figure the first rule counts whose pattern is found in the target and whose
    expression comes to something: a name that the call has not makes it unknown.
    """
    compiled = [(one.target, _compile(one.flops), _compile(one.bytes)) for one in rules]

    def find_stated(instruction: Instruction) -> StatedCost:
        target = instruction.custom_call_target
        matching = [counts for pattern, *counts in compiled if pattern.is_found(target)]
        if not matching:
            return StatedCost()
        figures = read_call_figures(instruction)
        flops, size = (
            (count(figures) for count in counts) for counts in zip(*matching, strict=True)
        )
        return StatedCost(_first(flops), _first(size))

    return find_stated


def _compile(tree: Expression | None) -> _Count:
    """Return the function that evaluates an expression over the figures of a call."""
    if tree is None:
        return lambda _: None
    from hlotool.table.expression.compile import as_number, compile_value  # noqa: PLC0415
    from hlotool.table.expression.nodes import Name  # noqa: PLC0415

    def find_reader(read: Read) -> Callable[[_Figures], int | None]:
        return lambda figures: figures.get(read.path) if isinstance(read, Name) else None

    read = compile_value(tree, find_reader)

    def count(figures: _Figures) -> int | None:
        """Round to whole operations or bytes; what is below 0 or without end is unknown."""
        number = as_number(read(figures))
        return round(number) if number is not None and 0 <= number < math.inf else None

    return count


def _first(counts: Iterable[int | None]) -> int | None:
    return next((one for one in counts if one is not None), None)
