"""The estimate: a peak from the schedule alone, near what XLA's assignment has."""

from __future__ import annotations

from csv import DictReader
from pathlib import Path

import pytest
from buffer_accuracy import HEADING, TABLE, measure, measured_dumps, row
from buffer_dumps import Dump
from dump_files import SEEDS, TESTDATA, needs_shared
from parsed import read_module

from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.estimate import (
    EstimatedFigure,
    estimate_assignment,
    estimate_size,
    find_accuracy,
)
from hlotool.analysis.memory.report import analyze_memory, find_memory, measure_fit
from hlotool.errors import InputError
from hlotool.hlo import TupleShape
from hlotool.hlo.buffers import Allocation
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

DUMPS = measured_dumps()
ROWS = TABLE.read_text("utf-8").splitlines()


def allocations(text: str) -> list[Allocation]:
    return list(estimate_assignment(parse_module(Source(text))).assignment.allocations)


def shared(text: str) -> list[str]:
    """Write the buffers with more than one value, as `a+b`."""
    groups = ["+".join(sorted(value.name for value in one.values)) for one in allocations(text)]
    return [group for group in groups if "+" in group]


def test_the_table_has_a_heading_and_nothing_twice() -> None:
    assert ROWS[0] == HEADING
    assert len(set(ROWS)) == len(ROWS) > len(DUMPS)


@pytest.mark.parametrize(
    ("what", "real", "estimated", "backends"),
    [
        ("peak", "peak_bytes", "estimated_bytes", "cpu gpu tpu"),
        ("temp peak, CPU and GPU", "temp_peak_bytes", "estimated_temp_bytes", "cpu gpu"),
        ("temp peak, TPU", "temp_peak_bytes", "estimated_temp_bytes", "tpu"),
        ("allocated, CPU and GPU", "allocated_bytes", "estimated_allocated_bytes", "cpu gpu"),
        ("allocated, TPU", "allocated_bytes", "estimated_allocated_bytes", "tpu"),
    ],
)
def test_what_the_table_comes_to(what: str, real: str, estimated: str, backends: str) -> None:
    rows = [row for row in DictReader(ROWS) if row["dump"][:3] in backends.split()]
    pairs = [(int(row[real]), int(row[estimated])) for row in rows]
    exact = sum(one == other for one, other in pairs)
    worst = max((other / one - 1 if one else 0.0 for one, other in pairs), key=abs)
    text = TABLE.with_suffix(".md").read_text("utf-8")
    assert f"| {what} | {exact} of {len(rows)} | {worst:+.2%} |" in text


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name)
def test_accuracy_is_what_the_documentation_says(dump: Dump) -> None:
    found = measure(dump)
    assert row(found) in ROWS, "make accuracy, and look at the diff"
    assert found.equal_count == found.value_count
    assert is_kept("peak", found.backend, found.estimated_bytes, found.peak_bytes)
    allocated = found.estimated_allocated_bytes
    assert is_kept("allocated", found.backend, allocated, found.allocated_bytes)
    temp = found.estimated_temp_bytes
    if found.backend == "tpu":
        assert temp >= found.temp_peak_bytes
    else:
        assert is_kept("temp_peak", found.backend, temp, found.temp_peak_bytes)


def is_kept(figure: EstimatedFigure, backend: str, estimated: int, real: int) -> bool:
    """Whether an estimate is as near as such estimates are."""
    known: dict[str, Backend] = {"cpu": "cpu", "gpu": "gpu", "tpu": "tpu"}
    accuracy = find_accuracy(figure, known[backend])
    assert accuracy is not None
    return abs(estimated - real) <= accuracy.margin_bytes(estimated)


@needs_shared
@pytest.mark.parametrize("number", ["000", "002"])
def test_modules_of_users_without_an_assignment(number: str) -> None:
    (path,) = SEEDS.glob(f"{number}*")
    check_estimate(path)


@pytest.mark.parametrize("backend", ["cpu", "gpu", "tpu"])
def test_modules_without_an_assignment(backend: str) -> None:
    check_estimate(TESTDATA / "hlo" / f"{backend}_train_step.txt")


def check_estimate(path: Path) -> None:
    report = analyze_memory(read_module(path), None)
    assert report.figures.sizes_from == "estimate"
    assert report.figures.estimated is not None
    assert report.figures.estimated.peak_bytes > report.figures.estimated.argument_bytes
    assert (
        report.figures.totals.allocated_bytes is report.figures.totals.reported_total_bytes is None
    )
    allocated = report.figures.estimated.allocated_bytes
    assert allocated is not None
    assert allocated > report.figures.estimated.peak_bytes
    assert report.figures.spaces == ()
    assert report.figures.peak.bytes is None


