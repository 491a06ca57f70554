"""Groups: laws that hold whatever the devices are called and in which notation."""

from __future__ import annotations

import random
from math import prod

from collective_cases import analyze
from hypothesis import given, settings
from hypothesis import strategies as st

from hlotool.analysis.collectives.groups import DeviceGroups
from hlotool.analysis.collectives.mesh import AxisFinder, measure_span
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.hlo import Mesh, MeshAxis

MODULE = """\
HloModule groups, is_scheduled=true, num_partitions={devices}

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}}

ENTRY main {{
  x = f32[{elements}] parameter(0)
  ROOT one = f32[{elements}] {operation}
}}
"""
OPERATIONS = {
    "all-reduce": "all-reduce(x), channel_id=1, replica_groups={groups}, "
    "use_global_device_ids=true, to_apply=add",
    "all-to-all": "all-to-all(x), channel_id=1, replica_groups={groups}, dimensions={{0}}",
    "collective-broadcast": "collective-broadcast(x), channel_id=1, replica_groups={groups}",
    "collective-permute": "collective-permute(x), channel_id=1, source_target_pairs={groups}",
}


def row_of(kind: str, groups: list[list[int]], devices: int, elements: int) -> CollectiveRow:
    text = "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in groups) + "}"
    operation = OPERATIONS[kind].format(groups=text)
    module = MODULE.format(devices=devices, elements=elements, operation=operation)
    return analyze(module).rows[0]


def figures(row: CollectiveRow) -> tuple[object, ...]:
    return row.message_bytes, row.sent_bytes, row.group_size, row.group_count, row.pair_count


@settings(max_examples=60)
@given(
    st.sampled_from(["all-reduce", "all-to-all", "collective-broadcast"]),
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 1000),
    st.randoms(use_true_random=False),
)
def test_names_and_order_of_devices_change_no_bytes(
    kind: str, size: int, count: int, elements: int, chance: random.Random
) -> None:
    devices = list(range(size * count))
    groups = [devices[at : at + size] for at in range(0, len(devices), size)]
    plain = row_of(kind, groups, len(devices), elements)
    chance.shuffle(devices)
    renamed = [[devices[one] for one in group] for group in groups]
    for group in renamed:
        chance.shuffle(group)
    chance.shuffle(renamed)
    shuffled = row_of(kind, renamed, len(devices), elements)
    assert figures(plain) == figures(shuffled)
    assert plain.problem is None
    assert shuffled.problem is None


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(1, 1000), st.randoms(use_true_random=False))
def test_names_and_order_of_pairs_change_no_bytes(
    size: int, elements: int, chance: random.Random
) -> None:
    targets = list(range(size))
    chance.shuffle(targets)
    pairs = [[source, target] for source, target in enumerate(targets)]
    del pairs[chance.randint(1, size) :]
    plain = row_of("collective-permute", pairs, size, elements)
    names = list(range(size))
    chance.shuffle(names)
    renamed = [[names[source], names[target]] for source, target in pairs]
    chance.shuffle(renamed)
    shuffled = row_of("collective-permute", renamed, size, elements)
    assert figures(plain) == figures(shuffled)


MESHES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4).map(
    lambda sizes: Mesh(tuple(MeshAxis(f"axis{at}", size) for at, size in enumerate(sizes)))
)


@given(MESHES, st.data())
def test_axes_are_found_again(mesh: Mesh, data: st.DataObject) -> None:
    """Groups made along some axes are named by those axes, in whatever order they stand."""
    chosen = data.draw(st.sets(st.sampled_from(range(len(mesh.axes)))))
    groups: dict[tuple[int, ...], list[int]] = {}
    for device in range(prod(mesh.dims)):
        place, rest = [], device
        for size in reversed(mesh.dims):
            rest, along = divmod(rest, size)
            place.append(along)
        place.reverse()
        kept = tuple(along for at, along in enumerate(place) if at not in chosen)
        groups.setdefault(kept, []).append(device)
    shuffled = [data.draw(st.permutations(group)) for group in groups.values()]
    expected = tuple(mesh.axes[at].name for at in sorted(chosen) if mesh.axes[at].size > 1)
    assert AxisFinder(mesh).find_axes(shuffled) == expected


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_parts_of_an_axis_are_named(before: int, size: int, behind: int) -> None:
    """A sub-axis `a:(pre)size` is where XLA's mesh notation says it is."""
    total = before * size * behind
    mesh = Mesh((MeshAxis("a", total), MeshAxis("b", 2)))
    groups = [
        [((high * size + along) * behind + low) * 2 + other for along in range(size)]
        for high in range(before)
        for low in range(behind)
        for other in range(2)
    ]
    if size == 1:
        expected: tuple[str, ...] = ()
    else:
        expected = ("a",) if size == total else (f"a:({before}){size}",)
    assert AxisFinder(mesh).find_axes(groups) == expected


def test_groups_that_are_no_axes() -> None:
    """Diagonals, devices the mesh does not have, and groups of several kinds fit nothing."""
    finder = AxisFinder(Mesh((MeshAxis("a", 4), MeshAxis("b", 2))))
    assert finder.find_axes([[0, 3], [1, 2], [4, 7], [5, 6]]) is None
    assert finder.find_axes([[0, 1], [2, 4], [3, 5], [6, 7]]) is None
    assert finder.find_axes([[0, 8]]) is None
    assert finder.find_axes([[0, 0]]) is None
    assert finder.find_axes([[0, 2, 6]]) is None
    assert finder.find_pair_axes([(0, 9)]) is None
    assert finder.find_pair_axes([]) == ()


def test_span() -> None:
    """Nodes hold consecutive devices."""
    assert measure_span(((0, 1), (2, 3)), 2) == "intra-node"
    assert measure_span(((0, 1), (1, 2)), 2) == "inter-node"
    assert measure_span(((0, 7),), 8) == "intra-node"


def test_too_many_devices_are_not_listed() -> None:
    """A header may claim any number of devices; groups are then measured, not expanded."""
    huge = DeviceGroups("flattened_id", group_size=2, replica_count=2**40, num_partitions=2**40)
    assert huge.expand() is None
    text = MODULE.replace("num_partitions", "replica_count=1048576, num_partitions").format(
        devices=2**20,
        elements=8,
        operation="all-reduce(x), channel_id=1, use_global_device_ids=true, to_apply=add",
    )
    row = analyze(text).rows[0]
    assert (row.group_size, row.sent_bytes) == (2**40, 64)
