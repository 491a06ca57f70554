"""What a module's text says of its backend: who wrote it, its memory spaces, its host transfers.

XLA marks a `send` or `recv` that ends at the host, and one that the host passes on to another
slice, with `is_host_transfer=true`. A frontend attribute names who handles the transfer there
(kXlaHostTransferHandlerNameAttr, xla/side_effect_util.cc). If that is Megascale, the host is only
the way to another TPU slice, over the data-centre network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from hlotool.hlo import Instruction, Module

_PARTITIONED: Final = "_spmd"  # xla/service/spmd names the entry so when it has split it
ENDS: Final = frozenset(("recv", "send"))  # of any transfer by send and recv


def find_handler(instruction: Instruction) -> str | None:
    """Return who handles a transfer on the host's side, None where the text does not say."""
    return instruction.frontend_attributes().get("_xla_host_transfer_handler_name")


def find_rendezvous(instruction: Instruction) -> str | None:
    """Return the name under which both ends of a transfer meet, None where there is none."""
    return instruction.frontend_attributes().get("_xla_host_transfer_rendezvous")


def find_transfer_type(instruction: Instruction) -> str | None:
    """Return what a transfer between slices does, such as `ALL_REDUCE`; None where unsaid."""
    return instruction.frontend_attributes().get("_xla_megascale_transfer_type")


def find_reduce_operation(instruction: Instruction) -> str | None:
    """Return how a transfer between slices adds up, such as `SUM`; None where it does not."""
    return instruction.frontend_attributes().get("_xla_megascale_reduce_operation")


def is_between_slices(instruction: Instruction) -> bool:
    """Whether an instruction is one end of a transfer between TPU slices."""
    if instruction.opcode not in ENDS or "frontend_attributes" not in instruction.attributes:
        return False
    is_typed = find_transfer_type(instruction) is not None
    return is_typed or find_handler(instruction) == "xla_megascale_runtime"


def is_with_host(instruction: Instruction) -> bool:
    """Whether an instruction is one end of a transfer whose other end is the host."""
    return (
        instruction.opcode in ENDS
        and instruction.attributes.get("is_host_transfer") == "true"
        and not is_between_slices(instruction)
    )


def is_partitioned(module: Module) -> bool:
    """Whether the shapes of a module are those of what one device holds.

    The partitioner leaves its mark in the entry's name, and only a partitioned module is scheduled.
    """
    return module.header.is_scheduled or module.entry.name.endswith(_PARTITIONED)


Backend: TypeAlias = Literal["cpu", "gpu", "tpu"]

_CONFIG: Final = "backend_config"
_FUSION_CONFIG: Final = "fusion_backend_config"
# Top-level keys of backend_config (formats of xla/service/{cpu,gpu}/backend_configs.proto and
# of libtpu's text). `known_trip_count` and `sizes` occur on several and say nothing.
_KEYS: Final[dict[Backend, tuple[str, ...]]] = {
    "cpu": (
        "outer_dimension_partitions", "fusion_config", "onednn_matmul_config",
        "onednn_conv_config", "custom_call_config",
    ),
    "gpu": (
        "operation_queue_id", "wait_on_operation_queues", "force_earliest_schedule",
        _FUSION_CONFIG, "gemm_backend_config", "collective_backend_config", "reification_cost",
        "cudnn_conv_backend_config",
    ),
    "tpu": (
        "flag_configs", "scoped_memory_configs", "used_scoped_memory_configs", "window_config",
        "barrier_config", "aliasing_operands",
    ),
}  # fmt: skip
_BACKEND_OF_KEY: Final = {key: backend for backend, keys in _KEYS.items() for key in keys}
_SUGGESTED: Final = "suggested backend", ""
_TILES_ALONE: Final = {"block_level_fusion_config"}
_TARGETS: Final[Mapping[Backend, tuple[str, ...]]] = {
    "gpu": (
        "__cublas$", "__cudnn$", "__cusolver$", "__cub$", "__gpu$", "te_fused_attn", "cusolver_",
        "xla_ffi_python_gpu_callback", "xla.gpu.",
    ),
    "cpu": ("__onednn$", "lapack_", "blas_", "xla_ffi_python_cpu_callback"),
    "tpu": ("AsyncCollectiveStart", "tpu_custom_call"),
}  # fmt: skip


def find_backend(module: Module) -> Backend | None:
    """Return the backend whose marks the module bears, None where it bears none.

    Tiled layouts and slices are TPU's alone; backend_config keys and custom-call targets name
    theirs. A `fusion_backend_config` with tiles but no kind, as of the tiled emitter that CPU
    shares, says nothing.
    A module before optimization looks alike on all three. It is looked through once. Where it
    bears no mark its file may tell (`suggest_backend`).
    """
    key = (find_backend, "")
    if key not in module.values:
        others = (one for one in module.computations.values() if one is not module.entry)
        computations = (module.entry, *others)
        has_configs = _CONFIG in module.source.text
        marks = (_find_mark(one, has_configs) for each in computations for one in each.instructions)
        module.values[key] = next(filter(None, marks), None)
    found: Backend | None = module.values[key] or module.values.get(_SUGGESTED)
    return found


def suggest_backend(module: Module, backend: Backend | None) -> None:
    """Say for which backend the files around a module make it, in case its text does not tell."""
    module.values[_SUGGESTED] = backend


def _find_mark(instruction: Instruction, has_configs: bool) -> Backend | None:
    if any(leaf.layout and leaf.layout.tiles for leaf in instruction.shape.leaves()):
        return "tpu"
    if instruction.opcode == "parameter":
        return None
    if is_between_slices(instruction):
        return "tpu"
    if instruction.opcode == "custom-call":
        for backend, starts in _TARGETS.items():
            if instruction.custom_call_target.startswith(starts):
                return backend
    if has_configs and _CONFIG in instruction.attributes:
        config = instruction.backend_config()
        for key, value in ((config.json if config else None) or {}).items():
            is_tiling = isinstance(value, dict) and value.keys() == _TILES_ALONE
            if key in _BACKEND_OF_KEY and not (key == _FUSION_CONFIG and is_tiling):
                return _BACKEND_OF_KEY[key]
    return None


# What a backend calls its memory spaces, by their numbers.
_NAMES: Final[dict[tuple[Backend | None, int], str]] = {
    ("tpu", 0): "hbm",
    ("tpu", 1): "vmem",
    ("tpu", 2): "smem",
    ("tpu", 4): "host",
    ("gpu", 0): "device",
    ("gpu", 1): "collective",
    ("gpu", 5): "host",
    ("cpu", 0): "host",
}

SPACE_NAMES: Final = frozenset(_NAMES.values())


def find_space_name(backend: Backend | None, number: int) -> str | None:
    """Return the name that the compiler gives a space; None for all of an unknown backend."""
    return _NAMES.get((backend, number))
