"""The AttributeReader of parsed text: which attribute is read how, and what must fit its shape."""

from __future__ import annotations

from collections.abc import Mapping

from hlotool.ir.call_keys import LISTS_OF_CALLEES
from hlotool.ir.computation import Computation
from hlotool.ir.groups import ReplicaGroups, Sharding
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape, Shape, TupleShape
from hlotool.ir.values import (
    Alias,
    BackendConfig,
    DimLabels,
    DotDimensions,
    Metadata,
    PaddingDimension,
    SliceDimension,
    WindowDimension,
)
from hlotool.parse.attributes.aliases import parse_aliases
from hlotool.parse.attributes.metadata import drop_metadata, parse_metadata, read_metadata
from hlotool.parse.attributes.replica_groups import parse_replica_groups
from hlotool.parse.attributes.sharding import parse_sharding
from hlotool.parse.attributes.split import read_attributes
from hlotool.parse.attributes.value_reader import ValueReader, fail_at, parse_value
from hlotool.parse.attributes.values import (
    parse_backend_config,
    parse_computation_names,
    parse_dim_labels,
    parse_instruction_names,
    parse_numbers,
    parse_padding,
    parse_pairs,
    parse_slices,
    parse_window,
)
from hlotool.parse.strings import parse_string_map, unquote
from hlotool.source import Source

# How many operands hold the left and, last, the right side of a product.
_DOT_OPERANDS = {"scaled-dot": 3}

_NO_METADATA = Metadata()
_DOT_KEYS = (
    "lhs_contracting_dims",
    "rhs_contracting_dims",
    "lhs_batch_dims",
    "rhs_batch_dims",
)


