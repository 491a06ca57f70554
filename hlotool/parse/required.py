"""Attributes without which an instruction says too little: texts printed without are refused."""

from __future__ import annotations

from typing import Final

from hlotool.errors import ParseError
from hlotool.ir.module import Instruction, Module

# What XLA's own parser insists on (hlo_parser.cc, the attributes marked required), as far as
# every release has printed it. `while` prints both of its computations or neither.
_REQUIRED: Final = {
    "all-gather": "dimensions",
    "all-gather-start": "dimensions",
    "call": "to_apply",
    "collective-permute": "source_target_pairs",
    "collective-permute-start": "source_target_pairs",
    "compare": "direction",
    "concatenate": "dimensions",
    "convolution": "dim_labels",
    "custom-call": "custom_call_target",
    "dynamic-slice": "dynamic_slice_sizes",
    "fusion": "calls",
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
    "while": "body",
}


def check_required(module: Module) -> None:
    """Refuse a module where the first instruction of an opcode lacks what that opcode needs.

    One of each is enough to know a print style; a single attribute that is missing further
    on is an error of the analysis that asks for it.
    """
    first: dict[str, Instruction] = {}
    for computation in module.computations.values():
        for instruction in computation.instructions:
            if instruction.opcode not in first:
                first[instruction.opcode] = instruction
    for opcode in first.keys() & _REQUIRED.keys():
        key, instruction = _REQUIRED[opcode], first[opcode]
        if key not in instruction.attributes:
            raise ParseError(
                f"attributes are missing: {opcode} needs {key}=, but this text was printed with "
                "print_extra_attributes off; dump it again with extra attributes",
                module.source,
                instruction.start - 1,
                instruction.start,
            )
