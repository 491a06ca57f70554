"""Replica groups and meshes, in every version of their notation.

Sources: xla/hlo/ir/replica_group.cc, mesh_and_axis.cc and hlo_parser.cc
(ParseCollectiveDeviceList).

Shardings, in every version of their notation.

Sources: xla/hlo/ir/hlo_sharding.cc, named_sharding.cc and hlo_parser.cc (ParseSingleSharding).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from hlotool.hlo.groups import (
    AxisRef,
    Groups,
    Iota,
    Mesh,
    MeshAxis,
    ReplicaGroups,
    Sharding,
    count_devices,
)
from hlotool.hlo.scanner import Scanner, unquote

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


_WORD = re.compile(r"[a-z_]+")
_PLAIN_KINDS = frozenset(("replicated", "manual", "unknown", "unreduced"))


def parse_sharding(scanner: Scanner) -> Sharding:
    """Read the value of `sharding=`.

    sharding = "{" ( single | [ sharding { "," sharding } ] ) "}"
    single   = "replicated" | "manual" | "unknown" | "unreduced"
             | "maximal device=" integer | "devices=" "[" integers "]" ( iota rest | integers )
             | "mesh" mesh [ "," dimensions ] | "maximal_mesh[device_id=" integer "]"
    Extras behind a single (`last_tile_dim_replicate`, `last_tile_dims={…}`, `shard_as N`,
    `metadata=…`) are read or kept in `text`.
    """
    scanner.skip_blanks()
    start = scanner.pos
    scanner.enter("shardings")
    scanner.expect("{", "before a sharding")
    scanner.skip_blanks()
    if scanner.peek() in {"{", "}"}:
        sharding = _parse_tuple_sharding(scanner)
    else:
        sharding = _parse_single(scanner)
    scanner.pos = start
    text = scanner.skip_group("the sharding").strip()
    scanner.leave()
    return replace(sharding, text=text)


def _parse_tuple_sharding(scanner: Scanner) -> Sharding:
    elements: list[Sharding] = []
    if not scanner.accept_token("}"):
        elements.append(parse_sharding(scanner))
        while scanner.accept_token(","):
            elements.append(parse_sharding(scanner))
        scanner.expect("}", "or ',' after a sharding")
    return Sharding("tuple", "", elements=tuple(elements))


def _parse_single(scanner: Scanner) -> Sharding:
    word = scanner.expect_match(_WORD, "a sharding")
    if word == "devices":
        return _parse_tiled(scanner)
    if word == "mesh":
        return _parse_named(scanner)
    if word == "maximal":
        scanner.expect("device=", "after 'maximal'")
        return Sharding("maximal", "", device=scanner.expect_count("a device"))
    if word == "maximal_mesh":
        scanner.expect("[device_id=", "after 'maximal_mesh'")
        device = scanner.expect_count("a device")
        scanner.expect("]", "after the device")
        return Sharding("maximal", "", device=device)
    if word not in _PLAIN_KINDS:
        scanner.pos -= len(word)
        scanner.fail_expected("a sharding")
    return Sharding(word, "")


def _parse_tiled(scanner: Scanner) -> Sharding:
    scanner.expect("=", "after 'devices'")
    start = scanner.pos
    tile_dims = parse_counts(scanner, "[", "]")
    devices: Iota | tuple[int, ...]
    if scanner.accept_token("<="):
        devices = parse_iota_source(scanner, tile_dims, start)
    else:
        numbers = [scanner.expect_count("a device")]
        while scanner.accept_token(","):
            numbers.append(scanner.expect_count("a device"))
        devices = tuple(numbers)
    return Sharding(
        "tiled",
        "",
        tile_dims=tile_dims,
        devices=devices,
        last_tile_dims=_parse_last_tile_dims(scanner),
    )


def _parse_last_tile_dims(scanner: Scanner) -> tuple[str, ...]:
    """Read what the dimensions beyond the array's rank mean; () where nothing is said."""
    if scanner.accept_token("last_tile_dim_replicate"):
        return ("replicated",)
    names: list[str] = []
    if scanner.accept_token("last_tile_dims="):
        scanner.expect("{", "before the kinds of the last dimensions")
        while not scanner.accept_token("}"):
            names.append(scanner.expect_match(_WORD, "manual, replicated, unreduced or maximal"))
            scanner.accept_token(",")
    return tuple(names)


def _parse_named(scanner: Scanner) -> Sharding:
    """Read a named sharding behind the word `mesh`.

    named = mesh "," ( "replicated" | "manual" | "unreduced"
                     | "[" [ axes { "," axes } ] "]" { "," extra "=" axes } )
    """
    mesh = parse_mesh(scanner)
    scanner.expect(",", "after the mesh")
    if not scanner.accept_token("["):
        return Sharding(scanner.expect_match(_WORD, "dimension shardings"), "", mesh=mesh)
    dims: list[tuple[AxisRef, ...]] = []
    open_dims: list[int] = []
    while not scanner.accept_token("]"):
        axes, is_open = parse_axes(scanner)
        if is_open:
            open_dims.append(len(dims))
        dims.append(axes)
        if not scanner.accept_token(","):
            scanner.expect("]", "or ',' after a dimension's axes")
            break
    extras = _parse_extras(scanner)
    return Sharding(
        "named",
        "",
        mesh=mesh,
        dim_axes=tuple(dims),
        open_dims=tuple(open_dims),
        replicated_axes=extras.get("replicated", ()),
        unreduced_axes=extras.get("unreduced", ()),
        manual_axes=extras.get("manual", ()),
    )


def _parse_extras(scanner: Scanner) -> dict[str, tuple[AxisRef, ...]]:
    """Read `, replicated={'b'}, manual={'c'}` up to the end or to something else."""
    extras: dict[str, tuple[AxisRef, ...]] = {}
    while scanner.accept_token(","):
        key = scanner.expect_match(_WORD, "replicated, unreduced, manual or metadata")
        scanner.expect("=", f"after {key!r}")
        if key not in {"replicated", "unreduced", "manual"}:
            break
        extras[key] = parse_axes(scanner)[0]
    return extras
