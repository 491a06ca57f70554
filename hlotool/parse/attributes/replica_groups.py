"""Replica groups and meshes, in every version of their notation.

Sources: xla/hlo/ir/replica_group.cc, mesh_and_axis.cc and hlo_parser.cc
(ParseCollectiveDeviceList).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hlotool.ir.groups import (
    AxisRef,
    Groups,
    Iota,
    Mesh,
    MeshAxis,
    ReplicaGroups,
    count_devices,
)
from hlotool.parse.scanner import Scanner
from hlotool.parse.strings import unquote

_AXIS_NAME = re.compile(r"'[^']*+'|\"[^\"]*+\"|[A-Za-z_][A-Za-z0-9_.\-]*+")


def parse_replica_groups(scanner: Scanner) -> ReplicaGroups:
    """Read the value of `replica_groups=`.

    groups = "{" [ group { "," group } ] "}"                      (V1; {} means everybody)
           | iota                                                 (V2, two-dimensional)
           | mesh "{" [ axis { "," axis } ] "}"                   (V3)
    group  = "{" [ integer { "," integer } ] "}"
    """
    scanner.skip_blanks()
    start = scanner.pos
    if scanner.starts_with("{"):
        return ReplicaGroups(listed=_parse_listed(scanner))
    if scanner.starts_with("["):
        iota = _parse_iota(scanner)
        if len(iota.dims) != 2:  # noqa: PLR2004 (groups and their size)
            scanner.fail("expected two dimensions, groups and their size", start, scanner.pos)
        return ReplicaGroups(iota=iota)
    if not scanner.accept("mesh"):
        scanner.fail_expected("replica groups: '{', '[' or 'mesh['")
    groups = ReplicaGroups(mesh=parse_mesh(scanner), grouped_axes=parse_axes(scanner)[0])
    check_devices(scanner, groups.check_mesh, start)
    return groups


def check_devices(scanner: Scanner, check: Callable[[], None], start: int) -> None:
    """Refuse a notation that contradicts itself, at its place."""
    try:
        check()
    except ValueError as error:
        scanner.fail(str(error), start, scanner.pos)


def _parse_listed(scanner: Scanner) -> Groups:
    scanner.expect("{", "before the groups")
    groups: list[tuple[int, ...]] = []
    while not scanner.accept_token("}"):
        groups.append(parse_counts(scanner, "{", "}"))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after a group")
            break
    return tuple(groups)


def parse_counts(scanner: Scanner, opener: str, closer: str) -> tuple[int, ...]:
    """Read numbers of devices or dimensions in brackets: `{1,2,3}`, `[2,4]`, `(1,0)`."""
    scanner.expect(opener, "before the numbers")
    numbers: list[int] = []
    while not scanner.accept_token(closer):
        numbers.append(scanner.expect_count("a number"))
        if not scanner.accept_token(","):
            scanner.expect(closer, "or ',' after a number")
            break
    return tuple(numbers)


def _parse_iota(scanner: Scanner) -> Iota:
    """Read `[dims]<=[reshape]T(perm)`.

    iota = "[" integers "]" "<=" "[" integers "]" [ "T(" integers ")" ]
    """
    start = scanner.pos
    dims = parse_counts(scanner, "[", "]")
    scanner.expect("<=", "after the dimensions")
    return parse_iota_source(scanner, dims, start)


def parse_iota_source(scanner: Scanner, dims: tuple[int, ...], start: int) -> Iota:
    """Read what stands behind the `<=` of an iota list that begins at `start`."""
    reshape = parse_counts(scanner, "[", "]")
    perm = parse_counts(scanner, "(", ")") if scanner.accept_token("T") else ()
    iota = Iota(dims, reshape, perm)
    check_devices(scanner, iota.check, start)
    return iota


def parse_mesh(scanner: Scanner) -> Mesh:
    """Read a mesh behind the word `mesh`.

    mesh    = "[" [ name "=" integer { "," name "=" integer } ] "]" [ "," devices ]
    devices = "device_ids=(" ( integers | "[" dims "]" [ "T(" integers ")" ] ) ")"
    """
    start = scanner.pos
    scanner.expect("[", "before the mesh axes")
    axes: dict[str, MeshAxis] = {}
    while not scanner.accept_token("]"):
        name = unquote(scanner.expect_match(_AXIS_NAME, "an axis name"))
        if name in axes:
            scanner.fail(f"the mesh has two axes {name!r}", start, scanner.pos)
        scanner.expect("=", "after the axis name")
        axes[name] = MeshAxis(name, scanner.expect_count("the size of the axis"))
        if not scanner.accept_token(","):
            scanner.expect("]", "or ',' after an axis")
            break
    before = scanner.pos
    devices: Iota | tuple[int, ...] | None = None
    if scanner.accept_token(",") and scanner.accept_token("device_ids="):
        devices = _parse_device_ids(scanner)
    else:
        scanner.pos = before
    mesh = Mesh(tuple(axes.values()), devices)
    check_devices(scanner, mesh.check, start)
    return mesh


def _parse_device_ids(scanner: Scanner) -> Iota | tuple[int, ...]:
    """Read `(3,2,1,0)` or `([2,4]T(1,0))`, the transposed arange of that shape."""
    start = scanner.pos
    scanner.expect("(", "before the device ids")
    scanner.skip_blanks()
    if not scanner.starts_with("["):
        scanner.pos = start
        return parse_counts(scanner, "(", ")")
    reshape = parse_counts(scanner, "[", "]")
    perm = parse_counts(scanner, "(", ")") if scanner.accept_token("T") else ()
    scanner.expect(")", "after the device ids")
    check_devices(scanner, Iota(reshape, reshape, perm).check, start)
    return Iota((count_devices(reshape),), reshape, perm)


def parse_axes(scanner: Scanner) -> tuple[tuple[AxisRef, ...], bool]:
    """Read a list of axes `{'a', 'b':(1)2}` and whether it is open (ends in `?`).

    axes = "{" [ axis { "," axis } ] [ [","] "?" ] "}"
    axis = name [ ":(" integer ")" integer ]
    """
    scanner.expect("{", "before the axes")
    axes: list[AxisRef] = []
    is_open = False
    while not scanner.accept_token("}"):
        if scanner.accept_token("?"):
            is_open = True
        else:
            axes.append(_parse_axis(scanner))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after an axis")
            break
    return tuple(axes), is_open


def _parse_axis(scanner: Scanner) -> AxisRef:
    """Read an axis or a part of one, `'b':(1)2`."""
    name = unquote(scanner.expect_match(_AXIS_NAME, "an axis name"))
    if not scanner.accept(":"):
        return AxisRef(name)
    start = scanner.pos
    scanner.expect("(", "before the sizes of the sub-axis")
    pre_size = scanner.expect_count("the size before the sub-axis")
    scanner.expect(")", "after the size before the sub-axis")
    size = scanner.expect_count("a sub-axis size")
    if not pre_size or not size:
        scanner.fail("expected sizes of at least 1", start, scanner.pos)
    return AxisRef(name, pre_size, size)
