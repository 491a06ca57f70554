"""Findings about collectives in loops that could as well stand before or behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.transfers import Transfer, measure_share
from hlotool.analysis.dataflow.flow import MOST_STEPS, Flow
from hlotool.analysis.findings.collectives import Waste, find_waste, list_results
from hlotool.analysis.findings.finding import Evidence, Finding
from hlotool.analysis.graph.executions import Loop
from hlotool.hlo import Computation, Instruction, ShapeIndex
from hlotool.hlo.opcodes import EFFECTS, MOVES
from hlotool.table.words import plural

_REDUCTIONS: Final = frozenset(("all-reduce", "reduce-scatter"))
_Looped: TypeAlias = tuple[CollectiveRow, Transfer, Loop, int]


def _list_looped(evidence: Evidence) -> Iterator[_Looped]:
    """Yield the collectives that stand in loops of known length, with it."""
    report = evidence.collectives
    for row, transfer in zip(report.rows, evidence.transfers, strict=True) if report else ():
        loop = evidence.loops.get(transfer.collective.begin.computation)
        trips = loop.trips.count if loop else None
        if loop is not None and trips is not None and trips > 1 and row.sent_bytes:
            yield row, transfer, loop, trips


def find_loop_invariant_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives in loops whose operands are the same in every round."""
    rounds = Rounds(evidence.flow, evidence.loops)
    wastes = []
    for row, transfer, loop, _ in _list_looped(evidence):
        trips = rounds.count_alike(list(transfer.collective.begin.operands), loop)
        if trips > 1:
            sent = row.known_sent_bytes_per_step
            wastes.append(Waste(row, sent - -(-sent // trips), loop.instruction.full_name))

    def say(group: list[Waste], names: str) -> str:
        gets = plural(len(group), "gets", "get")
        return f"{names} {gets} the same operands in each iteration of {group[0].beside}."

    yield from find_waste(evidence, "loop-invariant-collective", wastes, say)


class Rounds:
    """Which values of loops' bodies are the same in every round; what was found is kept."""

    def __init__(self, flow: Flow, loops: Mapping[Computation, Loop]) -> None:
        self._flow = flow
        self._loops = loops
        self._known: dict[Instruction, bool] = {}

    def count_alike(self, values: list[Instruction], loop: Loop) -> int:
        """Return in how many rounds values are the same, those of loops further out multiplied.

        What is made of constants alone does not count: it is the compiler's.
        """
        rounds, inner = 1, loop
        while inner.trips.count is not None and all(map(self.is_same, values)):
            elements = {
                one.tuple_index
                for one in self._flow.ancestors(values, inner.body) or ()
                if one.computation is inner.body and _is_element(one)
            }
            if not elements:
                break
            rounds *= inner.trips.count
            outer = self._loops.get(inner.instruction.computation)
            given = self._flow.source(inner.instruction.operands[0], (), ()).instruction
            if outer is None or given.opcode != "tuple":
                break
            values, inner = [given.operands[one] for one in elements], outer
        return rounds

    def is_same(self, value: Instruction) -> bool:
        """Whether a value of a body, or of a fusion there, is the same in every round.

        It is not as soon as one of the values is not that it is made of.
        """
        known = self._known
        if value in known:
            return known[value]
        if (verdict := self._judge(value)) is not None:
            return verdict
        path = [(value, iter(self._list_parts(value)))]
        while path:
            one, parts = path[-1]
            if (part := next(parts, None)) is None:
                known[one] = True
                path.pop()
                continue
            if (verdict := known.get(part, self._judge(part))) is None:
                path.append((part, iter(self._list_parts(part))))
            elif not verdict:
                known.update((each, False) for each, _ in path)
                return False
        return True

    def _judge(self, one: Instruction) -> bool | None:
        """Say it of what is not made of other values of its body; None of the others."""
        if _is_element(one) and (loop := self._loops.get(one.computation)) is not None:
            return self._flow.is_unchanged(loop.instruction, one.tuple_index)
        if one.opcode == "parameter" and not self._list_parts(one):
            return False
        return False if one.opcode in EFFECTS else None

    def _list_parts(self, one: Instruction) -> tuple[Instruction, ...]:
        if one.opcode != "parameter":
            return one.operands
        caller = self._flow.caller(one.computation)
        if caller is None or caller.opcode != "fusion":
            return ()
        return caller.operands[one.parameter_number : one.parameter_number + 1]


def _is_element(one: Instruction) -> bool:
    """Whether an instruction is an element of what its computation is given."""
    return one.opcode == "get-tuple-element" and one.operands[0].opcode == "parameter"


def find_reductions_in_loops(evidence: Evidence) -> Iterator[Finding]:
    """Find sums over devices of which a loop only adds up the results of its rounds.

    Their sum could be made of what each device adds up alone. What is added may be turned,
    converted, or multiplied by what is the same in every round. A note of a reduce-scatter, without
    which the sum takes as much memory as on one device.
    """
    rounds = Rounds(evidence.flow, evidence.loops)
    wastes = []
    for row, transfer, loop, trips in _list_looped(evidence):
        if row.kind not in _REDUCTIONS or not _is_sum(transfer.collective.operation):
            continue
        saved = 0
        for part, result in list_results(transfer):
            if is_added_up(evidence.flow, rounds, loop, *result):
                sent = measure_share(
                    part.size_bytes, transfer.share, transfer.collective.runs
                ).known_per_step
                saved += sent - -(-sent // trips)
        if saved:
            wastes.append(Waste(row, saved, loop.instruction.full_name))

    def say(group: list[Waste], names: str) -> str:
        verb = plural(len(group), "runs", "run")
        return (
            f"{names} ({group[0].row.kind}) {verb} in each iteration of {group[0].beside}, which "
            "only adds up the results."
        )

    whole = [one for one in wastes if one.row.kind == "all-reduce"]
    parts = [one for one in wastes if one.row.kind != "all-reduce"]
    yield from find_waste(evidence, "reduce-in-loop", whole, say)
    yield from find_waste(evidence, "reduce-in-loop", parts, say, "info")


def _is_sum(operation: Instruction) -> bool:
    reducer = operation.callee()
    return reducer is not None and reducer.root.opcode == "add"


_LINEAR: Final = frozenset(("divide", "dynamic-slice"))  # in their first operand
_TURNED: Final = MOVES | {"bitcast", "convert", "negate"}


def is_added_up(
    flow: Flow, rounds: Rounds, loop: Loop, result: Instruction, index: ShapeIndex
) -> bool:
    """Whether all that becomes of a value is that elements of a loop's state grow by it.

    What was joined to be reduced at once is cut apart before.
    """
    pending = [(result, index)]
    for _ in range(MOST_STEPS):
        if not pending:
            return True
        uses = list(flow.uses(*pending.pop()))
        users = [use.instruction for use in uses]
        if len(users) > 1 and all(user and user.opcode == "slice" for user in users):
            pending += [(user, ()) for user in users if user]
            continue
        if len(users) != 1 or (user := users[0]) is None:
            return False
        others = [one for one in user.operands if one is not uses[0].value]
        if user.opcode == "add" and len(others) == 1:
            if not _is_total(flow, loop, user, others[0]):
                return False
            continue
        is_linear = user.opcode in _TURNED or (
            (user.opcode == "multiply" or (user.opcode in _LINEAR and uses[0].place == 0))
            and len(others) == len(user.operands) - 1
            and all(map(rounds.is_same, others))
        )
        if not is_linear:
            return False
        pending.append((user, ()))
    return False


def _is_total(flow: Flow, loop: Loop, added: Instruction, before: Instruction) -> bool:
    """Whether a sum is an element of a loop's state, of which it was made, and nothing else is.

    TPU may choose a constant for it in the first round.
    """
    reader, total = added, before
    if before.opcode == "select":
        chosen = [one for one in before.operands[1:] if one.opcode not in {"broadcast", "constant"}]
        reader, total = before, chosen[0] if len(chosen) == 1 else before
    state = loop.body.parameters[0]
    made = flow.source(total, (), _TURNED, loop.body)
    if made.inner is not state or len(made.index) != 1:
        return False
    behind = flow.source(loop.body.root, made.index, _TURNED, loop.body)
    return (
        behind.inner is added
        and [use.instruction for use in flow.uses(state, made.index)] == [reader]
        and [use.instruction for use in flow.uses(added)] == [None]
    )
