"""Findings: each speaks when it should, and only then; most bytes first."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from cost_cases import Case, list_dumps
from each import for_each

from hlotool.analysis.collectives.machine import find_machine
from hlotool.analysis.findings.find import FINDERS, collect_findings
from hlotool.analysis.findings.finding import (
    ADVICE,
    FINDINGS,
    MARKED_ADVICE,
    SYNCHRONOUS_ADVICE,
    Evidence,
    Finding,
)
from hlotool.analysis.findings.memory import COPY_ADVICE
from hlotool.analysis.memory.report import analyze_memory
from hlotool.hlo import Module
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Assumptions, Program
from hlotool.text import Source

DUMPS = list_dumps()
MIB = 1 << 20


def collect(module: Module, assignment: str = "") -> Evidence:
    program = Program("", module)
    memory = None
    if assignment:
        memory = analyze_memory(module, parse_buffer_assignment(Source(assignment)))
    return Evidence(
        module,
        program.executions,
        program.costs,
        program.cost,
        program.collectives,
        memory,
        transfers=program.transfers,
    )


def find(text: str, assignment: str = "") -> tuple[Finding, ...]:
    return collect_findings(collect(parse_module(Source(text)), assignment))


def codes(findings: Iterable[Finding]) -> list[str]:
    return [one.id for one in findings]


def scheduled(*lines: str, header: str = "", before: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m, is_scheduled=true{header}\n{before}\nENTRY e {{\n{body}\n}}\n"


@for_each(DUMPS)
def test_findings_of_dumps_are_sentences(case: Case) -> None:
    """Warnings first, then what takes longest, then most bytes; codes are declared."""
    findings = collect_findings(collect(case.module))
    names = {one.name for one in case.module.instructions()}
    ranks = [
        (one.severity == "warning", one.weighted_bytes or -1, one.bytes or -1) for one in findings
    ]
    assert ranks == sorted(ranks, reverse=True)
    spoken = {
        SYNCHRONOUS_ADVICE,
        MARKED_ADVICE,
        *COPY_ADVICE.values(),
    }
    assert all(one.advice in {ADVICE[one.id], *spoken} for one in findings)
    for one in findings:
        assert one.id in FINDINGS.field("id").values
        assert one.instruction is None or one.instruction in names
        assert one.message.endswith(".")
        assert one.message.count(". ") == 0 or ": " in one.message
    assert collect_findings(collect(case.module)) == findings


def test_every_finder_says_when_it_speaks() -> None:
    assert all((finder.__doc__ or "").startswith("Find ") for finder in FINDERS)


ADD = scheduled(
    "p = f32[1024,1024] parameter(0)",
    'a = f32[1024,1024] add(p, p), metadata={source_file="m.py" source_line=7}',
    "b = f32[1,1] slice(a), slice={[0:1], [0:1]}",
    "ROOT t = (f32[1024,1024], f32[1,1]) tuple(a, b)",
)


def test_missed_fusion() -> None:
    (found,) = (one for one in find(ADD) if one.id == "missed-fusion")
    assert found == Finding(
        bytes=8 * MIB,
        severity="warning",
        id="missed-fusion",
        message="a (add) runs outside any fusion, for 100 % of all memory traffic.",
        instruction="a",
        source="m.py:7",
        advice=ADVICE["missed-fusion"],
        weighted_bytes=8 * MIB,
    )
    small = ADD.replace("1024,1024", "64,1024")
    assert "missed-fusion" not in codes(find(small))
    assert "missed-fusion" not in codes(find(ADD.replace(", is_scheduled=true", "")))
    alone = ADD.replace("f32[1,1] slice(a), slice={[0:1], [0:1]}", "f32[1,1] constant({{0}})")
    assert "missed-fusion" not in codes(find(alone))


def test_large_copies_fused_or_not() -> None:
    body = "f {\n  p = f32[1024,1024] parameter(0)\n  ROOT c = f32[1024,1024]{0,1} copy(p)\n}"
    text = scheduled(
        "p = f32[1024,1024] parameter(0)",
        "a = f32[1024,1024]{0,1} copy(p)",
        "b = f32[1024,1024]{0,1} copy(p)",
        "c = f32[1024,1024]{0,1} fusion(p), kind=kLoop, calls=f",
        "ROOT t = (f32[1024,1024]{0,1}, f32[1024,1024]{0,1}, f32[1024,1024]{0,1}) tuple(a, b, c)",
        before=body,
    )
    found = [one.message for one in find(text) if one.id == "large-copy"]
    why = "from f32[1024,1024]{1,0} of p to f32[1024,1024]{0,1} for the result."
    assert found == [
        f"a and 1 like it (copy) only move data, 67 % of all memory traffic, {why}",
        f"c (fusion) only moves data, 33 % of all memory traffic, {why}",
    ]


LOOP = """body {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  y = f32[8] add(x, x)
  ROOT t = (s32[], f32[8]) tuple(i, y)
}
cond {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}"""


def test_unknown_trip_count() -> None:
    text = scheduled(
        "p = (s32[], f32[8]) parameter(0)",
        "ROOT w = (s32[], f32[8]) while(p), condition=cond, body=body",
        before=LOOP,
    )
    (found,) = find(text)
    assert (found.id, found.severity, found.instruction) == ("unknown-trip-count", "info", "w")
    known = text.replace("body=body", 'body=body, backend_config={"known_trip_count":{"n":"4"}}')
    assert find(known) == ()


def test_contradicted_trip_count() -> None:
    """The counter goes from 0 to 4 in steps of 1; 7 is printed, and followed."""
    text = scheduled(
        "z = s32[] constant(0)",
        "x = f32[8] parameter(0)",
        "q = (s32[], f32[8]) tuple(z, x)",
        "ROOT w = (s32[], f32[8]) while(q), condition=cond, body=body, "
        'backend_config={"known_trip_count":{"n":"7"}}',
        before=LOOP.replace("tuple(i, y)", "tuple(j, y)").replace(
            "  y =", "  k = s32[] constant(1)\n  j = s32[] add(i, k)\n  y ="
        ),
    )
    (found,) = find(text)
    assert (found.id, found.severity, found.instruction, found.bytes) == (
        "contradicted-trip-count",
        "info",
        "w",
        None,
    )
    assert found.message == (
        "w has a printed trip count of 7, but its counter gives 4. Totals use the printed one, "
        "as XLA does."
    )
    program = Program("", parse_module(Source(text)))
    (loop,) = program.summarize().loops
    assert (loop.trip_count, loop.trip_count_source) == (7, "backend_config")
    assert loop.contradicting_trip_count == 4
    assert program.cost.flops_per_step == 7 * (8 + 1 + 1)  # add, counter, comparison
    assert find(text.replace('"n":"7"', '"n":"4"')) == ()


def test_an_unknown_cost() -> None:
    lines = "p = f32[8,8] parameter(0)", "a = f32[8,8] dot(p, p), lhs_contracting_dims={5}"
    (found,) = find(scheduled(*lines, "ROOT b = f32[8,8] sing(a)"))
    assert (found.id, found.severity, found.instruction) == ("unknown-cost", "info", "a")
    assert found.message == (
        "The cost of a (dot) and 1 more is unknown, so totals are lower bounds: "
        "f32[8,8] has no such dimension (line 5)."
    )


def test_unknown_custom_calls_are_one_finding() -> None:
    calls = [
        f'c{n} = f32[8] custom-call(p), custom_call_target="{target}"'
        for n, target in enumerate(["z", "a", "z", "Sharding", "b", "c"])
    ]
    (found,) = find(scheduled("p = f32[8] parameter(0)", *calls))
    assert found.message == (
        "5 custom calls (z, a, b and 1 more) may compute anything: flops are a lower bound."
    )


def test_an_unknown_custom_call_in_a_fusion_in_a_fusion() -> None:
    call = 'ROOT c = f32[8] custom-call(p), custom_call_target="z"'
    inner = f"g {{\n p = f32[8] parameter(0)\n {call}\n}}\n"
    outer = "h {\n p = f32[8] parameter(0)\n ROOT i = f32[8] fusion(p), kind=kLoop, calls=g\n}\n"
    lines = "p = f32[8] parameter(0)", "ROOT f = f32[8] fusion(p), kind=kLoop, calls=h"
    (found,) = find(scheduled(*lines, before=inner + outer))
    assert (found.id, found.instruction) == ("unknown-custom-call", "c")
    assert found.message.startswith("1 custom call (z) may compute anything")


def test_donation() -> None:
    lines = (
        'p = f32[1024,1024] parameter(0), metadata={op_name="state.w"}',
        'q = f32[1024,512] parameter(1), metadata={op_name="state.m"}',
        "r = f32[8] parameter(2)",
        "d = f32[1024,1024] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "n = f32[1024,512] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "ROOT t = (f32[1024,1024], f32[1024,512]) tuple(d, n)",
    )
    (none,) = find(scheduled(*lines))
    assert (none.id, none.severity, none.bytes) == ("donation-missed", "info", 6 * MIB)
    assert (none.parameter, none.count) == ("state.w", 2)
    assert none.message == (
        "2 parameters, the largest state.w, are not donated, although results have their shapes: "
        "donating them saves at most their size."
    )
    alias = ", input_output_alias={ {1}: (1, {}, may-alias) }"
    (one,) = find(scheduled(*lines, header=alias))
    assert (one.severity, one.bytes) == ("warning", 4 * MIB)
    assert one.message == (
        "state.w is not donated, although a result has its shape: donating it saves at most its "
        "size."
    )


def test_a_donated_parameter_that_is_copied() -> None:
    text = scheduled(
        'p = f32[1024,1024] parameter(0), metadata={op_name="state.w"}',
        "c = f32[1024,1024] copy(p)",
        "n = f32[1024,1024] negate(p)",
        "u = f32[1024,1024] add(c, n)",
        "ROOT t = (f32[1024,1024]) tuple(u)",
        header=", input_output_alias={ {0}: (0, {}, may-alias) }",
    )
    (found,) = (one for one in find(text) if one.id == "donation-copied")
    assert found.message == "state.w is donated, but c copies it first."
    assert (found.instruction, found.bytes) == ("c", 4 * MIB)
    assert "large-copy" not in codes(find(text))
    for old, new in (
        ("add(c, n)", "add(n, n)"),  # the copy serves another user
        ("c = f32[1024,1024] copy(p)", "c = f32[1024,1024]{0,1} copy(p)"),  # a layout
    ):
        changed = codes(find(text.replace(old, new)))
        assert "donation-copied" not in changed
        assert "large-copy" in changed


def test_a_parameter_that_is_most_of_memory_comes_before_missed_donation() -> None:
    lines = (
        'w = f32[1024,4096] parameter(0), metadata={op_name="embed"}',
        "x = f32[512,512] parameter(1)",
        "y = f32[512,512] negate(x)",
        "s = f32[512] slice(w), slice={[0:1], [0:512]}",
        "ROOT t = (f32[512,512], f32[512]) tuple(y, s)",
    )
    program = Program(
        "", parse_module(Source(scheduled(*lines).replace("f32[512] ", "f32[1,512] ")))
    )
    found = program.findings
    assert found[0].id == "dominant-array"
    assert found[0].message.startswith("The parameter embed f32[1024,4096] is ")


def test_of_equal_copies_only_others_are_named_again() -> None:
    text = scheduled(
        "p = f32[1024,1024] parameter(0)",
        "c = f32[1024,1024] copy(p)",
        "d = f32[1024,1024] copy(p)",
        "u = f32[1024,1024] negate(c)",
        "ROOT t = (f32[1024,1024], f32[1024,1024]) tuple(u, d)",
        header=", input_output_alias={ {0}: (0, {}, may-alias) }",
    )
    named = {one.id: (one.instruction, one.bytes) for one in find(text)}
    assert named["donation-copied"] == ("c", 4 * MIB)
    assert named["large-copy"] == ("d", 8 * MIB)


COLLECTIVE = """%add {{
  %a = {0}[] parameter(0)
  %b = {0}[] parameter(1)
  ROOT %c = {0}[] add(%a, %b)
}}"""


def collective(dtype: str, kind: str, matrix: str = "bf16", between: str = "") -> str:
    array = f"{dtype}[1024,1024]"
    if kind == "all-reduce":
        start = f"{array} {kind}-start(p), replica_groups={{{{0,1}}}}, to_apply=%add"
    else:
        start = f"({array}, {array}) {kind}-start(p), source_target_pairs={{{{0,1}},{{1,0}}}}"
    return scheduled(
        f"p = {array} parameter(0)",
        f"m = {matrix}[64,64] parameter(1)",
        f"n = {matrix}[64,64] dot(m, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
        f"s = {start}",
        *([between] if between else []),
        f"d = {array} {kind}-done(s)",
        f"ROOT t = ({array}, {matrix}[64,64]) tuple(d, n)",
        header=", num_partitions=2",
        before=COLLECTIVE.format(dtype),
    )


def test_exposed_collective() -> None:
    found = find(collective("bf16", "all-reduce"))
    exposed = [one for one in found if one.id == "exposed-collective"]
    assert [(one.message, one.bytes) for one in exposed] == [
        ("s (all-reduce) is not overlapped: 100 % of all bytes sent.", 2 * MIB)
    ]
    little = "k = bf16[2] constant({1, 2})\n  j = bf16[2] negate(k)"
    found = find(collective("bf16", "all-reduce", between=little))
    (message,) = [one.message for one in found if one.id == "exposed-collective"]
    assert message == (
        "s (all-reduce) is not fully overlapped: 100 % exposed, 100 % of all bytes sent."
    )
    # 2 MiB take 9.66 us on the link of the reference chip, h100, and 32 MiB 10.01 us in its memory.
    work = "z = f32[] constant(0)\n  k = f32[8192,1024] broadcast(z), dimensions={}"
    assert "exposed-collective" not in codes(find(collective("bf16", "all-reduce", between=work)))
    quarter = work.replace("8192", "2048")  # writes 8 MiB
    found = find(collective("bf16", "all-reduce", between=quarter))
    (part,) = [one for one in found if one.id == "exposed-collective"]
    transfer, hidden = 2 * MIB / 450e9 + 5e-6, (8 * MIB + 4) / 3352e9
    assert part.bytes == pytest.approx(2 * MIB * (1 - hidden / transfer), abs=1)
    assert part.weighted_bytes == pytest.approx((transfer - hidden) * 3352e9, abs=1)
    assert part.estimated_seconds is None


def test_a_synchronous_collective_is_told_apart() -> None:
    text = collective("bf16", "all-reduce").replace("-start", "").replace("all-reduce-done", "copy")
    (found,) = [one for one in find(text) if one.id == "exposed-collective"]
    assert found.message == (
        "s (all-reduce) runs synchronously, without start and done: 100 % of all bytes sent."
    )
    assert found.advice == SYNCHRONOUS_ADVICE


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("all-reduce", "Asynchronous collectives are on, but XLA left this one synchronous."),
        ("collective-permute", "Only other kinds of collectives are asynchronous here."),
    ],
)
def test_only_others_of_its_opcode_show_that_it_is_asynchronous(kind: str, said: str) -> None:
    """Then nothing is advised: neither is to be turned on."""
    alone = "r = bf16[1024,1024] all-reduce(p), replica_groups={{0,1}}, to_apply=%add"
    text = collective("bf16", kind, between=alone)
    told = [one for one in find(text) if one.id == "exposed-collective"]
    assert [one.advice for one in told if said in one.message] == [""]


def test_a_pair_marked_synchronous_is_told_apart() -> None:
    config = '{"collective_backend_config":{"is_sync":true}}'
    text = collective("bf16", "all-reduce")
    start = next(line for line in text.splitlines() if "all-reduce-start" in line)
    marked = text.replace(start, f"{start}, backend_config={config}")
    (found,) = [one for one in find(marked) if one.id == "exposed-collective"]
    assert found.message == (
        "s (all-reduce) runs synchronously, marked is_sync, with nothing between start and done: "
        "100 % of all bytes sent."
    )
    assert found.advice == MARKED_ADVICE


def test_traffic_and_transfers_are_ranked_on_one_scale() -> None:
    """A 16 MiB all-reduce sends as many bytes as half of what a copy of 16 MiB moves.

    On h100 the former take 37.28 + 5 us, the latter 10.01 us: with and without a chip, the
    all-reduce leads.
    """
    copy = "c = bf16[8192,1024]{0,1} copy(p)"
    text = collective("bf16", "all-reduce").replace("[1024,1024]", "[8192,1024]")
    module = parse_module(Source(text.replace("  ROOT t", f"  {copy}\n  ROOT t")))
    named = Assumptions(machine=find_machine("h100"))
    plain, timed = (Program("", module, assumptions=one) for one in (Assumptions(), named))
    for program in (plain, timed):
        first, second = program.findings[:2]
        assert (first.id, first.bytes) == ("exposed-collective", 16 * MIB)
        assert first.weighted_bytes == pytest.approx((16 * MIB / 450e9 + 5e-6) * 3352e9, abs=1)
        assert (second.id, second.bytes, second.weighted_bytes) == (
            "large-copy",
            32 * MIB,
            32 * MIB,
        )
    assert plain.findings[0].estimated_seconds is None
    assert timed.findings[0].estimated_seconds == pytest.approx(16 * MIB / 450e9 + 5e-6)


def test_the_f32_of_a_collective_of_several_types_counts() -> None:
    """Of 6 MiB gathered from 2 devices half is sent, and 4 of the 6 are f32."""
    text = scheduled(
        "p = bf16[512,1024] parameter(0)",
        "q = f32[512,1024] parameter(1)",
        "m = bf16[64,64] parameter(2)",
        "n = bf16[64,64] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "g = (bf16[1024,1024], f32[1024,1024]) all-gather(p, q), replica_groups={{0,1}}, "
        "dimensions={0}",
        "ROOT t = ((bf16[1024,1024], f32[1024,1024]), bf16[64,64]) tuple(g, n)",
        header=", replica_count=2",
    )
    (found,) = [one for one in find(text) if one.id == "f32-collective"]
    assert (found.bytes, found.severity) == (2 * MIB, "warning")
    assert found.message == (
        "g (all-gather) sends f32 beside bf16 in a program that computes in 16 bits."
    )


def test_with_a_chip_exposed_collectives_are_chosen_by_time() -> None:
    """2 MiB hide behind 4 MiB of memory traffic, but not on a slow link.

    At 45 GB/s and 5 us they take 51.6 us, of which the 4,194,304 B that k moves at 3352 GB/s hide
    1.25. At 450 GB/s less than 10 us are exposed.
    """
    work = "k = bf16[1024,1024] negate(p)"
    module = parse_module(Source(collective("bf16", "all-reduce", between=work)))
    slow, fast = (Assumptions(machine=find_machine("h100", speed)) for speed in (45e9, 450e9))
    findings = Program("", module, assumptions=slow).findings
    (found,) = [one for one in findings if one.id == "exposed-collective"]
    transfer = 2 * MIB / 45e9 + 5e-6
    assert found.estimated_seconds == pytest.approx(transfer - 4 * MIB / 3352e9, rel=1e-9)
    share = 1 - 4 * MIB / 3352e9 / transfer
    assert found.bytes == pytest.approx(2 * MIB * share, abs=1)
    assert found.message == (
        "s (all-reduce) is not fully overlapped: 98 % exposed, 98 % of the "
        "estimated time of all transfers."
    )
    assert "exposed-collective" not in codes(Program("", module, assumptions=fast).findings)


def test_layers_that_differ_in_scope_alone_are_one_finding() -> None:
    """Of 200 layers, each sends 0.5 % of all; together half of it is exposed."""
    step = (
        "s{0} = bf16[64,1024] all-reduce-start(p), replica_groups={{{{0,1}}}}, to_apply=%add, @",
        "{1}",
        "d{0} = bf16[64,1024] all-reduce-done(s{0})",
    )
    # 128 KiB take 5.29 us on the link of h100, 32 MiB 10.01 us in its memory.
    work = "k{0} = f32[8192,1024] broadcast(z), dimensions={{}}"
    source = 'metadata={{op_name="jit(f)/layer_{0}/psum" source_file="model.py" source_line=7}}'
    lines = [
        line.replace("@", source).format(
            number, (work if number % 2 else "c{0} = bf16[] constant(0)").format(number)
        )
        for number in range(200)
        for line in step
    ]
    text = scheduled(
        "p = bf16[64,1024] parameter(0)",
        "z = f32[] constant(0)",
        *lines,
        "ROOT t = (bf16[64,1024]) tuple(d0)",
        header=", num_partitions=2",
        before=COLLECTIVE.format("bf16"),
    )
    (found,) = (one for one in find(text) if one.id == "exposed-collective")
    assert found.bytes == 100 * 64 * 1024 * 2
    assert found.count == 100
    assert found.source == "model.py:7"
    assert found.message == (
        "s0 and 99 like it (all-reduce) are not overlapped: 50 % of all bytes sent."
    )


@pytest.mark.parametrize(
    ("dtype", "kind", "matrix", "severity"),
    [
        ("f32", "all-reduce", "bf16", "info"),
        ("f32", "collective-permute", "bf16", "warning"),
        ("f32", "all-reduce", "f32", None),
        ("bf16", "all-reduce", "bf16", None),
        ("f32", "all-reduce", "f8e4m3fn", "info"),
    ],
)
def test_f32_collective(dtype: str, kind: str, matrix: str, severity: str | None) -> None:
    found = [one for one in find(collective(dtype, kind, matrix)) if one.id == "f32-collective"]
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_nothing_is_said_of_collectives_on_cpu() -> None:
    marked = collective("f32", "all-reduce").replace(
        "rhs_contracting_dims={0}",
        'rhs_contracting_dims={0}, backend_config={"outer_dimension_partitions":["2"]}',
    )
    assert not {"exposed-collective", "f32-collective"} & {*codes(find(marked))}


PADDED = scheduled(
    "p = f32[100000,1]{1,0:T(8,128)} parameter(0)",
    "ROOT n = f32[100000,1]{1,0:T(8,128)} negate(p)",
)
ASSIGNMENT = """BufferAssignment:
allocation 0: size 51200000, parameter 0, shape |f32[100000,1]| at ShapeIndex {}:
 value: <0 p @0> (size=51200000,offset=0): f32[100000,1]{1,0:T(8,128)}
