"""What can be said of an opcode, whatever the instruction? Each trait, and XLA's rule for it.

A trait is a rule that more than one question asks for, or that a new opcode would have to
join. Which opcodes have it stands in `opcodes`. What concerns one algorithm alone stays with
that algorithm.
"""

from __future__ import annotations

from enum import Flag, auto


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
