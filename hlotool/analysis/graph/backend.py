"""Which backend wrote this module? Told by its content, or unknown."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from hlotool.analysis.graph.host_transfers import is_between_slices
from hlotool.ir import Instruction, Module

Backend: TypeAlias = Literal["cpu", "gpu", "tpu"]

_FUSION_CONFIG: Final = "fusion_backend_config"
# Top-level keys of backend_config (formats of xla/service/{cpu,gpu}/backend_configs.proto and
# of libtpu's text). `known_trip_count` and `sizes` occur on several and say nothing.
_KEYS: Final[dict[str, Backend]] = {
    "outer_dimension_partitions": "cpu",
    "fusion_config": "cpu",
    "onednn_matmul_config": "cpu",
    "onednn_conv_config": "cpu",
    "custom_call_config": "cpu",
    "operation_queue_id": "gpu",
    "wait_on_operation_queues": "gpu",
    "force_earliest_schedule": "gpu",
    _FUSION_CONFIG: "gpu",
    "gemm_backend_config": "gpu",
    "collective_backend_config": "gpu",
    "reification_cost": "gpu",
    "cudnn_conv_backend_config": "gpu",
    "flag_configs": "tpu",
    "scoped_memory_configs": "tpu",
    "used_scoped_memory_configs": "tpu",
    "window_config": "tpu",
    "barrier_config": "tpu",
    "aliasing_operands": "tpu",
}
_TARGETS: Final[tuple[tuple[str, Backend], ...]] = (
    ("__cublas$", "gpu"),
    ("__cudnn$", "gpu"),
    ("__cusolver$", "gpu"),
    ("__cub$", "gpu"),
    ("__gpu$", "gpu"),
    ("te_fused_attn", "gpu"),
    ("__onednn$", "cpu"),
    ("AsyncCollectiveStart", "tpu"),
    ("tpu_custom_call", "tpu"),
)


def find_backend(module: Module) -> Backend | None:
    """Return the backend whose marks the module bears, None where it bears none.

    Tiled layouts and slices are TPU's alone; backend_config keys and custom-call targets name
    theirs. A `fusion_backend_config` with tiles but no kind, as of the tiled emitter that CPU
    shares, says nothing.
    A module before optimization looks alike on all three.
    """
    for computation in (module.entry, *module.computations.values()):
        for instruction in computation.instructions:
            found = _mark_of(instruction)
            if found:
                return found
    return None


def _mark_of(instruction: Instruction) -> Backend | None:
    for leaf in instruction.shape.leaves():
        if leaf.layout and leaf.layout.tiles:
            return "tpu"
    if instruction.opcode == "parameter":
        return None
    if is_between_slices(instruction):
        return "tpu"
    found = _mark_of_target(instruction) if instruction.opcode == "custom-call" else None
    if found:
        return found
    if "backend_config" in instruction.attributes:
        config = instruction.backend_config()
        known = (config.json or {}) if config else {}
        for key, value in known.items():
            if key in _KEYS and not (key == _FUSION_CONFIG and _is_tiling(value)):
                return _KEYS[key]
    return None


def _is_tiling(fusion_config: object) -> bool:
    """Whether a `fusion_backend_config` holds the tiles of a fusion alone."""
    return isinstance(fusion_config, dict) and fusion_config.keys() == {"block_level_fusion_config"}


def _mark_of_target(call: Instruction) -> Backend | None:
    target = call.custom_call_target
    return next((backend for start, backend in _TARGETS if target.startswith(start)), None)
