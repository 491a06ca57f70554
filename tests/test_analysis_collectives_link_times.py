"""Estimates of time: bandwidth and latency as given, by chip, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from collective_cases import ROOT, analyze
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import (
    LinkSpeed,
    Machine,
    add_nodes,
    find_machine,
    fit_machine,
)
from hlotool.analysis.collectives.report import CollectiveOptions, choose_row_columns
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.api import load
from hlotool.errors import UsageError
from hlotool.table.select import Query, select_rows
from hlotool.table.units import parse_bandwidth, parse_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("450GB/s", 450e9),
        ("450 GB/s", 450e9),
        ("90e9B/s", 90e9),
        ("1.5TB/s", 1.5e12),
        ("45GiB/s", 45 * 2**30),
        ("45KiB/s", 45 * 2**10),
        ("12Bps", 12),
        ("100GBps", 100e9),
        ("45kiB/s", 45 * 2**10),
        ("0.5PB/s", 5e14),
    ],
)
def test_bandwidths(text: str, expected: float) -> None:
    assert parse_bandwidth(text, "--bandwidth") == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "fast", "0", "-1GB/s", "1Gb/s", "1GB/h", "0GB/s", "∞", "450", "90e9", "12B"]
)
def test_bandwidths_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--bandwidth"):
        parse_bandwidth(text, "--bandwidth")


def test_a_size_is_no_speed() -> None:
    with pytest.raises(UsageError) as error:
        parse_bandwidth("450 GB", "--bandwidth")
    assert str(error.value) == "--bandwidth 450 GB is a size, not a speed; write 450GB/s."


def test_a_bare_number_is_asked_for_its_unit() -> None:
    with pytest.raises(UsageError) as error:
        parse_bandwidth(" 450 ", "--bandwidth")
    assert str(error.value) == "--bandwidth 450 has no unit; write 450GB/s or 450B/s."


@pytest.mark.parametrize(
    ("text", "expected"), [("5us", 5e-6), ("5 µs", 5e-6), ("0.1ms", 1e-4), ("2s", 2), ("7ns", 7e-9)]
)
def test_latencies(text: str, expected: float) -> None:
    assert parse_time(text, "--latency") == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "5 h", "-1us"])
def test_latencies_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--latency"):
        parse_time(text, "--latency")


def expect_link(
    chip: str | None, bandwidth: float | None, latency: float | None, chip_file: str = ""
) -> LinkSpeed:
    machine = find_machine(chip, bandwidth, latency, chip_file)
    assert machine is not None
    assert machine.link is not None
    return machine.link


def test_chips_and_what_overrides_them() -> None:
    h100 = expect_link("h100", None, None)
    assert (h100.bytes_per_second, h100.latency_seconds, h100.is_within_node) == (450e9, 5e-6, True)
    slower = expect_link("h100", 50e9, None)
    assert (slower.bytes_per_second, slower.latency_seconds) == (50e9, 5e-6)
    assert slower.is_within_node
    patient = expect_link("v5p", None, 1e-3)
    assert (patient.bytes_per_second, patient.latency_seconds) == (200e9, 1e-3)
    plain = expect_link(None, 1e9, None)
    assert plain.latency_seconds == 0
    assert find_machine(None, None, None) is None


def test_a_chip_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "chips.toml"
    path.write_text("[h100]\nlink_bytes_per_second = 1e9\nlink_latency_seconds = 0.5\n")
    found = expect_link("h100", None, None, str(path))
    assert (found.bytes_per_second, found.latency_seconds) == (1e9, 0.5)


def test_a_chip_of_two_devices() -> None:
    """TPU7x moves 1,200 GB/s both ways on 3 axes: 200 GB/s sent on one, by 2 devices of a chip.

    The largest collective of a dump for it scatters a gradient over 4 devices.
    """
    link = expect_link("tpu7x", None, None)
    assert link.bytes_per_second == 1200e9 / 3 / 2 / 2
    program = load(str(ROOT / "testdata/packed/tpu7x/fsdp_train")).program
    options = CollectiveOptions(machine=Machine(link=link))
    rows = program.analyze_collectives(options).rows
    largest = max(rows, key=lambda row: row.sent_bytes or 0)
    sent_bytes = 1536 * 1280 * 4 * 3 // 4  # f32[1536,1280] over 4
    assert (largest.kind, largest.sent_bytes) == ("reduce-scatter", sent_bytes)
    assert largest.transfer_seconds == pytest.approx(sent_bytes / 100e9 + 1e-6)


def test_what_does_not_go_together(tmp_path: Path) -> None:
    path = tmp_path / "chips.toml"
    path.write_text("[x]\nhbm_bytes = 1\nhbm_bytes_per_second = 1\nflops_per_second = 1\n")
    with pytest.raises(UsageError, match="link speed of 'x' is unknown"):
        expect_link("x", None, None, str(path))
    with pytest.raises(UsageError, match="need --chip or --bandwidth"):
        expect_link(None, None, 5e-6)
    with pytest.raises(UsageError, match="chip 'h999' is unknown"):
        expect_link("h999", None, None)


def test_estimates() -> None:
    """Bytes sent over bandwidth, latency once for each execution; nothing moved takes no time."""
    machine = Machine(link=LinkSpeed(2.0, 10.0, "test"))
    options = CollectiveOptions(machine=machine)
    text = (ROOT / "testdata/collectives/loops.txt").read_text(encoding="utf-8")
    report = analyze(text, options)
    seconds = {row.name: row.transfer_seconds for row in report.rows}
    once = {"nine": 6 / 2 + 10, "some": 6 / 2 + 10, "third": 2 / 2 + 10}
    assert seconds == {"nine": once["nine"] * 9, "some": None, "third": once["third"] * 9}
    assert report.totals.transfer_seconds == once["nine"] * 9 + once["some"] + once["third"] * 9
    assert report.totals.is_seconds_lower_bound
    assert report.totals.machine == "2e-09 GB/s plus 1e+07 µs each (test)"
    text = (ROOT / "testdata/collectives/groups.txt").read_text(encoding="utf-8")
    single = analyze(text, options).rows[-1]
    assert (single.name, single.transfer_seconds) == ("single", 0)


def test_a_link_within_a_node_says_nothing_across_nodes() -> None:
    text = (ROOT / "testdata/collectives/axes.txt").read_text(encoding="utf-8")
    within, beyond = (
        analyze(text, CollectiveOptions(machine=Machine(link=link, devices_per_node=4))).rows
        for link in (
            LinkSpeed(1.0, 0.0, "test", is_within_node=True),
            LinkSpeed(1.0, 0.0, "test"),
        )
    )
    assert {row.span for row in within if row.transfer_seconds is None} == {"inter-node"}
    assert {row.span for row in within if row.transfer_seconds is not None} == {"intra-node"}
    assert all(row.transfer_seconds is not None for row in beyond)


def test_a_machine_may_do_without_a_link(tmp_path: Path) -> None:
    """Where a configuration names a chip whose link no source states, its own peaks count."""
    path = tmp_path / "chips.toml"
    path.write_text("[x]\nhbm_bytes = 1\nhbm_bytes_per_second = 1\nflops_per_second = 1\n")
    found = find_machine("x", chip_file=str(path), needs_link=False)
    assert found is not None
    assert found.chip is not None
    assert found.link is None
    assert str(found) == found.chip.description
    linked = find_machine("x", 1e9, chip_file=str(path), needs_link=False)
    assert linked is not None
    assert linked.link is not None
    assert find_machine(None) is None
    with pytest.raises(UsageError, match="link speed of 'x' is unknown"):
        find_machine("x", chip_file=str(path))
    with pytest.raises(UsageError, match="need --chip or --bandwidth"):
        find_machine(None, chip_file="chips.toml", needs_link=False)


def many(devices: int, groups: str) -> str:
    """Return a GPU program whose only collective sends 4 of 8 MiB within each of some groups."""
    return f"""HloModule many, is_scheduled=true, num_partitions={devices}
