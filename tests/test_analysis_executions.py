"""Executions and trip counts: read, derived, unknown, and what both must agree on."""

import re
from pathlib import Path

import pytest
from dump_files import SHARED, TESTDATA, find_folders, find_texts, read_text
from each import for_each
from tables import TableCase, find_cases

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.dataflow.schedule import flatten_schedule
from hlotool.analysis.graph.calls import read_call_graph
from hlotool.analysis.graph.executions import Executions, count_executions, count_iterations
from hlotool.analysis.summary.counts import list_loops
from hlotool.errors import InputError, ParseError
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

CASES = find_cases(TESTDATA / "executions.cases")
FOLDERS = find_folders()
TEXTS = [path for folder in FOLDERS for path in find_texts(folder)]
TRANSFORMERS = [one for one in FOLDERS if one.name.startswith("transformer_train")]
KNOWN_COUNT = re.compile(r'"known_trip_count":\{"n":"\d+"\},?')


def load(text: str, name: str = "case") -> tuple[Module, Executions]:
    module = parse_module(Source(text, name))
    return module, count_executions(module, read_call_graph(module))


def trip_counts(executions: Executions) -> dict[str, int | None]:
    return {loop.instruction.name: loop.trips.count for loop in executions.loops}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: TableCase) -> None:
    """A case says what it expects.

    `// loop FULL_NAME: COUNT SOURCE DEPTH`, `// runs COMPUTATION: N`. Each loop is listed once,
    behind the loop around it. A printed count has `contradicting N` behind it where the loop
    itself comes to N.
    """
    module, executions = load(case.text, case.name)
    loops = {
        loop.instruction.full_name: f"{loop.trips.count} {loop.trips.source} {loop.depth}"
        + (
            f" contradicting {loop.trips.contradicting}"
            if loop.trips.contradicting is not None
            else ""
        )
        for loop in executions.loops
    }
    assert loops == dict(re.findall(r"// loop (\S+): (.+)", case.text))
    around: list[str | None] = []
    graph = read_call_graph(module)
    rows = list_loops(CostModel(module, graph, executions), ())
    assert sorted(loops) == sorted(row.name for row in rows)
    for row in rows:
        around[row.depth :] = [row.name]
        assert [row.parent] == (around[-2:-1] or [None])
    expected = re.findall(r"// runs (\S+): (\S+)( conditional)?", case.text)
    assert expected
    for name, runs, conditional in expected:
        computation = module.computations[name]
        assert (name, str(executions.of(computation))) == (name, runs)
        assert executions.is_conditional(computation) == bool(conditional)


@for_each(TEXTS)
def test_derived_counts_equal_printed_ones(path: Path) -> None:
    text = read_text(path)
    printed = trip_counts(load(text)[1])
    derived = trip_counts(load(KNOWN_COUNT.sub("", text))[1])
    assert derived == printed


@pytest.mark.parametrize("folder", TRANSFORMERS, ids=lambda path: "/".join(path.parts[-3:]))
def test_scan_over_the_layers(folder: Path) -> None:
    """The transformer scans its layers forward and backward: two such loops on any backend."""
    layers = 8 if folder.is_relative_to(SHARED) else 12
    for path in find_texts(folder):
        assert list(trip_counts(load(read_text(path))[1]).values()) == [layers, layers], path


def test_there_are_transformers() -> None:
    own = {one.parent.name for one in TRANSFORMERS if one.is_relative_to(TESTDATA)}
    assert own == {"cpu", "gpu_h100", "tpu_v5e"}


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "NE", "EQ"])
def test_count_iterations_counts(direction: str) -> None:
    """The closed form equals counting, for every small loop that ends."""
    holds = {
        "LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__,
        "NE": int.__ne__, "EQ": int.__eq__,
    }[direction]  # fmt: skip
    for start in range(-3, 4):
        for limit in range(-3, 8):
            for step in range(-3, 4):
                value, count = start, 0
                while holds(value, limit) and count < 50:
                    value, count = value + step, count + 1
                expected = count if count < 50 else None
                assert count_iterations(direction, start, limit, step) == expected


def test_a_computation_that_calls_itself_is_refused() -> None:
    text = (
        "HloModule m\n\n"
        "f {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=f\n}\n\n"
        "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=f\n}\n"
    )
    with pytest.raises(ParseError, match=r"^case:5:24: the computation 'f' calls itself"):
        load(text)
    with pytest.raises(ParseError, match=r"^case:5:24: the computation 'f' calls itself"):
        flatten_schedule(parse_module(Source(text, "case")))


def test_more_than_any_machine_can_run_is_an_error() -> None:
    """Seventy computations, each of which calls the one before twice."""
    text = "f0 {\n  p = f32[] parameter(0)\n  ROOT n = f32[] negate(p)\n}\n\n"
    for number in range(1, 70):
        text += (
            f"f{number} {{\n  p = f32[] parameter(0)\n"
            f"  a = f32[] call(p), to_apply=f{number - 1}\n"
            f"  ROOT b = f32[] call(a), to_apply=f{number - 1}\n}}\n\n"
        )
    text += "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=f69\n}\n"
    with pytest.raises(InputError, match="would run more than 2\\^63 times"):
        load(text)
