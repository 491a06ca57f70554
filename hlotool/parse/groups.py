"""Replica groups, meshes and shardings, in every version of their notation.

Sources: xla/hlo/ir/replica_group.cc, mesh_and_axis.cc, named_sharding.cc and
hlo_parser.cc (ParseCollectiveDeviceList, ParseSingleSharding).
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from hlotool.ir.groups import AxisRef, Groups, Iota, Mesh, MeshAxis, ReplicaGroups, Sharding
from hlotool.parse.scanner import Scanner
from hlotool.parse.strings import unquote

_AXIS_NAME = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_][\w.\-]*")
_WORD = re.compile(r"[a-z_]+")
_PLAIN_KINDS = frozenset(("replicated", "manual", "unknown", "unreduced"))


def parse_replica_groups(scanner: Scanner) -> ReplicaGroups:
    """Read the value of `replica_groups=`.

    groups = "{" [ group { "," group } ] "}"                      (V1; {} means everybody)
           | iota                                                 (V2, two-dimensional)
           | mesh "{" [ axis { "," axis } ] "}"                   (V3)
    group  = "{" [ integer { "," integer } ] "}"
    """
    scanner.skip_blanks()
    start = scanner.pos
    if scanner.peek() == "{":
        return ReplicaGroups(listed=_parse_listed(scanner))
    if scanner.peek() == "[":
        iota = parse_iota(scanner)
        if len(iota.dims) != 2:  # noqa: PLR2004 (groups and their size)
            scanner.fail("expected two dimensions, groups and their size", start, scanner.pos)
        return ReplicaGroups(iota=iota)
    if not scanner.accept_token("mesh"):
        scanner.fail_expected("replica groups: '{', '[' or 'mesh['")
    mesh = parse_mesh(scanner)
    groups = ReplicaGroups(mesh=mesh, grouped_axes=_parse_axes(scanner))
    _check(scanner, groups, start)
    return groups


def _check(scanner: Scanner, groups: ReplicaGroups, start: int) -> None:
    """Refuse a notation that contradicts itself, at its place."""
    try:
        groups.expand()
    except ValueError as error:
        scanner.fail(str(error), start, scanner.pos)


def _parse_listed(scanner: Scanner) -> Groups:
    scanner.expect("{", "before the groups")
    groups: list[tuple[int, ...]] = []
    if not scanner.accept_token("}"):
        while True:
            groups.append(parse_integers(scanner))
            if not scanner.accept_token(","):
                break
        scanner.expect("}", "or ',' after a group")
    return tuple(groups)


def parse_integers(scanner: Scanner, opener: str = "{", closer: str = "}") -> tuple[int, ...]:
    """Read `{1,2,3}` or the same in other brackets."""
    scanner.expect(opener, "before the numbers")
    numbers: list[int] = []
    if not scanner.accept_token(closer):
        numbers.append(scanner.expect_integer("a number"))
        while scanner.accept_token(","):
            numbers.append(scanner.expect_integer("a number"))
        scanner.expect(closer, "or ',' after a number")
    return tuple(numbers)


def parse_iota(scanner: Scanner) -> Iota:
    """Read `[dims]<=[reshape]T(perm)`.

    iota = "[" integers "]" "<=" "[" integers "]" [ "T(" integers ")" ]
    """
    start = scanner.pos
    dims = parse_integers(scanner, "[", "]")
    scanner.expect("<=", "after the dimensions")
    reshape = parse_integers(scanner, "[", "]")
    perm = parse_integers(scanner, "(", ")") if scanner.accept_token("T") else ()
    iota = Iota(dims, reshape, perm)
    _check_iota(scanner, iota, start)
    return iota


def _check_iota(scanner: Scanner, iota: Iota, start: int) -> None:
    if min((*iota.dims, *iota.reshape), default=1) < 0 or prod(iota.dims) != prod(iota.reshape):
        scanner.fail("both sides of '<=' must hold the same devices", start, scanner.pos)
    if iota.perm and sorted(iota.perm) != list(range(len(iota.reshape))):
        scanner.fail("T(…) must name every dimension once", start, scanner.pos)


def parse_mesh(scanner: Scanner) -> Mesh:
    """Read a mesh behind the word `mesh`.

    mesh    = "[" [ name "=" integer { "," name "=" integer } ] "]" [ "," devices ]
    devices = "device_ids=(" ( integers | "[" dims "]" [ "T(" integers ")" ] ) ")"
    """
    scanner.expect("[", "before the mesh axes")
    axes: list[MeshAxis] = []
    while not scanner.accept_token("]"):
        name = unquote(scanner.expect_match(_AXIS_NAME, "an axis name"))
        scanner.expect("=", "after the axis name")
        axes.append(MeshAxis(name, scanner.expect_integer("the size of the axis")))
        if not scanner.accept_token(","):
            scanner.expect("]", "or ',' after an axis")
            break
    before = scanner.pos
    if scanner.accept_token(",") and scanner.accept_token("device_ids="):
        return Mesh(tuple(axes), _parse_device_ids(scanner))
    scanner.pos = before
    return Mesh(tuple(axes))


def _parse_device_ids(scanner: Scanner) -> Iota | tuple[int, ...]:
    """Read `(3,2,1,0)` or `([2,4]T(1,0))`, the transposed arange of that shape."""
    start = scanner.pos
    scanner.expect("(", "before the device ids")
    scanner.skip_blanks()
    if scanner.peek() != "[":
        scanner.pos = start
        return parse_integers(scanner, "(", ")")
    reshape = parse_integers(scanner, "[", "]")
    perm = parse_integers(scanner, "(", ")") if scanner.accept_token("T") else ()
    scanner.expect(")", "after the device ids")
    iota = Iota((prod(reshape),), reshape, perm)
    _check_iota(scanner, iota, start)
    return iota


def _parse_axes(scanner: Scanner) -> tuple[AxisRef, ...]:
    """Read `{'a', 'b':(1)2}`."""
    return parse_axis_list(scanner)[0]


def parse_axis_list(scanner: Scanner) -> tuple[tuple[AxisRef, ...], bool]:
    """Read a list of axes and whether it is open (ends in `?`).

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
            name = unquote(scanner.expect_match(_AXIS_NAME, "an axis name"))
            if scanner.accept(":"):
                pre_size = parse_integers(scanner, "(", ")")
                axes.append(AxisRef(name, pre_size[0], scanner.expect_integer("a sub-axis size")))
            else:
                axes.append(AxisRef(name))
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after an axis")
            break
    return tuple(axes), is_open


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
        return Sharding("maximal", "", device=scanner.expect_integer("a device"))
    if word == "maximal_mesh":
        scanner.expect("[device_id=", "after 'maximal_mesh'")
        return Sharding("maximal", "", device=scanner.expect_integer("a device"))
    if word not in _PLAIN_KINDS:
        scanner.pos -= len(word)
        scanner.fail_expected("a sharding")
    return Sharding(word, "")


