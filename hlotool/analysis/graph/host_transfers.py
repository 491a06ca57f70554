"""Does a `send` or `recv` end at the host, or does the host pass it on to another slice?

XLA marks both with `is_host_transfer=true`. A frontend attribute names who handles the
transfer on the host's side (kXlaHostTransferHandlerNameAttr, xla/side_effect_util.cc). If that
is Megascale, the host is only the way to another TPU slice, over the data-centre network.
"""

from __future__ import annotations

from typing import Final

from hlotool.ir import Instruction

ENDS: Final = frozenset(("recv", "send"))  # of any transfer by send and recv
_HANDLER: Final = "_xla_host_transfer_handler_name"
_RENDEZVOUS: Final = "_xla_host_transfer_rendezvous"
_TRANSFER_TYPE: Final = "_xla_megascale_transfer_type"
_REDUCE_OPERATION: Final = "_xla_megascale_reduce_operation"
_MEGASCALE: Final = "xla_megascale_runtime"


def find_handler(instruction: Instruction) -> str | None:
    """Return who handles a transfer on the host's side, None where the text does not say."""
    return instruction.frontend_attributes().get(_HANDLER)


def find_rendezvous(instruction: Instruction) -> str | None:
    """Return the name under which both ends of a transfer meet, None where there is none."""
    return instruction.frontend_attributes().get(_RENDEZVOUS)


def find_transfer_type(instruction: Instruction) -> str | None:
    """Return what a transfer between slices does, such as `ALL_REDUCE`; None where unsaid."""
    return instruction.frontend_attributes().get(_TRANSFER_TYPE)


def find_reduce_operation(instruction: Instruction) -> str | None:
    """Return how a transfer between slices adds up, such as `SUM`; None where it does not."""
    return instruction.frontend_attributes().get(_REDUCE_OPERATION)


def is_between_slices(instruction: Instruction) -> bool:
    """Whether an instruction is one end of a transfer between TPU slices."""
    if instruction.opcode not in ENDS or "frontend_attributes" not in instruction.attributes:
        return False
    is_typed = find_transfer_type(instruction) is not None
    return is_typed or find_handler(instruction) == _MEGASCALE


def is_with_host(instruction: Instruction) -> bool:
    """Whether an instruction is one end of a transfer whose other end is the host."""
    return (
        instruction.opcode in ENDS
        and instruction.attributes.get("is_host_transfer") == "true"
        and not is_between_slices(instruction)
    )
