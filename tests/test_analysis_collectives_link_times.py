"""Estimates of time: bandwidth and latency as given, by chip, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from collective_cases import ROOT, analyze

from hlotool import load
from hlotool.analysis.collectives.overlap.link_times import LinkSpeed, find_link_speed
from hlotool.analysis.collectives.overlap.machine import Machine, find_machine
from hlotool.analysis.collectives.report import CollectiveOptions
from hlotool.errors import UsageError
from hlotool.fields.quantity import parse_bandwidth, parse_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("450GB/s", 450e9),
        ("450 GB/s", 450e9),
        ("90e9B", 90e9),
        ("1.5TB/s", 1.5e12),
        ("45GiB/s", 45 * 2**30),
        ("45KiB", 45 * 2**10),
        ("12B", 12),
        ("100GBps", 100e9),
        ("45kiB/s", 45 * 2**10),
        ("0.5PB/s", 5e14),
    ],
)
def test_bandwidths(text: str, expected: float) -> None:
    assert parse_bandwidth(text, "--bandwidth") == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "fast", "0", "-1GB/s", "1Gb/s", "1GB/h", "0GB/s", "∞", "450", "90e9"]
)
def test_bandwidths_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--bandwidth"):
        parse_bandwidth(text, "--bandwidth")


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


def test_chips_and_what_overrides_them() -> None:
    h100 = find_link_speed("h100", None, None)
    assert h100 is not None
    assert (h100.bytes_per_second, h100.latency_seconds, h100.is_within_node) == (450e9, 5e-6, True)
    slower = find_link_speed("h100", 50e9, None)
    assert slower is not None
    assert (slower.bytes_per_second, slower.latency_seconds) == (50e9, 5e-6)
    assert not slower.is_within_node
    patient = find_link_speed("v5p", None, 1e-3)
    assert patient is not None
    assert (patient.bytes_per_second, patient.latency_seconds) == (180e9, 1e-3)
    plain = find_link_speed(None, 1e9, None)
    assert plain is not None
    assert plain.latency_seconds == 0
    assert find_link_speed(None, None, None) is None


def test_a_chip_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "chips.toml"
    path.write_text("[h100]\nlink_bytes_per_second = 1e9\nlink_latency_seconds = 0.5\n")
    found = find_link_speed("h100", None, None, str(path))
    assert found is not None
    assert (found.bytes_per_second, found.latency_seconds) == (1e9, 0.5)


def test_a_chip_of_two_devices() -> None:
    """TPU7x moves 1,200 GB/s both ways on 3 axes: 200 GB/s sent on one, by 2 devices of a chip.

    The largest collective of a dump for it scatters a gradient over 4 devices.
    """
    link = find_link_speed("tpu7x", None, None)
    assert link is not None
    assert link.bytes_per_second == 1200e9 / 3 / 2 / 2
    program = load(str(ROOT / "testdata/packed/tpu7x/fsdp_train")).program
    options = CollectiveOptions(machine=Machine(link=link))
    rows = program.analyze_collectives(options).rows
    largest = max(rows, key=lambda row: row.wire_bytes or 0)
    wire_bytes = 1536 * 1280 * 4 * 3 // 4  # f32[1536,1280] over 4
    assert (largest.kind, largest.wire_bytes) == ("reduce-scatter", wire_bytes)
    assert largest.transfer_seconds == pytest.approx(wire_bytes / 100e9 + 1e-6)


def test_what_does_not_go_together(tmp_path: Path) -> None:
    path = tmp_path / "chips.toml"
    path.write_text("[x]\nhbm_bytes = 1\nhbm_bytes_per_second = 1\nflops_per_second = 1\n")
    with pytest.raises(UsageError, match="link speed of 'x' is unknown"):
        find_link_speed("x", None, None, str(path))
    with pytest.raises(UsageError, match="need --chip or --bandwidth"):
        find_link_speed(None, None, 5e-6)
    with pytest.raises(UsageError, match="there is no chip 'h999'"):
        find_link_speed("h999", None, None)


def test_estimates() -> None:
    """Wire bytes over bandwidth, latency once for each execution; nothing moved takes no time."""
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
    assert {row.span for row in within if row.transfer_seconds is None} == {"cross"}
    assert {row.span for row in within if row.transfer_seconds is not None} == {"node"}
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
