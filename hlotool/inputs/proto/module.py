"""How does XLA write a module? The header, the tables of stack frames, and the computations.

Follows xla/hlo/ir/hlo_module.cc (`HloModule::Print`) and hlo_computation.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.errors import InputError
from hlotool.inputs.proto.counts import find_counts
from hlotool.inputs.proto.frames import FrameTables
from hlotool.inputs.proto.instruction import Surroundings, render_instruction
from hlotool.inputs.proto.messages import (
    HloModuleConfigProto,
    HloModuleProto,
    OriginalValueRecoveryTableProto,
    ProgramShapeProto,
)
from hlotool.inputs.proto.nodes import Block, find_scheduled, link_module
from hlotool.inputs.proto.order import order_blocks, order_nodes
from hlotool.inputs.proto.values.dimensions import join_numbers
from hlotool.inputs.proto.values.escape import escape_text
from hlotool.inputs.proto.values.origins import render_frontend_attributes, render_original_array
from hlotool.inputs.proto.values.shapes import ShapeTexts, join_annotated

_INDENT: Final = "  "
_MUST_ALIAS: Final = 2


def render_head(module: HloModuleProto, config: HloModuleConfigProto | None) -> str:
    """Return the header line of a module, as far as one line."""
    return ", ".join([f"HloModule {module.name}", *_list_header(module, config, ShapeTexts())])


def render_module(
    module: HloModuleProto,
    config: HloModuleConfigProto | None,
    name: str,
    limit: int,
    depth: int = 0,
) -> str:
    """Return the text of a module; `name` is the file's, for errors.

    What only a configuration holds is written where there is one. A text of more than `limit`
    characters is refused: a name may be long, and used often. `depth` is how far the lines
    are indented: by two for a module inside the recovery table of another.
    """
    blocks = link_module(module, name)
    if all(block.number != module.entry_computation_id for block in blocks):
        raise InputError(
            f"{name}: the module has no computation of the id {module.entry_computation_id}, "
            "which it names as its entry; was the file copied to its end?"
        )
    shapes = ShapeTexts()
    frames = FrameTables(module.stack_frame_index, blocks)
    around = Surroundings(shapes, module.payloads, frames, name, limit)
    tab = _INDENT * depth
    header = f"{tab}{render_head(module, config)}"
    parts = [header, *_list_tables(module, around, depth), "\n\n"]
    schedule = module.schedule.sequences if module.HasField("schedule") else {}
    for block in order_blocks(blocks):
        if block.is_wrapped and block.is_single:
            continue
        is_entry = block.number == module.entry_computation_id
        ids = schedule[block.number].instruction_ids if block.number in schedule else ()
        lines = _list_lines(block, ids, around)
        parts.append(f"{tab}{_render_signature(block, shapes, is_entry=is_entry)} {{\n")
        parts += [f"{tab}  {line}\n" for line in lines]
        parts.append(f"{tab}}}{_render_thread(block)}\n\n")
    return "".join(parts)


def _list_header(
    module: HloModuleProto, config: HloModuleConfigProto | None, shapes: ShapeTexts
) -> Iterator[str]:
    """Yield what stands behind the module's name, in the order of XLA."""
    if module.HasField("schedule"):
        yield "is_scheduled=true"
    if module.input_output_alias.entries:
        yield f"input_output_alias={{ {_render_aliases(module)} }}"
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
    yield f"entry_computation_layout={{{_render_program(program, shapes)}}}"
    if config is not None:
        yield from _list_propagation(config)
    yield from _list_counts(module, config)
    if module.frontend_attributes.map:
        attributes = render_frontend_attributes(module.frontend_attributes.map)
        yield f"frontend_attributes={attributes}"


def _render_aliases(module: HloModuleProto) -> str:
    """Return which output lies in which parameter's memory, sorted by output."""
    entries = sorted(module.input_output_alias.entries, key=lambda e: list(e.output_shape_index))
    return ", ".join(
        f"{join_numbers(each.output_shape_index)}: ({each.parameter_number}, "
        f"{join_numbers(each.parameter_shape_index)}, "
        f"{'must-alias' if each.kind == _MUST_ALIAS else 'may-alias'})"
        for each in entries
    )


def _render_program(program: ProgramShapeProto, shapes: ShapeTexts) -> str:
    parameters = join_annotated(list(map(shapes.long, program.parameters)))
    return f"({parameters})->{shapes.long(program.result)}"


def _list_propagation(config: HloModuleConfigProto) -> Iterator[str]:
    """Yield where shardings may be changed; `false` alone is what is meant without it."""
    for key, flags in (
        ("parameters", config.allow_spmd_sharding_propagation_to_parameters),
        ("output", config.allow_spmd_sharding_propagation_to_output),
    ):
        if flags and list(flags) != [False]:
            words = ",".join("true" if each else "false" for each in flags)
            yield f"allow_spmd_sharding_propagation_to_{key}={{{words}}}"


def _list_counts(module: HloModuleProto, config: HloModuleConfigProto | None) -> Iterator[str]:
    """Yield how many replicas and partitions there are, where that is not one."""
    counts = find_counts(module, config)
    if counts is not None and counts.replica_count != 1:
        yield f"replica_count={counts.replica_count}"
    if counts is not None and counts.num_partitions != 1:
        yield f"num_partitions={counts.num_partitions}"


def _list_tables(module: HloModuleProto, around: Surroundings, depth: int) -> Iterator[str]:
    """Yield what follows the header: modules that recover values, and the tables of frames."""
    if module.original_value_recovery_table.entries:
        yield ", origin_recovery_table={\n"
        yield from _list_recovery(module.original_value_recovery_table, around, depth + 1)
        yield "}\n"
    yield from around.frames.lines()


def _list_recovery(
    table: OriginalValueRecoveryTableProto, around: Surroundings, depth: int
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


def _list_lines(block: Block, ids: Sequence[int], around: Surroundings) -> Iterator[str]:
    """Yield the instructions in the order of the schedule, or in that of what they need."""
    nodes = find_scheduled(block, ids, around.name) if ids else order_nodes(block)
    for node in nodes:
        line = render_instruction(node, around)
        around.spend(len(line))
        yield f"ROOT {line}" if node is block.root else line


def _render_thread(block: Block) -> str:
    thread = block.proto.execution_thread
    return f', execution_thread="{escape_text(thread)}"' if thread not in {"", "main"} else ""
