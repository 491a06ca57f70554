"""What is true of each opcode: one set of opcodes for each rule that XLA has about them.

Opcodes are spelled as in the text (xla/hlo/ir/hlo_opcode.h). A new one is added to the sets of
what is true of it, or to `_OTHERS`; a test says where a set is forgotten in OPCODES. An opcode in
none of them is kept as it is and treated as opaque; no reader fails on it. A rule has a set here
where more than one question asks for it, or a new opcode would have to join; what concerns one
algorithm alone stays there.
"""

from __future__ import annotations

from typing import Final


def _opcodes(words: str) -> frozenset[str]:
    return frozenset(words.split())


# -- what it computes

# Elementwise, and counted in `transcendentals` instead of `flops`
# (HloCostAnalysis::HandleElementwiseOp, xla/service/hlo_cost_analysis.cc).
TRANSCENDENTAL: Final = _opcodes(
    "acos acosh asin asinh atan atan2 atanh cbrt cosh cosine erf exponential "
    "exponential-minus-one log log-plus-one logistic power rsqrt sine sinh sqrt tan tanh"
)
# Makes each element of its result of the elements at the same place in its operands (same place).
# XLA calls copy elementwise too (HloInstruction::IsOpElementwise); here it is one of MOVES.
ELEMENTWISE: Final = TRANSCENDENTAL | _opcodes(
    "abs add and bitcast-convert ceil clamp compare complex convert count-leading-zeros divide "
    "floor imag is-finite maximum minimum mulhi multiply negate not or popcnt real "
    "reduce-precision remainder round-nearest-afz round-nearest-even select shift-left "
    "shift-right-arithmetic shift-right-logical sign stochastic-convert subtract xor"
)
# A product of matrices, counted as multiply-adds (HandleDot and its kin, same file).
MATRIX_PRODUCTS: Final = _opcodes("convolution dot ragged-dot scaled-dot")
# Says which device this is (HandlePartitionId, HandleReplicaId: no work).
DEVICE_NUMBERS: Final = _opcodes("partition-id replica-id")
# Does more than make a result, or not the same one each time
# (HloInstruction::HasSideEffectNoRecurse, xla/hlo/ir/hlo_instruction.cc; rng is one there in older
# versions). What is communicated has sets of its own, below.
EFFECTS: Final = _opcodes("custom-call infeed outfeed recv rng rng-get-and-update-state send")

# -- what it moves

# There before anything runs: the parentheses hold a literal or a number, no operands
# (HloParserImpl::CreateInstruction, xla/hlo/parser/hlo_parser.cc).
GIVEN: Final = _opcodes("constant parameter")
# The bytes of its operands under another shape: what HloDataflowAnalysis forwards and may stand in
# a fusion (UpdateBitcastValueSet, UpdateGetTupleElementValueSet, UpdateTupleValueSet,
# xla/hlo/analysis/hlo_dataflow_analysis.cc).
VIEWS: Final = _opcodes("bitcast get-tuple-element tuple")
FREE: Final = GIVEN | VIEWS  # no code runs for these
# Writes its operand's elements to another place, perhaps in another order, and computes nothing
# (HandleCopy, HandleReshape and HandleTranspose of HloCostAnalysis: no flops).
MOVES: Final = _opcodes("copy reshape transpose")
# Touches only a part of its first operand (HloCostAnalysis::FusionParameterReadBytes).
SLICES: Final = _opcodes("dynamic-slice dynamic-update-slice slice")
# Writes into its first operand where it can (CanShareOperandBufferWithUser of HloDataflowAnalysis).
UPDATES_IN_PLACE: Final = _opcodes("dynamic-update-slice scatter set-dimension-size")
# Makes no array of its own but hands on buffers that others made (HloDataflowAnalysis). An async
# pair counts where its result is complete: at the done, or in the wrapped operation.
PASSES_ON: Final = _opcodes(
    "add-dependency after-all all-gather-start all-reduce-start async-done async-start "
    "async-update bitcast call collective-permute-start conditional copy-start domain "
    "get-tuple-element opt-barrier parameter recv send send-done tuple while"
)
# Uses its operand's table of pointers, not what they lead to; or uses nothing of it
# (MayUseOperandValue, xla/service/hlo_value.cc).
USES_TOP_ONLY: Final = _opcodes("copy get-tuple-element")
USES_NOTHING: Final = _opcodes("domain tuple")

# -- between devices, and in time

# All devices of a group take part (IsCollectiveCommunicationOp, xla/hlo/utils/hlo_query.cc).
COLLECTIVES: Final = _opcodes(
    "all-gather all-reduce all-to-all collective-broadcast collective-permute collective-reduce "
    "ragged-all-to-all reduce-scatter"
)
# Begins a transfer between devices: one such instruction is one logical collective at most.
TRANSFERS: Final = COLLECTIVES | _opcodes(
    "all-gather-start all-reduce-start collective-permute-start send"
)
# An opcode of its own that begins, or ends, what goes on meanwhile; any other `X-start` and
# `X-done` is sugar for X (xla/hlo/ir/hlo_opcode.h).
ASYNC_STARTS: Final = _opcodes(
    "all-gather-start all-reduce-start async-start collective-permute-start copy-start"
)
ASYNC_DONES: Final = _opcodes(
    "all-gather-done all-reduce-done async-done collective-permute-done copy-done recv-done "
    "send-done"
)
# Goes on with an async-start, and names its computation once more.
LATER_STEPS: Final = _opcodes("async-done async-update")

# -- what it calls, and what it is written with

# Runs the computations it names, one after the other, in memory like its own (kControlFlow of
# GetInstructionCallContext, xla/hlo/ir/hlo_opcode.cc).
CONTROL_FLOW: Final = _opcodes("async-done async-start async-update call conditional while")
# Or they are a part of it, with buffers of their own kind (kEmbedded, same place).
MAY_CALL: Final = CONTROL_FLOW | _opcodes(
    "all-reduce all-reduce-start collective-reduce custom-call fusion map reduce reduce-scatter "
    "reduce-window scan scatter select-and-scatter sort"
)
# Never stands without operands: an empty list shows a print style that leaves them out. Of the
# others some may (fusion, call, tuple, custom-call, after-all, the async forms of SparseCore), and
# the rest are too rare to tell a style by.
TAKES_OPERANDS: Final = (ELEMENTWISE | COLLECTIVES | ASYNC_DONES) - {"async-done"} | _opcodes(
    "bitcast broadcast concatenate convolution copy copy-start dot dynamic-slice "
    "dynamic-update-slice gather get-tuple-element pad reduce reshape reverse scatter slice sort "
    "transpose while"
)

# What a custom call stands for where the text of a fragment has nothing.
OUTSIDE: Final = "outside the text"

# Those that no other of the sets joined here has.
_OTHERS: Final = _opcodes(
    "batch-norm-grad batch-norm-inference batch-norm-training cholesky dynamic-reshape fft "
    "get-dimension-size iota ragged-dot rng-bit-generator scaled-dot set-dimension-size shuffle "
    "topk triangular-solve"
)
OPCODES: Final = (
    TAKES_OPERANDS | PASSES_ON | MAY_CALL | EFFECTS | DEVICE_NUMBERS | GIVEN | TRANSFERS | _OTHERS
)


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


# Attributes that name computations, in the order an execution meets them.
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
