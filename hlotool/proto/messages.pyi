"""What the messages of hlo.proto hold; testdata/protos/make_messages.py wrote this."""

from abc import ABCMeta
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self, TypeVar

_Value = TypeVar("_Value")

class Message:
    @classmethod
    def FromString(cls, data: bytes, /) -> Self: ...
    def SerializeToString(self) -> bytes: ...
    def ClearField(self, name: str) -> None: ...
    def CopyFrom(self, other: Self) -> None: ...

class Repeated(Sequence[_Value], metaclass=ABCMeta):
    def add(self, **fields: object) -> _Value: ...
    def append(self, value: _Value) -> None: ...
    def extend(self, values: Iterable[_Value]) -> None: ...

INSTRUCTION_PARTS: Mapping[str, str]

def enum_names(name: str) -> Mapping[int, str]: ...
def message_class(name: str) -> type[Message]: ...
def list_submessages(name: str) -> Mapping[int, str]: ...

class HloProto(Message):
    hlo_module: HloModuleProto
    buffer_assignment: BufferAssignmentProto
    def HasField(self, name: Literal["hlo_module", "buffer_assignment"]) -> bool: ...

class HloSnapshot(Message):
    hlo: HloProto
    execution_platform: str
    def HasField(self, name: Literal["hlo"]) -> bool: ...

class HloUnoptimizedSnapshot(Message):
    hlo_module: HloModuleProto
    version: int
    def HasField(self, name: Literal["hlo_module"]) -> bool: ...

class HloModuleProtoWithConfig(Message):
    hlo_module: HloModuleProto
    config: HloModuleConfigProto
    def HasField(self, name: Literal["hlo_module", "config"]) -> bool: ...

class HloModuleConfigProto(Message):
    entry_computation_layout: ProgramShapeProto
    replica_count: int
    num_partitions: int
    use_spmd_partitioning: bool
    static_device_assignment: DeviceAssignmentProto
    alias_passthrough_params: bool
    allow_spmd_sharding_propagation_to_parameters: Repeated[bool]
    allow_spmd_sharding_propagation_to_output: Repeated[bool]
    def HasField(self, name: Literal["entry_computation_layout", "static_device_assignment"]) -> bool: ...

class DeviceAssignmentProto(Message):
    class ComputationDevice(Message):
        replica_device_ids: Repeated[int]
    replica_count: int
    computation_count: int
    computation_devices: Repeated[DeviceAssignmentProto.ComputationDevice]

class HloModuleProto(Message):
    name: str
    entry_computation_name: str
    entry_computation_id: int
    computations: Repeated[HloComputationProto]
    host_program_shape: ProgramShapeProto
    id: int
    schedule: HloScheduleProto
    input_output_alias: HloInputOutputAliasProto
    payloads: Repeated[bytes]
    buffer_donor: HloBufferDonorProto
    spmd_output_sharding: OpSharding
    spmd_parameters_shardings: Repeated[OpSharding]
    device_assignment: DeviceAssignmentProto
    stack_frame_index: StackFrameIndexProto
    frontend_attributes: FrontendAttributes
    original_value_recovery_table: OriginalValueRecoveryTableProto
    device_type: str
    def HasField(self, name: Literal["host_program_shape", "schedule", "input_output_alias", "buffer_donor", "spmd_output_sharding", "device_assignment", "stack_frame_index", "frontend_attributes", "original_value_recovery_table"]) -> bool: ...

class HloScheduleProto(Message):
    class InstructionSequence(Message):
        instruction_ids: Repeated[int]
    sequences: Mapping[int, HloScheduleProto.InstructionSequence]

class HloInputOutputAliasProto(Message):
    class AliasEntryProto(Message):
        output_shape_index: Repeated[int]
        parameter_number: int
        parameter_shape_index: Repeated[int]
        kind: int
    entries: Repeated[HloInputOutputAliasProto.AliasEntryProto]

class HloBufferDonorProto(Message):
    class BufferDonorEntryProto(Message):
        parameter_number: int
        parameter_shape_index: Repeated[int]
    entries: Repeated[HloBufferDonorProto.BufferDonorEntryProto]

class StackFrameIndexProto(Message):
    class FileLocation(Message):
        file_name_id: int
        function_name_id: int
        line: int
        end_line: int
        column: int
        end_column: int
    class StackFrame(Message):
        file_location_id: int
        parent_frame_id: int
    file_names: Repeated[str]
    function_names: Repeated[str]
    file_locations: Repeated[StackFrameIndexProto.FileLocation]
    stack_frames: Repeated[StackFrameIndexProto.StackFrame]

