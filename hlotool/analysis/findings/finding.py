"""A finding: one sentence about a module, of one of few kinds, with its size and an advice.

`FINDING_MEANINGS` says when there is one of a code, `ADVICE` what to try; both are printed by
`hlotool explain` and docs/summary.md. `Evidence` is what the finders read: the analyses of one
module, and the sizes below which nothing is worth a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.machine import Machine, Pricing, price
from hlotool.analysis.collectives.report import CollectiveReport
from hlotool.analysis.collectives.transfers import Transfer
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.model import CostModel, CostReport
from hlotool.analysis.dataflow.flow import Flow
from hlotool.analysis.findings.updates import list_update_copies
from hlotool.analysis.fusions.missed import find_missed
from hlotool.analysis.fusions.rows import FusionRow, MissedRow, RecomputeRow
from hlotool.analysis.graph.calls import CallGraph, read_call_graph
from hlotool.analysis.graph.executions import Executions, Loop
from hlotool.analysis.measured import MeasuredFacts
from hlotool.analysis.memory.donation import DonationRow, list_donations
from hlotool.analysis.memory.reduction_plan import SAVES_CAVEAT, measure_undonation
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.shardings.report import ArrayRow
from hlotool.analysis.shardings.rows import ReshardRow
from hlotool.hlo import Computation, Instruction, Mesh, Module, ShapeIndex
from hlotool.hlo.sharding import Spec
from hlotool.table import BYTES, COUNT, FLOPS, SECONDS, RowList, column, figure
from hlotool.table.words import list_some

FindingCode: TypeAlias = Literal[
    "baked-constant",
    "computed-twice",
    "contradicted-trip-count",
    "converted-product",
    "donation-copied",
    "donation-missed",
    "dominant-array",
    "exposed-collective",
    "f32-collective",
    "fragmentation",
    "gather-then-slice",
    "gathered-twice",
    "involuntary-reshard",
    "large-copy",
    "loop-invariant-collective",
    "missed-fusion",
    "nondeterministic",
    "one-hot-product",
    "padding",
    "reduce-in-loop",
    "replicated-compute",
    "replicated-large-parameter",
    "slow-collective",
    "slow-fusion",
    "sort-then-slice",
    "unknown-cost",
    "unknown-custom-call",
    "unknown-trip-count",
    "update-copies",
    "wide-collective",
]
Severity: TypeAlias = Literal["info", "warning"]
# Their bytes are traffic, which takes time.
TRAFFIC: Final[frozenset[FindingCode]] = frozenset(
    ("large-copy", "missed-fusion", "sort-then-slice", "update-copies")
)
# What to try where nothing can be computed meanwhile: without a start and a done, and with both.
SYNCHRONOUS_ADVICE: Final = "turn on asynchronous collectives and the latency-hiding scheduler"
MARKED_ADVICE: Final = (
    "turn on the latency-hiding scheduler, or give it work that does not need the result"
)
# Where the text, or the flags beside it, show that these are on.
TURNED_ON_ADVICE: Final = "send less: asynchronous collectives are on, and XLA left this one out"
# When there is one, beside the sizes below which none is worth a look.
FINDING_MEANINGS: Final[Mapping[FindingCode, str]] = {
    "baked-constant": "constants of 1 MiB each; the bytes are theirs. As an argument they take as "
    "much memory, but once for all programs, and can be donated and sharded. A warning where they "
    "are half of the peak",
    "computed-twice": "a matrix product is made again from the same values, or in every round of a "
    "loop from what no round changes; `flops`, 1 % of a step's and as long as 1 MiB of traffic at "
    "least, are those of all but one. Not what `jax.checkpoint` or XLA makes again to save memory",
    "contradicted-trip-count": "a loop's printed trip count is not what its condition, step and "
    "init come to; the printed one is followed, as XLA does, and the row of the loop has both",
    "converted-product": "matrix products of f32 whose operands were converted from 16 bits; the "
    "time, that of 1 MiB and of 1 % of all traffic at least, is what they take longer by it, on a "
    "GPU at its peaks. The bytes are what wider arrays move more, null if nothing",
    "donation-copied": "the output in the memory of a donated parameter, of 1 MiB, is made of a "
    "copy of the parameter, in the same layout; not where the program reserves more without "
    "donation",
    "dominant-array": "one parameter, of 1 MiB, is three quarters or more of what the "
    "program holds at its peak",
    "donation-missed": "parameters of 1 MiB each are not donated although results have their "
    "shapes; the bytes, 1 MiB at least, are what `allocated_bytes` would fall by, as "
    "`buffers --hbm` has it: less than the sizes where temporaries lie in the results' memory. "
    "Where nothing tells they are the sizes. `info` if the program donates "
    f"nothing. {SAVES_CAVEAT.removesuffix('.')}",
    "exposed-collective": "collectives of one kind, type, interconnect, axis and source line send "
    "1 MiB and 1 % of all bytes sent per step that are exposed; not on CPU, where no collective "
    "is hidden. With `--chip` it goes by time, where that is known: 10 μs and 1 % of the time of "
    "all transfers. The bytes are those exposed. What runs synchronously has a finding and an "
    "advice of its own",
    "f32-collective": "1 MiB and 1 % of all bytes sent per step are f32, alone or beside other "
    "types (the bytes are those of f32), but most matrix products have operands of 16 bits or "
    "fewer; not on CPU; `info` for reductions",
    "fragmentation": "above 1 MiB and 5 % of a space is temporary memory that is never in use all "
    "at once; `info`",
    "gather-then-slice": "all that is used of gathered arrays is a slice; the bytes, 1 MiB and 1 % "
    "of all bytes sent per step, are those that need not be sent: where the slice is the same on "
    "all devices, of what is outside of it; where each device takes its own, all but an all-to-all",
    "gathered-twice": "an array is gathered again over the same devices; the bytes, 1 MiB and 1 % "
    "of all bytes sent per step, are those of all gathers but the largest. `info` where the first "
    "result is dropped before the second is made, as checkpointing does to save memory",
    "involuntary-reshard": "the partitioner knew no way from one sharding to another but to gather "
    "an array whole (XLA warns of an involuntary full rematerialization), and hlotool knows one; "
    "the bytes, 1 MiB and 1 % of all bytes sent per step, are those that it sends less. Only where "
    "the texts of passes lie beside: else there is a `gather-then-slice`",
    "large-copy": "1 MiB and 1 % of all memory traffic of a step is moved by copies, transposes or "
    "reshapes, fused or not, that only move data, and that no `donation-copied` names; with their "
    "cause, where the text shows it",
    "loop-invariant-collective": "a collective in a loop gets the same operands in every round; "
    "the bytes, 1 MiB and 1 % of all bytes sent per step, are those of all rounds but one",
    "missed-fusion": "elementwise operations outside any fusion move 1 MiB and 1 % of all memory "
    "traffic of a step",
    "nondeterministic": "floats are scattered to indices that may collide, as the gradient of a "
    "lookup or of a maximum pool is on GPU, or random numbers have no key; a note, without gain",
    "one-hot-product": "a matrix product adds a one-hot array up along the axis of its ones: it "
    "looks rows up; `flops`, as of `computed-twice`, are those of the product",
    "padding": "above 1 MiB and 10 % of what a memory space holds at its peak is tile padding; "
    "`info` for other spaces than 0",
    "reduce-in-loop": "a sum over devices in a loop is only added to a sum over rounds; the bytes, "
    "1 MiB and 1 % of all bytes sent per step, are those of all rounds but one, as if devices were "
    "added up behind the loop. `info` for a reduce-scatter, without which the sum is larger",
    "replicated-compute": "matrix products of which several devices compute the same, as their "
    "operands are the same there; `flops`, 1 % of a step's and as long as 1 MiB of traffic at "
    "least, are those of all copies but one; at most, of convolutions in space. Where the text "
    "says how parameters are sharded, or on TPU the one before optimization",
    "replicated-large-parameter": "every device holds all of parameters that take 1 MiB each or "
    "more; the bytes, a tenth at least of what a device holds at its peak, are what its "
    "parameters would take less if these were sharded over all devices",
    "slow-collective": "with a profile and `--chip`, collectives took more than three times what "
    "the link needs for their bytes, and lost 10 μs and 1 % of a step by it",
    "slow-fusion": "with a profile and `--chip`, fusions took more than three times what the chip "
    "needs for their bytes and flops, and lost 10 μs and 1 % of a step by it",
    "sort-then-slice": "a sort of whose rows an eighth at most is used, at one end; the bytes, 1 "
    "MiB and 1 % of all memory traffic of a step, are those of its results",
    "unknown-cost": "an instruction's attributes do not fit its shapes, or a shape has no size; "
    "the first one's reason is given",
    "unknown-custom-call": "custom calls may compute anything, and no rule says what; one finding "
    "for all",
    "unknown-trip-count": "loops that count once in every total; one finding for all",
    "update-copies": "an array is copied whole and then a slice of it is written, as the old one "
    "is used once more; the bytes, 1 MiB and 1 % of all memory traffic of a step, are what they "
    "move. No `large-copy` names them",
    "wide-collective": "what is received is only used converted to a narrower type; the bytes, "
    "1 MiB and 1 % of all bytes sent per step, are those that this type takes less. On CPU, "
    "which sends bf16 as f32, for f16 alone; `info` for reductions, whose sum it makes coarser",
}
# What to try, as the end of a sentence.
ADVICE: Final[Mapping[FindingCode, str]] = {
    "baked-constant": "pass it as an argument, or compute it in the program",
    "computed-twice": "compute it once and pass it on; what no round changes, before the loop",
    "contradicted-trip-count": "trust no total of this loop before you know which count is right",
    "converted-product": "multiply in 16 bits: jnp.dot(x, w, preferred_element_type=jnp.float32)",
    "donation-copied": "",
    "donation-missed": "donate them, as with jax.jit(donate_argnums=…)",
    "exposed-collective": "give the scheduler work that does not need the result",
    "f32-collective": "convert to 16 bits before sending",
    "fragmentation": "order allocations otherwise: smaller temporaries leave smaller gaps",
    "gather-then-slice": "slice before gathering, or use all_to_all where each device takes its "
    "own part",
    "gathered-twice": "gather once and pass the result on; under jax.checkpoint, gather outside of "
    "it, or keep the result with a policy such as save_only_these_names",
    "involuntary-reshard": "constrain it to that first, with jax.lax.with_sharding_constraint",
    "dominant-array": "",
    "large-copy": "",
    "loop-invariant-collective": "do it once, before the loop",
    "missed-fusion": "look for what keeps it apart: a second user, a layout, a custom call",
    "nondeterministic": "none is needed unless runs must agree to the bit: XLA_FLAGS="
    "--xla_gpu_deterministic_ops=true, or unique_indices=True where it is so",
    "one-hot-product": "index: table[ids] instead of one_hot(ids) @ table",
    "padding": "make the last two dimensions multiples of the tile",
    "reduce-in-loop": "add up each device's own values in the loop, as under shard_map, and reduce "
    "them once behind it",
    "replicated-compute": "shard an operand over these devices too, as with "
    "with_sharding_constraint(x, P(('data', 'model')))",
    "replicated-large-parameter": "shard it, as with NamedSharding(mesh, P('axis')): each use "
    "then gathers it",
    "slow-collective": "look for devices that come late, and for links that others use",
    "slow-fusion": "look at its layouts and its emitter, and for a library call that is faster",
    "sort-then-slice": "jax.lax.top_k",
    "unknown-cost": "read totals as lower bounds",
    "unknown-custom-call": "state the cost in the kernel, or in [[custom_call]] of hlotool.toml",
    "unknown-trip-count": "loops of known length, such as scan or fori_loop, are counted",
    "update-copies": "read the old array before the update, or read the new one",
    "wide-collective": "convert before sending",
}


class Finding(Struct, frozen=True):
    """One finding. `source` is `file:line`; `advice` is set by `collect_findings`."""

    bytes: Annotated[
        int | None,
        column(
            "what it is about: traffic or bytes sent per step, or memory held; null if none",
            BYTES,
            null_text="",
        ),
    ]
    severity: Annotated[
        Severity,
        column(
            "warning where something can be gained, info where something is unknown or intended",
            is_verdict=True,
        ),
    ]
    id: Annotated[FindingCode, column("which finding", min_width=18)]
    message: Annotated[str, column("the finding, as a sentence", is_below=True)]
    instruction: Annotated[
        str | None, column("the largest instruction it is about", null_text="", min_width=18)
    ] = None
    source: Annotated[
        str | None, column("its line in the user's program, file:line", null_text="")
    ] = None
    advice: Annotated[
        str, column("what to try, in half a sentence", heading="try", is_below=True)
    ] = ""
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of it per step: what is exposed, traffic at the "
            "memory's peak rate, or what was measured beyond the estimate; null for what takes "
            "none",
            SECONDS,
            heading="time",
            null_text="",
        ),
    ] = None
    weighted_bytes: Annotated[
        int | None,
        figure(
            "bytes that memory moves in the time it takes: of traffic its own, of what is "
            "exposed on a link as many more as the link is slower, by --chip or the ratios of the "
            "reference chip, of what is slow those of the time lost; null for what takes none",
            BYTES,
            heading="as traffic",
            null_text="",
            hide_order=1,
        ),
    ] = None
    count: Annotated[
        int,
        figure(
            "how many instructions, or parameters, it is about: the named one and those like it",
            COUNT,
            is_summed=False,
        ),
    ] = 1
    parameter: Annotated[
        str | None,
        figure("the largest parameter it is about, where that is no instruction", null_text=""),
    ] = None
    flops: Annotated[
        int | None,
        figure(
            "floating-point operations of one step that it is about; null if none",
            FLOPS,
            null_text="",
        ),
    ] = None


FINDING_ORDER: Final = "most time first"  # among warnings, where any takes time
FINDINGS: Final = RowList(
    "findings",
    Finding,
    f"what is worth a look: warnings first, {FINDING_ORDER}, by weighted_bytes, then most bytes",
    sort="-severity,-weighted_bytes,-bytes",
    size="bytes",
    key="id",
    has_total=False,
    title="Findings",
    limit=10,
)


def choose_finding_columns(rows: Sequence[Finding]) -> RowList:
    """Return the list with the column that it is sorted by: the time, or what stands for it.

    That is the time where it is known of all that take any. Nothing is added where none does.
    """
    timed = [row for row in rows if row.weighted_bytes is not None]
    if not timed:
        return FINDINGS
    is_known = all(row.estimated_seconds is not None for row in timed)
    measure = "estimated_seconds" if is_known else "weighted_bytes"
    return FINDINGS.showing(FINDINGS.shown() | {measure})


def percent(part: float, whole: float) -> str:
    """Write a part of a whole: `12 %`, `0.4 %`."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.0f} %" if value >= 1 else f"{value:.1f} %"


