"""Advice that was tried: what was told of a program, and what became of it without its flaw.

Three kinds of programs. Those of testdata/advice/tune and judge were compiled as they are and with
each remedy: what is simulated is held against what XLA allocates less, and what is said to fit
against limits. Bands are made of them and of testdata/judged; testdata/unseen and testdata/aside
judged once each, and rules were mended with them since; testdata/sealed only judges. Trials
(testdata/make/programs) are compiled with a flaw and as the finding says to write them; half of
them were kept apart until the rules were finished. Train steps are compiled as they are, with their
layers rematerialized, and with their state donated. What differs from what was told has a reason
(`REASONS`).
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from accuracy.facts import ASIDE, FRESH, JUDGE, SEALED, TUNE, UNSEEN, find_half
from dump_files import ROOT, SHARED
from msgspec import Struct

from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.memory.reduction_plan import (
    REMEDIES,
    Remedy,
    RemedyKind,
    Reserved,
    plan_relief,
    simulate_remedies,
)
from hlotool.analysis.memory.report import measure_fit
from hlotool.dump.files import Input
from hlotool.dump.find import resolve_inputs
from hlotool.program.load import load_program
from hlotool.program.program import Program

ADVICE: Final = ROOT / "testdata" / "advice"
PAIRS: Final = SHARED / "dumps" / "pairs"
TABLE: Final = ROOT / "docs" / "advice.csv"
HEADING: Final = "advice,program,backend,used,measure,told,real,reason"
BACKENDS: Final = ("cpu", "gpu_h100", "tpu_v5e")
NOT_KEPT: Final = "¹"
# What rules and bands were made with, what rules were mended with, and what only judges them.
RULES, SEEN, JUDGES, BOTH = "rules", "seen", "judges", ""
HALVES: Final[Mapping[str, str]] = {"advice": RULES, "advice_judges": JUDGES}
TRIED: Final[Mapping[str, str]] = {
    TUNE: RULES, JUDGE: RULES, FRESH: RULES, UNSEEN: SEEN, ASIDE: SEEN, SEALED: JUDGES,
}  # fmt: skip
# What is measured of a program with a flaw of each kind.
MEASURES: Final[Mapping[str, str]] = {
    "replicated-compute": "flops",
    "replicated-large-parameter": "argument_bytes",
}
SENT: Final = "sent_bytes"
KINDS: Final[Mapping[str, RemedyKind]] = {"remat": "checkpoint", "donated": "donate"}
NAMES: Final[Mapping[str, str]] = {"remat": "checkpoint", "donated": "donation"}
# Why they differ; a change that is not listed is told to the byte, or nearly.
SAME: Final = (
    "the compiler merges what is computed again with the first time: the program is the same"
)
INPUTS: Final = "what enters a layer stays saved"
AGAIN: Final = "what is computed again needs memory at the next peak"
COPIES: Final = "copies of them that end before the backward pass go too"
OTHERWISE: Final = "other parts are fused or ordered otherwise"
PLACES: Final = "gaps between temporaries: the peak falls as told"
REASONS: Final[Mapping[str, str]] = {
    "cpu.scanned remat": INPUTS,
    "cpu.scanned donated": PLACES,
    "cpu.unrolled remat": SAME,
    "cpu.unrolled donated": PLACES,
    "gpu_h100.attention remat": f"{INPUTS}; {OTHERWISE}",
    "gpu_h100.attention donated": OTHERWISE,
    "gpu_h100.scanned remat": f"{INPUTS}; {AGAIN}",
    "gpu_h100.scanned donated": PLACES,
    "tpu_v5e.scanned remat": PLACES,
    "tpu_v5e.scanned donated": OTHERWISE,
    "gpu_h100.mlp_train remat": AGAIN,
    "cpu.transformer remat": COPIES,
    "gpu.transformer remat": f"{INPUTS}; {AGAIN}",
    "gpu.transformer donated": OTHERWISE,
}
MENDED: Final = "the compiler mends it"
AT_MOST: Final = "told as at most: the compiler turns a smaller batch into space"
FUSED: Final = "what is fused with products counts, and goes, too"
TRIAL_REASONS: Final[Mapping[str, str]] = {
    "attention_block tpu_v5e": "what is below 1 MiB is not told",
    "same_convolution tpu_v5e": AT_MOST,
    "same_everywhere tpu_v5e": FUSED,
    "same_scores gpu_h100": FUSED,
    "same_scores tpu_v5e": FUSED,
}


class Trial(Struct, frozen=True):
    """One piece of advice: what was told, and what came of following it."""

    advice: str
    program: str
    backend: str
    used: str
    measure: str
    told: int
    real: int
    reason: str = ""

    def __str__(self) -> str:
        """Write one row of the table."""
        return (
            ",".join(map(str, (self.advice, self.program, self.backend, self.used, self.measure)))
            + f",{self.told},{self.real},{self.reason}"
        )


class Tried(Struct, frozen=True):
    """A compiled program of the trials: its flaw, its name, how it was written, what is found."""

    kind: str
    program: str
    variant: str
    half: str
    findings: tuple[Finding, ...]
    sent_bytes: int
    flops: int
    argument_bytes: int

    def tell(self, kind: str) -> int:
        """Return what findings of a kind tell of it, 0 without one."""
        return sum(
            (one.bytes if one.bytes is not None else one.flops) or 0
            for one in self.findings
            if one.id == kind
        )


@cache
def list_tried(backend: str) -> Sequence[Tried]:
    """Read all compiled programs of the trials of a backend."""
    path = str(ADVICE / f"{backend}.trials.tar.zst")
    truth = json.loads((ADVICE / f"{backend}.trials.json").read_text("utf-8"))
    found = []
    for each in resolve_inputs(path, "after", None).inputs:
        program = load_program(each, path, with_buffers=False)
        name = program.expect_module().name.removeprefix("jit_")
        kind, written, variant = name.split("__")
        found.append(
            Tried(
                kind.replace("_", "-"),
                written,
                variant,
                HALVES[truth[name]["programs"]],
                program.findings,
                program.collectives.totals.sent_bytes_per_step or 0,
                program.cost.matrix_flops_per_step + program.cost.custom_call_flops_per_step,
                truth[name]["memory"]["argument"],
            )
        )
    return found


def measure_trials() -> Iterator[Trial]:
    """Hold what is told of each flawed program against the same without the flaw."""
    for backend in BACKENDS:
        tried = {(one.kind, one.program, one.variant): one for one in list_tried(backend)}
        for (kind, name, variant), one in sorted(tried.items()):
            if variant == "flaw":
                measure = MEASURES.get(kind, SENT)
                mended = tried[kind, name, "mended"]
                told = one.tell(kind)
                real = getattr(one, measure) - getattr(mended, measure)
                reason = TRIAL_REASONS.get(f"{name} {backend}", "") if told or real else MENDED
                yield Trial(kind, name, backend, one.half, measure, told, real, reason)


# Looked at by hand: programs that have parameters of 1 MiB on every device, which no trial of
# another flaw is about.
WHOLE: Final = "replicated-large-parameter"
ALSO_WHOLE: Final = frozenset((
    "convolution_gradients", "decode_with_sharded_head", "gradient_in_batches",
    "same_convolution", "same_everywhere", "same_on_model", "scattered_gradients",
    "square_of_sum", "sum_needed_in_loop", "three_layers", "wide_table",
))  # fmt: skip


def lacks(one: Tried, kind: str) -> bool:
    """Whether a program was written without a flaw."""
    if kind == WHOLE and one.program in ALSO_WHOLE:
        return False
    if (kind, one.program) == ("gather-then-slice", "gradient_of_reshard"):
        return False  # TPU gathers for a sine what its gradient then cuts
    return one.kind != kind or one.variant != "flaw"


def list_spoken(backend: str, kind: str) -> tuple[list[str], int]:
    """Return the programs without a flaw of which a finding speaks all the same, and how many."""
    without = [one for one in list_tried(backend) if lacks(one, kind)]
    spoken = [f"{one.program} {one.variant}" for one in without if one.tell(kind)]
    return spoken, len(without)


# The remedies of testdata/advice that are simulated, and what they are called there.
TRIED_AS: Final[Mapping[str, RemedyKind]] = {
    "donate": "donate",
    "undonate": "undonate",
    "checkpoint": "checkpoint",
    "chunked-loss": "chunk-loss",
    "half-batch": "smaller-batch",
}
NOT_OFFERED: Final = "not offered"
FIRST, FITS = "first option", "fits"


@cache
def read_facts(half: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Read what became of each remedy."""
    return tomllib.loads((find_half(half) / "facts.toml").read_text("utf-8"))