class TextReader:
    """Reads the attributes of one module's instructions from its source."""

    def __init__(self) -> None:
        self._values = ValueReader()
        self._called: dict[tuple[str, str], tuple[Computation, ...]] = {}

    def attributes(self, instruction: Instruction) -> dict[str, str]:
        """Split the raw attributes of an instruction whose attributes end with the line."""
        source = instruction.computation.module.source
        return read_attributes(source, instruction.start, _find_end(source, instruction))

    def plain_text(self, instruction: Instruction) -> str:
        """Return the raw attributes of an instruction whose attributes end with the line."""
        source = instruction.computation.module.source
        return drop_metadata(source.text[instruction.start : _find_end(source, instruction)], 1)

    def callees(self, instruction: Instruction, key: str) -> tuple[Computation, ...]:
        """Return what `calls=` and its kin name; each must be a computation, a fusion's its own.

        XLA's parser takes several in LISTS_OF_CALLEES alone, and knows no other key of a fusion.
        """
        text = instruction.attributes.get(key)
        if text is None:
            return ()
        if instruction.opcode == "fusion" and key != "calls":
            fail_at(instruction, key, f"a fusion calls its computation in calls=, not in {key}=")
        only = instruction.computation.module.computations.get(text.removeprefix("%"))
        if only is not None:  # nearly always: one name, and nothing to take apart
            return (only,)
        found = self._called.get((key, text))  # a long list is asked for again and again
        if found is None:
            found = self._called[key, text] = self._read_callees(instruction, key)
        return found

    def _read_callees(self, instruction: Instruction, key: str) -> tuple[Computation, ...]:
        computations = instruction.computation.module.computations
        names = self._values.read(instruction, key, parse_computation_names) or ()
        if len(names) != 1 and key not in LISTS_OF_CALLEES:
            fail_at(instruction, key, f"expected one computation as the value of {key!r}")
        for name in names:
            if name not in computations:
                fail_at(instruction, key, f"there is no computation {name!r}")
        return tuple(computations[name] for name in names)

    def control_predecessors(self, instruction: Instruction) -> tuple[str, ...]:
        """Return the names in `control-predecessors=`; each must be of the same computation."""
        key = "control-predecessors"
        names = self._values.read(instruction, key, parse_instruction_names) or ()
        for name in names:
            if name not in instruction.computation.by_name:
                fail_at(instruction, key, f"there is no instruction {name!r} in this computation")
        return names

    def expect_callee(self, instruction: Instruction, key: str) -> Computation:
        """Return the one computation under a key; raise where it is absent."""
        found = self.callees(instruction, key)
        if len(found) != 1:
            fail_at(instruction, key, f"{instruction.opcode} needs an attribute {key}=")
        return found[0]

    def expect_number(self, instruction: Instruction, key: str) -> int:
        """Return an attribute that is one integer; raise where it is absent too."""
        return _expect_one(instruction, key, self._values.read(instruction, key, parse_numbers))

    def expect_element(self, instruction: Instruction, key: str) -> int:
        """Return the number of an element of the operand, a tuple; raise where it has none.

        The split attributes are not kept: who asks is one of many, and seldom asks for another.
        """
        text = instruction.split_attributes().get(key)
        numbers = self._values.read_text(instruction, key, text, parse_numbers)
        number = _expect_one(instruction, key, numbers)
        shape = instruction.operands[0].shape if instruction.operands else None
        if not isinstance(shape, TupleShape):
            fail_at(instruction, key, f"{instruction.opcode} needs a tuple as its operand")
        last = len(shape.elements) - 1
        if not 0 <= number <= last:
            message = f"the last is {last}" if shape.elements else "it is an empty tuple"
            fail_at(instruction, key, f"the operand has no element {number}: {message}")
        return number

    def string(self, instruction: Instruction, key: str) -> str:
        """Return an attribute without quotes and escapes, '' where absent."""
        return unquote(instruction.attributes.get(key, ""))

    def metadata(self, instruction: Instruction) -> Metadata:
        """Return the metadata."""
        text = instruction.split_attributes().get("metadata")
        if text is None:
            return _NO_METADATA
        return read_metadata(text) or parse_value(instruction, "metadata", text, parse_metadata)

    def integers(self, instruction: Instruction, key: str) -> tuple[int, ...]:
        """Return `{0,1}` or `3` as integers."""
        return self._values.read(instruction, key, parse_numbers) or ()

    def replica_groups(self, instruction: Instruction) -> ReplicaGroups | None:
        """Return the replica groups."""
        return self._values.read(instruction, "replica_groups", parse_replica_groups)

    def source_target_pairs(self, instruction: Instruction) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a permute."""
        return self._values.read(instruction, "source_target_pairs", parse_pairs) or ()

    def window(self, instruction: Instruction) -> tuple[WindowDimension, ...]:
        """Return the window."""
        return self._values.read(instruction, "window", parse_window) or ()

    def dim_labels(self, instruction: Instruction) -> DimLabels | None:
        """Return the dimension labels of a convolution, one for each dimension it has."""
        labels = self._values.read(instruction, "dim_labels", parse_dim_labels)
        if labels is not None and instruction.opcode == "convolution":
            rank = len(labels.lhs_spatial) + 2
            for shape in (instruction.shape, *_operand_shapes(instruction, 2)):
                _check_rank(instruction, "dim_labels", shape, rank)
        return labels

    def dot_dimensions(self, instruction: Instruction) -> DotDimensions:
        """Return the dimension numbers of a dot; its operands have such dimensions."""
        lhs, *_, rhs = _operand_shapes(instruction, _DOT_OPERANDS.get(instruction.opcode, 2))
        numbers = []
        for key in _DOT_KEYS:
            shape = lhs if key.startswith("lhs") else rhs
            numbers.append(self.integers(instruction, key))
            if not all(0 <= number < _rank(shape) for number in numbers[-1]):
                fail_at(instruction, key, f"{shape} has no such dimension")
        return DotDimensions(*numbers)

    def slice_dimensions(self, instruction: Instruction) -> tuple[SliceDimension, ...]:
        """Return the slice, one part for each dimension."""
        parts = self._values.read(instruction, "slice", parse_slices) or ()
        if instruction.opcode == "slice":
            _check_rank(instruction, "slice", instruction.shape, len(parts))
            _check_rank(instruction, "slice", _operand_shapes(instruction, 1)[0], len(parts))
        return parts

    def padding(self, instruction: Instruction) -> tuple[PaddingDimension, ...]:
        """Return the padding, one part for each dimension."""
        parts = self._values.read(instruction, "padding", parse_padding) or ()
        if instruction.opcode == "pad":
            _check_rank(instruction, "padding", instruction.shape, len(parts))
        return parts

    def backend_config(self, instruction: Instruction) -> BackendConfig | None:
        """Return the backend config."""
        return self._values.read(instruction, "backend_config", parse_backend_config)

    def sharding(self, instruction: Instruction) -> Sharding | None:
        """Return the sharding."""
        return self._values.read(instruction, "sharding", parse_sharding)

    def aliasing(self, instruction: Instruction) -> tuple[Alias, ...]:
        """Return which outputs share memory with which operands."""
        return self._values.read(instruction, "output_to_operand_aliasing", parse_aliases) or ()

    def frontend_attributes(self, instruction: Instruction) -> Mapping[str, str]:
        """Return the frontend attributes."""
        return self._values.read(instruction, "frontend_attributes", parse_string_map) or {}


def _find_end(source: Source, instruction: Instruction) -> int:
    """Return where the line ends on which the attributes stand."""
    end = source.text.find("\n", instruction.start)
    return len(source.text) if end < 0 else end


def _expect_one(instruction: Instruction, key: str, numbers: tuple[int, ...] | None) -> int:
    """Return the only number of an attribute, or raise."""
    if numbers is None:
        fail_at(instruction, key, f"{instruction.opcode} needs an attribute {key}=")
    if len(numbers) != 1:
        fail_at(instruction, key, f"expected one integer as the value of {key!r}")
    return numbers[0]


def _operand_shapes(instruction: Instruction, count: int) -> list[Shape]:
    """Return the shapes of an instruction's first operands; raise if they are fewer."""
    if len(instruction.operands) < count:
        needed = f"{count} operands" if count > 1 else "an operand"
        fail_at(instruction, "", f"{instruction.opcode} needs {needed}")
    return [one.shape for one in instruction.operands[:count]]


def _check_rank(instruction: Instruction, key: str, shape: Shape, rank: int) -> None:
    if _rank(shape) != rank:
        fail_at(instruction, key, f"{key}= describes {rank} dimensions, {shape} has others")


def _rank(shape: Shape) -> int:
    """Return the number of dimensions; a tuple has none, and -1 is no array's."""
    return len(shape.dims) if isinstance(shape, ArrayShape) else -1
