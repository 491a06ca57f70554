"""Modules as plain JSON values: everything the parser and its typed readers say about a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from hlotool.hlo import ArrayShape, Computation, Instruction, Layout, Module, Shape, TupleShape
from hlotool.hlo.not_hlo import REQUIRED


def plain(value: object) -> Any:
    """Turn a value of the IR into JSON values; fields of records with their default are left out.

    Shapes become text: their own notation, and what it stands for, is tested apart.
    """
    if isinstance(value, ArrayShape | TupleShape):
        return str(value)
    if isinstance(value, Struct):
        return {
            name: plain(getattr(value, name))
            for name, default in defaults_of(type(value)).items()
            if getattr(value, name) != default
        }
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


@cache
def defaults_of(record: type[Struct]) -> dict[str, object]:
    """Return the fields of a record with their defaults; msgspec reads annotations anew."""
    return {each.name: _default(each) for each in fields(record)}


def _default(field: FieldInfo) -> object:
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return field.default  # NODEFAULT, which equals no value, where there is none


def describe_layouts(shape: Shape) -> list[dict[str, Any] | None]:
    """Describe what the layout of every array in a shape says beyond the order `{1,0}`."""
    return [
        plain(leaf.layout) if isinstance(leaf.layout, Layout) else None for leaf in shape.leaves()
    ]


def describe_replica_groups(instruction: Instruction) -> Any:
    """Describe the replica groups as lists of devices."""
    groups = instruction.replica_groups()
    if groups is None:
        return None
    return "everybody" if groups.is_everybody else plain(groups.expand())


def describe_backend_config(instruction: Instruction) -> Any:
    """Describe the backend config: its JSON, else its text."""
    config = instruction.backend_config()
    if config is None:
        return None
    return plain(config.json) if config.json is not None else config.text


# By attribute: what to ask the instruction that has it.
READERS: dict[str, Callable[[Instruction], Any]] = {
    "backend_config": describe_backend_config,
    "channel_id": lambda one: one.channel_id,
    "control-predecessors": lambda one: [each.name for each in one.control_predecessors()],
    "custom_call_target": lambda one: one.custom_call_target,
    "dim_labels": lambda one: one.dim_labels(),
    "frontend_attributes": lambda one: one.frontend_attributes(),
    "index": lambda one: one.tuple_index,
    "lhs_contracting_dims": lambda one: one.dot_dimensions(),
    "metadata": lambda one: one.metadata(),
    "output_to_operand_aliasing": lambda one: one.aliasing(),
    "padding": lambda one: one.padding(),
    "replica_groups": describe_replica_groups,
    "sharding": lambda one: one.sharding(),
    "slice": lambda one: one.slice_dimensions(),
    "source_target_pairs": lambda one: one.source_target_pairs(),
    "window": lambda one: one.window(),
    "dimensions": lambda one: one.integers("dimensions"),
}


def describe_values(instruction: Instruction) -> dict[str, Any]:
    """Ask every typed reader whose attribute is there, or has to be."""
    keys = {*instruction.attributes, REQUIRED.get(instruction.opcode)}
    return {key: plain(read(instruction)) for key, read in READERS.items() if key in keys}


def describe_instruction(instruction: Instruction) -> dict[str, Any]:
    """Describe one instruction; empty parts are left out."""
    shape = instruction.shape
    location = instruction.source_location() if "metadata" in instruction.attributes else None
    parts = {
        "opcode": instruction.opcode,
        "shape": str(shape),
        "layouts": describe_layouts(shape),
        "dynamic": plain(getattr(shape, "dynamic", ())),
        "size_bytes": shape.size_bytes,
        "unpadded_bytes": shape.unpadded_bytes,
        "operands": [one.name for one in instruction.operands],
        "users": [one.name for one in instruction.users],
        "literal": instruction.literal,
        "is_root": instruction.is_root,
        "attributes": dict(instruction.attributes),
        "calls": [one.name for one in instruction.called_computations()],
        "location": plain(location),
        "values": describe_values(instruction),
    }
    return {key: part for key, part in parts.items() if part not in ([], {}, "", None, False)}


def describe_computation(computation: Computation) -> dict[str, Any]:
    """Describe a computation and all its instructions, in order."""
    return {
        "is_entry": computation.is_entry,
        "execution_thread": computation.execution_thread,
        "root": computation.root.name,
        "parameters": [one.name for one in computation.parameters],
        "instructions": {one.name: describe_instruction(one) for one in computation.instructions},
    }


def describe_module(module: Module) -> dict[str, Any]:
    """Describe everything a module says."""
    return {
        "name": module.name,
        "entry": module.entry.name,
        "header": plain(module.header),
        "debug_info": plain(module.debug_info),
        "computations": {
            one.name: describe_computation(one) for one in module.computations.values()
        },
    }


def format_description(description: dict[str, Any]) -> str:
    """Write a description as JSON with one instruction a line, so that a diff can be read."""
    parts = [f'"{key}": {_dump(part)}' for key, part in description.items()][:-1]
    computations = ",\n".join(
        _format_computation(name, one) for name, one in description["computations"].items()
    )
    return ",\n".join(
        ["{\n" + parts[0], *parts[1:], f'"computations": {{\n{computations}\n}}\n}}\n']
    )


def _format_computation(name: str, computation: dict[str, Any]) -> str:
    head = "".join(f'  "{key}": {_dump(part)},\n' for key, part in computation.items())
    head = head[: head.index('  "instructions": ')]
    instructions = ",\n".join(
        f'   "{key}": {_dump(part)}' for key, part in computation["instructions"].items()
    )
    return f' "{name}": {{\n{head}  "instructions": {{\n{instructions}\n  }}\n }}'


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
