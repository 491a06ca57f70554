"""What Shardy says of arrays: its attributes in HLO, and the signature of a program in MLIR.

Of MLIR nothing but `sdy` is read: meshes, and the shardings of arguments and results. Follows
shardy/dialect/sdy/ir (`sdy.mesh`, `#sdy.sharding`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hlotool.hlo.groups import AxisRef, Mesh, MeshAxis, Sharding

# Compiled by `re` when they are first met: most texts have nothing of Shardy.
_MESH: Final = (
    r'(?<![\w.$-])@?(?:"(?P<quoted>[^"]*)"|(?P<name>[\w.$-]+))\s*=\s*(?:#sdy\.mesh)?'
    r"<\[(?P<axes>[^\]<]*)\](?:,\s*device_ids\s*=\s*\[(?P<ids>[\d,\s]*)\])?>"
)
_AXIS_SIZE: Final = r'"([^"]*)"\s*=\s*([1-9]\d{0,8})'
_SHARDING: Final = (
    r'<@(?:"(?P<quoted>[^"]*)"|(?P<name>[\w.$-]+)),\s*\[(?P<dims>[^\]<]*)\](?P<more>(?:,[^<>]*)?)>'
)
_DIM: Final = r"\{([^{}]*)\}"
_AXIS: Final = r'"([^"]*)"(?::\((\d{1,9})\)(\d{1,9}))?'
_MORE: Final = r"(replicated|unreduced|manual)\s*=\s*\{([^{}]*)\}"
_MOST_DIGITS: Final = 9


def find_meshes(text: str) -> dict[str, Mesh]:
    """Return the meshes that a text of Shardy declares, by name.

    mesh = name "=" ["#sdy.mesh"] "<[" axis { "," axis } "]" [ ", device_ids=[" ids "]" ] ">"
    axis = '"' name '"' "=" size
    """
    found: dict[str, Mesh] = {}
    if "<[" not in text:
        return found
    for match in re.finditer(_MESH, text):
        axes = tuple(
            MeshAxis(name, int(size)) for name, size in re.findall(_AXIS_SIZE, match["axes"])
        )
        listed = (match["ids"] or "").replace(" ", "").split(",")
        ids = tuple(int(one) for one in listed if one and len(one) <= _MOST_DIGITS)
        found[match["quoted"] or match["name"]] = Mesh(axes, ids or None)
    return found


def find_sdy_shardings(text: str, meshes: Mapping[str, Mesh]) -> list[Sharding]:
    """Return the shardings in an attribute's value, in order; () where a mesh is unknown.

    sharding = "<@" mesh ", [" dim { "," dim } "]" { ", " word "={" axes "}" } ">"
    dim      = "{" [ axis { "," axis } ] [ "," ] [ "?" ] "}" [ "p" integer ]
    axis     = '"' name '"' [ ":(" integer ")" integer ]
    """
    found = []
    for match in re.finditer(_SHARDING, text):
        mesh = meshes.get(match["quoted"] or match["name"])
        if mesh is None:
            return []
        dims = re.findall(_DIM, match["dims"])
        more = {f"{word}_axes": _read_axes(axes) for word, axes in re.findall(_MORE, match["more"])}
        found.append(
            Sharding(
                "named",
                match[0],
                mesh=mesh,
                dim_axes=tuple(map(_read_axes, dims)),
                open_dims=tuple(at for at, dim in enumerate(dims) if "?" in dim),
                replicated_axes=more.get("replicated_axes", ()),
                unreduced_axes=more.get("unreduced_axes", ()),
                manual_axes=more.get("manual_axes", ()),
            )
        )
    return found


def _read_axes(text: str) -> tuple[AxisRef, ...]:
    return tuple(
        AxisRef(name, int(before or 1), int(size or 0))
        for name, before, size in re.findall(_AXIS, text)
    )


_MAIN: Final = "func.func public @main("
_ARGUMENT: Final = r"%arg\d+: "
_TENSOR: Final = r"tensor<((?:\d{1,18}x)*)[a-z]"
_SHARDED: Final = r"sdy\.sharding = (#sdy\.sharding<@[^<>]*>)"
_LOCATION: Final = r'loc\("((?:[^"\\]|\\.)*)"'
_RESULT_NAME: Final = r'jax\.result_info = "((?:[^"\\]|\\.)*)"'


class MlirArray(Struct, frozen=True):
    """An argument or a result: its name, sizes, and sharding, as far as the text has them."""

    name: str | None
    dims: tuple[int, ...] | None
    sharding: Sharding | None


class MlirProgram(Struct, frozen=True):
    """The arguments and the results of a program, none where the text has no such signature."""

    meshes: Mapping[str, Mesh]
    arguments: tuple[MlirArray, ...] = ()
    results: tuple[MlirArray, ...] = ()


def scan_mlir(text: str) -> MlirProgram:
    """Return what a program in MLIR says of its arrays.

    main  = "func.func public @main(" { "%argN: " array } ") -> (" { array } ") {"
    array = "tensor<" { size "x" } dtype ">" [ "{" attributes "}" ] [ "loc(" string ")" ]

    Attributes are `sdy.sharding = #sdy.sharding<…>` and `jax.result_info = "name"`.
    """
    meshes = find_meshes(text)
    begin = text.find(_MAIN)
    if begin < 0:
        return MlirProgram(meshes)
    end = text.find("\n", begin)
    before, _, after = text[begin : end if end >= 0 else len(text)].rpartition(") -> ")
    arguments = re.split(_ARGUMENT, before)[1:]
    results = [f"tensor<{each}" for each in after.split("tensor<")[1:]]
    return MlirProgram(
        meshes,
        tuple(_read_array(each, _LOCATION, meshes) for each in arguments),
        tuple(_read_array(each, _RESULT_NAME, meshes) for each in results),
    )


def _read_array(text: str, name: str, meshes: Mapping[str, Mesh]) -> MlirArray:
    tensor, sharded, named = (
        re.match(_TENSOR, text),
        re.search(_SHARDED, text),
        re.search(name, text),
    )
    shardings = find_sdy_shardings(sharded[1], meshes) if sharded else []
    return MlirArray(
        named[1] if named else None,
        tuple(int(size) for size in tensor[1].split("x") if size) if tensor else None,
        shardings[0] if shardings else None,
    )
