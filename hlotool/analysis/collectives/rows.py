"""What an analysis of collectives answers: frozen records, without arithmetic."""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.device_groups import GroupMode, Pairs
from hlotool.analysis.collectives.maker import Origin
from hlotool.analysis.collectives.mesh_axes import Span
from hlotool.ir import Mesh
from hlotool.ir.groups import Groups


class CollectiveRow(Struct, frozen=True):
    """One logical collective; bytes are per device, `collectives_fields` says what each is."""

    name: str
    count: int
    kind: str
    effective_kind: str
    computation: str
    operation: str
    is_async: bool
    is_sync: bool
    is_exposed: bool | None
    dtype: str
    operand_count: int
    payload_bytes: int | None
    wire_bytes: int | None
    group_size: int | None
    group_count: int | None
    pair_count: int | None
    is_uneven: bool
    is_upper_bound: bool
    axes: tuple[str, ...] | None
    span: Span | None
    mode: GroupMode
    channel_id: int | None
    problem: str | None
    executions: int | None
    known_executions: int
    is_conditional: bool
    payload_bytes_per_run: int | None
    known_payload_bytes_per_run: int
    wire_bytes_per_run: int | None
    known_wire_bytes_per_run: int
    textual_count: int
    members: tuple[str, ...]
    origin: Origin | None
    overlap_instructions: int | None
    overlap_flops: int | None
    overlap_bytes: int | None
    op_name: str | None
    scope: str | None
    source_file: str | None
    source_line: int | None
    replica_groups: Groups | None = None
    source_target_pairs: Pairs | None = None
    estimated_seconds: float | None = None


class KindRow(Struct, frozen=True):
    """All collectives of one kind."""

    kind: str
    count: int
    textual_count: int
    executions: int
    payload_bytes_per_run: int
    wire_bytes_per_run: int
    is_lower_bound: bool
    is_upper_bound: bool


class CollectiveTotals(Struct, frozen=True):
    """All collectives of a module, and the same figures by kind."""

    count: int
    textual_count: int
    executions: int
    payload_bytes_per_run: int
    wire_bytes_per_run: int
    is_lower_bound: bool
    is_upper_bound: bool
    by_kind: tuple[KindRow, ...]


class Exposed(Struct, frozen=True):
    """The collectives during which no real work is done; `unknown_count` may be such too."""

    count: int
    wire_bytes_per_run: int
    is_lower_bound: bool
    is_upper_bound: bool
    unknown_count: int


class OperandRow(Struct, frozen=True):
    """One operand of a collective that has several."""

    name: str
    kind: str
    effective_kind: str
    operand: int
    operand_name: str | None
    shape: str
    dtype: str
    payload_bytes: int | None
    wire_bytes: int | None
    executions: int | None
    payload_bytes_per_run: int | None
    known_payload_bytes_per_run: int
    wire_bytes_per_run: int | None
    known_wire_bytes_per_run: int
    op_name: str | None
    scope: str | None


class CollectiveReport(Struct, frozen=True):
    """Every collective of a module, in dump order, and what they add up to."""

    rows: tuple[CollectiveRow, ...]
    operands: tuple[OperandRow, ...]
    totals: CollectiveTotals
    exposed: Exposed


class CollectiveOptions(Struct, frozen=True):
    """What the user knows about the machine, and which details are wanted."""

    mesh: Mesh | None = None
    devices_per_node: int | None = None
    with_groups: bool = False  # list the devices of every group
    with_operands: bool = False  # one row for each operand of a collective with several
