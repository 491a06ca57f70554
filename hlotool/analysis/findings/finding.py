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
from hlotool.analysis.graph.executions import Executions, Loop
from hlotool.analysis.measured import MeasuredFacts
from hlotool.analysis.memory.donation import DonationRow, list_donations
from hlotool.analysis.memory.reduction_plan import SAVES_CAVEAT, measure_undonation
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.shardings.report import ArrayRow
from hlotool.analysis.shardings.rows import ReshardRow
from hlotool.hlo import Computation, Instruction, Mesh, Module, ShapeIndex
from hlotool.hlo.sharding import Spec
from hlotool.table import RowList, column, figure
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
MARKED_ADVICE: Final = "turn on the latency-hiding scheduler"
# When there is one, beside the sizes below which none is worth a look.
FINDING_MEANINGS: Final[Mapping[FindingCode, str]] = {
    "baked-constant": "constants of at least 1 MiB each; the bytes are their sizes. Arguments "
    "take the same memory once for all programs, and can be donated and sharded. A warning if the "
    "constants are at least half of the peak",
    "computed-twice": "a matrix product is recomputed from the same values, or in each iteration "
    "from loop-invariant values; `flops` counts all but one. Reported if these are at least 1 % "
    "of a step's flops and take as long as 1 MiB of traffic. Recomputation by `jax.checkpoint` or "
    "XLA to save memory does not count",
    "contradicted-trip-count": "a loop's printed trip count differs from that of its condition, "
    "step and init. Totals use the printed one, as XLA does; the loop's row has both",
    "converted-product": "f32 matrix products whose operands were converted from 16 bits. The time "
    "is the loss on a GPU at its peaks. Reported if it is at least the time of 1 MiB and of "
    "1 % of all traffic. The bytes are the extra traffic of wider arrays, or null",
    "donation-copied": "an output in a donated parameter's memory is made from a copy of it, in "
    "the same layout. The parameter has at least 1 MiB; skipped if the program reserves more "
    "without donation",
    "dominant-array": "one parameter of at least 1 MiB is three quarters or more of the "
    "program's peak",
    "donation-missed": "parameters of at least 1 MiB each are not donated although results have "
    "their shapes. The bytes, at least 1 MiB, are the fall of `allocated_bytes`, as in `buffers "
    "--hbm`. They are below the parameters' sizes if temporaries share the results' memory, and "
    "equal to them if that is unknown. `info` if the program donates nothing and updates none of "
    "them. "
    f"{SAVES_CAVEAT.removesuffix('.')}",
    "exposed-collective": "collectives of one kind, dtype, interconnect, axis and line expose at "
    "least 1 MiB and 1 % of all bytes sent. Not on CPU, where no collective overlaps. With "
    "`--chip`, if times are known, they expose at least 10 μs and 1 % of the time of all "
    "transfers. The bytes are those exposed. Synchronous collectives have their own finding and "
    "advice",
    "f32-collective": "f32 is sent by a program whose matrix products mostly have operands of at "
    "most 16 bits. The bytes, at least 1 MiB and 1 % of all bytes sent per step, are those of "
    "f32 alone. Not on CPU; `info` for reductions",
    "fragmentation": "over 1 MiB and 5 % of a space is temporary memory that is never all in "
    "use at once; `info`",
    "gather-then-slice": "only a slice of gathered arrays is used. The bytes, at least 1 MiB and "
    "1 % of all bytes sent per step, are sent in vain: those outside the slice if all devices use "
    "the same one, those beyond an all-to-all if each uses its own",
    "gathered-twice": "an array is gathered again over the same devices. The bytes, at least 1 "
    "MiB and 1 % of all bytes sent, are those of all gathers but the largest. `info` if the "
    "first result is freed before the second gather, as checkpointing does to save memory",
    "involuntary-reshard": "the partitioner gathered a whole array to reshard it (XLA's "
    "involuntary full rematerialization), and hlotool knows a cheaper way. The bytes, at least 1 "
    "MiB and 1 % of all bytes sent per step, are saved by it. Needs the texts of passes; without "
    "them it is a `gather-then-slice`",
    "large-copy": "copies, transposes or reshapes, fused or not, move at least 1 MiB and 1 % of "
    "a step's memory traffic. Those that `donation-copied` names do not count. The cause is "
    "added if the text shows it",
    "loop-invariant-collective": "a collective in a loop gets the same operands in each "
    "iteration. The bytes, at least 1 MiB and 1 % of all bytes sent, are those of all iterations "
    "but one",
    "missed-fusion": "elementwise operations outside any fusion move at least 1 MiB and 1 % of a "
    "step's memory traffic",
    "nondeterministic": "floats are scattered to indices that may collide, or random numbers "
    "have no key. On GPU, gradients of lookups and of max pooling scatter this way. Always `info`",
    "one-hot-product": "a matrix product with a one-hot array only looks rows up. `flops` are "
    "those of the product, with the thresholds of `computed-twice`",
    "padding": "over 1 MiB and 10 % of a memory space's peak is tile padding; `info` for spaces "
    "other than 0",
    "reduce-in-loop": "a loop reduces over devices in each iteration only to add the result to a "
    "running sum. The bytes, at least 1 MiB and 1 % of all bytes sent, are those of all "
    "iterations but one. One reduction after the loop is enough. `info` for a reduce-scatter: "
    "without it the sum takes more memory",
    "replicated-compute": "several devices compute the same matrix products from the same "
    "operands; `flops` counts all copies but one, an upper bound for spatial convolutions. "
    "Reported if these are at least 1 % of a step's flops and take as long as 1 MiB of traffic. "
    "Needs the shardings of parameters in the text; on TPU, in the text before optimization",
    "replicated-large-parameter": "every device holds a copy of parameters of at least 1 MiB "
    "each. The bytes, at least a tenth of the device's peak, are saved by sharding over all "
    "devices",
    "slow-collective": "with a profile and `--chip`: collectives took over three times the "
    "link's time for their bytes. They lost at least 10 μs and 1 % of a step",
    "slow-fusion": "with a profile and `--chip`: fusions took over three times the chip's time "
    "for their bytes and flops. They lost at least 10 μs and 1 % of a step",
    "sort-then-slice": "a sort of which at most an eighth is used, at one end. The bytes, at "
    "least 1 MiB and 1 % of a step's memory traffic, are those of its results",
    "unknown-cost": "an instruction's attributes contradict its shapes, or a shape has no size; "
    "the finding gives the first reason",
    "unknown-custom-call": "custom calls may compute anything, and no rule gives their cost; one "
    "finding for all",
    "unknown-trip-count": "loops of unknown trip count, which count once in every total; one "
    "finding for all",
    "update-copies": "a whole array is copied before a slice of it is written, because the old "
    "one is still used. The bytes, at least 1 MiB and 1 % of a step's memory traffic, are their "
    "traffic. `large-copy` leaves them out",
    "wide-collective": "received data is used only after conversion to a narrower dtype. The "
    "bytes, at least 1 MiB and 1 % of all bytes sent per step, are saved by sending that dtype. "
    "On CPU, which sends bf16 as f32, only f16 counts. `info` for reductions, whose sum becomes "
    "coarser",
}
# What to try, as the end of a sentence.
ADVICE: Final[Mapping[FindingCode, str]] = {
    "baked-constant": "pass it as an argument, or compute it in the program",
    "computed-twice": "compute it once and pass it on; compute loop-invariant values before the "
    "loop",
    "contradicted-trip-count": "do not rely on this loop's totals until you know the right count",
    "converted-product": "multiply in 16 bits: jnp.dot(x, w, preferred_element_type=jnp.float32)",
    "donation-copied": "",
    "donation-missed": "donate them, as with jax.jit(donate_argnums=…)",
    "exposed-collective": "",
    "f32-collective": "convert to 16 bits before sending",
    "fragmentation": "reduce the largest temporaries; smaller ones leave smaller gaps",
    "gather-then-slice": "slice before gathering, or use all_to_all if each device takes its own "
    "part",
    "gathered-twice": "gather once and pass the result on; under jax.checkpoint, gather outside "
    "or save the result by policy, such as save_only_these_names",
    "involuntary-reshard": "constrain it to that spec first, with jax.lax.with_sharding_constraint",
    "dominant-array": "",
    "large-copy": "",
    "loop-invariant-collective": "do it once, before the loop",
    "missed-fusion": "check what blocks fusion: a second user, a layout, a custom call",
    "nondeterministic": "only if runs must agree bit for bit: set "
    "XLA_FLAGS=--xla_gpu_deterministic_ops=true, or unique_indices=True if the indices are unique",
    "one-hot-product": "index: table[ids] instead of one_hot(ids) @ table",
    "padding": "make the last two dimensions multiples of the tile",
    "reduce-in-loop": "sum each device's own values in the loop, as under shard_map, and reduce "
    "once after it",
    "replicated-compute": "shard an operand over these devices too: with_sharding_constraint(x, "
    "P(('data', 'model')))",
    "replicated-large-parameter": "shard it, as with NamedSharding(mesh, P('axis')); each use "
    "then gathers it",
    "slow-collective": "look for stragglers and contended links",
    "slow-fusion": "check its layouts and its emitter, and look for a faster library call",
    "sort-then-slice": "jax.lax.top_k",
    "unknown-cost": "read totals as lower bounds",
    "unknown-custom-call": "give its cost in the kernel, or in [[custom_call]] of hlotool.toml",
    "unknown-trip-count": "use scan or fori_loop if the length is fixed; else read totals as of "
    "one iteration",
    "update-copies": "read the old array before the update, or read the new one instead",
    "wide-collective": "convert before sending",
}


