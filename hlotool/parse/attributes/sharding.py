"""Shardings, in every version of their notation.

Sources: xla/hlo/ir/hlo_sharding.cc, named_sharding.cc and hlo_parser.cc (ParseSingleSharding).
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from hlotool.ir.groups import AxisRef, Iota, Sharding
from hlotool.parse.attributes.replica_groups import (
    parse_axes,
    parse_counts,
    parse_iota_source,
    parse_mesh,
)
from hlotool.parse.scanner import Scanner

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
