"""Budgets over the programs of a dump: which are held against which, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.memory.answer import ROWS
from hlotool.analysis.memory.rows import BufferRow
from hlotool.check import baseline as baselines
from hlotool.check.history import HistoryLine, measure_line
from hlotool.check.judge import judge_rule, not_judged, unmatched
from hlotool.check.results import CheckFacts, RuleResult, count_results
from hlotool.check.rule import Rule, choose_rules, expect_budget_words, list_unknown_values
from hlotool.compare.causes.cause import Cause
from hlotool.compare.changes.figures import MetricRow
from hlotool.compare.changes.memory import MemoryChange
from hlotool.compare.inputs import Candidate, DiffSide, read_context, read_side
from hlotool.compare.pairing import Pairing
from hlotool.compare.report import compare_programs
from hlotool.dump.files import Inputs
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import InputError, NothingCheckedError
from hlotool.program.load import input_paths, load_program, note_files
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program
from hlotool.table import InputPaths, Unit
from hlotool.table.expression.compile import UnknownValue
from hlotool.table.select import sort_rows
from hlotool.table.sums import fold_rows
from hlotool.table.words import list_some

_MOST_CAUSES: Final = 2  # of a module
_MOST_VALUES: Final = 3
# The parts of memory, by the figures that a baseline has of them.
_PARTS: Final = {
    "buffers.argument_bytes": "parameter",
    "buffers.output_bytes": "output",
    "buffers.temp_bytes": "temp",
    "buffers.constant_bytes": "constant",
}
_LISTED: Final = 8
_RANKS: Final = {"error": 0, "fail": 1, "not-measured": 2, "pass": 3}


class Task(Struct, frozen=True):
    """One module, and the module of the baseline that it is compared with, or why there is none."""

    module: Candidate
    name: str  # what it is called, as no other of the dump
    baseline: Candidate | None = None
    missing: str = baselines.NO_BASELINE

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(side.size_bytes for side in (self.module, self.baseline) if side)


class Plan(Struct, frozen=True):
    """Which budgets are held against which modules of PATH."""

    path: str
    rules: tuple[Rule, ...]
    tasks: tuple[Task, ...]
    passed_over: tuple[str, ...]  # names of modules that no budget is about
    notes: tuple[str, ...] = ()  # on modules and those of the baseline
    assumptions: Assumptions = NO_ASSUMPTIONS
    is_recorded: bool = False  # for a history
    has_causes: bool = False  # whether it is asked what is behind exceeded budgets

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(task.size_bytes for task in self.tasks)

    def paths(self) -> InputPaths:
        """Name the files of the one module there is, else only what the user typed."""
        modules = [task.module.input for task in self.tasks]
        if len(modules) == 1 and modules[0] is not None:
            return input_paths(self.path, modules[0], with_buffers=True)
        return InputPaths(self.path)


class Excess(Struct, frozen=True):
    """What is behind the exceeded budgets of a module: what grew, or the largest values.

    `has_grown`: an increase is exceeded, not only a fixed limit. `limit_bytes` is the least
    exceeded limit of memory. Against a dump `values` are what grew; a saved baseline has no values:
    then they are the largest of the part of memory that has `grown` most.
    """

    module: str
    place: str
    has_grown: bool
    limit_bytes: int | None
    causes: tuple[Cause, ...]
    values: tuple[MemoryChange | BufferRow, ...]
    grown: MetricRow | None = None


class Run(Struct, frozen=True):
    """What a check came to, the worst results first; `failures` are modules not read.

    `notes` say what of the files was not understood, `lines` are what a history holds of it,
    `excesses` what is behind budgets that are exceeded.
    """

    paths: InputPaths
    results: tuple[RuleResult, ...]
    facts: CheckFacts
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()
    lines: tuple[HistoryLine, ...] = ()
    excesses: tuple[Excess, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 for an exceeded budget, else that of a broken module, else 4 if one was idle."""
        if self.facts.fail_count:
            return 1
        if self.failures:
            return self.failures[0].exit_code
        return NothingCheckedError.exit_code if self.facts.not_measured_count else 0