class OriginalValueRecoveryTableProto(Message):
    class Entry(Message):
        old_original_array: OriginalArrayProto
        new_original_array: OriginalArrayProto
        recovery_module: HloModuleProto
        def HasField(self, name: Literal["old_original_array", "new_original_array", "recovery_module"]) -> bool: ...
    entries: Repeated[OriginalValueRecoveryTableProto.Entry]

class HloComputationProto(Message):
    name: str
    instructions: Repeated[HloInstructionProto]
    program_shape: ProgramShapeProto
    id: int
    root_id: int
    is_fusion_computation: bool
    execution_thread: str
    def HasField(self, name: Literal["program_shape"]) -> bool: ...

class HloInstructionProto(Message):
    class SliceDimensions(Message):
        start: int
        limit: int
        stride: int
    name: str
    opcode: str
    shape: bytes
    metadata: bytes
    literal: LiteralProto
    parameter_number: int
    fusion_kind: str
    tuple_index: int
    dimensions: Repeated[int]
    window: Window
    convolution_dimension_numbers: ConvolutionDimensionNumbers
    feature_group_count: int
    batch_group_count: int
    slice_dimensions: Repeated[HloInstructionProto.SliceDimensions]
    exponent_bits: int
    mantissa_bits: int
    dynamic_slice_sizes: Repeated[int]
    padding_config: PaddingConfig
    outfeed_config: bytes
    distribution: int
    epsilon: float
    feature_index: int
    channel_id: int
    infeed_config: bytes
    custom_call_target: str
    outfeed_shape: ShapeProto
    dot_dimension_numbers: DotDimensionNumbers
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers
    fft_type: int
    fft_length: Repeated[int]
    comparison_direction: str
    gather_dimension_numbers: GatherDimensionNumbers
    gather_slice_sizes: Repeated[int]
    id: int
    operand_ids: Repeated[int]
    control_predecessor_ids: Repeated[int]
    called_computation_ids: Repeated[int]
    sharding: OpSharding
    backend_config: bytes
    backend_config_payload: Payload
    replica_groups: Repeated[ReplicaGroup]
    all_reduce_id: int
    use_global_device_ids: bool
    is_host_transfer: bool
    is_stable: bool
    scatter_dimension_numbers: ScatterDimensionNumbers
    precision_config: PrecisionConfig
    source_target_pairs: Repeated[SourceTarget]
    domain_entry_sharding: OpSharding
    domain_exit_sharding: OpSharding
    constrain_layout: bool
    operand_shapes_with_layout: Repeated[ShapeProto]
    triangular_solve_options: TriangularSolveOptions
    cholesky_options: CholeskyOptions
    parameter_replication: ParameterReplication
    custom_call_has_side_effect: bool
    output_operand_aliasing: Repeated[OutputOperandAliasing]
    custom_call_schedule: int
    delta: int
    indices_are_sorted: bool
    frontend_attributes: bytes
    unique_indices: bool
    rng_algorithm: int
    comparison_type: str
    is_cross_program_prefetch: bool
    cross_program_prefetch_index: int
    padding_type: int
    custom_call_api_version: int
    async_execution_thread: str
    k: int
    largest: bool
    statistics_viz: bytes
    collective_device_list: CollectiveDeviceListProto
    iota_collective_device_list: IotaReplicaGroupListProto
    mesh_axes_replica_group_list: MeshAxesReplicaGroupListProto
    original_value: OriginalValueProto
    is_composite: bool
    result_accuracy: ResultAccuracy
    is_reverse: bool
    num_carries: int
    is_associative: int
    conv_kind: int
    sparsity_config: SparsityConfig
    def HasField(self, name: Literal["literal", "window", "convolution_dimension_numbers", "padding_config", "outfeed_shape", "dot_dimension_numbers", "ragged_dot_dimension_numbers", "gather_dimension_numbers", "sharding", "backend_config_payload", "scatter_dimension_numbers", "precision_config", "domain_entry_sharding", "domain_exit_sharding", "triangular_solve_options", "cholesky_options", "parameter_replication", "cross_program_prefetch_index", "collective_device_list", "iota_collective_device_list", "mesh_axes_replica_group_list", "original_value", "result_accuracy", "sparsity_config"]) -> bool: ...

class ShapeProto(Message):
    element_type: int
    dimensions: Repeated[int]
    is_dynamic_dimension: Repeated[bool]
    tuple_shapes: Repeated[ShapeProto]
    layout: LayoutProto
    def HasField(self, name: Literal["layout"]) -> bool: ...

