"""Transfers between TPU slices: who takes part, what they send, and who else tells of them."""

from __future__ import annotations

import pytest
from collective_cases import ROOT, analyze
from diff_cases import found_changes
from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.collectives.groups import DeviceGroups, read_slice_groups
from hlotool.analysis.collectives.machine import add_nodes, find_machine
from hlotool.analysis.collectives.report import CollectiveOptions
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.transfers import sent_share
from hlotool.analysis.graph.backend import find_backend
from hlotool.check.config import Budget
from hlotool.check.judge import judge_rule
from hlotool.check.rule import compile_rule
from hlotool.compare.changes.collectives import compare_collectives
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

CASES = ROOT / "testdata/collectives"
SEND = (CASES / "megascale_send.txt").read_text(encoding="utf-8")
KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")


def load(text: str) -> Program:
    return Program("", parse_module(Source(text, "case")))


def row_of(text: str) -> CollectiveRow:
    (row,) = analyze(text).rows
    return row


@pytest.mark.parametrize(
    ("target", "size", "count"),
    [
        ("{1,2}x{0:127}", 2, 128),
        ("{1,2,3,4}x{0:7}", 4, 8),
        ("{1:4}x{0:3,8:11}", 4, 8),
        ("{7}x{0}", 1, 1),
        ("{1, 2} x {0:7}", 2, 8),
        ("{{100000,200000},{100001,200001}}", 2, 2),
        ("{{100000,200000,300000},{100001}}", 3, 2),
    ],
)
def test_groups(target: str, size: int, count: int) -> None:
    groups = read_slice_groups(target)
    assert (groups.group_size, groups.group_count, groups.pairs) == (size, count, ())
    assert groups.expand() is None


@pytest.mark.parametrize(
    ("target", "pairs"),
    [
        ("{{100000->200000}}", ((100000, 200000),)),
        ("{{100000->200000},{200000->100000}}", ((100000, 200000), (200000, 100000))),
    ],
)
def test_pairs(target: str, pairs: tuple[tuple[int, int], ...]) -> None:
    groups = read_slice_groups(target)
    assert (groups.pairs, groups.pair_count, groups.group_size) == (pairs, len(pairs), None)
    assert groups.expand_pairs() is None


@pytest.mark.parametrize(
    "target",
    [
        "", "everybody", "{}", "{}x{}", "{1,2}", "{1,2}x", "{1,2}x{0:}", "{1,2}x{7:0}",
        "{2:1}x{0:7}", "{1,2}x{0:7},{3,4}x{0:7}", "{{1->2},{3,4}}", "{{}}", "{{1,2},{}}",
        "{-1,2}x{0:7}",        "{1,2}x{0:7}x{0:1}", "{9999999999}x{0:7}", "{{1->2}", "{{1->2->3}}",
    ],
)  # fmt: skip
def test_a_target_of_another_form_tells_nothing(target: str) -> None:
    assert read_slice_groups(target) == DeviceGroups("cross_slice")


@given(st.text("{}x:,->0123456789 ", max_size=40))
def test_any_target_is_read_or_not(target: str) -> None:
    groups = read_slice_groups(target)
    assert groups.mode == "cross_slice"
    assert groups.group_size is None or groups.group_size > 0
    assert not groups.has_pairs or groups.pairs


@given(st.sampled_from(KINDS), st.integers(1, 64), st.integers(1, 512))
def test_slices_send_what_devices_of_one_slice_do(kind: str, slices: int, devices: int) -> None:
    """A group of n slices is a ring of n, however many groups there are beside it."""
    target = f"{{{','.join(map(str, range(1, slices + 1)))}}}x{{0:{devices - 1}}}"
    groups = read_slice_groups(target)
    assert groups.group_count == devices
    within = DeviceGroups("flattened_id", group_size=slices)
    assert sent_share(kind, groups) == sent_share(kind, within)


def test_one_to_one_sends_as_a_permute_does() -> None:
    """A ring over slices sends from all its devices; a shift without an end from all but one."""
    ring = read_slice_groups("{{100000->200000},{200000->300000},{300000->100000}}")
    shift = read_slice_groups("{{100000->200000},{200000->300000}}")
    assert (sent_share("one-to-one", ring), sent_share("one-to-one", shift)) == ((3, 3), (2, 3))
    assert sent_share("one-to-one", read_slice_groups("{1,2}x{0:7}")) is None
    assert sent_share("send", read_slice_groups("{1,2}x{0:7}")) is None


def test_slices_tell_the_backend() -> None:
    assert find_backend(parse_module(Source(SEND))) == "tpu"
    with_host = SEND.replace("xla_megascale_runtime", "pjrt_rendezvous")
    with_host = with_host.replace("_xla_megascale_transfer_type", "_xla_note")
    assert find_backend(parse_module(Source(with_host))) is None


def test_the_handler_or_the_type_alone_tells() -> None:
    """Without a type nobody knows what a send is a part of; without a handler, all is known."""
    without_handler = SEND.replace('_xla_host_transfer_handler_name="xla_megascale_runtime",', "")
    row = row_of(without_handler)
    assert (row.kind, row.interconnect, row.sent_bytes) == ("all-reduce", "dcn", 1 << 25)
    untyped = row_of(SEND.replace("_xla_megascale_transfer_type", "_xla_note"))
    assert (untyped.kind, untyped.interconnect, untyped.sent_bytes) == ("send", "dcn", None)


def test_an_order_that_is_no_schedule_tells_no_overlap() -> None:
    row = row_of(SEND.replace("is_scheduled=true, ", ""))
    assert (row.is_async, row.exposed_share, row.overlapped_bytes) == (True, None, None)


