"""One instruction as XLA writes it: name, type, opcode, operands, and what else it has.

Follows xla/hlo/ir/hlo_instruction.cc (`PrintWithCanonicalNameMap`, `PrintExtraAttributes`). The
tables of stack frames stand here as well, as instructions name the frames: XLA takes these up as
it reads them, so the tables of the text hold those alone, each once, in the order of the
instructions, callers before what they call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct, field

from hlotool.errors import InputError
from hlotool.proto import sharding
from hlotool.proto.attributes import list_own_attributes
from hlotool.proto.messages import (
    FrontendAttributes,
    OpMetadata,
    StackFrameIndexProto,
    StatisticsViz,
)
from hlotool.proto.nodes import Block, Node
from hlotool.proto.values import (
    ShapeTexts,
    decode_shape,
    escape_text,
    join_annotated,
    render_config,
    render_constant,
)

_Key = TypeVar("_Key")
Location: TypeAlias = tuple[int, int, int, int, int, int]  # file, function, line, end, column, end


class FrameTables:
    """The four tables of stack frames as they are printed; numbers begin at 1."""

    def __init__(self, index: StackFrameIndexProto, blocks: list[Block]) -> None:
        self._files: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._locations: dict[Location, int] = {}
        self._frames: dict[tuple[int, int], int] = {}
        self._names = (list(index.file_names), list(index.function_names))
        self._places = list(index.file_locations)
        self._old = [(each.file_location_id, each.parent_frame_id) for each in index.stack_frames]
        self.numbers: dict[int, int] = {0: 0}  # the new number of each old one
        if self._old:
            for data in dict.fromkeys(
                node.proto.metadata for each in blocks for node in each.nodes
            ):
                self._take(OpMetadata.FromString(data).stack_frame_id)

    def _take(self, number: int) -> None:
        """Take up a frame, and first the frames that called it."""
        chain: list[int] = []
        while number not in self.numbers and 1 <= number <= len(self._old):
            self.numbers[number] = 0  # until all callers have theirs; ends a circle, too
            chain.append(number)
            number = self._old[number - 1][1]
        parent = self.numbers.get(number, 0)
        for each in reversed(chain):
            location = self._take_location(self._old[each - 1][0])
            parent = self.numbers[each] = _number(self._frames, (location, parent))

    def _take_location(self, number: int) -> int:
        """Take up a place in a file, and the names in it; return its new number, 0 without one."""
        if not 1 <= number <= len(self._places):
            return 0
        place = self._places[number - 1]
        files, functions = self._names
        file = _take_name(self._files, files, place.file_name_id)
        function = _take_name(self._functions, functions, place.function_name_id)
        lines = (place.line, place.end_line, place.column, place.end_column)
        return _number(self._locations, (file, function, *lines))

    def lines(self) -> Iterator[str]:
        """Yield the text of the tables, nothing where no instruction names a frame.

        XLA writes the number of a caller one higher than it is.
        """
        if not self._frames:
            return
        for title, names in (("\nFileNames", self._files), ("FunctionNames", self._functions)):
            yield f"\n{title}\n"
            yield from (f'{number} "{escape_text(name)}"\n' for name, number in names.items())
        yield "\nFileLocations\n"
        for (file, function, *place), number in self._locations.items():
            yield (
                f"{number} {{file_name_id={file} function_name_id={function} line={place[0]} "
                f"end_line={place[1]} column={place[2]} end_column={place[3]}}}\n"
            )
        yield "\nStackFrames\n"
        for (location, parent), number in self._frames.items():
            yield f"{number} {{file_location_id={location} parent_frame_id={parent + 1}}}\n"


def _take_name(taken: dict[str, int], names: list[str], number: int) -> int:
    """Return the new number of a name, 0 for one that is not there."""
    return _number(taken, names[number - 1]) if 1 <= number <= len(names) else 0


def _number(taken: dict[_Key, int], key: _Key) -> int:
    """Return the number of a key, the next one for a new key."""
    return taken.setdefault(key, len(taken) + 1)


# XLA's sugar: where an asynchronous operation runs one instruction, that one is written in its
# place, `all-gather-start` for an async-start of an all-gather.
_ASYNC_SUFFIXES: Final = {"async-start": "-start", "async-update": "-update", "async-done": "-done"}
_REDUCERS: Final = {"all-reduce", "all-reduce-start", "reduce", "reduce-scatter", "reduce-window"}
_APPLY: Final = _REDUCERS | {"call", "map", "scan", "scatter", "sort"}
_PRED: Final = 1
_MANY: Final = 100


class Surroundings(Struct, eq=False):
    """What the text of an instruction needs of its module."""

    shapes: ShapeTexts
    payloads: Sequence[bytes]
    frames: FrameTables
    name: str  # of the file, for errors
    left: int  # how many characters there may be yet
    origins: dict[bytes, str] = field(default_factory=dict)  # one for many instructions

    def describe_origin(self, data: bytes) -> str:
        """Return the metadata of an instruction; each different one is printed once."""
        if data not in self.origins:
            metadata = OpMetadata.FromString(data)
            frame = self.frames.numbers.get(metadata.stack_frame_id, 0)
            self.origins[data] = sharding.render_metadata(metadata, frame, self.payloads)
        return self.origins[data]

    def spend(self, count: int) -> None:
        """Count characters; raise InputError for more than there may be."""
        self.left -= count
        if self.left < 0:
            raise InputError(
                f"{self.name}: the module's text would be many times the size of the file."
            )

    def list_names(self, nodes: Sequence[Node] | Sequence[Block]) -> list[str]:
        """Return names as they are used; very many are counted before they are joined."""
        if len(nodes) > _MANY and sum(len(each.name) for each in nodes) > self.left:
            self.spend(self.left + 1)
        return [f"%{each.name}" for each in nodes]


def render_instruction(node: Node, around: Surroundings) -> str:
    """Return an instruction without `ROOT`, on one line."""
    proto, opcode = node.proto, node.opcode
    sugar = node.wrapped if node.wrapped and node.wrapped.is_sugar else None
    if sugar and sugar.root:
        opcode = sugar.root.opcode + _ASYNC_SUFFIXES[opcode]
    shape, operands = around.shapes.long(proto.shape), _render_operands(node, around)
    parts = [f"%{node.name} = {shape} {opcode}({operands})", *_list_attributes(node, around)]
    if proto.HasField("original_value"):
        parts.append(f"origin={{{sharding.render_original_value(proto.original_value)}}}")
    if metadata := around.describe_origin(proto.metadata):
        parts.append(f"metadata={{{metadata}}}")
    config = proto.backend_config
    if not config and proto.HasField("backend_config_payload"):
        config = sharding.find_payload(proto.backend_config_payload, around.payloads)
    if config:
        parts.append(f"backend_config={render_config(config)}")
    return ", ".join(parts)


def _render_operands(node: Node, around: Surroundings) -> str:
    if node.opcode == "constant":
        return render_constant(node.proto.literal, decode_shape(node.proto.shape))
    if node.opcode == "parameter":
        return str(node.proto.parameter_number)
    operands = node.operands
    if len(operands) == 1:
        return f"%{operands[0].name}"
    return join_annotated(around.list_names(operands))


def _list_attributes(node: Node, around: Surroundings) -> list[str]:
    """Return what `PrintExtraAttributes` writes, in its order."""
    proto = node.proto
    parts = list_own_attributes(node, around.shapes)
    if node.opcode == "async-start":
        thread, block = proto.async_execution_thread, node.wrapped
        if thread not in {"", "main"}:
            parts.append(f'async_execution_thread="{escape_text(thread)}"')
        # All attributes of the instruction that is written in its place.
        if block and block.is_sugar and block.root:
            parts += _list_attributes(block.root, around)
    if node.callees:
        parts += _list_callees(node, around)
    if proto.HasField("sharding"):
        parts.append(f"sharding={sharding.render_sharding(proto.sharding)}")
    if (given := proto.frontend_attributes) and (found := FrontendAttributes.FromString(given).map):
        parts.append(f"frontend_attributes={sharding.render_frontend_attributes(found)}")
    if node.predecessors:
        names = ", ".join(around.list_names(node.predecessors))
        parts.append(f"control-predecessors={{{names}}}")
    if (data := proto.statistics_viz) and (shown := StatisticsViz.FromString(data)).statistics:
        figures = (f"{each.stat_name}={each.stat_val:g}" for each in shown.statistics)
        both = (f"visualizing_index={shown.stat_index_to_visualize}", *figures)
        parts.append(f"statistics={{{','.join(both)}}}")
    if proto.HasField("result_accuracy") and (
        accuracy := sharding.render_accuracy(proto.result_accuracy)
    ):
        parts.append(f"result_accuracy={accuracy}")
    return parts


def _list_callees(node: Node, around: Surroundings) -> list[str]:
    """Return the computations that an instruction calls, under the keys of its opcode."""
    opcode, names = node.opcode, around.list_names(node.callees)
    if opcode == "fusion":
        return [f"calls={names[0]}"]
    if opcode in _APPLY:
        is_composite = opcode == "call" and node.proto.is_composite
        return [f"to_apply={names[0]}", *["is_composite=true"] * is_composite]
    if opcode == "conditional":
        if node.operands and decode_shape(node.operands[0].proto.shape).element_type == _PRED:
            return _pair("true_computation", "false_computation", names)
        return [f"branch_computations={{{', '.join(names)}}}"]
    if opcode == "while":
        # A proto has the body first.
        return _pair("condition", "body", names[::-1])
    if opcode == "select-and-scatter":
        return _pair("select", "scatter", names)
    if opcode == "custom-call":
        return [f"called_computations={{{', '.join(names)}}}"]
    if opcode in _ASYNC_SUFFIXES:
        is_sugar = node.wrapped is not None and node.wrapped.is_sugar
        return [f"calls={names[0]}"] * (opcode == "async-start" and not is_sugar)
    return [f"calls={', '.join(names)}"]


def _pair(first: str, second: str, names: Sequence[str]) -> list[str]:
    return [f"{key}={name}" for key, name in zip((first, second), names, strict=False)]
