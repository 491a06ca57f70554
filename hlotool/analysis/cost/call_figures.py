"""Which figures of a custom call may a rule of the user's speak of?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

from hlotool.analysis.cost.sizes import Sizes, UnknownCostError
from hlotool.fields import BYTES, COUNT, Field
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Shape

_MOST_ARRAYS: Final = 16  # operands that have names, and results
_MOST_DIMS: Final = 8


def _declare() -> Iterator[Field]:
    main = "that lie in space 0, which on TPU is HBM"
    yield Field("operand_bytes", BYTES, f"size of the operands {main}; each counts once")
    yield Field("result_bytes", BYTES, f"size of the results {main}")
    for of in ("operand", "result"):
        for number in range(_MOST_ARRAYS):
            name = f"{of}{number}"
            yield Field(f"{name}_bytes", BYTES, f"size of {of} {number}")
            yield Field(f"{name}_elements", COUNT, f"elements of {of} {number}, an array")
            for dim in range(_MOST_DIMS):
                yield Field(f"{name}_dim{dim}", COUNT, f"dimension {dim} of {of} {number}")


CALL_FIGURES: Final[Mapping[str, Field]] = {one.name: one for one in _declare()}


def read_call_figures(instruction: Instruction) -> Mapping[str, int]:
    """Return the figures that a custom call has, by their names in `CALL_FIGURES`.

    Left out is what it has not: an operand or a dimension that is not there, the elements of a
    tuple, what the text leaves open. Results are the arrays of the result, however nested.
    Sizes are the host's, without the padding of tiles.
    """
    found: dict[str, int] = {}
    sizes = Sizes()
    operands = [one.shape for one in instruction.operands]
    distinct = [leaf for one in dict.fromkeys(instruction.operands) for leaf in one.shape.leaves()]
    results = list(islice(instruction.shape.leaves(), _MOST_ARRAYS))
    with suppress(UnknownCostError):
        found["operand_bytes"] = _add_up(distinct, sizes)
    with suppress(UnknownCostError):
        found["result_bytes"] = _add_up(instruction.shape.leaves(), sizes)
    for number, shape in enumerate(operands[:_MOST_ARRAYS]):
        found |= _read_array(f"operand{number}", shape, sizes)
    for number, shape in enumerate(results):
        found |= _read_array(f"result{number}", shape, sizes)
    return found


def _add_up(arrays: Iterable[ArrayShape], sizes: Sizes) -> int:
    """Return the size of the arrays that lie in space 0."""
    return sum(sizes.content_bytes(one) for one in arrays if one.memory_space == 0)


def _read_array(name: str, shape: Shape, sizes: Sizes) -> Mapping[str, int]:
    found: dict[str, int] = {}
    with suppress(UnknownCostError):
        found[f"{name}_bytes"] = sizes.content_bytes(shape)
        found[f"{name}_elements"] = sizes.count_elements(shape)
    if isinstance(shape, ArrayShape):
        for dim, size in enumerate(shape.dims[:_MOST_DIMS]):
            if size != UNBOUNDED:
                found[f"{name}_dim{dim}"] = size
    return found