class ProgramShapeProto(Message):
    parameters: Repeated[ShapeProto]
    result: ShapeProto
    parameter_names: Repeated[str]
    def HasField(self, name: Literal["result"]) -> bool: ...

class LayoutProto(Message):
    minor_to_major: Repeated[int]
    dim_level_types: Repeated[int]
    dim_unique: Repeated[bool]
    dim_ordered: Repeated[bool]
    tiles: Repeated[TileProto]
    tail_padding_alignment_in_elements: int
    element_size_in_bits: int
    memory_space: int
    index_primitive_type: int
    pointer_primitive_type: int
    physical_shape: ShapeProto
    dynamic_shape_metadata_prefix_bytes: int
    split_configs: Repeated[SplitConfigProto]
    def HasField(self, name: Literal["physical_shape"]) -> bool: ...

class TileProto(Message):
    dimensions: Repeated[int]

class SplitConfigProto(Message):
    dimension: int
    split_indices: Repeated[int]

class LiteralProto(Message):
    shape: ShapeProto
    preds: Repeated[bool]
    s1s: bytes
    s2s: bytes
    s4s: bytes
    s8s: bytes
    u1s: bytes
    u2s: bytes
    u4s: bytes
    u8s: bytes
    s32s: Repeated[int]
    s64s: Repeated[int]
    u32s: Repeated[int]
    u64s: Repeated[int]
    f32s: Repeated[float]
    f64s: Repeated[float]
    c64s: Repeated[float]
    c128s: Repeated[float]
    tuple_literals: Repeated[LiteralProto]
    f16s: bytes
    bf16s: bytes
    u16s: bytes
    s16s: bytes
    f4e2m1fns: bytes
    f8e3m4s: bytes
    f8e4m3b11fnuzs: bytes
    f8e4m3fns: bytes
    f8e4m3fnuzs: bytes
    f8e4m3s: bytes
    f8e5m2fnuzs: bytes
    f8e5m2s: bytes
    f8e8m0fnus: bytes
    f6e3m2fns: bytes
    f6e2m3fns: bytes
    sparse_indices: Repeated[int]
    dynamic_sizes: Repeated[int]
    def HasField(self, name: Literal["shape"]) -> bool: ...

class OpMetadata(Message):
    op_type: str
    op_name: str
    source_file: str
    source_line: int
    source_end_line: int
    source_column: int
    source_end_column: int
    profile_type: Repeated[int]
    deduplicated_name: str
    stack_frame_id: int
    scheduling_name: str
    metadata_payload: Payload
    def HasField(self, name: Literal["metadata_payload"]) -> bool: ...

class Payload(Message):
    value: bytes
    id: int
    def HasField(self, name: Literal["value", "id"]) -> bool: ...

class OriginalValueProto(Message):
    elements: Repeated[OriginalValueElementProto]
    is_synthetic_call: bool

class OriginalValueElementProto(Message):
    shape_index: Repeated[int]
    original_array: OriginalArrayProto
    def HasField(self, name: Literal["original_array"]) -> bool: ...

class OriginalArrayProto(Message):
    instruction_name: str
    shape_index: Repeated[int]

class FrontendAttributes(Message):
    map: Mapping[str, str]

class StatisticsViz(Message):
    stat_index_to_visualize: int
    statistics: Repeated[Statistic]

class Statistic(Message):
    stat_name: str
    stat_val: float

class OpSharding(Message):
    type: int
    tile_shape: ShapeProto
    tile_assignment_dimensions: Repeated[int]
    tile_assignment_devices: Repeated[int]
    tuple_shardings: Repeated[OpSharding]
    replicate_on_last_tile_dim: bool
    metadata: Repeated[OpMetadata]
    last_tile_dims: Repeated[int]
    iota_reshape_dims: Repeated[int]
    iota_transpose_perm: Repeated[int]
    is_shard_group: bool
    shard_group_id: int
    shard_group_type: int
    named_sharding: NamedShardingProto
    def HasField(self, name: Literal["tile_shape", "named_sharding"]) -> bool: ...

class NamedShardingProto(Message):
    class DimensionSharding(Message):
        axes: Repeated[AxisRefProto]
        is_closed: bool
    mesh: MeshProto
    dim_shardings: Repeated[NamedShardingProto.DimensionSharding]
    replicated_axes: Repeated[AxisRefProto]
    unreduced_axes: Repeated[AxisRefProto]
    manual_axes: Repeated[AxisRefProto]
    metadata: Repeated[OpMetadata]
    def HasField(self, name: Literal["mesh"]) -> bool: ...