class Finding(Struct, frozen=True):
    """One finding. `source` is `file:line`; `advice` is set by `collect_findings`."""

    bytes: Annotated[
        int | None,
        column("its bytes: traffic or bytes sent per step, or memory; null if none", null_text=""),
    ]
    severity: Annotated[
        Severity,
        column(
            "warning: something can be saved; info: something is unknown or intended",
            is_verdict=True,
        ),
    ]
    id: Annotated[FindingCode, column("which finding")]
    message: Annotated[str, column("the finding, as a sentence", is_below=True)]
    instruction: Annotated[str | None, column("its largest instruction", null_text="")] = None
    source: Annotated[
        str | None, column("its line in the user's program, file:line", null_text="")
    ] = None
    advice: Annotated[str, column("what to try", heading="try", is_below=True)] = ""
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: its estimated time per step: exposed time, traffic at peak "
            "bandwidth, or measured time beyond the estimate; null if none",
            heading="time",
            null_text="",
        ),
    ] = None
    weighted_bytes: Annotated[
        int | None,
        figure(
            "bytes that memory moves in the finding's time, for ranking. Traffic counts as "
            "it is; exposed bytes count more, as the link is slower than memory; measured "
            "losses count by their time. The rates are those of --chip or of the reference "
            "chip; null if it takes no time",
            heading="as traffic",
            null_text="",
        ),
    ] = None
    count: Annotated[
        int,
        figure(
            "number of instructions or parameters: the named one and those like it", is_summed=False
        ),
    ] = 1
    parameter: Annotated[
        str | None, figure("its largest parameter, if it concerns parameters", null_text="")
    ] = None
    flops: Annotated[
        int | None, figure("its floating-point operations per step; null if none", null_text="")
    ] = None


