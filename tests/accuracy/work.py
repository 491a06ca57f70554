"""What is told of work in vain, and what became of it: the flaws of testdata/advice/tune.

Flops and traffic are those of the program without the flaw; times are this tool's model of it, on
the chip that it is for. `judge` is read at the end alone.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import zstandard
from accuracy.advice import JUDGES, MENDED, RULES, Trial
from accuracy.facts import FRESH, find_half

from hlotool.analysis.collectives.machine import find_machine
from hlotool.dump.find import resolve_inputs
from hlotool.hlo import Instruction
from hlotool.program.load import load_program
from hlotool.program.program import Assumptions, Program

# The finding about a kind of flaw, and what is measured of it.
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "cast-around-product": ("converted-product", "model_ns"),
    "computed-twice": ("computed-twice", "flops"),
    "constant-baked-in": ("baked-constant", "constant_bytes"),
    "nondeterministic": ("nondeterministic", "count"),
    "one-hot-gather": ("one-hot-product", "flops"),
    "serial": ("sort-then-slice", "traffic_bytes"),
    "update-that-copies": ("update-copies", "traffic_bytes"),
}
CHIPS: Final = {"gpu_h100": "h100", "gpu_a100": "a100", "tpu_v5e": "v5e"}
HALVES: Final = {"tune": RULES, "judge": JUDGES, FRESH: JUDGES}
LARGE: Final = 1 << 20
REASONS: Final[Mapping[str, str]] = {
    "history_kept": "told as a large-copy",
    "permuted_rows": "not told on TPU",
    "read_after_write": "what else the loop moves",
    "rows_at_experts": "four bytes",
    "states_and_result": "two loops that make the same are not compared",
}


@cache
def load_half(half: str, backend: str) -> Mapping[str, Program]:
    """Return the programs of a half for a backend, by PROGRAM/VARIANT."""
    packed = zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO((find_half(half) / f"{backend}.tar.zst").read_bytes())
    )
    chip = CHIPS.get(backend)
    machine = find_machine(chip, needs_link=False) if chip else None
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.read())) as archive:
            archive.extractall(folder, filter="data")
        for path in sorted(Path(folder).glob("*/*/*after_optimizations.txt")):
            chosen = resolve_inputs(str(path), "after", None).inputs[0]
            program = load_program(
                chosen, str(path), with_buffers=True, assumptions=Assumptions((), machine)
            )
            _ = program.findings, program.step_estimate  # as long as its files are there
            found["/".join(path.parts[-3:-1])] = program
    return found


def _measure(program: Program, measure: str) -> int:
    cost = program.cost
    if measure == "model_ns":
        step = program.step_estimate
        return round(step.estimated_seconds * 1e9) if step else cost.traffic_bytes_per_step
    if measure == "flops":
        return cost.matrix_flops_per_step
    if measure == "traffic_bytes":
        return cost.traffic_bytes_per_step
    if measure == "count":
        return sum(one.count for one in program.findings if one.id == "nondeterministic")
    constants = (one for one in program.expect_module().instructions() if _is_large(program, one))
    return sum(program.costs.size_bytes(one.shape) for one in constants)


def _is_large(program: Program, one: Instruction) -> bool:
    return one.opcode == "constant" and program.costs.size_bytes(one.shape) >= LARGE


def _tell(program: Program, finding: str, measure: str) -> int:
    told = 0
    for one in program.findings:
        if one.id == finding and measure == "count":
            told += one.count
        elif one.id == finding and measure == "model_ns" and one.estimated_seconds is not None:
            told += round(one.estimated_seconds * 1e9)
        elif one.id == finding:
            told += one.flops or one.bytes or 0
    return told


def measure_work(half: str = "tune") -> Iterator[Trial]:
    """Hold what is told of each flaw against the same without it."""
    facts = tomllib.loads((find_half(half) / "facts.toml").read_text("utf-8"))
    for fact in facts["flaw"]:
        if fact["kind"] not in KINDS:
            continue
        finding, measure = KINDS[fact["kind"]]
        programs = load_half(half, fact["backend"])
        flaw, mended = programs[fact["flaw"]], programs[fact["mended"]]
        told = _tell(flaw, finding, measure)
        real = max(_measure(flaw, measure) - _measure(mended, measure), 0)
        reason = REASONS.get(fact["program"], "") if told != real else ""
        used = HALVES[half]
        named = measure
        if measure == "model_ns" and fact["backend"] not in CHIPS:
            named = "traffic_bytes"
        if not told and not real:
            reason = MENDED
        yield Trial(finding, fact["program"], fact["backend"], used, named, told, real, reason)


def list_spoken(half: str = "tune") -> Iterator[str]:
    """Yield what is told of programs without the flaw: the mended, and those near to it."""
    facts = tomllib.loads((find_half(half) / "facts.toml").read_text("utf-8"))
    names = {finding for finding, _ in KINDS.values()}
    without = [(one["backend"], one["mended"], one["kind"]) for one in facts["flaw"]]
    without += [(one["backend"], f"{one['program']}/quiet", "") for one in facts["quiet"]]
    for backend, name, kind in without:
        program = load_half(half, backend).get(name)
        for one in program.findings if program else ():
            is_own = kind not in KINDS or one.id == KINDS[kind][0]
            if one.id in names and is_own:
                yield f"{backend} {name}: {one.id} {one.bytes} {one.flops}"