def test_before_it_is_compiled_no_network_is_known() -> None:
    """An all-reduce over all devices may still become a transfer between slices."""
    text = (CASES / "slices.txt").read_text(encoding="utf-8")
    interconnects = {row.name: row.interconnect for row in analyze(text).rows}
    assert interconnects["within"] == "ici"
    unscheduled = analyze(text.replace("is_scheduled=true, ", "")).rows
    assert {row.interconnect for row in unscheduled if row.name == "within"} == {None}


def test_totals_by_network() -> None:
    """Of 43,692 bytes, 7168 stay in the slice: `within` of slices.txt."""
    report = analyze((CASES / "slices.txt").read_text(encoding="utf-8"))
    totals = {
        row.interconnect: (row.count, row.sent_bytes_per_step) for row in report.totals.by_network
    }
    assert totals == {"dcn": (10, 43_692 - 7168), "ici": (1, 7168)}
    slices = report.totals.between_slices()
    assert slices is not None
    assert slices.count == 10
    plain = analyze((CASES / "kinds.txt").read_text(encoding="utf-8")).totals
    assert [row.interconnect for row in plain.by_network] == [None]
    assert plain.between_slices() is None


def test_a_chips_link_joins_no_slices() -> None:
    """10 GB/s between nodes are those between slices: 32 MiB take 3.36 ms."""
    by_chip, faster = find_machine("v5p"), find_machine("v5p", 10e9, 0.0)
    for unknown in (by_chip, faster):
        assert analyze(SEND, CollectiveOptions(machine=unknown)).rows[0].transfer_seconds is None
    as_given = add_nodes(faster, None, 10e9)
    (row,) = analyze(SEND, CollectiveOptions(machine=as_given)).rows
    assert row.transfer_seconds == pytest.approx((1 << 25) / 10e9)
    assert row.interconnect == "dcn"


def test_a_chip_names_the_network_within_its_nodes() -> None:
    text = (CASES / "axes.txt").read_text(encoding="utf-8")
    h100, v5p = find_machine("h100"), find_machine("v5p")
    named = analyze(text, CollectiveOptions(machine=add_nodes(h100, 4))).rows
    assert {(row.span, row.interconnect) for row in named} == {
        ("intra-node", "nvlink"),
        ("inter-node", None),
    }
    by_tpu = analyze(text, CollectiveOptions(machine=add_nodes(v5p, 4))).rows
    assert {row.interconnect for row in by_tpu} == {None}
    unspanned = analyze(text, CollectiveOptions(machine=h100)).rows
    assert {row.interconnect for row in unspanned} == {None}


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        ('collectives.sum(sent_bytes_per_step, interconnect == "dcn") <= 32MiB', "pass"),
        ('collectives.sum(sent_bytes_per_step, interconnect == "dcn") < 32MiB', "fail"),
        ('collectives.count(interconnect == "ici") == 0', "pass"),
        ("collectives.sent_bytes_per_step == 32MiB", "pass"),
        ("collectives.host.to_host_bytes_per_step == 0", "pass"),
        ("collectives.host.count() == 0", "pass"),
    ],
)
def test_budgets(budget: str, status: str) -> None:
    result = judge_rule(compile_rule(Budget(expression=budget)), load(SEND))
    assert result.status == status


def test_host_transfers_have_budgets() -> None:
    program = load((CASES / "send.txt").read_text(encoding="utf-8"))
    for budget in (
        "collectives.host.to_host_bytes_per_step == 256",
        "collectives.host.count(handler == null) == 2",
        'collectives.host.sum(message_bytes_per_step, kind == "recv") == 256',
        "collectives.count == 2",
    ):
        assert judge_rule(compile_rule(Budget(expression=budget)), program).status == "pass"


def test_a_finding_names_what_nothing_hides() -> None:
    messages = [one.message for one in load(SEND).findings if one.id == "exposed-collective"]
    assert messages == [
        "send (all-reduce) between slices is not overlapped: 100 % of all bytes sent."
    ]


WITHIN = """\
HloModule m, is_scheduled=true, num_partitions=2

add {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] add(a, b)
}

ENTRY main {
  p = bf16[4096,4096]{1,0:T(8,128)(2,1)} parameter(0)
  ROOT r = bf16[4096,4096]{1,0:T(8,128)(2,1)} all-reduce(p), channel_id=1,
    replica_groups=[1,2]<=[2], use_global_device_ids=true, to_apply=add
}
"""


def test_a_diff_tells_networks_apart() -> None:
    """What moves from the slice to the data-centre network is gone here and new there."""
    changes = compare_collectives(analyze(WITHIN).rows, analyze(SEND).rows)
    told = [(one.change, one.kind, one.interconnect, one.group_size, one.count) for one in changes]
    assert sorted(told) == [
        ("added", "all-reduce", "dcn", 2, 1),
        ("removed", "all-reduce", "ici", 2, 1),
    ]
    unscheduled = WITHIN.replace("is_scheduled=true, ", "")
    assert [row.interconnect for row in analyze(unscheduled).rows] == [None]
    assert compare_collectives(analyze(unscheduled).rows, analyze(WITHIN).rows) == ()


def test_the_name_of_a_rendezvous_is_no_difference() -> None:
    """It holds the numbers of one build; what is done with whom is compared."""
    renamed = SEND.replace("all-reduce.1203_954", "all-reduce.7_12").replace("954", "12")
    assert found_changes(SEND, renamed) == ["identical"]
    assert found_changes(SEND, renamed, is_strict=True) != ["identical"]
    for other in (SEND.replace("{1,2}x", "{1,3}x"), SEND.replace('"SUM"', '"MAX"')):
        assert any(line.startswith("changed send") for line in found_changes(SEND, other))