def module(entry: str, header: str = "", before: str = "") -> str:
    body = "\n".join(f"  {line.strip()}" for line in entry.strip().splitlines())
    return f"HloModule m, is_scheduled=true{header}\n\n{before}\nENTRY main {{\n{body}\n}}\n"


def test_an_elementwise_output_is_written_over_its_operand() -> None:
    text = module("""
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        b = f32[8] exponential(a)
        ROOT c = f32[4] slice(b), slice={[0:4]}
    """)
    assert shared(text) == ["a+b"]


def test_not_while_the_operand_is_needed() -> None:
    text = module("""
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        b = f32[8] exponential(a)
        c = f32[8] add(a, b)
        ROOT d = f32[4] slice(c), slice={[0:4]}
    """)
    assert shared(text) == ["a+c"]


def test_values_that_share_by_rule_share_no_further() -> None:
    text = module("""
        p = f32[8] parameter(0)
        u = f32[2] parameter(1)
        i = s32[] constant(0)
        a = f32[8] negate(p)
        b = f32[8] dynamic-update-slice(a, u, i)
        c = f32[8] exponential(b)
        ROOT d = f32[4] slice(c), slice={[0:4]}
    """)
    assert shared(text) == ["a+b"]


def test_a_donated_parameter_is_taken_over() -> None:
    text = module(
        """
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        ROOT b = f32[8] exponential(a)
        """,
        header=", input_output_alias={ {}: (0, {}, may-alias) }",
    )
    assert shared(text) == ["a+b+p"]
    (one,) = allocations(text)
    assert (one.allocation_type, one.is_donated, one.size_bytes) == ("parameter", True, 32)


FUSED = """keeps {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  ROOT s = f32[8] add(x, y)
}

turns {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  r = f32[8] reverse(x), dimensions={0}
  ROOT s = f32[8] add(r, y)
}
"""


@pytest.mark.parametrize(
    ("callee", "config", "expected"),
    [
        ("keeps", "", ["a+f"]),
        ("turns", "", ["b+f"]),  # what is read backwards may not be overwritten
        ("keeps", ', backend_config={"fusion_backend_config":{}}', ["a+f"]),
        ("turns", ', backend_config={"fusion_backend_config":{}}', ["b+f"]),
        ("keeps", ', backend_config={"flag_configs":[]}', []),  # TPU: its rules are not known
    ],
)
def test_fusions(callee: str, config: str, expected: list[str]) -> None:
    text = module(
        f"""
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        b = f32[8] exponential(p)
        f = f32[8] fusion(a, b), kind=kLoop, calls={callee}{config}
        ROOT o = f32[4] slice(f), slice={{[0:4]}}
        """,
        before=FUSED,
    )
    assert shared(text) == expected


PRODUCTS = """adds {
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  z = f32[8,8] parameter(2)
  d = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT s = f32[8,8] add(d, z)
}

scales {
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  z = f32[8,8] parameter(2)
  d = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[8,8] negate(z)
  ROOT s = f32[8,8] add(d, n)
}

multiplies {
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  z = f32[8,8] parameter(2)
  m = f32[8,8] multiply(x, z)
  ROOT d = f32[8,8] dot(m, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

updates {
  x = f32[8,8] parameter(0)
  y = f32[1,8] parameter(1)
  z = f32[8,8] parameter(2)
  i = s32[] constant(0)
  n = f32[8,8] dynamic-update-slice(x, y, i, i)
  t = f32[8,8] transpose(z), dimensions={1,0}
  ROOT s = f32[8,8] add(n, t)
}
"""
LIBRARY = ', backend_config={"fusion_config":{"kind":"__ynn_fusion"}}'


@pytest.mark.parametrize(
    ("callee", "kind", "expected"),
    [
        ("adds", "kCustom", ["c+f"]),
        ("adds", "kOutput", ["c+f"]),
        ("scales", "kCustom", ["c+f"]),
        ("scales", "kOutput", []),  # what is added to a product must be the operand itself
        ("multiplies", "kCustom", []),
        ("multiplies", "kOutput", []),
        ("updates", "kCustom", ["a+f"]),
    ],
)
def test_fusions_of_products(callee: str, kind: str, expected: list[str]) -> None:
    narrow = "f32[1,8] slice(p), slice={[0:1], [0:8]}" if callee == "updates" else ""
    text = module(
        f"""
        p = f32[8,8] parameter(0)
        a = f32[8,8] negate(p)
        b = {narrow or "f32[8,8] exponential(p)"}
        c = f32[8,8] tanh(p)
        f = f32[8,8] fusion(a, b, c), kind={kind}, calls={callee}{LIBRARY}
        ROOT o = f32[1,4] slice(f), slice={{[0:1], [0:4]}}
        """,
        before=PRODUCTS,
    )
    assert shared(text) == expected


