"""Run budgets over a dump: which modules, against which baseline, with what result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from hlotool.check.config import RuleSpec
from hlotool.check.judge import Baseline, judge_rule, unmatched
from hlotool.check.limits import CheckFacts, RuleResult
from hlotool.check.rule import Rule, compile_rule
from hlotool.commands.shared.command import progress
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.say import say
from hlotool.diff.sides import (
    Argument,
    Candidate,
    find_candidates,
    pair_candidates,
    read_side,
)
from hlotool.errors import InputError, NothingCheckedError
from hlotool.fields import InputPaths
from hlotool.inputs import Failure, StageChoice, map_inputs
from hlotool.program.loading import input_paths, load

_RANKS = {"error": 0, "fail": 1, "no-match": 2, "pass": 3}


class Run(Struct, frozen=True):
    """What a check came to: all results, and the files they are about."""

    results: tuple[RuleResult, ...]
    paths: InputPaths
    failure: Failure | None


class _Task(Struct, frozen=True):
    """One module, and the module of the baseline that it is compared with."""

    module: Candidate
    baseline: Candidate | None

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(side.size_bytes for side in (self.module, self.baseline) if side)


class _Checked(Struct, frozen=True):
    """The results of one module."""

    name: str
    results: tuple[RuleResult, ...]


def run_rules(request: Request, specs: Sequence[RuleSpec], config: str, baseline: str) -> Run:
    """Evaluate every budget over every module that it is about.

    Budgets that are about no module, or had nothing to measure, say so; a module that cannot
    be read is an error of every budget about it.
    """
    rules = [compile_rule(spec, config) for spec in specs]
    found = request.find()
    candidates = [Candidate(one.name, request.path, input=one) for one in found.inputs]
    for one in found.inputs:
        if one.document is not None:
            raise InputError(f"{request.path}: budgets are checked against a dump, not a document.")
    wanted = [
        one
        for one in candidates
        if len(candidates) == 1 or any(rule.applies_to(one.name) for rule in rules)
    ]
    tasks = _pair(wanted, baseline, request.stage, rules)
    with progress("checking", sum(task.size_bytes for task in tasks)) as advance:
        work = partial(_check, specs=tuple(specs), config=config)
        outcomes = map_inputs(work, tasks, progress=advance)
    results: list[RuleResult] = []
    names = []
    for task, outcome in zip(tasks, outcomes, strict=True):
        if isinstance(outcome, Failure):
            say(outcome.message)
            results += _broken(task, outcome, rules)
            names.append(task.module.name)
        else:
            results += outcome.results
            names.append(outcome.name)
    known = names + [one.name for one in candidates if one not in wanted]
    results += [unmatched(rule, known) for rule in rules if not _is_used(rule, names)]
    results.sort(key=lambda one: (_RANKS[one.status], one.severity == "warning"))
    failure = next((one for one in outcomes if isinstance(one, Failure)), None)
    return Run(tuple(results), _paths(request, wanted), failure)


def exit_code(run: Run, facts: CheckFacts) -> int:
    """Return 1 for an exceeded budget, else that of a broken module, else 4 if one was idle."""
    if facts.fail_count:
        return 1
    if run.failure is not None:
        return run.failure.exit_code
    return NothingCheckedError.exit_code if facts.no_match_count else 0


def _pair(
    modules: Sequence[Candidate], baseline: str, stage: StageChoice, rules: Sequence[Rule]
) -> list[_Task]:
    """Find each module's baseline by its name, if any budget needs one."""
    if not baseline or not any(rule.limits.needs_baseline for rule in rules):
        return [_Task(one, None) for one in modules]
    earlier, notes = find_candidates(Argument("baseline", baseline), stage, None)
    for note in notes:
        say(note)
    pairs = pair_candidates(earlier, modules, {})
    known = {pair.right: pair.left for pair in pairs if pair.right}
    return [_Task(one, known.get(one)) for one in modules]


def _check(task: _Task, *, specs: tuple[RuleSpec, ...], config: str) -> _Checked:
    """Evaluate the budgets of one module; runs in a process of its own."""
    if task.module.input is None:
        raise ValueError("a module is read from an input")
    program = load(task.module.input, task.module.path, with_buffers=True)
    name = program.name
    rules = [compile_rule(spec, config) for spec in specs]
    earlier: Baseline | None = None
    if task.baseline is not None:
        earlier = read_side(task.baseline, "baseline")[0].figures
    return _Checked(
        name,
        tuple(judge_rule(rule, program, earlier) for rule in rules if rule.applies_to(name)),
    )


def _is_used(rule: Rule, names: Sequence[str]) -> bool:
    return any(rule.applies_to(name) for name in names)


def _broken(task: _Task, failure: Failure, rules: Sequence[Rule]) -> list[RuleResult]:
    return [
        RuleResult(
            rule.spec.name,
            task.module.name,
            rule.expression,
            "error",
            rule.severity,
            message=rule.spec.message or None,
            reason=failure.message.partition("\n")[0],
            unit=rule.unit,
        )
        for rule in rules
        if rule.applies_to(task.module.name)
    ]


def _paths(request: Request, modules: Sequence[Candidate]) -> InputPaths:
    """Name the files of the one module there is, else only what the user typed."""
    if len(modules) == 1 and modules[0].input is not None:
        return input_paths(request.path, modules[0].input, with_buffers=True)
    return InputPaths(request.path)
