"""The opcodes of XLA, in the spelling of the text (xla/hlo/ir/hlo_opcode.h).

An opcode that is not listed is kept as it is and treated as opaque; no reader fails on it.
"""

from __future__ import annotations

from typing import Final

ELEMENTWISE_UNARY: Final = frozenset(
    (
        "abs", "bitcast-convert", "cbrt", "ceil", "convert", "cosine", "count-leading-zeros",
        "erf", "exponential", "exponential-minus-one", "floor", "imag", "is-finite", "log",
        "log-plus-one", "logistic", "negate", "not", "popcnt", "real", "reduce-precision",
        "round-nearest-afz", "round-nearest-even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh",
    )
)  # fmt: skip

ELEMENTWISE_BINARY: Final = frozenset(
    (
        "add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum", "mulhi",
        "multiply", "or", "power", "remainder", "shift-left", "shift-right-arithmetic",
        "shift-right-logical", "stochastic-convert", "subtract", "xor",
    )
)  # fmt: skip

ELEMENTWISE: Final = ELEMENTWISE_UNARY | ELEMENTWISE_BINARY | {"clamp", "select"}

# Counted in `transcendentals`, not in `flops` (xla/service/hlo_cost_analysis.cc).
TRANSCENDENTAL: Final = frozenset(
    (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cosh", "cosine",
        "erf", "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic",
        "power", "rsqrt", "sine", "sinh", "sqrt", "tan", "tanh",
    )
)  # fmt: skip

COLLECTIVES: Final = frozenset(
    (
        "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute",
        "collective-reduce", "ragged-all-to-all", "reduce-scatter",
    )
)  # fmt: skip

# `X-start` and `X-done` that are opcodes of their own; any other is async sugar for X.
ASYNC_STARTS: Final = frozenset(
    ("all-gather-start", "all-reduce-start", "async-start", "collective-permute-start",
     "copy-start")
)  # fmt: skip
ASYNC_DONES: Final = frozenset(
    ("all-gather-done", "all-reduce-done", "async-done", "collective-permute-done", "copy-done",
     "recv-done", "send-done")
)  # fmt: skip

OPCODES: Final = (
    ELEMENTWISE
    | COLLECTIVES
    | ASYNC_STARTS
    | ASYNC_DONES
    | frozenset(
        (
            "add-dependency", "after-all", "async-update", "batch-norm-grad",
            "batch-norm-inference", "batch-norm-training", "bitcast", "broadcast", "call",
            "cholesky", "concatenate", "conditional", "constant", "convolution", "copy",
            "custom-call", "domain", "dot", "dynamic-reshape", "dynamic-slice",
            "dynamic-update-slice", "fft", "fusion", "gather", "get-dimension-size",
            "get-tuple-element", "infeed", "iota", "map", "opt-barrier", "outfeed", "pad",
            "parameter", "partition-id", "ragged-dot", "recv", "reduce", "reduce-window",
            "replica-id", "reshape", "reverse", "rng", "rng-bit-generator",
            "rng-get-and-update-state", "scaled-dot", "scan", "scatter", "select-and-scatter",
            "send", "set-dimension-size", "shuffle", "slice", "sort", "topk", "transpose",
            "triangular-solve", "tuple", "while",
        )
    )
)  # fmt: skip

# Opcodes whose attributes may name computations.
MAY_CALL: Final = frozenset(
    (
        "all-reduce", "all-reduce-start", "async-done", "async-start", "async-update", "call",
        "collective-reduce", "conditional", "custom-call", "fusion", "map", "reduce",
        "reduce-scatter", "reduce-window", "scan", "scatter", "select-and-scatter", "sort",
        "while",
    )
)  # fmt: skip

# Opcodes that never stand without operands; the others may (fusion, call, tuple, custom-call,
# after-all, the async forms of SparseCore, …).
TAKES_OPERANDS: Final = (ELEMENTWISE | COLLECTIVES | ASYNC_DONES) - {"async-done"} | frozenset(
    (
        "bitcast", "broadcast", "concatenate", "convolution", "copy", "copy-start", "dot",
        "dynamic-slice", "dynamic-update-slice", "gather", "get-tuple-element", "pad", "reduce",
        "reshape", "reverse", "scatter", "slice", "sort", "transpose", "while",
    )
)  # fmt: skip

# Opcodes that only pass on buffers which others made (xla/service/hlo_dataflow_analysis.cc).
# An async pair counts where its result is complete: at the done, or in the wrapped operation.
PASSES_ON: Final = frozenset(
    (
        "add-dependency", "after-all", "all-gather-start", "all-reduce-start", "async-done",
        "async-start", "async-update", "bitcast", "call", "collective-permute-start",
        "conditional", "copy-start", "domain", "get-tuple-element", "opt-barrier", "parameter",
        "recv", "send", "send-done", "tuple", "while",
    )
)  # fmt: skip

# Callees of these run as part of the instruction, with buffers of their own kind; callees of
# all other calling opcodes are control flow (xla/service/buffer_assignment.cc).
CONTROL_FLOW: Final = frozenset(
    ("async-done", "async-start", "async-update", "call", "conditional", "while")
)


def sugared_opcode(opcode: str) -> tuple[str, str] | None:
    """Split async sugar: `slice-start` gives ("async-start", "slice"); None for all else."""
    if opcode in OPCODES:
        return None
    wrapped, _, step = opcode.rpartition("-")
    if step in {"start", "update", "done"} and wrapped in OPCODES:
        return f"async-{step}", wrapped
    return None