FINDINGS: Final = RowList(
    "findings",
    Finding,
    "findings: warnings first, then by weighted_bytes, then by bytes",
    sort="-severity,-weighted_bytes,-bytes",
    size="bytes",
    key="id",
    has_total=False,
    title="Findings",
    limit=10,
    screen="bytes,estimated_seconds,weighted_bytes,severity,id,instruction,source",
)


def choose_finding_columns(rows: Sequence[Finding]) -> RowList:
    """Return the list with the column that it is sorted by: the time, or what stands for it.

    That is the time where it is known of all that take any. Nothing is added where none does.
    """
    if not (timed := [row for row in rows if row.weighted_bytes is not None]):
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
        return Flow(self.costs.graph)

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
        return find_missed(self.costs, self.least_traffic_bytes)

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
        spare = (row for row in rows if saved.get(row.argument, -LEAST_BYTES) > -_SLIGHT)
        return frozenset(name for row in spare for name in row.spare_copies)

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
        return list_update_copies(self.costs, self.flow, self.copied_first)

    @cached_property
    def named_copies(self) -> frozenset[str]:
        """The copies that findings of their own name, and no other."""
        listed = (one.full_name for _, copies in self.update_copies for one in copies)
        return self.copied_first | frozenset(listed)

    def share(self, size_bytes: int) -> str:
        """Write a part of all that crosses memory per step: `3 %`."""
        return percent(size_bytes, self.cost.traffic_bytes_per_step)