class MeshProto(Message):
    class MeshAxis(Message):
        name: str
        size: int
    class IotaTransform(Message):
        reshape_dims: Repeated[int]
        transpose_perm: Repeated[int]
    axes: Repeated[MeshProto.MeshAxis]
    device_ids: Repeated[int]
    iota_transform: MeshProto.IotaTransform
    def HasField(self, name: Literal["iota_transform"]) -> bool: ...

class AxisRefProto(Message):
    class SubAxis(Message):
        pre_size: int
        size: int
    mesh_axis_index: int
    sub_axis_info: AxisRefProto.SubAxis
    def HasField(self, name: Literal["sub_axis_info"]) -> bool: ...

class ReplicaGroup(Message):
    replica_ids: Repeated[int]

class CollectiveDeviceListProto(Message):
    replica_groups: Repeated[ReplicaGroup]

class IotaReplicaGroupListProto(Message):
    num_replica_groups: int
    num_devices_per_group: int
    iota_reshape_dims: Repeated[int]
    iota_transpose_perm: Repeated[int]

class MeshAxesReplicaGroupListProto(Message):
    mesh: MeshProto
    axes: Repeated[AxisRefProto]
    def HasField(self, name: Literal["mesh"]) -> bool: ...

class SourceTarget(Message):
    source: int
    target: int

class ParameterReplication(Message):
    replicated_at_leaf_buffers: Repeated[bool]

class Window(Message):
    dimensions: Repeated[WindowDimension]

class WindowDimension(Message):
    size: int
    stride: int
    padding_low: int
    padding_high: int
    window_dilation: int
    base_dilation: int
    window_reversal: bool

class PaddingConfig(Message):
    class PaddingConfigDimension(Message):
        edge_padding_low: int
        edge_padding_high: int
        interior_padding: int
    dimensions: Repeated[PaddingConfig.PaddingConfigDimension]

class ConvolutionDimensionNumbers(Message):
    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: Repeated[int]
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: Repeated[int]
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: Repeated[int]

class DotDimensionNumbers(Message):
    lhs_contracting_dimensions: Repeated[int]
    rhs_contracting_dimensions: Repeated[int]
    lhs_batch_dimensions: Repeated[int]
    rhs_batch_dimensions: Repeated[int]

class RaggedDotDimensionNumbers(Message):
    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Repeated[int]
    rhs_group_dimensions: Repeated[int]
    def HasField(self, name: Literal["dot_dimension_numbers"]) -> bool: ...

class SparsityConfig(Message):
    class TensorSparsityConfig(Message):
        num_non_zero: int
        block_size: int
        dimension: int
        stride: int
    lhs: SparsityConfig.TensorSparsityConfig
    rhs: SparsityConfig.TensorSparsityConfig
    def HasField(self, name: Literal["lhs", "rhs"]) -> bool: ...

class GatherDimensionNumbers(Message):
    offset_dims: Repeated[int]
    collapsed_slice_dims: Repeated[int]
    start_index_map: Repeated[int]
    index_vector_dim: int
    operand_batching_dims: Repeated[int]
    start_indices_batching_dims: Repeated[int]

class ScatterDimensionNumbers(Message):
    update_window_dims: Repeated[int]
    inserted_window_dims: Repeated[int]
    scatter_dims_to_operand_dims: Repeated[int]
    index_vector_dim: int
    input_batching_dims: Repeated[int]
    scatter_indices_batching_dims: Repeated[int]

class PrecisionConfig(Message):
    operand_precision: Repeated[int]
    algorithm: int

class ResultAccuracy(Message):
    class Tolerance(Message):
        atol: float
        rtol: float
        ulps: int
    mode: int
    tolerance: ResultAccuracy.Tolerance
    def HasField(self, name: Literal["mode", "tolerance"]) -> bool: ...

class TriangularSolveOptions(Message):
    left_side: bool
    lower: bool
    unit_diagonal: bool
    transpose_a: int

class CholeskyOptions(Message):
    lower: bool

class OutputOperandAliasing(Message):
    output_shape_index: Repeated[int]
    operand_index: int
    operand_shape_index: Repeated[int]

class BufferAssignmentProto(Message):
    class BufferAlias(Message):
        source_buffer_id: int
        location: LogicalBufferProto.Location
        def HasField(self, name: Literal["location"]) -> bool: ...
    class PeakBuffers(Message):
        index: int
        logical_buffer_ids: Repeated[int]
    logical_buffers: Repeated[LogicalBufferProto]
    buffer_aliases: Repeated[BufferAssignmentProto.BufferAlias]
    buffer_allocations: Repeated[BufferAllocationProto]
    heap_simulator_traces: Repeated[HeapSimulatorTrace]
    peak_buffers: Repeated[BufferAssignmentProto.PeakBuffers]

