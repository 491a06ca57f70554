"""What to tell a user whose file is not a dump we read: what it is, and how to make one."""

from __future__ import annotations

from typing import Final

from hlotool.inputs.read.text_kind import TextKind

HOW_TO_DUMP: Final = (
    "To make a text dump, run the program with "
    'XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_as_text", '
    "or save what compiled.as_text() returns in JAX."
)

_REFUSALS: Final = {
    TextKind.EMPTY: "the file is empty.",
    TextKind.MLIR: (
        "this is MLIR (StableHLO or another dialect), the program before XLA compiled it; "
        "hlotool reads the HLO that XLA prints after that."
    ),
    TextKind.JAXPR: "this is a jaxpr, the program before XLA saw it; hlotool reads HLO.",
    TextKind.LLVM_IR: "this is LLVM IR, the code of single kernels; hlotool reads HLO.",
    TextKind.PTX: "this is PTX assembly, the code of single kernels; hlotool reads HLO.",
    TextKind.THUNKS: (
        "this is XLA's list of thunks, the order of launches; hlotool reads the HLO they "
        "come from, in the file that ends in after_optimizations.txt."
    ),
    TextKind.PROTO_TEXT: (
        "this is a protobuf in text form (a configuration or an HloProto); hlotool reads the "
        "HLO text that XLA prints."
    ),
    TextKind.FLAGS: "this is a list of command-line flags, not an HLO dump.",
    TextKind.JSON: "this is JSON, but not a document that hlotool wrote.",
    TextKind.HTML: "this is HTML, perhaps XLA's picture of a module; hlotool reads its text.",
    TextKind.DOT: "this is a Graphviz graph, XLA's picture of a module; hlotool reads its text.",
    TextKind.DEBUG_OPTIONS: (
        "this is the list of XLA options a module was compiled with; hlotool shows it with "
        "that module: give the module's text, or the directory."
    ),
    TextKind.MEMORY_REPORT: (
        "this is a memory-usage report, a summary that XLA rounded; buffers and summary show it, "
        "all else works from the exact sizes, in the file that ends in -buffer-assignment.txt."
    ),
    TextKind.VALUES: (
        "these are the values of a buffer assignment without its allocations; those are in "
        "the file that ends in -buffer-assignment.txt."
    ),
    TextKind.LIVE_RANGE: (
        "these are the live ranges of a buffer assignment without its allocations; those are "
        "in the file that ends in -buffer-assignment.txt."
    ),
    TextKind.OUT_OF_MEMORY: (
        "this is an out-of-memory message, and no program; hlotool buffers shows what it says."
    ),
    TextKind.COLORED: (
        "this begins with a code for colours (ESC[…m); hlotool reads plain text: save it without "
        "colours."
    ),
    TextKind.UNKNOWN: (
        "this is text, but neither HLO (a line that starts with HloModule) nor a buffer "
        "assignment (a line BufferAssignment:)."
    ),
}
_LEADS_BY_ITSELF: Final = (
    TextKind.DEBUG_OPTIONS,
    TextKind.MEMORY_REPORT,
    TextKind.VALUES,
    TextKind.LIVE_RANGE,
    TextKind.OUT_OF_MEMORY,
)


def describe_refusal(kind: TextKind) -> tuple[str, ...]:
    """Say what a text is and what to do, in lines without the file's name."""
    sentence = _REFUSALS.get(kind, f"this is {kind.value}, which is not expected here.")
    return (sentence,) if kind in _LEADS_BY_ITSELF else (sentence, HOW_TO_DUMP)