class _Checked(Struct, frozen=True):
    """The results of one module: its name in its text, its folder, and what it is called here."""

    where: tuple[str, str, str]
    results: tuple[RuleResult, ...]
    notes: tuple[str, ...] = ()
    paths: InputPaths | None = None
    line: HistoryLine | None = None
    # A tuple for each budget, None where it was not held against the module.
    unknown_values: tuple[tuple[UnknownValue, ...] | None, ...] = ()
    excess: Excess | None = None


def plan_run(
    rules: Sequence[Rule],
    found: Inputs,
    earlier: baselines.Earlier,
    assumptions: Assumptions = NO_ASSUMPTIONS,
    *,
    is_recorded: bool = False,
    has_causes: bool = False,
    is_chosen: bool = False,
) -> Plan:
    """Choose the modules that a budget is about, each with its own of the baseline.

    `assumptions` hold for the modules and their baselines. The only module there is may have
    another name in its text. What is recorded for a history holds every module. If the modules are
    those `is_chosen` by name, others are not gone. Raises InputError for a saved document.
    """
    if any(one.document is not None for one in found.inputs):
        raise InputError(f"{found.path}: budgets need a dump, not a JSON document.")
    modules = [Candidate(one.name, found.path, input=one) for one in found.inputs]
    pairs = {
        id(one.new): one for one in baselines.pair_modules(earlier.modules, modules) if one.new
    }
    tasks, passed_over = [], []
    for one in modules:
        pair = pairs[id(one)]
        is_about = any(rule.applies_to(one.name, one.folder, pair.name) for rule in rules)
        if not (is_recorded or len(modules) == 1 or is_about):
            passed_over.append(pair.name)
        else:
            missing = "" if pair.old else baselines.explain_missing(pair, earlier)
            tasks.append(Task(one, pair.name, pair.old, missing))
    is_whole = found.is_directory and not is_chosen
    notes = _note_pairs([*pairs.values()], earlier, is_whole=is_whole)
    if is_recorded:
        notes += baselines.note_alike(modules, [pairs[id(one)].name for one in modules])
    about = tuple(rules), tuple(tasks), tuple(passed_over), notes
    return Plan(found.path, *about, assumptions, is_recorded, has_causes)


def _note_pairs(
    pairs: Sequence[Pairing], earlier: baselines.Earlier, *, is_whole: bool
) -> tuple[str, ...]:
    """Say which modules the baseline lacks, or has under another name, and which are gone."""
    if not earlier.modules:
        return ()
    taken = {id(one.old) for one in pairs}
    found = {
        "not in the baseline": [
            one.name for one in pairs if one.old is None and not one.is_ambiguous
        ],
        "only in the baseline": [
            one.key for one in earlier.modules if is_whole and id(one) not in taken
        ],
        "compared by content": [
            f"{one.name} with {one.old.key}"
            for one in pairs
            if one.old and one.new and one.way != "the only ones" and one.old.name != one.new.name
        ],
    }
    return tuple(f"{what}: {list_some(names, _LISTED)}." for what, names in found.items() if names)


def run_plan(plan: Plan, progress: Callable[[int], None]) -> Run:
    """Evaluate every budget over every module that it is about.

    Budgets that are about no module, or had nothing to measure, say so; a module that cannot
    be read is an error of every budget about it. `progress` is called with the bytes that were
    just read. Raises QueryError for a budget whose words no module can hold.
    """
    check = partial(_check, plan=replace(plan, tasks=()))  # goes to each process
    outcomes = map_inputs(check, plan.tasks, progress=progress)
    checked = [
        _broken(task, outcome, plan.rules) if isinstance(outcome, Failure) else outcome
        for task, outcome in zip(plan.tasks, outcomes, strict=True)
    ]
    for number, rule in enumerate(plan.rules):
        about = [one for one in checked if rule.applies_to(*one.where)]
        # Where a module could not be read, nobody knows which words it holds.
        if all(one.unknown_values for one in about):
            expect_budget_words(rule, (one.unknown_values[number] or () for one in about))
    names = [task.name for task in plan.tasks]
    idle = (one for one in plan.rules if not any(one.applies_to(*each.where) for each in checked))
    results = [result for one in checked for result in one.results]
    results += [unmatched(rule, [*names, *plan.passed_over]) for rule in idle]
    results.sort(key=lambda one: (_RANKS[one.status], one.severity == "warning"))
    failures = tuple(one for one in outcomes if isinstance(one, Failure))
    notes = (*plan.notes, *(note for one in checked for note in one.notes))
    paths = (checked[0].paths if len(checked) == 1 else None) or plan.paths()
    lines = tuple(one.line for one in checked if one.line)
    excesses = tuple(one.excess for one in checked if one.excess)
    return Run(paths, tuple(results), count_results(results), failures, notes, lines, excesses)