allocation 1: size 51200000, output shape is |f32[100000,1]|, maybe-live-out:
 value: <1 n @0> (size=51200000,offset=0): f32[100000,1]{1,0:T(8,128)}
"""


def test_padding() -> None:
    (found,) = (one for one in find(PADDED, ASSIGNMENT) if one.id == "padding")
    assert found.message == (
        "99 % of the peak of space 0 (hbm) is tile padding. The largest padded array is "
        "p f32[100000,1]: its axis 1 has length 1 and takes room for 128."
    )
    assert found.bytes == 2 * (51200000 - 400000)
    assert found.severity == "warning"


GAPS = """BufferAssignment:
allocation 0: size 32, parameter 0, shape |f32[8]| at ShapeIndex {}:
 value: <0 p @0> (size=32,offset=0): f32[8]{0}
allocation 1: size 32, output shape is |f32[8]|, maybe-live-out:
 value: <2 n @0> (size=32,offset=0): f32[8]{0}
allocation 2: size 9000000, preallocated-temp:
 value: <1 m @0> (size=32,offset=0): f32[8]{0}
"""


def test_fragmentation() -> None:
    text = scheduled(
        "p = f32[8]{0} parameter(0)",
        "m = f32[8]{0} negate(p)",
        "ROOT n = f32[8]{0} negate(m)",
    )
    (found,) = find(text, GAPS)
    assert (found.id, found.bytes) == ("fragmentation", 9000000 - 32)
    assert (
        found.message
        == "100 % of space 0 is reserved for temporaries but never all in use at once."
    )
    assert find(text, GAPS.replace("9000000", "900000")) == ()
    assert find(text.replace("f32[8]{0}", "f32[8]{0:T(128)}"), GAPS) == ()  # TPU: a table has 32 B
