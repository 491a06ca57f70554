"""Bytes sent: rings of 1 to 16 devices are played through, and what each sends is counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from hlotool.analysis.collectives.groups import DeviceGroups
from hlotool.analysis.collectives.transfers import sent_share

CHUNK = 7  # bytes of each of the n parts of an array


@dataclass
class Ring:
    """Devices that send chunks to the next one; `sent` counts bytes by sender."""

    size: int
    sent: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sent = [0] * self.size

    def send(self, device: int, chunks: int = 1) -> None:
        self.sent[device] += chunks * CHUNK

    def mean(self) -> Fraction:
        return Fraction(sum(self.sent), self.size)


def play_reduce_scatter(ring: Ring) -> None:
    """Each chunk goes once around, gathering what every device adds to it."""
    n = ring.size
    held = [[{device} for _ in range(n)] for device in range(n)]
    for step in range(n - 1):
        moving = []
        for device in range(n):
            chunk = (device - step) % n
            moving.append((device, chunk, held[device][chunk]))
            ring.send(device)
        for device, chunk, parts in moving:
            held[(device + 1) % n][chunk] = held[(device + 1) % n][chunk] | parts
    everybody = set(range(n))
    assert all(held[device][(device + 1) % n] == everybody for device in range(n))


def play_all_gather(ring: Ring) -> None:
    """Each device passes on what it received last, until everybody has every chunk."""
    n = ring.size
    held = [{device} for device in range(n)]
    newest = list(range(n))
    for _ in range(n - 1):
        for device in range(n):
            ring.send(device)
        newest = [newest[device - 1] for device in range(n)]
        for device in range(n):
            held[device].add(newest[device])
    assert all(chunks == set(range(n)) for chunks in held)


def play_all_reduce(ring: Ring) -> None:
    """Scatter the sum, then gather it."""
    play_reduce_scatter(ring)
    play_all_gather(ring)


def play_all_to_all(ring: Ring) -> None:
    """Every device has a chunk for each, and keeps its own; step k goes k devices on."""
    n = ring.size
    got: list[set[int]] = [{device} for device in range(n)]
    for step in range(1, n):
        for device in range(n):
            ring.send(device)
            got[(device + step) % n].add(device)
    assert all(senders == set(range(n)) for senders in got)


def play_broadcast(ring: Ring) -> None:
    """Pass the array on chunk by chunk, from the first device down the line."""
    n = ring.size
    has = [set(range(n))] + [set() for _ in range(n - 1)]
    for device in range(n - 1):
        for chunk in range(n):
            ring.send(device)
            has[device + 1].add(chunk)
    assert all(chunks == set(range(n)) for chunks in has)


def play_reduce(ring: Ring) -> None:
    """Pass the array down the line to the last device, each adding its own."""
    n = ring.size
    total = {0}
    for device in range(n - 1):
        ring.send(device, n)
        total.add(device + 1)
    assert total == set(range(n))


GAMES: dict[str, Callable[[Ring], None]] = {
    "all-gather": play_all_gather,
    "all-reduce": play_all_reduce,
    "all-to-all": play_all_to_all,
    "collective-broadcast": play_broadcast,
    "collective-reduce": play_reduce,
    "reduce-scatter": play_reduce_scatter,
}


@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.parametrize("size", range(1, 17))
def test_a_ring_sends_what_the_formula_says(kind: str, size: int) -> None:
    ring = Ring(size)
    GAMES[kind](ring)
    message = size * CHUNK
    share = sent_share(kind, DeviceGroups("flattened_id", group_size=size))
    assert share is not None
    assert message * Fraction(*share) == ring.mean()


@pytest.mark.parametrize("size", range(1, 17))
def test_permutes_send_from_those_with_another_target(size: int) -> None:
    """A shift by every distance, wrapped and not; a shift by 0 is self-sends alone."""
    for distance in range(size):
        for is_wrapped in (True, False):
            pairs = tuple(
                (device, (device + distance) % size)
                for device in range(size)
                if is_wrapped or device + distance < size
            )
            ring = Ring(size)
            for source, target in pairs:
                if source != target:
                    ring.send(source, size)
            named = {device for pair in pairs for device in pair}
            groups = DeviceGroups("flattened_id", pairs=pairs, has_pairs=True)
            share = sent_share("collective-permute", groups)
            assert share is not None
            assert size * CHUNK * Fraction(*share) == Fraction(sum(ring.sent), len(named))


def test_what_depends_on_data_is_bounded() -> None:
    """A ragged exchange sends at most its operand, and nothing where there is nobody else."""
    assert sent_share("ragged-all-to-all", DeviceGroups("cross_partition", group_size=4)) == (1, 1)
    assert sent_share("ragged-all-to-all", DeviceGroups("cross_partition", group_size=1)) == (0, 1)
    assert sent_share("send", DeviceGroups("cross_partition")) == (1, 1)


def test_nothing_is_made_up() -> None:
    """No pairs, or a kind nobody knows: the share is not known."""
    nobody = DeviceGroups("cross_partition", has_pairs=True)
    assert sent_share("collective-permute", nobody) is None
    assert sent_share("collective-teleport", DeviceGroups("flattened_id", group_size=4)) is None
    assert sent_share("all-reduce", DeviceGroups("flattened_id")) is None