@pytest.mark.parametrize(("kind", "expected"), [("kLoop", ["a+f{0}"]), ("kCustom", [])])
def test_only_a_loop_may_put_what_it_writes_over_into_a_tuple(
    kind: str, expected: list[str]
) -> None:
    text = module(
        f"""
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        f = (f32[8], f32[8]) fusion(a), kind={kind}, calls=twins
        g = f32[8] get-tuple-element(f), index=0
        h = f32[8] get-tuple-element(f), index=1
        ROOT o = f32[4] custom-call(g, h), custom_call_target="x"
        """,
        before="""twins {
  x = f32[8] parameter(0)
  n = f32[8] negate(x)
  e = f32[8] exponential(x)
  ROOT t = (f32[8], f32[8]) tuple(n, e)
}
""",
    )
    assert shared(text) == expected


def test_an_operand_may_stand_in_two_places() -> None:
    text = module("""
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        b = f32[8] multiply(a, a)
        ROOT o = f32[4] slice(b), slice={[0:4]}
    """)
    assert shared(text) == ["a+b"]


def test_a_copy_is_not_written_over_its_operand() -> None:
    text = module("""
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        b = f32[8] copy(a)
        ROOT o = f32[4] slice(b), slice={[0:4]}
    """)
    assert shared(text) == []


def test_sizes_of_backends() -> None:
    text = module("""
        p = f32[9,130]{1,0:T(8,128)} parameter(0)
        ROOT t = (f32[9,130]{1,0:T(8,128)}, f32[9,130]{1,0:T(8,128)}) tuple(p, p)
    """)
    entry = parse_module(Source(text)).entry
    array, table = entry.instructions[0].shape, entry.root.shape
    assert estimate_size(array, "tpu") == 16 * 256 * 4
    assert [estimate_size(table, one) for one in ("cpu", "gpu", "tpu")] == [16, 16, 512]
    assert estimate_size(table, "tpu", has_sparse_cores=True) == 32
    nine = TupleShape((array,) * 9)
    assert estimate_size(nine, "tpu", has_sparse_cores=True) == 64
    assert estimate_size(TupleShape(()), "tpu", has_sparse_cores=True) == 0


def test_an_unknown_dimension_is_not_counted() -> None:
    text = module("""
        p = f32[?] parameter(0)
        ROOT a = f32[?] negate(p)
    """)
    assert [one.size_bytes for one in allocations(text)] == [0, 0]
    estimated = analyze_memory(parse_module(Source(text)), None).figures.estimated
    assert estimated is not None
    assert estimated.is_lower_bound


@pytest.mark.parametrize(
    ("figure", "size_bytes", "words"),
    [
        ("peak", 1 << 30, "within 1 %"),
        ("peak", 1 << 10, "within 4 KiB"),
        ("temp_peak", 1 << 30, "within 2 %"),
        ("allocated", 1 << 30, "within 1 %"),
    ],
)
def test_accuracies(figure: EstimatedFigure, size_bytes: int, words: str) -> None:
    accuracy = find_accuracy(figure, "gpu")
    assert accuracy is not None
    assert accuracy.render(size_bytes) == words
    assert find_accuracy(figure, "gpu", 1) is None
    assert find_accuracy(figure, None) is None


def test_on_tpu_nothing_is_estimated_without_layouts() -> None:
    text = module("""
        p = f32[8,8] parameter(0)
        ROOT a = f32[8,8] negate(p), backend_config={"flag_configs":[]}
    """)
    found = parse_module(Source(text))
    assert find_memory(found, None) is None
    with pytest.raises(InputError, match="has no layouts"):
        analyze_memory(found, None)
    tiled = text.replace("f32[8,8]", "f32[8,8]{1,0:T(8,128)}")
    report = analyze_memory(parse_module(Source(tiled)), None)
    assert report.figures.estimated is not None
    assert report.figures.estimated.allocated_bytes == 2 * 8 * 128 * 4
    on_gpu = text.replace("flag_configs", "fusion_backend_config")
    assert find_memory(parse_module(Source(on_gpu)), None) is not None


@pytest.mark.parametrize(
    ("limit_bytes", "fits"),
    [(1 << 20, True), (1 << 15, None), ((1 << 15) - 1, None), (1 << 10, False)],
)
def test_fit_of_an_estimate(limit_bytes: int, fits: bool | None) -> None:
    text = module("""
        p = f32[4096]{0} parameter(0)
        ROOT a = f32[4096]{0} negate(p), backend_config={"fusion_backend_config":{}}
    """)
    found = measure_fit(analyze_memory(parse_module(Source(text)), None), limit_bytes)
    assert (found.allocated_bytes, found.fits) == (1 << 15, fits)
    assert found.free_bytes == limit_bytes - (1 << 15)
    assert found.is_estimate
