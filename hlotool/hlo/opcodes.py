"""What can be said of an opcode, whatever the instruction? Each trait, and XLA's rule for it.

A trait is a rule that more than one question asks for, or that a new opcode would have to
join. Which opcodes have it stands in `opcodes`. What concerns one algorithm alone stays with
that algorithm.

Which opcodes are there, and what is true of each? One table, a row an opcode.

Spelled as in the text (xla/hlo/ir/hlo_opcode.h). To add one, add its row. An opcode that has
none is kept as it is and treated as opaque; no reader fails on it. `traits` says what a trait
means.

Which attributes name computations?
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Final


class Trait(Flag):
    """One thing that is true of an opcode; a row of the table joins several with `|`."""

    # -- what it computes

    # Makes each element of its result of the elements at the same place in its operands
    # (HloCostAnalysis::HandleElementwiseOp, xla/service/hlo_cost_analysis.cc). XLA calls copy
    # elementwise too (HloInstruction::IsOpElementwise); here it MOVES.
    ELEMENTWISE = auto()
    # Elementwise, and counted in `transcendentals` instead of `flops` (HandleElementwiseOp).
    TRANSCENDENTAL = auto()
    # A product of matrices, counted as multiply-adds (HandleDot and its kin, same file).
    MATRIX_PRODUCT = auto()
    # Says which device this is (HandlePartitionId, HandleReplicaId: no work).
    DEVICE_NUMBER = auto()
    # Does more than make a result, or not the same one each time
    # (HloInstruction::HasSideEffectNoRecurse, xla/hlo/ir/hlo_instruction.cc; rng is one there
    # in older versions). What is communicated has traits of its own, below.
    EFFECT = auto()

    # -- what it moves

    # There before anything runs: the parentheses hold a literal or a number, no operands
    # (HloParserImpl::CreateInstruction, xla/hlo/parser/hlo_parser.cc).
    GIVEN = auto()
    # The bytes of its operands under another shape: what HloDataflowAnalysis forwards and may
    # stand in a fusion (UpdateBitcastValueSet, UpdateGetTupleElementValueSet,
    # UpdateTupleValueSet, xla/hlo/analysis/hlo_dataflow_analysis.cc).
    VIEW = auto()
    # Writes its operand's elements to another place, perhaps in another order, and computes
    # nothing (HandleCopy, HandleReshape and HandleTranspose of HloCostAnalysis: no flops).
    MOVES = auto()
    # Touches only a part of its first operand (HloCostAnalysis::FusionParameterReadBytes).
    SLICES = auto()
    # Writes into its first operand where it can (CanShareOperandBufferWithUser of
    # HloDataflowAnalysis).
    UPDATES_IN_PLACE = auto()
    # Makes no array of its own but hands on buffers that others made (HloDataflowAnalysis). An
    # async pair counts where its result is complete: at the done, or in the wrapped operation.
    PASSES_ON = auto()
    # Uses its operand's table of pointers, not what they lead to; or uses nothing of it
    # (MayUseOperandValue, xla/service/hlo_value.cc).
    USES_TOP_ONLY = auto()
    USES_NOTHING = auto()

    # -- between devices, and in time

    # All devices of a group take part (IsCollectiveCommunicationOp, xla/hlo/utils/hlo_query.cc).
    COLLECTIVE = auto()
    # Begins a transfer between devices: one such instruction is one logical collective at most.
    TRANSFER = auto()
    # An opcode of its own that begins, or ends, what goes on meanwhile; any other `X-start` and
    # `X-done` is sugar for X (xla/hlo/ir/hlo_opcode.h).
    ASYNC_START = auto()
    ASYNC_DONE = auto()
    # Goes on with an async-start, and names its computation once more.
    LATER_STEP = auto()

    # -- what it calls, and what it is written with

    # Runs the computations it names, one after the other, in memory like its own; or they are
    # a part of it, with buffers of their own kind (kControlFlow and kEmbedded of
    # GetInstructionCallContext, xla/hlo/ir/hlo_opcode.cc).
    CONTROL_FLOW = auto()
    EMBEDS = auto()
    # Never stands without operands: an empty list shows a print style that leaves them out.
    # Of the others some may (fusion, call, tuple, custom-call, after-all, the async forms of
    # SparseCore), and the rest are too rare to tell a style by.
    TAKES_OPERANDS = auto()


_PLAIN: Final = Trait(0)
_ELEMENTWISE: Final = Trait.ELEMENTWISE | Trait.TAKES_OPERANDS
_TRANSCENDENTAL: Final = Trait.TRANSCENDENTAL | _ELEMENTWISE
_COLLECTIVE: Final = Trait.COLLECTIVE | Trait.TRANSFER | Trait.TAKES_OPERANDS

TABLE: Final[dict[str, Trait]] = {
    "abs": _ELEMENTWISE,
    "acos": _TRANSCENDENTAL,
    "acosh": _TRANSCENDENTAL,
    "add": _ELEMENTWISE,
    "add-dependency": Trait.PASSES_ON,
    "after-all": Trait.PASSES_ON,
    "all-gather": _COLLECTIVE,
    "all-gather-done": Trait.ASYNC_DONE | Trait.TAKES_OPERANDS,
    "all-gather-start": Trait.ASYNC_START | Trait.TRANSFER | Trait.PASSES_ON,
    "all-reduce": _COLLECTIVE | Trait.EMBEDS,
    "all-reduce-done": Trait.ASYNC_DONE | Trait.TAKES_OPERANDS,
    "all-reduce-start": Trait.ASYNC_START | Trait.TRANSFER | Trait.EMBEDS | Trait.PASSES_ON,
    "all-to-all": _COLLECTIVE,
    "and": _ELEMENTWISE,
    "asin": _TRANSCENDENTAL,
    "asinh": _TRANSCENDENTAL,
    "async-done": Trait.ASYNC_DONE | Trait.LATER_STEP | Trait.CONTROL_FLOW | Trait.PASSES_ON,
    "async-start": Trait.ASYNC_START | Trait.CONTROL_FLOW | Trait.PASSES_ON,
    "async-update": Trait.LATER_STEP | Trait.CONTROL_FLOW | Trait.PASSES_ON,
    "atan": _TRANSCENDENTAL,
    "atan2": _TRANSCENDENTAL,
    "atanh": _TRANSCENDENTAL,
    "batch-norm-grad": _PLAIN,
    "batch-norm-inference": _PLAIN,
    "batch-norm-training": _PLAIN,
    "bitcast": Trait.VIEW | Trait.PASSES_ON | Trait.TAKES_OPERANDS,
    "bitcast-convert": _ELEMENTWISE,
    "broadcast": Trait.TAKES_OPERANDS,
    "call": Trait.CONTROL_FLOW | Trait.PASSES_ON,
    "cbrt": _TRANSCENDENTAL,
    "ceil": _ELEMENTWISE,
    "cholesky": _PLAIN,
    "clamp": _ELEMENTWISE,
    "collective-broadcast": _COLLECTIVE,
    "collective-permute": _COLLECTIVE,
    "collective-permute-done": Trait.ASYNC_DONE | Trait.TAKES_OPERANDS,
    "collective-permute-start": Trait.ASYNC_START | Trait.TRANSFER | Trait.PASSES_ON,
    "collective-reduce": _COLLECTIVE | Trait.EMBEDS,
    "compare": _ELEMENTWISE,
    "complex": _ELEMENTWISE,
    "concatenate": Trait.TAKES_OPERANDS,
    "conditional": Trait.CONTROL_FLOW | Trait.PASSES_ON,
    "constant": Trait.GIVEN,
    "convert": _ELEMENTWISE,
    "convolution": Trait.MATRIX_PRODUCT | Trait.TAKES_OPERANDS,
    "copy": Trait.MOVES | Trait.USES_TOP_ONLY | Trait.TAKES_OPERANDS,
    "copy-done": Trait.ASYNC_DONE | Trait.TAKES_OPERANDS,
    "copy-start": Trait.ASYNC_START | Trait.PASSES_ON | Trait.TAKES_OPERANDS,
    "cosh": _TRANSCENDENTAL,
    "cosine": _TRANSCENDENTAL,
    "count-leading-zeros": _ELEMENTWISE,
    "custom-call": Trait.EFFECT | Trait.EMBEDS,
    "divide": _ELEMENTWISE,
    "domain": Trait.PASSES_ON | Trait.USES_NOTHING,
    "dot": Trait.MATRIX_PRODUCT | Trait.TAKES_OPERANDS,
    "dynamic-reshape": _PLAIN,
    "dynamic-slice": Trait.SLICES | Trait.TAKES_OPERANDS,
    "dynamic-update-slice": Trait.SLICES | Trait.UPDATES_IN_PLACE | Trait.TAKES_OPERANDS,
    "erf": _TRANSCENDENTAL,
    "exponential": _TRANSCENDENTAL,
    "exponential-minus-one": _TRANSCENDENTAL,
    "fft": _PLAIN,
    "floor": _ELEMENTWISE,
    "fusion": Trait.EMBEDS,
    "gather": Trait.TAKES_OPERANDS,
    "get-dimension-size": _PLAIN,
    "get-tuple-element": Trait.VIEW | Trait.PASSES_ON | Trait.USES_TOP_ONLY | Trait.TAKES_OPERANDS,
    "imag": _ELEMENTWISE,
    "infeed": Trait.EFFECT,
    "iota": _PLAIN,
    "is-finite": _ELEMENTWISE,
    "log": _TRANSCENDENTAL,
    "log-plus-one": _TRANSCENDENTAL,
    "logistic": _TRANSCENDENTAL,
    "map": Trait.EMBEDS,
    "maximum": _ELEMENTWISE,
    "minimum": _ELEMENTWISE,
    "mulhi": _ELEMENTWISE,
    "multiply": _ELEMENTWISE,
    "negate": _ELEMENTWISE,
    "not": _ELEMENTWISE,
    "opt-barrier": Trait.PASSES_ON,
    "or": _ELEMENTWISE,
    "outfeed": Trait.EFFECT,
    "pad": Trait.TAKES_OPERANDS,
    "parameter": Trait.GIVEN | Trait.PASSES_ON,
    "partition-id": Trait.DEVICE_NUMBER,
    "popcnt": _ELEMENTWISE,
    "power": _TRANSCENDENTAL,
    "ragged-all-to-all": _COLLECTIVE,
    "ragged-dot": Trait.MATRIX_PRODUCT,
    "real": _ELEMENTWISE,
    "recv": Trait.EFFECT | Trait.PASSES_ON,
    "recv-done": Trait.ASYNC_DONE | Trait.TAKES_OPERANDS,
    "reduce": Trait.EMBEDS | Trait.TAKES_OPERANDS,
    "reduce-precision": _ELEMENTWISE,
    "reduce-scatter": _COLLECTIVE | Trait.EMBEDS,
    "reduce-window": Trait.EMBEDS,
    "remainder": _ELEMENTWISE,
    "replica-id": Trait.DEVICE_NUMBER,
    "reshape": Trait.MOVES | Trait.TAKES_OPERANDS,
    "reverse": Trait.TAKES_OPERANDS,
    "rng": Trait.EFFECT,
    "rng-bit-generator": _PLAIN,
    "rng-get-and-update-state": Trait.EFFECT,
    "round-nearest-afz": _ELEMENTWISE,
    "round-nearest-even": _ELEMENTWISE,
    "rsqrt": _TRANSCENDENTAL,
    "scaled-dot": Trait.MATRIX_PRODUCT,
    "scan": Trait.EMBEDS,
    "scatter": Trait.UPDATES_IN_PLACE | Trait.EMBEDS | Trait.TAKES_OPERANDS,
    "select": _ELEMENTWISE,
    "select-and-scatter": Trait.EMBEDS,
    "send": Trait.TRANSFER | Trait.EFFECT | Trait.PASSES_ON,
    "send-done": Trait.ASYNC_DONE | Trait.PASSES_ON | Trait.TAKES_OPERANDS,
    "set-dimension-size": Trait.UPDATES_IN_PLACE,
    "shift-left": _ELEMENTWISE,
    "shift-right-arithmetic": _ELEMENTWISE,
    "shift-right-logical": _ELEMENTWISE,
    "shuffle": _PLAIN,
    "sign": _ELEMENTWISE,
    "sine": _TRANSCENDENTAL,
    "sinh": _TRANSCENDENTAL,
    "slice": Trait.SLICES | Trait.TAKES_OPERANDS,
    "sort": Trait.EMBEDS | Trait.TAKES_OPERANDS,
    "sqrt": _TRANSCENDENTAL,
    "stochastic-convert": _ELEMENTWISE,
    "subtract": _ELEMENTWISE,
    "tan": _TRANSCENDENTAL,
    "tanh": _TRANSCENDENTAL,
    "topk": _PLAIN,
    "transpose": Trait.MOVES | Trait.TAKES_OPERANDS,
    "triangular-solve": _PLAIN,
    "tuple": Trait.VIEW | Trait.PASSES_ON | Trait.USES_NOTHING,
    "while": Trait.CONTROL_FLOW | Trait.PASSES_ON | Trait.TAKES_OPERANDS,
    "xor": _ELEMENTWISE,
}


def with_trait(trait: Trait) -> frozenset[str]:
    """Return the opcodes that have a trait."""
    bit = trait.value  # a plain number: traits are slow to test
    return frozenset(opcode for opcode, traits in TABLE.items() if traits.value & bit)


OPCODES: Final = frozenset(TABLE)

ELEMENTWISE: Final = with_trait(Trait.ELEMENTWISE)
TRANSCENDENTAL: Final = with_trait(Trait.TRANSCENDENTAL)
MATRIX_PRODUCTS: Final = with_trait(Trait.MATRIX_PRODUCT)
DEVICE_NUMBERS: Final = with_trait(Trait.DEVICE_NUMBER)
EFFECTS: Final = with_trait(Trait.EFFECT)

GIVEN: Final = with_trait(Trait.GIVEN)
VIEWS: Final = with_trait(Trait.VIEW)
FREE: Final = GIVEN | VIEWS  # no code runs for these
MOVES: Final = with_trait(Trait.MOVES)
SLICES: Final = with_trait(Trait.SLICES)
UPDATES_IN_PLACE: Final = with_trait(Trait.UPDATES_IN_PLACE)
PASSES_ON: Final = with_trait(Trait.PASSES_ON)
USES_TOP_ONLY: Final = with_trait(Trait.USES_TOP_ONLY)
USES_NOTHING: Final = with_trait(Trait.USES_NOTHING)

COLLECTIVES: Final = with_trait(Trait.COLLECTIVE)
TRANSFERS: Final = with_trait(Trait.TRANSFER)
ASYNC_STARTS: Final = with_trait(Trait.ASYNC_START)
ASYNC_DONES: Final = with_trait(Trait.ASYNC_DONE)
LATER_STEPS: Final = with_trait(Trait.LATER_STEP)

CONTROL_FLOW: Final = with_trait(Trait.CONTROL_FLOW)
MAY_CALL: Final = CONTROL_FLOW | with_trait(Trait.EMBEDS)
TAKES_OPERANDS: Final = with_trait(Trait.TAKES_OPERANDS)


def sugared_opcode(opcode: str) -> tuple[str, str] | None:
    """Split async sugar: `slice-start` gives ("async-start", "slice"); None for all else.

    What a wrapped constant or parameter is, sugar does not say; it is left alone.
    """
    if opcode in OPCODES:
        return None
    wrapped, _, step = opcode.rpartition("-")
    if step in {"start", "update", "done"} and wrapped in OPCODES and wrapped not in GIVEN:
        return f"async-{step}", wrapped
    return None


# In the order an execution meets them.
CALL_KEYS: Final = (
    "condition",
    "body",
    "calls",
    "to_apply",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
    "select",
    "scatter",
)
LISTS_OF_CALLEES: Final = frozenset(("branch_computations", "called_computations"))