def _parse_tiled(scanner: Scanner) -> Sharding:
    scanner.expect("=", "after 'devices'")
    start = scanner.pos
    tile_dims = parse_integers(scanner, "[", "]")
    devices: Iota | tuple[int, ...]
    if scanner.accept_token("<="):
        reshape = parse_integers(scanner, "[", "]")
        perm = parse_integers(scanner, "(", ")") if scanner.accept_token("T") else ()
        devices = Iota(tile_dims, reshape, perm)
        _check_iota(scanner, devices, start)
    else:
        numbers = [scanner.expect_integer("a device")]
        while scanner.accept_token(","):
            numbers.append(scanner.expect_integer("a device"))
        devices = tuple(numbers)
    last: tuple[str, ...] = ()
    if scanner.accept_token("last_tile_dim_replicate"):
        last = ("replicated",)
    elif scanner.accept_token("last_tile_dims="):
        scanner.skip_blanks()
        names = scanner.skip_group("last_tile_dims") if scanner.peek() == "{" else ""
        last = tuple(name.strip() for name in names.split(",") if name.strip())
    return Sharding("tiled", "", tile_dims=tile_dims, devices=devices, last_tile_dims=last)


def _parse_named(scanner: Scanner) -> Sharding:
    """Read a named sharding behind the word `mesh`.

    named = mesh "," ( "replicated" | "manual" | "unreduced"
                     | "[" [ axes { "," axes } ] "]" { "," extra "=" axes } )
    """
    mesh = parse_mesh(scanner)
    scanner.expect(",", "after the mesh")
    scanner.skip_blanks()
    if scanner.peek() != "[":
        kind = scanner.expect_match(_WORD, "dimension shardings")
        return Sharding(kind, "", mesh=mesh)
    scanner.expect("[", "before the dimension shardings")
    dims: list[tuple[AxisRef, ...]] = []
    open_dims: list[int] = []
    while not scanner.accept_token("]"):
        axes, is_open = parse_axis_list(scanner)
        if is_open:
            open_dims.append(len(dims))
        dims.append(axes)
        if not scanner.accept_token(","):
            scanner.expect("]", "or ',' after a dimension's axes")
            break
    extras: dict[str, tuple[AxisRef, ...]] = {}
    while scanner.accept_token(","):
        key = scanner.expect_match(_WORD, "replicated, unreduced, manual or metadata")
        scanner.expect("=", f"after {key!r}")
        if key not in {"replicated", "unreduced", "manual"}:
            break
        extras[key] = parse_axis_list(scanner)[0]
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