class LogicalBufferProto(Message):
    class Location(Message):
        instruction_name: str
        instruction_id: int
        shape_index: Repeated[int]
    id: int
    size: int
    defined_at: LogicalBufferProto.Location
    color: int
    def HasField(self, name: Literal["defined_at"]) -> bool: ...

class BufferAllocationProto(Message):
    class Assigned(Message):
        logical_buffer_id: int
        offset: int
        size: int
        element_type: int
    index: int
    size: int
    is_thread_local: bool
    is_tuple: bool
    is_entry_computation_parameter: bool
    is_constant: bool
    parameter_number: int
    parameter_shape_index: Repeated[int]
    is_parameter_aliased_with_output: bool
    maybe_live_out: bool
    color: int
    assigned: Repeated[BufferAllocationProto.Assigned]

class HeapSimulatorTrace(Message):
    class Event(Message):
        kind: int
        buffer_id: int
        computation_name: str
        instruction_name: str
        share_with_canonical_id: int
    events: Repeated[HeapSimulatorTrace.Event]
    whole_module_simulation: bool
    buffer_allocation_index: int

class UsageReport(Message):
    spaces: Repeated[UsedSpace]

class UsedSpace(Message):
    total: int
    color: int
    allocations: Repeated[UsedAllocation]

class UsedAllocation(Message):
    number: int
    size: int
    table: Repeated[bytes]

class XSpace(Message):
    planes: Repeated[XPlane]
    errors: Repeated[str]
    warnings: Repeated[str]
    hostnames: Repeated[str]

class XPlane(Message):
    id: int
    name: str
    lines: Repeated[XLine]
    event_metadata: Mapping[int, XEventMetadata]
    stat_metadata: Mapping[int, XStatMetadata]
    stats: Repeated[XStat]

class XLine(Message):
    id: int
    name: str
    timestamp_ns: int
    events: Repeated[XEvent]

class XEvent(Message):
    metadata_id: int
    offset_ps: int
    duration_ps: int
    stats: Repeated[XStat]
    num_occurrences: int

class XStat(Message):
    metadata_id: int
    double_value: float
    uint64_value: int
    int64_value: int
    str_value: str
    bytes_value: bytes
    ref_value: int
    def HasField(self, name: Literal["double_value", "uint64_value", "int64_value", "str_value", "bytes_value", "ref_value"]) -> bool: ...

class XEventMetadata(Message):
    id: int
    name: str
    display_name: str
    stats: Repeated[XStat]

class XStatMetadata(Message):
    id: int
    name: str

class Profile(Message):
    sample_type: Repeated[ValueType]
    sample: Repeated[Sample]
    location: Repeated[Location]
    function: Repeated[Function]
    string_table: Repeated[str]
    comment: Repeated[int]
    default_sample_type: int

class ValueType(Message):
    type: int
    unit: int

class Sample(Message):
    location_id: Repeated[int]
    value: Repeated[int]

class Location(Message):
    id: int
    line: Repeated[Line]

class Line(Message):
    function_id: int
    line: int

class Function(Message):
    id: int
    name: int
    filename: int

class Trace(Message):
    packet: Repeated[TracePacket]

class TracePacket(Message):
    timestamp: int
    trusted_packet_sequence_id: int
    track_event: TrackEvent
    track_descriptor: TrackDescriptor
    def HasField(self, name: Literal["timestamp", "trusted_packet_sequence_id", "track_event", "track_descriptor"]) -> bool: ...

class TrackDescriptor(Message):
    uuid: int
    name: str
    parent_uuid: int
    counter: CounterDescriptor
    def HasField(self, name: Literal["uuid", "name", "parent_uuid", "counter"]) -> bool: ...

class CounterDescriptor(Message):
    unit: int
    def HasField(self, name: Literal["unit"]) -> bool: ...

class TrackEvent(Message):
    debug_annotations: Repeated[DebugAnnotation]
    type: int
    track_uuid: int
    name: str
    counter_value: int
    def HasField(self, name: Literal["type", "track_uuid", "name", "counter_value"]) -> bool: ...

class DebugAnnotation(Message):
    string_value: str
    name: str
    def HasField(self, name: Literal["string_value", "name"]) -> bool: ...
