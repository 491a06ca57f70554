"""What of a `backend_config` counts when two builds of a program are compared.

Left out unless asked for: what autotuning picks, which two runs of one build may pick
differently, and the compiler's own bookkeeping (costs, ids, notes). Empty values say
nothing and are left out always: releases differ in which of them they print.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from hlotool.ir import BackendConfig

_AUTOTUNED: Final = frozenset(
    (
        "algorithm", "autotune_workspace_size", "block_level_fusion_config",
        "selected_algorithm", "split_k", "triton_gemm_config", "workspace_size",
    )
)  # fmt: skip
_BOOKKEEPING: Final = frozenset(
    (
        "barrier_config", "debug", "device_type", "estimated_cycles",
        "flag_end", "flag_start", "force_earliest_schedule", "operation_queue_id",
        "reification_cost", "retry_config", "used_scoped_memory_configs",
        "wait_on_operation_queues",
    )
)  # fmt: skip


def comparable_config(config: BackendConfig, *, is_strict: bool) -> str:
    """Return a config in one spelling, '' where nothing in it counts."""
    if config.json is None:
        return config.text.strip()
    skipped = frozenset() if is_strict else _AUTOTUNED | _BOOKKEEPING
    try:
        kept = _without(config.json, skipped)
        return json.dumps(kept, sort_keys=True, separators=(",", ":")) if kept else ""
    except RecursionError:  # nested too deeply to take apart
        return config.text.strip()


def trip_count(config: BackendConfig | None) -> str | None:
    """Return the `known_trip_count` of a while, None where it is not given."""
    count = config.find("known_trip_count", "n") if config else None
    return None if count is None else str(count)


def _without(value: object, skipped: frozenset[str]) -> object:
    """Drop skipped keys and empty values at any depth."""
    if isinstance(value, Mapping):
        items = (
            (key, _without(inner, skipped)) for key, inner in value.items() if key not in skipped
        )
        return {key: inner for key, inner in items if not _is_empty(inner)}
    if isinstance(value, list):
        return [_without(inner, skipped) for inner in value]
    return value


def _is_empty(value: object) -> bool:
    return value is None or value in ([], {})


def config_changes(
    left: BackendConfig | None, right: BackendConfig | None, *, is_strict: bool
) -> tuple[str, str] | None:
    """Return the parts that differ, trip counts aside, as texts; None where none does."""
    here, there = (_parts(config, is_strict=is_strict) for config in (left, right))
    differing = [key for key in here.keys() | there.keys() if here.get(key) != there.get(key)]
    if not differing:
        return None
    first = min(differing)
    more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
    return f"{first}: {here.get(first, 'none')}", there.get(first, "none") + more


def _parts(config: BackendConfig | None, *, is_strict: bool) -> dict[str, str]:
    """Take a config apart into what stands at each path of keys."""
    if config is None:
        return {}
    text = comparable_config(config, is_strict=is_strict)
    try:
        value = json.loads(text) if config.json is not None and text else None
    except (ValueError, RecursionError):
        value = None
    if value is None:
        return {"text": text} if text else {}
    parts: dict[str, str] = {}
    pending: list[tuple[str, object]] = [("", value)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and value:
            pending.extend((f"{path}.{key}" if path else key, one) for key, one in value.items())
        elif not path.startswith("known_trip_count"):
            parts[path] = json.dumps(value, sort_keys=True).strip('"')
    return parts