@cache
def _list_inputs(half: str, chip: str) -> Mapping[str, Input]:
    path = str(find_half(half) / f"{chip}.tar.zst")
    return {one.name: one for one in resolve_inputs(path, "after", None).inputs}


@cache
def simulate(half: str, chip: str, member: str) -> tuple[Program, Reserved, Sequence[Remedy]]:
    """Return a program of a half, with what is simulated of it."""
    each = _list_inputs(half, chip)[f"jit_{member.replace('/', '__')}"]
    program = load_program(each, each.path, with_buffers=True)
    report = program.expect_memory()
    return program, *simulate_remedies(report, program.module)


def choose_remedies(half: str, fact: Mapping[str, Any]) -> list[Remedy]:
    """Return the simulated remedies that a fact is about; of donation, those it has in the end.

    None where one of several is not offered: then the set is not told.
    """
    kinds = {TRIED_AS.get(one) for one in fact["remedy"].split(" + ")}
    *_, remedies = simulate(half, fact["backend"], fact["base"])
    after, *_ = simulate(half, fact["backend"], fact["member"])
    donated = {row.argument for row in after.donations if row.is_donated}
    found = [
        one for one in remedies if one.kind in kinds and (one.kind != "donate" or one.of in donated)
    ]
    return found if {one.kind for one in found} == kinds else []