add {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT sum = f32[] add(p, q)
}}
ENTRY main {{
  x = f32[1024,1024] parameter(0)
  y = f32[1024,1024] parameter(1)
  s = f32[1024,1024] all-reduce-start(x), channel_id=1, replica_groups={groups}, \
use_global_device_ids=true, to_apply=add, backend_config={{"operation_queue_id":"0"}}
  work = f32[1024,1024] negate(y)
  d = f32[1024,1024] all-reduce-done(s)
  ROOT t = (f32[1024,1024], f32[1024,1024]) tuple(d, work)
}}
""".replace("\\\n", "")


def test_more_devices_than_nvlink_joins_are_several_nodes() -> None:
    """Groups of 2 send 4 MiB: 450 GB/s and 5 us within a node of 8, 50 GB/s between two."""
    near, far = many(16, "[8,2]<=[16]"), many(16, "[8,2]<=[2,8]T(1,0)")
    h100 = find_machine("h100")
    size, latency = 4 << 20, 5e-6
    for text, machine, expected in (
        (near, h100, size / 450e9 + latency),
        (far, h100, None),
        (far, add_nodes(h100, None, 50e9), size / 50e9 + latency),
        (near, add_nodes(h100, None, 50e9), size / 450e9 + latency),
        (far, add_nodes(h100, 16), size / 450e9 + latency),
        (near, add_nodes(find_machine(None, 100e9), 8), size / 100e9),
        (far, add_nodes(find_machine(None, 100e9), 8), None),
        (near, add_nodes(None, 8, 50e9), None),
        (far, add_nodes(None, 8, 50e9), size / 50e9),
        (near, None, None),
    ):
        (row,) = analyze(text, CollectiveOptions(machine=machine)).rows
        assert row.transfer_seconds == (None if expected is None else pytest.approx(expected))
    totals = analyze(far, CollectiveOptions(machine=h100)).totals
    assert (totals.devices_per_node, totals.is_node_assumed) == (8, True)
    one_node = analyze(many(8, "[4,2]<=[8]"), CollectiveOptions(machine=h100)).totals
    assert (one_node.devices_per_node, one_node.is_node_assumed) == (None, False)


def test_without_a_chip_the_share_is_that_of_the_reference() -> None:
    """8 MiB of memory traffic, 2.5 us, beside 14.32 us on the link: 1 - 2.5025/14.3207."""
    for text in (many(8, "[4,2]<=[8]"), many(16, "[8,2]<=[16]"), many(16, "[8,2]<=[2,8]T(1,0)")):
        plain, named = (
            analyze(text, CollectiveOptions(machine=one)) for one in (None, find_machine("h100"))
        )
        (row,), (timed,) = plain.rows, named.rows
        assert (row.exposed_share, row.exposed_bytes_per_step, row.span) == (
            timed.exposed_share,
            timed.exposed_bytes_per_step,
            timed.span,
        )
        share = 1 - (8 << 20) / 3352e9 / ((4 << 20) / 450e9 + 5e-6)
        assert row.exposed_share == (None if row.span == "inter-node" else pytest.approx(share))
        assert (row.transfer_seconds, row.exposed_seconds, row.interconnect) == (None, None, None)
        assert (plain.totals.reference_chip, named.totals.reference_chip) == ("h100", None)
        assert plain.totals.exposed_seconds is None


def test_a_bandwidth_counts_without_a_chip() -> None:
    """8 MiB of memory traffic at the speed of h100, 2.5 us, beside 4 MiB at 100 GB/s, 41.9 us."""
    machine = Machine(link=LinkSpeed(100e9, 0.0, "test"))
    report = analyze(many(8, "[4,2]<=[8]"), CollectiveOptions(machine=machine))
    (row,) = report.rows
    sending, working = (4 << 20) / 100e9, (8 << 20) / 3352e9
    assert row.exposed_share == pytest.approx(1 - working / sending)
    times = (row.transfer_seconds, row.overlapped_seconds, row.exposed_seconds)
    assert times == pytest.approx((sending, working, sending - working))
    totals = report.totals
    assert (totals.exposed_seconds, totals.reference_chip) == (row.exposed_seconds, "h100")
    assert not totals.is_seconds_lower_bound


def test_unknown_exposure_buries_no_collective() -> None:
    """Where it is unknown for some, what takes longest on the link comes first."""
    program = load(ROOT / "testdata" / "dumps" / "gpu_h100" / "transformer_train").program
    machine = Machine(link=LinkSpeed(100e9, 0.0, "test"))
    report = program.analyze_collectives(CollectiveOptions(machine=machine))
    known = [row for row in report.rows if row.exposed_seconds is not None]
    assert len(known) == len(report.rows)
    rows = tuple(
        replace(row, exposed_seconds=None) if number % 2 else row
        for number, row in enumerate(report.rows)
    )
    folded = select_rows(choose_row_columns(rows), rows, Query(is_folded=True)).rows
    selected = [row for row in folded if isinstance(row, CollectiveRow)]
    assert len(selected) == len(folded)
    times = [row.transfer_seconds or 0.0 for row in selected]
    assert times == sorted(times, reverse=True)
    assert times[0] >= max(row.transfer_seconds or 0.0 for row in rows)  # two are one
    counted = [row for row in selected if row.exposed_seconds is not None]
    assert sum(row.count for row in counted) == (len(rows) + 1) // 2


def test_unknown_exposure_leaves_transfers_exact() -> None:
    """In overlap_share.txt nobody knows how long one of six is exposed."""
    program = load(ROOT / "testdata" / "collectives" / "overlap_share.txt").program
    machine = Machine(link=LinkSpeed(100e9, 0.0, "test"))
    totals = program.analyze_collectives(CollectiveOptions(machine=machine)).totals
    assert (totals.is_transfer_lower_bound, totals.is_seconds_lower_bound) == (False, True)


def test_no_chip_stands_for_cpu() -> None:
    text = many(8, "[4,2]<=[8]").replace("operation_queue_id", "outer_dimension_partitions")
    report = analyze(text)
    assert (report.rows[0].exposed_share, report.totals.reference_chip) == (None, None)


def test_a_chip_is_for_programs_of_its_backend(tmp_path: Path) -> None:
    h100 = find_machine("h100")
    assert h100 is not None
    assert fit_machine(h100, "gpu") == fit_machine(h100, None) == h100
    assert fit_machine(h100, "tpu") is None
    with pytest.raises(UsageError, match=r"this program is for TPU; h100 is a chip for GPU\."):
        fit_machine(replace(h100, must_fit=True), "tpu")
    given = find_machine("h100", 1e9)
    assert given is not None
    left = fit_machine(add_nodes(given, 4) or given, "tpu")
    assert left == Machine(link=given.link, devices_per_node=4)
    path = tmp_path / "chips.toml"
    path.write_text("[x]\nhbm_bytes = 1\nhbm_bytes_per_second = 1\nflops_per_second = 1\n")
    own = find_machine("x", 1e9, chip_file=str(path))
    assert own is not None
    assert fit_machine(own, "tpu") == own