def name_all(names: Sequence[str]) -> str:
    """Write the first of some names and how many are like it: `all-gather.5 and 3 like it`."""
    return list_some(names, 1, " and {} like it")


LEAST_BYTES: Final = 1 << 20
_SLIGHT: Final = 1 << 16
LEAST_SECONDS: Final = 10e-6
LEAST_SHARE: Final = 0.01  # of all that crosses memory per step


_LOOKED_FOR: Final = frozenset(("constant", "rng", "scatter", "sort"))


def list_inside(one: Instruction) -> Sequence[Instruction]:
    """Return what a fusion consists of, or what is none itself."""
    body = one.callee() if one.opcode == "fusion" else None
    return body.instructions if body else (one,)


class Evidence(Struct, frozen=True, dict=True):
    """The analyses of one module that findings are made from; None where not done."""

    module: Module
    executions: Executions
    costs: CostModel
    cost: CostReport
    collectives: CollectiveReport | None = None
    memory: MemoryReport | None = None
    machine: Machine | None = None
    measured: MeasuredFacts | None = None
    fusions: tuple[FusionRow, ...] = ()  # where their times were measured, and are estimated
    parameters: Sequence[ArrayRow] = ()  # where they lie, of a program of several devices
    graph: CallGraph | None = None
    # How parameters are sharded, by number and index, where any file says so; and the mesh.
    specs: Mapping[tuple[int, ShapeIndex], Spec] = {}
    mesh: Mesh | None = None
    find_reshards: Callable[[], Sequence[ReshardRow]] = tuple  # with causes, where passes tell
    transfers: Sequence[Transfer] = ()  # what the rows of collectives were made of
    find_recomputed: Callable[[], Sequence[RecomputeRow]] = tuple
    flags: Sequence[str] = ()  # that files beside the text print, as name=value

    @cached_property
    def pricing(self) -> Pricing:
        """At which speeds work and transfers go: those of the user's machine, or ratios."""
        return price(self.module, self.machine)

    @cached_property
    def flow(self) -> Flow:
        """The ways of values."""
        return Flow(self.graph or read_call_graph(self.module))

    @property
    def chip(self) -> Chip | None:
        """The chip that times are shown for."""
        return self.machine.chip if self.machine else None

    @property
    def sent_bytes(self) -> int:
        """What all collectives send per step."""
        return self.collectives.totals.sent_bytes_per_step if self.collectives else 0

    @cached_property
    def least_traffic_bytes(self) -> int:
        """From so many bytes per step on, traffic is worth a finding."""
        return max(LEAST_BYTES, int(self.cost.traffic_bytes_per_step * LEAST_SHARE))

    @cached_property
    def missed(self) -> tuple[MissedRow, ...]:
        """Large operations outside fusions; none before optimization, where all are."""
        if not self.module.header.is_scheduled:
            return ()
        return find_missed(self.executions, self.costs, self.least_traffic_bytes)

    @cached_property
    def donations(self) -> list[DonationRow]:
        """What became of the memory of large parameters."""
        return list_donations(self.module, LEAST_BYTES)

    @cached_property
    def copied_first(self) -> frozenset[str]:
        """The copies that make a donation worthless: a finding of their own, and no other.

        Without these arrays' donation the program reserves no more; where nothing tells, the copies
        that become the output in their memory.
        """
        rows = [row for row in self.donations if row.spare_copies]
        if not self.memory:
            return frozenset(row.copy_instruction for row in rows if row.copy_instruction)
        saved = measure_undonation(self.memory, self.module) if rows else {}
        return frozenset(
            name
            for row in rows
            if saved.get(row.argument, -LEAST_BYTES) > -_SLIGHT
            for name in row.spare_copies
        )

    @cached_property
    def executed(self) -> Mapping[str, Sequence[tuple[Instruction, Instruction]]]:
        """What is executed of some opcodes, in fusions too, each behind what holds it."""
        found: dict[str, list[tuple[Instruction, Instruction]]] = {one: [] for one in _LOOKED_FOR}
        for computation in self.executions.executed:
            for outer in computation.instructions:
                for one in list_inside(outer):
                    if one.opcode in _LOOKED_FOR:
                        found[one.opcode].append((outer, one))
        return found

    @cached_property
    def loops(self) -> Mapping[Computation, Loop]:
        """The loops by their bodies."""
        return {loop.body: loop for loop in self.executions.loops}

    @cached_property
    def update_copies(self) -> list[tuple[Instruction, list[Instruction]]]:
        """The updates in place of what was copied whole for them, with the copies."""
        return list_update_copies(self.executions, self.costs, self.flow, self.copied_first)

    @cached_property
    def named_copies(self) -> frozenset[str]:
        """The copies that findings of their own name, and no other."""
        listed = (one.full_name for _, copies in self.update_copies for one in copies)
        return self.copied_first | frozenset(listed)

    def share(self, size_bytes: int) -> str:
        """Write a part of all that crosses memory per step: `3 %`."""
        return percent(size_bytes, self.cost.traffic_bytes_per_step)