def _check(task: Task, *, plan: Plan) -> _Checked:
    """Evaluate the budgets of one module; runs in a process of its own."""
    if task.module.input is None:
        raise ValueError("a module is read from an input")
    program = load_program(
        task.module.input, task.module.path, with_buffers=True, assumptions=plan.assumptions
    )
    earlier: DiffSide | None = None
    if task.baseline is not None:
        earlier, _ = read_side(task.baseline, "baseline", plan.assumptions)
    where = program.name, task.module.folder, task.name
    about = choose_rules(plan.rules, *where)
    figures = earlier.figures if earlier else None
    results = tuple(
        _name_result(judge_rule(rule, program, figures, task.missing), task)
        for rule in about
        if rule
    )
    unknown = tuple(list_unknown_values(rule, program) if rule else None for rule in about)
    line = measure_line(program, task.name, results) if plan.is_recorded else None
    if line is not None:
        line = replace(line, **asdict(baselines.measure_identity(program, task.module)))
    pairs = zip(filter(None, about), results, strict=True)
    exceeded = [pair for pair in pairs if pair[1].status == "fail"]
    asks = plan.has_causes and exceeded
    excess = _explain(task, program, earlier, exceeded) if asks else None
    return _Checked(where, results, note_files(program), program.paths, line, unknown, excess)


def _explain(
    task: Task,
    program: Program,
    earlier: DiffSide | None,
    exceeded: Sequence[tuple[Rule, RuleResult]],
) -> Excess:
    """Compare a module with its baseline; without an increase, list what memory holds."""
    limits = [
        int(one.limit)
        for rule, one in exceeded
        if any(path.startswith("buffers.") for path in rule.paths) and one.unit is Unit.BYTES
        if one.limit is not None and one.actual is not None and one.actual > one.limit
    ]
    has_grown = any(one.baseline is not None for _, one in exceeded)
    causes: tuple[Cause, ...] = ()
    values: Sequence[MemoryChange | BufferRow] = ()
    grown: MetricRow | None = None
    if earlier and task.module.input:
        report = compare_programs(earlier, read_context(program, task.module.input))
        causes = report.causes[:_MOST_CAUSES]
        values = [row for row in report.memory if row.delta_bytes > 0]
        if has_grown and not values:
            parts = [row for row in report.metrics if row.metric in _PARTS and (row.delta or 0) > 0]
            grown = max(parts, key=lambda row: row.delta or 0, default=None)
    if (grown or not has_grown) and ROWS.fold:
        part = _PARTS[grown.metric] if grown else None
        held = [row for row in program.peak_rows if part in {None, row.allocation_type}]
        rows = sort_rows(ROWS, fold_rows(ROWS, ROWS.fold, held), "")
        values = [row for row in rows if isinstance(row, BufferRow)]
    behind = causes, tuple(values[:_MOST_VALUES] if limits else ()), grown
    return Excess(task.name, task.module.place, has_grown, min(limits, default=None), *behind)


def _broken(task: Task, failure: Failure, rules: Sequence[Rule]) -> _Checked:
    """Return the results of a module that could not be read."""
    where = task.module.name, task.module.folder, task.name
    reason = failure.message.partition("\n")[0]
    about = filter(None, choose_rules(rules, *where))
    results = (not_judged(rule, where[0], "error", reason) for rule in about)
    return _Checked(where, tuple(_name_result(one, task) for one in results))


def _name_result(result: RuleResult, task: Task) -> RuleResult:
    """Call a module as no other of the dump, and say if it is given something else than it was."""
    if task.name != task.module.name:
        result = replace(result, module=task.name, place=task.module.place or None)
    if task.baseline is None or result.status != "fail" or result.baseline is None:
        return result
    change = task.baseline.identify().tell_change(task.module.identify())
    return replace(result, reason=f"{result.reason}; now given {change}") if change else result
