"""Which network does a collective run over, as far as the text tells?"""

from __future__ import annotations

from typing import Literal, TypeAlias

from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.host_transfers import is_between_slices
from hlotool.ir import Instruction, Module

Network: TypeAlias = Literal["dcn", "ici", "nvlink"]


def find_own_network(module: Module) -> Network | None:
    """Return the network of everything that a module does not send between slices.

    A compiled TPU module is that of one slice, whose chips the inter-chip interconnect joins:
    libtpu has made transfers by host of what leaves it. Of GPU and CPU the text says nothing.
    """
    is_compiled = module.header.is_scheduled
    return "ici" if is_compiled and find_backend(module) == "tpu" else None


def find_network(operation: Instruction, own: Network | None) -> Network | None:
    """Return `dcn` for a transfer between slices, the module's own network for all others."""
    return "dcn" if is_between_slices(operation) else own