def measure_remedies(half: str) -> Iterator[Trial]:
    """Hold what is simulated of each remedy against what the compiled program allocates less."""
    for fact in read_facts(half)["remedy"]:
        if "error" not in fact:
            chosen = choose_remedies(half, fact)
            _, reserved, _ = simulate(half, fact["backend"], fact["base"])
            told = reserved.saving(chosen) if chosen else 0
            real = fact["base_allocated"] - fact["allocated"]
            reason = "" if told > 0 else NOT_OFFERED
            yield Trial(
                fact["remedy"], fact["program"], fact["backend"], TRIED[half], "allocated_bytes",
                told, real, reason,
            )  # fmt: skip


def is_inside(half: str, fact: Mapping[str, Any]) -> bool | None:
    """Whether what a remedy saved lies in its band; None of what is not told, or too small to be.

    So is what is less than a hundredth of the program. Without a band no number is told.
    """
    chosen = choose_remedies(half, fact)
    if any(one.band is None for one in chosen):
        return None
    _, reserved, _ = simulate(half, fact["backend"], fact["base"])
    told = reserved.saving(chosen) if chosen else 0
    if told < fact["base_allocated"] * 0.01:
        return None
    real: int = fact["base_allocated"] - fact["allocated"]
    return reserved.least_saving(chosen) <= real <= reserved.most_saving(chosen)


def judge_bands(found: Sequence[Trial]) -> str:
    """Say how many savings lie in their bands, and how many first options and fits are right."""
    lines = []
    for used in (RULES, SEEN, JUDGES):
        told: Counter[str] = Counter()
        right: Counter[str] = Counter()
        for half in (one for one, of in TRIED.items() if of == used):
            for fact in read_facts(half)["remedy"]:
                inside = None if "error" in fact else is_inside(half, fact)
                backend = fact["backend"].partition("_")[0]
                for key in (fact["remedy"], backend, "together") if inside is not None else ():
                    told[key] += 1
                    right[key] += bool(inside)
        lines += [f"{key} ({used}): {right[key]} of {told[key]} in their bands" for key in told]
        places = [one.real for one in found if (one.advice, one.used) == (FIRST, used)]
        best = sum(one in {1, 2} for one in places)
        lines.append(f"{FIRST} ({used}): {best} of {len(places)} of the two best")
        fit = [one for one in found if (one.advice, one.used) == (FITS, used)]
        said = sum(one.told for one in fit)
        lines.append(f"{FITS} ({used}): {sum(one.real for one in fit)} of {said}")
    return "\n".join(lines)


def measure_limits(half: str) -> Iterator[Trial]:
    """Say of each limit which place the first option has among what was tried, and what fits.

    An option that was not tried, with donation or without it, has place 0. So has one that donates
    what the tried program does not, such as its batch.
    """
    names = {kind: name for name, kind in TRIED_AS.items()}
    for fact in read_facts(half)["over_limit"]:
        chip = fact["backend"]
        program, _, _ = simulate(half, chip, f"{fact['program']}/base")
        report = program.expect_memory()
        rows = plan_relief(report, program.module, measure_fit(report, fact["limit"])).rows
        donated = find_donated(half, fact)
        options: dict[int, list[str]] = {}
        for row in rows:
            is_other = row.kind == "donate" and row.what not in donated
            name = NOT_TRIED if is_other else names.get(row.kind, row.kind)
            options.setdefault(row.option, []).append(name)
        tried = fact["best_first"]
        places = [
            next((tried.index(one) + 1 for one in _spell(option) if one in tried), 0)
            for option in options.values()
        ]
        sure = {row.option for row in rows if row.verdict == "fits"}
        said = [one for number in sure if (one := next(_spell(options[number]))) in tried]
        right = sum(one in fact["fits"] for one in said)
        where = fact["program"], chip, TRIED[half]
        yield Trial(FIRST, *where, "place", 1, places[0] if places else 0)
        yield Trial(FITS, *where, "options", len(said), right)


NOT_TRIED: Final = "donate what no trial donates"


