"""A module as XLA writes it: the header, the tables of stack frames, and the computations.

Follows xla/hlo/ir/hlo_module.cc (`HloModule::Print`) and hlo_computation.cc. On how many devices a
module runs, its header says only as far as the proto proves it. A configuration and a device
assignment say it. Else shardings do, whose tiles are all partitions, and the groups of collectives,
which name each id of a kind once: of replicas, of partitions, or of both together. What contradicts
itself proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from hlotool.errors import InputError
from hlotool.proto import messages as pb
from hlotool.proto.instruction import FrameTables, Surroundings, render_instruction
from hlotool.proto.nodes import Block, Node, link_module, list_scheduled, order_blocks, order_nodes
from hlotool.proto.sharding import render_frontend_attributes, render_original_array
from hlotool.proto.values import ShapeTexts, escape_text, join_annotated, join_numbers
from hlotool.text import DeviceCounts

_OTHER: Final = next(n for n, name in pb.enum_names("OpSharding.Type").items() if name == "OTHER")
# With a channel these name replicas, or devices; the others partitions.
_REDUCING: Final = frozenset({"all-gather", "all-reduce", "reduce-scatter"})
_COVERING: Final = _REDUCING | {"all-to-all", "ragged-all-to-all"}  # they leave nobody out
_Kind: TypeAlias = Literal["replicas", "partitions", "devices"]


def find_counts(
    module: pb.HloModuleProto, config: pb.HloModuleConfigProto | None
) -> DeviceCounts | None:
    """Return what a configuration or a device assignment says, None if there is neither."""
    if config is not None:
        return DeviceCounts(max(config.replica_count, 1), max(config.num_partitions, 1))
    devices = module.device_assignment
    if devices.replica_count > 0 and devices.computation_count > 0:
        return DeviceCounts(devices.replica_count, devices.computation_count)
    return None


def prove_counts(module: pb.HloModuleProto, config: pb.HloModuleConfigProto | None) -> DeviceCounts:
    """Return what is said or proven; None for a count that nothing proves."""
    if (said := find_counts(module, config)) is not None:
        return said
    found: dict[_Kind, set[int]] = {"replicas": set(), "partitions": set(), "devices": set()}
    for sharding in (module.spmd_output_sharding, *module.spmd_parameters_shardings):
        found["partitions"].update(_list_tiles(sharding))
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.HasField("sharding"):
                found["partitions"].update(_list_tiles(instruction.sharding))
            opcode = instruction.opcode.removesuffix("-start")
            if opcode in _COVERING and (count := _count_ids(instruction)):
                found[_choose_kind(opcode, instruction)].add(count)
    # Where two of a kind contradict each other, neither proves anything.
    only = [next(iter(each)) if len(each) == 1 else None for each in found.values()]
    replicas, partitions, devices = only
    if devices is not None and replicas is None and partitions and devices % partitions == 0:
        replicas = devices // partitions
    if devices is not None and partitions is None and replicas and devices % replicas == 0:
        partitions = devices // replicas
    return DeviceCounts(replicas, partitions)


def _list_tiles(sharding: pb.OpSharding) -> Iterator[int]:
    """Yield how many devices the tiles of a sharding are on."""
    if sharding.HasField("named_sharding"):
        if sharding.named_sharding.mesh.axes:
            yield _count_mesh(sharding.named_sharding.mesh)
    elif sharding.type == _OTHER:
        yield math.prod(sharding.tile_assignment_dimensions)
    for each in sharding.tuple_shardings:
        yield from _list_tiles(each)


def _count_mesh(mesh: pb.MeshProto) -> int:
    return math.prod(axis.size for axis in mesh.axes)


def _count_ids(instruction: pb.HloInstructionProto) -> int:
    """Return how many ids the groups of a collective name, 0 where they mean everybody."""
    if instruction.HasField("iota_collective_device_list"):
        iota = instruction.iota_collective_device_list
        return iota.num_replica_groups * iota.num_devices_per_group
    if instruction.HasField("mesh_axes_replica_group_list"):
        return _count_mesh(instruction.mesh_axes_replica_group_list.mesh)
    groups: Sequence[pb.ReplicaGroup] = instruction.replica_groups
    if instruction.HasField("collective_device_list"):
        groups = instruction.collective_device_list.replica_groups
    return sum(len(each.replica_ids) for each in groups)


def _choose_kind(opcode: str, instruction: pb.HloInstructionProto) -> _Kind:
    """Return what the ids in a collective's groups count."""
    if instruction.channel_id <= 0:
        return "replicas"
    if opcode not in _REDUCING:
        return "partitions"
    return "devices" if instruction.use_global_device_ids else "replicas"


_INDENT: Final = "  "
_MUST_ALIAS: Final = 2


def render_head(module: pb.HloModuleProto, config: pb.HloModuleConfigProto | None) -> str:
    """Return the header line of a module, as far as one line."""
    return ", ".join([f"HloModule {module.name}", *_list_header(module, config, ShapeTexts())])


