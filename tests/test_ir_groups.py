"""Device lists: the short notations against the plainest way of writing them out."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.hlo import AxisRef, Iota, Mesh, MeshAxis, ReplicaGroups
from hlotool.hlo.groups import transposed

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def transpose_plainly(sizes: list[int], perm: list[int]) -> list[int]:
    """Walk the transposed dimensions and compute each row-major number by hand."""
    numbers = []
    for place in product(*(range(sizes[axis]) for axis in perm)):
        coordinates = dict(zip(perm, place, strict=True))
        number = 0
        for axis, size in enumerate(sizes):
            number = number * size + coordinates[axis]
        numbers.append(number)
    return numbers


@st.composite
def sizes_and_permutation(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    sizes = draw(SIZES)
    return sizes, draw(st.permutations(range(len(sizes))))


@given(sizes_and_permutation())
def test_iota(case: tuple[list[int], list[int]]) -> None:
    sizes, perm = case
    iota = Iota((prod(sizes),), tuple(sizes), tuple(perm))
    assert list(iota.expand()) == transpose_plainly(sizes, perm)


@given(sizes_and_permutation(), st.data())
def test_mesh_groups(case: tuple[list[int], list[int]], data: st.DataObject) -> None:
    """Devices of one group differ in the grouped axes only, in the order these are named."""
    sizes, order = case
    grouped = order[: data.draw(st.integers(0, len(order)))]
    axes = tuple(MeshAxis(f"a{number}", size) for number, size in enumerate(sizes))
    refs = tuple(AxisRef(f"a{number}") for number in grouped)
    groups = ReplicaGroups(mesh=Mesh(axes), grouped_axes=refs).expand()
    kept = [number for number in range(len(sizes)) if number not in grouped]
    width = prod(sizes[number] for number in grouped)
    devices = transpose_plainly(sizes, kept + grouped)
    assert groups == tuple(
        tuple(devices[start : start + width]) for start in range(0, len(devices), width)
    )


@given(st.lists(st.integers(2, 4), min_size=1, max_size=5))
def test_sub_axes_are_axes_of_a_finer_mesh(parts: list[int]) -> None:
    """A mesh with one axis, cut in parts, groups as the mesh with these parts as axes."""
    starts = [prod(parts[number + 1 :]) for number in range(len(parts))]
    # `pre_size` counts from the other end: it is the product of what stands before the part.
    before = [prod(parts[:number]) for number in range(len(parts))]
    fine = Mesh(tuple(MeshAxis(f"p{number}", size) for number, size in enumerate(parts)))
    coarse = Mesh((MeshAxis("whole", prod(parts)),))
    for number, size in enumerate(parts):
        by_part = ReplicaGroups(mesh=fine, grouped_axes=(AxisRef(f"p{number}"),)).expand()
        by_sub_axis = ReplicaGroups(
            mesh=coarse, grouped_axes=(AxisRef("whole", before[number], size),)
        ).expand()
        assert by_part == by_sub_axis
        assert all(
            later - earlier == starts[number]
            for group in by_part
            for earlier, later in pairwise(group)
        )


@pytest.mark.parametrize(
    ("sizes", "perm", "words"),
    [
        ((2, 3), (0, 0), "must name every dimension once"),
        ((2, 3), (0,), "must name every dimension once"),
        ((2, 0), (0, 1), "at least 1"),
        ((1 << 30, 2), (0, 1), "must be a mistake"),
    ],
)
def test_contradictions(sizes: tuple[int, ...], perm: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        transposed(range(6), sizes, perm)


def test_too_few_devices() -> None:
    with pytest.raises(ValueError, match="5 devices do not fill"):
        transposed(range(5), (2, 3), ())