def find_donated(half: str, limit: Mapping[str, Any]) -> set[str]:
    """Return what the trials of a program donate, as options name it."""
    return {
        REMEDIES["donate"][0].format(row.argument)
        for fact in read_facts(half)["remedy"]
        if (fact["program"], fact["backend"]) == (limit["program"], limit["backend"])
        if "donate" in fact["remedy"].split(" + ") and "error" not in fact
        for row in simulate(half, fact["backend"], fact["member"])[0].donations
        if row.is_donated
    }


def _spell(option: Sequence[str]) -> Iterator[str]:
    """Spell an option as the facts do: with donation, else without."""
    parts = list(dict.fromkeys(option))
    yield " + ".join(parts)
    if len(parts) > 1 and parts[0] == "donate":
        yield " + ".join(parts[1:])


def measure_steps(*, with_shared: bool = True) -> Iterator[Trial]:
    """Measure every train step at hand."""
    for folder in sorted(ADVICE.glob("*.*/")):
        truth = json.loads((folder / "truth.json").read_text("utf-8"))
        program = _load(folder)
        for change in KINDS:
            yield from _measure(folder.name, change, program, truth[change]["allocated_bytes"])
    dumps = ROOT / "testdata" / "dumps" / "gpu_h100"
    yield from _compare("gpu_h100.mlp_train", "remat", dumps / "mlp_train", "mlp_train.remat")
    if with_shared and PAIRS.is_dir():
        for backend in ("cpu", "gpu"):
            name = f"{backend}.transformer{NOT_KEPT}"
            base = f"{backend}.base"
            yield from _compare(name, "remat", PAIRS / f"{backend}.noremat", base)
        name = f"gpu.transformer{NOT_KEPT}"
        yield from _compare(name, "donated", PAIRS / "gpu.nodonate", "gpu.base")


def measure_advice(*, with_shared: bool = True) -> list[Trial]:
    """Measure all advice."""
    halves = [half for half in TRIED if (find_half(half) / "facts.toml").exists()]
    tried = [one for half in halves for one in (*measure_remedies(half), *measure_limits(half))]
    return [*measure_trials(), *tried, *measure_steps(with_shared=with_shared)]


def write_advice(found: Iterable[Trial]) -> str:
    """Write the whole table."""
    return "".join(f"{line}\n" for line in (HEADING, *map(str, found)))


NEAR: Final = 0.05  # of the real figure


def is_near(one: Trial) -> bool:
    """Whether what was told is what came of it."""
    return abs(one.told - one.real) <= NEAR * abs(one.real)


class Count(Struct, frozen=True):
    """How many trials were told right, too little and too much, and of how many nothing was."""

    tried: int
    right: int
    less: int
    more: int
    untold: int


def count_trials(found: Iterable[Trial]) -> Count:
    """Count trials; what the compiler mends is right where nothing is told."""
    rows = list(found)
    off = [one for one in rows if not is_near(one)]
    return Count(
        len(rows),
        len(rows) - len(off),
        sum(0 < one.told < one.real for one in off),
        sum(one.told > one.real for one in off),
        sum(not one.told for one in off),
    )


def judge_advice(found: Sequence[Trial]) -> str:
    """Say what the table comes to."""
    parts = []
    for kind in sorted({one.advice for one in found if one.used}):
        for used in HALVES.values():
            rows = [one for one in found if (one.advice, one.used) == (kind, used)]
            parts.append(f"{kind} ({used}): {count_trials(rows)}")
    for change in NAMES.values():
        rows = [one for one in found if one.advice == change and one.real > 0]
        rows = [one for one in rows if one.measure == "allocated_bytes"]
        near = sum(abs(one.told - one.real) * 10 <= one.real for one in rows)
        parts.append(f"{change}: {near} of {len(rows)} savings within 10 %")
    return "\n".join(parts)


def _compare(name: str, change: str, folder: Path, other: str) -> Iterator[Trial]:
    after = _load(folder.parent / other).expect_memory().figures.totals.allocated_bytes or 0
    yield from _measure(name, change, _load(folder), after)


def _measure(name: str, change: str, program: Program, after: int) -> Iterator[Trial]:
    report = program.expect_memory()
    reserved, found = simulate_remedies(report, program.module)
    told = reserved.saving([one for one in found if one.kind == KINDS[change]])
    reason = REASONS.get(f"{name.removesuffix(NOT_KEPT)} {change}", "")
    backend, _, program_name = name.partition(".")
    real = (report.figures.totals.allocated_bytes or 0) - after
    advice = NAMES[change]
    yield Trial(advice, program_name, backend, BOTH, "allocated_bytes", told, real, reason)


def _load(folder: Path) -> Program:
    path = str(folder)
    return load_program(resolve_inputs(path, "after", None).inputs[0], path, with_buffers=True)
