"""What is compared of an instruction, and in which spelling: only what both prints state.

A print may leave out layouts, backend configs, control dependencies, attributes or large
constants (xla/hlo/ir/hlo_print_options.h). What one side never states cannot differ; it is
left out on both sides, and `not_compared` says so. Literals, frontend attributes, replica groups
and backend configs are brought into a form that is equal where they mean the same.

Of a `backend_config` is left out, unless asked for, what autotuning picks, which two runs of one
build may pick differently, and the compiler's own bookkeeping (costs, ids, notes). Empty values
say nothing and are left out always: releases differ in which of them they print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.equality import is_small
from hlotool.hlo import ArrayShape, BackendConfig, Instruction, Module, ReplicaGroups
from hlotool.hlo.groups import arrange, find_order, order_iota, order_mesh
from hlotool.hlo.opcodes import CALL_KEYS
from hlotool.table.words import list_some

ELIDED: Final = "{...}"

# Attributes that no print option for "extra attributes" governs.
_ALWAYS_PRINTED: Final = frozenset(
    (
        *CALL_KEYS,
        *("async_execution_thread", "backend_config", "control-predecessors"),
        *("frontend_attributes", "metadata", "origin", "sharding", "statistics"),
    )
)


class Terms(Struct, frozen=True):
    """What counts in a comparison.

    `is_strict` keeps what two builds of one program may differ in: autotuned choices,
    channel numbers, the compiler's own notes. A side that prints `{...}` for constants of
    more than ten elements is without `has_large_constants`; one that does so for all but
    whole numbers (fingerprint prints) without `has_small_constants` as well.
    """

    has_layouts: bool = True
    has_backend_configs: bool = True
    has_control_dependencies: bool = True
    has_attributes: bool = True
    has_small_constants: bool = True
    has_large_constants: bool = True
    is_strict: bool = False
    not_compared: tuple[str, ...] = ()


def agree_terms(old: Module, new: Module, *, is_strict: bool = False) -> Terms:
    """Return what both modules state; everything else is not compared."""
    here, there = _list_stated(old), _list_stated(new)
    missing = [what for what in (*_STATED, *_ELIDED) if (what in here) != (what in there)]
    elided = here | there
    return Terms(
        has_layouts="layouts" not in missing,
        has_backend_configs="backend configs" not in missing,
        has_control_dependencies="control dependencies" not in missing,
        has_attributes="attributes" not in missing,
        has_small_constants="small constants" not in elided,
        has_large_constants="large constants" not in elided,
        is_strict=is_strict,
        not_compared=tuple(missing),
    )


def _list_stated(module: Module) -> set[str]:
    """Say which of the questions below at least one instruction answers with yes.

    Of what a module's text never says, no instruction is asked. The entry's instructions come
    first: they mostly settle the question.
    """
    text = module.source.text
    return {
        what
        for what, (word, is_stated) in {**_STATED, **_ELIDED}.items()
        if word in text
        and any(map(is_stated, chain(module.entry.instructions, module.instructions())))
    }


def _has_layout(one: Instruction) -> bool:
    return any(leaf.layout is not None and leaf.dims for leaf in one.shape.leaves())


def _elides(one: Instruction) -> bool:
    return one.opcode == "constant" and ELIDED in one.literal


_Question: TypeAlias = Callable[[Instruction], bool]
# What is asked, a word without which no text says so, and who knows.
_STATED: Final[Mapping[str, tuple[str, _Question]]] = {
    "layouts": ("{", _has_layout),
    "backend configs": ("backend_config", lambda one: "backend_config" in one.attributes),
    "control dependencies": (
        "control-predecessors",
        lambda one: "control-predecessors" in one.attributes,
    ),
    "attributes": ("=", lambda one: not _ALWAYS_PRINTED.issuperset(one.attributes)),
}
_ELIDED: Final[Mapping[str, tuple[str, _Question]]] = {
    "small constants": (ELIDED, lambda one: _elides(one) and is_small(one.shape)),
    "large constants": (ELIDED, lambda one: _elides(one) and not is_small(one.shape)),
}

# Frontend attributes that hold a name or a number of one build.
_NOTES: Final = frozenset(
    (
        *("async_collective_name", "chain_id", "fingerprint_before_lhs", "kernel_metadata"),
        *("MegascaleRendezvousKeyName", "_xla_host_transfer_rendezvous"),
    )
)
_BLANKS = re.compile(r"(?:/\*.*?\*/|\s)++", re.DOTALL)


def comparable_literal(instruction: Instruction, terms: Terms) -> str:
    """Return a constant's or parameter's literal in one spelling, ELIDED if not compared."""
    literal, shape = instruction.literal, instruction.shape
    if not literal or instruction.opcode != "constant":
        return literal
    is_scalar = isinstance(shape, ArrayShape) and shape.element_count == 1
    dtype = shape.dtype if isinstance(shape, ArrayShape) else ""
    if not (terms.has_small_constants if is_small(shape) else terms.has_large_constants):
        is_whole = is_scalar and dtype.startswith(("s", "u", "pred"))
        if not is_whole or ELIDED in literal:
            return ELIDED
    text = without_blanks(literal)
    if is_scalar:
        text = text.strip("{}")
    return text.replace("true", "1").replace("false", "0") if dtype == "pred" else text


def without_blanks(text: str) -> str:
    """Drop blanks, line ends and comments; values that hold strings keep those whole."""
    return text if '"' in text else _BLANKS.sub("", text)


def comparable_frontend(values: Mapping[str, str], *, is_strict: bool) -> Hashable:
    """Return the frontend attributes that count, sorted; None where none does."""
    kept = [(key, text) for key, text in values.items() if is_strict or key not in _NOTES]
    return tuple(sorted(kept)) or None


def comparable_groups(printed: ReplicaGroups) -> Hashable:
    """Return what is equal for equal groups, without listing their devices.

    Groups that follow no steps are compared as listed; a mesh whose axes cut the steps of its
    own device_ids unevenly is compared as printed.
    """
    if printed.iota is not None:
        return printed.iota.dims[1], order_iota(printed.iota)
    if printed.mesh is None:
        return _comparable_lists(printed.listed or ())
    order = order_mesh(printed.mesh)
    if order is None:  # the text lists its devices, so these are no longer than it
        return _comparable_lists(printed.expand())
    dims, perm, width = printed.arrange(printed.mesh)
    arranged = arrange(order, dims, perm)
    return printed if arranged is None else (width, arranged)


def _comparable_lists(groups: Sequence[tuple[int, ...]]) -> Hashable:
    widths = {len(group) for group in groups}
    order = find_order([one for group in groups for one in group]) if len(widths) == 1 else None
    return groups if order is None else (widths.pop(), order)


_AUTOTUNED: Final = frozenset(
    (
        *("algorithm", "autotune_workspace_size", "block_level_fusion_config"),
        *("selected_algorithm", "split_k", "triton_gemm_config", "workspace_size"),
    )
)
_BOOKKEEPING: Final = frozenset(
    (
        *("barrier_config", "debug", "device_type", "estimated_cycles"),
        *("flag_end", "flag_start", "force_earliest_schedule", "operation_queue_id"),
        *("reification_cost", "retry_config", "used_scoped_memory_configs"),
        "wait_on_operation_queues",
    )
)


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
        items = {
            key: _without(inner, skipped) for key, inner in value.items() if key not in skipped
        }
        return {key: inner for key, inner in items.items() if inner not in (None, [], {})}
    if isinstance(value, list):
        return [_without(inner, skipped) for inner in value]
    return value


def config_changes(
    old: BackendConfig | None, new: BackendConfig | None, *, is_strict: bool
) -> tuple[str, str] | None:
    """Return the parts that differ, trip counts aside, as texts; None where none does."""
    here, there = (_parts(config, is_strict=is_strict) for config in (old, new))
    differing = [key for key in here.keys() | there.keys() if here.get(key) != there.get(key)]
    if not differing:
        return None
    first, *others = [
        (key.rpartition(".")[2], here.get(key, "none"), there.get(key, "none"))
        for key in sorted(differing)
    ]
    said = [first[2], *(f"{name}: {before} → {after}" for name, before, after in others)]
    return f"{first[0]}: {first[1]}", list_some(said, 2)


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
            parts[path] = json.dumps(value, sort_keys=True, separators=(",", ":")).replace('"', "")
    return parts
