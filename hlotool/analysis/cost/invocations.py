"""How often does an instruction run the computations it names, each time it runs itself?

Follows the handlers of xla/service/hlo_cost_analysis.cc (0.10.2). A conditional is not here:
it runs one of its branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final, TypeAlias

from hlotool.analysis.cost.sizes import UnknownCostError, count_elements, first_array, operand_shape
from hlotool.hlo import Computation, Instruction, WindowDimension

Applications: TypeAlias = tuple[tuple[Computation, int], ...]  # what is run, and how often


def _callee(instruction: Instruction, key: str) -> Computation:
    callees = instruction.callees(key)
    if not callees:
        raise UnknownCostError(f"{instruction.opcode} has no computation {key}=")
    return callees[0]


def _fitting_window(instruction: Instruction) -> tuple[WindowDimension, ...]:
    """Return the window; raise UnknownCostError if it is not one over the first operand."""
    window = instruction.window()
    rank = len(operand_shape(instruction, 0).dims)
    if len(window) != rank:
        raise UnknownCostError(f"window= has {len(window)} dimensions, the operand {rank}")
    if not all(one.is_possible for one in window):
        raise UnknownCostError("the window has a size below 1, or a stride or dilation")
    return window


def apply_async(instruction: Instruction) -> Applications:
    """Run the wrapped computation once."""
    return ((_callee(instruction, "calls"), 1),)


def apply_fusion(instruction: Instruction) -> Applications:
    """Run the body once. Of a custom fusion with a gather or scatter XLA counts nothing else."""
    body = _callee(instruction, "calls")
    special = find_custom_body(instruction, body)
    if special is None:
        return ((body, 1),)
    return apply_scatter(special) if special.opcode == "scatter" else ()


def find_custom_body(fusion: Instruction, body: Computation) -> Instruction | None:
    """Return the gather or scatter for which XLA takes a fusion of kind kCustom, or None."""
    if fusion.attributes.get("kind") != "kCustom":
        return None
    return next((one for one in body.instructions if one.opcode in {"gather", "scatter"}), None)


def find_offloaded(call: Instruction) -> Computation | None:
    """Return the computation that a custom call stands for, or None.

    TPU compilers hand collectives over to the SparseCores so: the one called computation takes
    the call's operands and makes its result. A comparator or combiner, which is applied to
    elements, does neither.
    """
    called = call.called_computations() if "called_computations" in call.attributes else ()
    if len(called) != 1:
        return None
    given = [one.shape.without_layout() for one in (*call.operands, call)]
    taken = [one.shape.without_layout() for one in (*called[0].parameters, called[0].root)]
    return called[0] if given == taken else None


def apply_call(instruction: Instruction) -> Applications:
    """Run `to_apply` once."""
    return ((_callee(instruction, "to_apply"), 1),)


def apply_while(instruction: Instruction) -> Applications:
    """Run body and condition once: XLA knows no trip counts."""
    body, condition = _callee(instruction, "body"), _callee(instruction, "condition")
    return ((body, 1), (condition, 1))


def apply_map(instruction: Instruction) -> Applications:
    """Run the function for each element of the result."""
    return ((_callee(instruction, "to_apply"), count_elements(instruction.shape)),)


def apply_reduce(instruction: Instruction) -> Applications:
    """Run the reducer once for each element that goes; a variadic reducer takes all at once."""
    before = count_elements(operand_shape(instruction, 0))
    after = count_elements(first_array(instruction.shape))
    if after > before:
        raise UnknownCostError(f"{after} elements cannot be what is left of {before}")
    return ((_callee(instruction, "to_apply"), before - after),)


def apply_reduce_window(instruction: Instruction) -> Applications:
    """Run the reducer for each element of each window but the first.

    A window that sees a whole dimension from everywhere (size 2p + 1, padded by p on both
    sides, p + 1 elements) is a reduction whose result is broadcast, and counted as XLA counts
    that.
    """
    result = first_array(instruction.shape)
    results = count_elements(result)
    window = _fitting_window(instruction)
    times = (prod(one.size for one in window) - 1) * results
    wide = [place for place, one in enumerate(window) if one.size != 1]
    padded = [place for place, one in enumerate(window) if one.pad_low or one.pad_high]
    if len(wide) == 1 and len(padded) == 1 and not instruction.shape.is_tuple:
        place = wide[0]
        dimension, length = window[place], result.dims[place]
        is_whole = (
            dimension.pad_low == dimension.pad_high == length - 1
            and dimension.pad_low > 0
            and dimension.size == 2 * dimension.pad_low + 1
        )
        if is_whole:
            times = results // length + length - 1
    return ((_callee(instruction, "to_apply"), times),)


def apply_select_and_scatter(instruction: Instruction) -> Applications:
    """Run select for all but one element of each window, and scatter once for each window."""
    windows = count_elements(operand_shape(instruction, 1))
    size = prod(one.size for one in _fitting_window(instruction))
    return (
        (_callee(instruction, "select"), windows * (size - 1)),
        (_callee(instruction, "scatter"), windows),
    )


def apply_scatter(instruction: Instruction) -> Applications:
    """Run the combiner for each element of the first update."""
    first_update = len(instruction.operands) // 2 + 1
    updates = count_elements(operand_shape(instruction, first_update))
    return ((_callee(instruction, "to_apply"), updates),)


def apply_scan(instruction: Instruction) -> Applications:
    """Run the body as often as the second operand has elements: XLA's figure, not the steps."""
    times = count_elements(operand_shape(instruction, 1))
    return ((_callee(instruction, "to_apply"), times),)


_APPLICATIONS: Final[Mapping[str, Callable[[Instruction], Applications]]] = {
    "async-start": apply_async,
    "call": apply_call,
    "fusion": apply_fusion,
    "map": apply_map,
    "reduce": apply_reduce,
    "reduce-window": apply_reduce_window,
    "scan": apply_scan,
    "scatter": apply_scatter,
    "select-and-scatter": apply_select_and_scatter,
    "while": apply_while,
}


APPLYING: Final = _APPLICATIONS.keys()


def find_applications(instruction: Instruction) -> Applications:
    """Return what an instruction runs and how often; raises UnknownCostError."""
    handler = _APPLICATIONS.get(instruction.opcode)
    return handler(instruction) if handler else ()
