"""Frozen records beside the nodes: typed attribute values, and the times that a profiler measured.

A value is what stands behind `key=` of an instruction: `attribute_values` turns text into these,
`Instruction` hands them out. Names are those of xla/xla_data.proto. A `Measurement` is what a
profile says of one program: how often instructions ran, and how long.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

ShapeIndex = tuple[int, ...]


class Metadata(Struct, frozen=True):
    """`metadata={...}`: where an instruction comes from; '' and 0 where absent.

    `source_file` and the lines are those printed on the instruction itself; newer dumps
    print only `stack_frame_id`, see `Instruction.source_location`.
    """

    op_type: str = ""
    op_name: str = ""
    source_file: str = ""
    source_line: int = 0
    source_end_line: int = 0
    source_column: int = 0
    source_end_column: int = 0
    stack_frame_id: int = 0
    deduplicated_name: str = ""
    scheduling_name: str = ""
    other: Mapping[str, str] = field(default_factory=dict)  # keys this reader has not met


class SourceLocation(Struct, frozen=True):
    """A line of the user's program. `function` is '' where the dump does not say."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""


class WindowDimension(Struct, frozen=True):
    """One dimension of `window={size=3x3 stride=2x2 pad=1_1x1_1 ...}`."""

    size: int
    stride: int = 1
    pad_low: int = 0
    pad_high: int = 0
    lhs_dilate: int = 1
    rhs_dilate: int = 1
    is_reversed: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether no size, stride or dilation is below 1."""
        return min(self.size, self.stride, self.lhs_dilate, self.rhs_dilate) >= 1

    def count_places(self, size: int) -> int:
        """Count where a possible window can stand along a dimension of this size."""
        room = self.pad_low + _dilate(size, self.lhs_dilate) + self.pad_high
        room -= _dilate(self.size, self.rhs_dilate)
        return room // self.stride + 1 if room >= 0 else 0


def _dilate(size: int, factor: int) -> int:
    """Return the extent of elements that stand `factor` apart."""
    return (size - 1) * factor + 1 if size else 0


class DimLabels(Struct, frozen=True):
    """Convolution `dim_labels=b01f_01io->b01f`: dimension numbers per role.

    Spatial tuples are ordered by spatial number, so `lhs_spatial[k]`, `rhs_spatial[k]` and
    `output_spatial[k]` belong together and to `window[k]`.
    """

    lhs_batch: int
    lhs_feature: int
    lhs_spatial: tuple[int, ...]
    rhs_input: int
    rhs_output: int
    rhs_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]


class DotDimensions(Struct, frozen=True):
    """`lhs_contracting_dims` and its kin, () where absent."""

    lhs_contracting: tuple[int, ...] = ()
    rhs_contracting: tuple[int, ...] = ()
    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()


class SliceDimension(Struct, frozen=True):
    """One `[start:limit:stride]` of `slice={...}`."""

    start: int
    limit: int
    stride: int = 1


class PaddingDimension(Struct, frozen=True):
    """One `low_high_interior` of `padding=`; low and high may be negative."""

    low: int
    high: int
    interior: int = 0


class Alias(Struct, frozen=True):
    """One pair of `input_output_alias` or `output_to_operand_aliasing`.

    `number` is the parameter or operand; `kind` is `may-alias`, `must-alias`, or '' where
    the notation has none.
    """

    output_index: ShapeIndex
    number: int
    index: ShapeIndex
    kind: str = ""


class Donor(Struct, frozen=True):
    """One `(parameter, {index})` of `buffer_donor`: donated, not yet aliased."""

    parameter: int
    index: ShapeIndex


class BackendConfig(Struct, frozen=True):
    """`backend_config=`: `text` as printed (unquoted), `json` the object if it is one."""

    text: str
    json: Mapping[str, object] | None

    def find(self, *path: str) -> object:
        """Return the value at a path of keys, or None where a step is missing."""
        value: object = self.json
        for key in path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value


class MeasuredTime(Struct, frozen=True):
    """All occurrences of one instruction in a profile, on all devices together.

    Of a collective in several steps, those of all steps. `alone_seconds` is the part in which
    nothing but collectives ran on the device; None for what is no collective. `category`, `flops`
    and `accessed_bytes` are what the profile states of one execution: on TPU.
    """

    count: int
    seconds: float
    alone_seconds: float | None = None
    category: str | None = None
    flops: int | None = None
    accessed_bytes: int | None = None


class DeviceTime(Struct, frozen=True):
    """The seconds of all devices in a profile, of all programs, by what is known of them.

    `joined` is of events that name their instruction, `named` of kernels that were joined to one
    by their names and their order; of no instruction are `copies`, the kernels of `collectives`,
    and what is `unknown`. They are the union of the events on each line: of nested events an
    instant counts for the innermost.
    """

    joined: float
    named: float
    copies: float
    collectives: float
    unknown: float

    @property
    def all(self) -> float:
        """The sum."""
        return self.joined + self.named + self.copies + self.collectives + self.unknown


class Target(Struct, frozen=True):
    """What a dump tells of the device it is for: its name, or its kind, and figures of its own.

    `kind` is a compute capability as `9.0`, an AMD architecture, or a version of TPU. Where a
    file's name alone tells it the chip is not sure. `chip_count` are all chips of a TPU slice.
    """

    name: str = ""
    kind: str = ""
    hbm_bytes: int | None = None
    hbm_bytes_per_second: float | None = None
    is_sure: bool = True
    chip_count: int | None = None


class Measurement(Struct, frozen=True):
    """The times of one program.

    `step_count` are its runs, those of all devices added up; None where nothing told them apart.
    `step_seconds` is the time from the beginning of these runs to their ends, added up. `times`
    is by the name of the instruction, which no other of a compiled module has. `device_time` is
    of all programs of the profile, `target` the device that it names.
    """

    device_count: int
    step_count: int | None
    step_seconds: float | None
    times: Mapping[str, MeasuredTime]
    device_time: DeviceTime | None = None
    target: Target | None = None

    def mean(self, seconds: float | None) -> float | None:
        """Return the part of a sum that falls on one step on one device; None if unknown."""
        return None if seconds is None or not self.step_count else seconds / self.step_count
