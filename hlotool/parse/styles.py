"""Print styles that leave out too much: each is refused with a sentence that says what.

The options are those of HloPrintOptions (xla/hlo/ir/hlo_print_options.h).
"""

from __future__ import annotations

from typing import Final

from hlotool.errors import ParseError
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module

NO_NAMES: Final = (
    "computation names are missing: this text was printed with print_ids off, and its operands "
    "cannot be told apart; dump it again with ids"
)
NO_SHAPE: Final = (
    "the shape of {} is missing, and cannot be inferred: write it, or print the text again "
    "with print_result_shape on"
)
NO_OPCODE: Final = (
    "there is no opcode {0} that hlotool knows, so its shape cannot be inferred: correct the name, "
    "or write the shape of a newer opcode"
)
NO_OPERANDS: Final = (
    "operand names are missing: this text was printed with print_operand_names off; "
    "dump it again with operand names"
)
CUT_OPERANDS: Final = (
    "operand names are missing: this text was printed with compact_operands, which cuts long "
    "lists; dump it again without"
)
DELETED_OPERAND: Final = (
    "an operand is missing: XLA prints 'null' for one that a pass has deleted and not yet replaced"
)

# One attribute that XLA's own parser insists on (hlo_parser.cc, those marked required), by
# opcode; the names of computations are not among them, since they are another print option.
REQUIRED: Final = {
    "all-gather": "dimensions",
    "all-gather-start": "dimensions",
    "collective-permute": "source_target_pairs",
    "collective-permute-start": "source_target_pairs",
    "compare": "direction",
    "concatenate": "dimensions",
    "convolution": "dim_labels",
    "custom-call": "custom_call_target",
    "dynamic-slice": "dynamic_slice_sizes",
    "gather": "slice_sizes",
    "get-tuple-element": "index",
    "iota": "iota_dimension",
    "pad": "padding",
    "reduce": "dimensions",
    "reduce-scatter": "dimensions",
    "reverse": "dimensions",
    "scatter": "index_vector_dim",
    "slice": "slice",
    "sort": "dimensions",
    "transpose": "dimensions",
}


def check_style(module: Module) -> None:
    """Refuse a module without the attributes that belong to opcodes, as one print style is.

    The first instruction that needs one shows the print style. A single attribute that is
    missing further on is an error where it is asked for.
    """
    for instruction in module.instructions():
        key = REQUIRED.get(instruction.opcode)
        if key in instruction.attributes:
            return
        if key:
            _refuse(instruction, key)


def _refuse(instruction: Instruction, key: str) -> None:
    raise ParseError(
        f"{instruction.opcode} needs {key}=, which is missing; a text printed with "
        "print_extra_attributes off lacks it too: then dump it again with extra attributes",
        instruction.module.source,
        instruction.start - 1,
        instruction.start,
    )
