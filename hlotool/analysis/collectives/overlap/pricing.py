"""At which speeds do the work and the transfers of one module go?

The user names a machine; without a chip, the one that stands for the backend gives ratios: flops
and bytes of memory for each byte on a link, whose speed the user may state. They say which part of
a transfer work hides, and how traffic compares with transfers. They give no times.
"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.overlap.link_times import Links, link_of
from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.analysis.cost.chips import Chip, find_chip
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.ir import Module

_TPU, _OTHERS = "v5e", "h100"  # whose ratios count; docs/collectives.md says so


class Pricing(Struct, frozen=True):
    """What the work and the transfers of one module are priced at.

    `chip` and `links` are the user's, where a chip is named; else those of the reference chip that
    `reference` names, but for links whose speed the user states. Where that is None too, as on
    CPU, links are unknown, and so is what work hides; `chip` then only tells which branch of a
    conditional takes least. `shown` are the links that times are shown for, `is_timed` says whether
    they are shown for work too. `devices_per_node` is None where all devices are joined alike;
    `is_node_assumed` says that nobody stated it.
    """

    chip: Chip
    links: Links
    shown: Links
    reference: str | None
    is_timed: bool
    devices_per_node: int | None
    is_node_assumed: bool

    @property
    def is_rated(self) -> bool:
        """Whether a chip stands for the backend, so that shares of time say something."""
        return self.is_timed or self.reference is not None


def price(module: Module, machine: Machine | None) -> Pricing:
    """Choose the speeds for a module; `machine` is what the user knows, and fits the module."""
    known = machine or Machine()
    backend = find_backend(module)
    chip = known.chip or find_reference(backend)
    is_known = known.chip is not None or backend != "cpu"
    per_node = known.devices_per_node
    devices, usual = module.header.device_count, chip.devices_per_node
    is_node_known = known.chip is not None or backend == "gpu"
    spans_nodes = usual is not None and devices is not None and devices > usual
    is_assumed = per_node is None and is_node_known and spans_nodes
    per_node = usual if is_assumed else per_node
    shown = Links(known.link, known.between, per_node is not None)
    own = link_of(chip, chip.link_latency_seconds or 0.0) if is_known else None
    rated = Links(known.link or own if is_known else None, known.between, shown.has_nodes)
    return Pricing(
        chip,
        shown if known.chip is not None else rated,
        shown,
        chip.name if known.chip is None and is_known else None,
        known.chip is not None,
        per_node,
        is_assumed,
    )


def find_reference(backend: Backend | None) -> Chip:
    """Return the chip that stands for a backend."""
    return find_chip(_TPU if backend == "tpu" else _OTHERS)