def render_module(
    module: pb.HloModuleProto,
    config: pb.HloModuleConfigProto | None,
    name: str,
    limit: int,
    depth: int = 0,
    *,
    has_sugar: bool = False,
) -> str:
    """Return the text of a module; `name` is the file's, for errors.

    What only a configuration holds is written where there is one. A text of more than `limit`
    characters is refused: a name may be long, and used often. `depth` is how far the lines
    are indented: by two for a module inside the recovery table of another. With sugar, an
    asynchronous operation that runs one instruction is written as that one, `all-gather-start`.
    """
    blocks = link_module(module, name, has_sugar=has_sugar)
    if all(block.number != module.entry_computation_id for block in blocks):
        raise InputError(
            f"{name}: the module has no computation of the id {module.entry_computation_id}, "
            "which it names as its entry; was the file copied to its end?"
        )
    shapes = ShapeTexts()
    frames = FrameTables(module.stack_frame_index, blocks)
    around = Surroundings(shapes, module.payloads, frames, name, limit)
    tab = _INDENT * depth
    parts = [f"{tab}{render_head(module, config)}"]
    if module.original_value_recovery_table.entries:
        recovered = _list_recovery(module.original_value_recovery_table, around, depth + 1)
        parts += [", origin_recovery_table={\n", *recovered, "}\n"]
    parts += [*frames.lines(), "\n\n"]
    schedule = module.schedule.sequences if module.HasField("schedule") else {}
    for block in order_blocks(blocks):
        if block.is_wrapped and block.is_sugar:
            continue  # written in the place of the operation that runs it
        is_entry = block.number == module.entry_computation_id
        ids = schedule[block.number].instruction_ids if block.number in schedule else ()
        nodes = list_scheduled(block, ids, name) if ids else order_nodes(block)
        parts.append(f"{tab}{_render_signature(block, shapes, is_entry=is_entry)} {{\n")
        parts += [f"{tab}  {line}\n" for line in _list_lines(block, nodes, around)]
        thread = block.proto.execution_thread
        mark = f', execution_thread="{escape_text(thread)}"' if thread not in {"", "main"} else ""
        parts.append(f"{tab}}}{mark}\n\n")
    return "".join(parts)


def _list_header(
    module: pb.HloModuleProto, config: pb.HloModuleConfigProto | None, shapes: ShapeTexts
) -> Iterator[str]:
    """Yield what stands behind the module's name, in the order of XLA."""
    if module.HasField("schedule"):
        yield "is_scheduled=true"
    if module.input_output_alias.entries:
        outputs = sorted(module.input_output_alias.entries, key=lambda e: [*e.output_shape_index])
        aliases = ", ".join(
            f"{join_numbers(each.output_shape_index)}: ({each.parameter_number}, "
            f"{join_numbers(each.parameter_shape_index)}, "
            f"{'must-alias' if each.kind == _MUST_ALIAS else 'may-alias'})"
            for each in outputs
        )
        yield f"input_output_alias={{ {aliases} }}"
    if module.buffer_donor.entries:
        donors = sorted(
            (each.parameter_number, tuple(each.parameter_shape_index))
            for each in module.buffer_donor.entries
        )
        places = ", ".join(f"({number}, {join_numbers(index)})" for number, index in donors)
        yield f"buffer_donor={{ {places} }}"
    if config is not None and config.alias_passthrough_params:
        yield "alias_passthrough_params=true"
    program = module.host_program_shape
    if config is not None and config.HasField("entry_computation_layout"):
        program = config.entry_computation_layout
    parameters = join_annotated(list(map(shapes.long, program.parameters)))
    yield f"entry_computation_layout={{({parameters})->{shapes.long(program.result)}}}"
    if config is not None:
        yield from _list_propagation(config)
    counts = find_counts(module, config)
    if counts is not None and counts.replica_count != 1:
        yield f"replica_count={counts.replica_count}"
    if counts is not None and counts.num_partitions != 1:
        yield f"num_partitions={counts.num_partitions}"
    if module.frontend_attributes.map:
        attributes = render_frontend_attributes(module.frontend_attributes.map)
        yield f"frontend_attributes={attributes}"


def _list_propagation(config: pb.HloModuleConfigProto) -> Iterator[str]:
    """Yield where shardings may be changed; `false` alone is what is meant without it."""
    for key, flags in (
        ("parameters", config.allow_spmd_sharding_propagation_to_parameters),
        ("output", config.allow_spmd_sharding_propagation_to_output),
    ):
        if flags and list(flags) != [False]:
            words = ",".join("true" if each else "false" for each in flags)
            yield f"allow_spmd_sharding_propagation_to_{key}={{{words}}}"


def _list_recovery(
    table: pb.OriginalValueRecoveryTableProto, around: Surroundings, depth: int
) -> Iterator[str]:
    """Yield the entries: `{"a"} : {"b"},` and a module in quotes."""
    tab = _INDENT * depth
    for each in table.entries:
        old, new = each.old_original_array, each.new_original_array
        yield f"{tab}{{{render_original_array(old)}}} : {{{render_original_array(new)}}}"
        if each.HasField("recovery_module"):
            inner = render_module(each.recovery_module, None, around.name, around.left, depth + 1)
            around.spend(len(inner))
            yield f',\n{tab}"\n{inner}\n{tab}"'
        yield "\n"


def _render_signature(block: Block, shapes: ShapeTexts, *, is_entry: bool) -> str:
    """Return what stands before the brace: the name, the parameters and the result."""
    numbered = {
        node.proto.parameter_number: f"{node.name}: {shapes.short(node.proto.shape)}"
        for node in block.nodes
        if node.opcode == "parameter"
    }
    parameters = ", ".join(numbered[number] for number in sorted(numbered))
    result = shapes.short(block.root.proto.shape) if block.root else ""
    return f"{'ENTRY ' * is_entry}%{block.name} ({parameters}) -> {result}"


def _list_lines(block: Block, nodes: Sequence[Node], around: Surroundings) -> Iterator[str]:
    for node in nodes:
        line = render_instruction(node, around)
        around.spend(len(line))
        yield f"ROOT {line}" if node is block.root else line
