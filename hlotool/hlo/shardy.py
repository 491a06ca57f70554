"""What Shardy says of arrays: its attributes in HLO, and the signature of a program in MLIR.

Of MLIR nothing but `sdy` is read: meshes, the shardings of arguments, results and values, and what
asks for them. Follows shardy/dialect/sdy/ir (`sdy.mesh`, `#sdy.sharding`, `sdy.reshard`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hlotool.hlo.groups import AxisRef, Mesh, MeshAxis, Sharding
from hlotool.hlo.opcodes import ELEMENTWISE

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
        if (mesh := meshes.get(match["quoted"] or match["name"])) is None:
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


_MAIN: Final = r"func\.func (?:public )?@main\("
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

    main  = "func.func" ["public"] "@main(" { "%argN: " array } ") -> (" { array } ") {"
    array = "tensor<" { size "x" } dtype ">" [ "{" attributes "}" ] [ "loc(" string ")" ]

    Attributes are `sdy.sharding = #sdy.sharding<…>` and `jax.result_info = "name"`.
    """
    meshes = find_meshes(text)
    if (main := re.search(_MAIN, text)) is None:
        return MlirProgram(meshes)
    begin, end = main.start(), text.find("\n", main.start())
    before, _, after = text[begin : end if end >= 0 else len(text)].rpartition(") -> ")
    arguments = re.split(_ARGUMENT, before)[1:]
    results = [f"tensor<{each}" for each in after.split("tensor<")[1:]]
    return MlirProgram(
        meshes,
        tuple(_read_array(each, _LOCATION, meshes) for each in arguments),
        tuple(_read_array(each, _RESULT_NAME, meshes) for each in results),
    )


def _read_array(text: str, name: str, meshes: Mapping[str, Mesh]) -> MlirArray:
    tensor, sharded = re.match(_TENSOR, text), re.search(_SHARDED, text)
    named = re.search(name, text)
    shardings = find_sdy_shardings(sharded[1], meshes) if sharded else []
    return MlirArray(
        named[1] if named else None,
        tuple(int(size) for size in tensor[1].split("x") if size) if tensor else None,
        shardings[0] if shardings else None,
    )


_OPERATION: Final = r"\s*(?P<name>%\w+)(?::\d{1,6})? = (?P<opcode>[\w.]+)(?P<rest>.*)"
_VALUE: Final = r"%\w+(?:#\d{1,6})?"
_CARRIED: Final = rf"(%\w+) = ({_VALUE})"
_TYPES: Final = r"tensor<((?:\d{1,18}x)*)[a-z][^>]*>"
_ALIAS: Final = r"^(#\w+) = loc\((.*)\)$"
_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"(?!:\d)'
_LINE: Final = r'"((?:[^"\\]|\\.)*)":(\d{1,9})'
_MOST_LOCATIONS: Final = 16  # one in the other
_LONGEST_LOCATION: Final = 10_000


def write_propagated(text: str) -> str:
    """Write what a text of Shardy says of values as HLO: one computation of values with shardings.

    op = "%N" [":" count] "=" opcode … operands … { attributes } ":" types [ "loc(" location ")" ]

    Read are operands, sizes, `loc`, and `sdy.sharding` or what `sdy.reshard` and
    `sdy.sharding_constraint` ask for. What these two make is a `copy`; what a loop hands on is what
    it begins with. Types of elements are left out. '' where no value has a sharding.
    """
    writer = _Writer(text)
    for number, one in enumerate(scan_mlir(text).arguments):
        writer.add(f"%arg{number}", f"parameter({number})", one.dims, one.sharding, (one.name, ""))
    for match in re.finditer(_OPERATION, text):
        writer.add_operation(match["name"], match["opcode"], match["rest"])
    return writer.finish()


class _Writer:
    """Writes values as HLO, and keeps what each is called there."""

    def __init__(self, text: str) -> None:
        self._meshes = find_meshes(text)
        self._aliases = dict(re.findall(_ALIAS, text, re.MULTILINE))
        self._names: dict[str, str] = {}
        self._lines: list[str] = []
        self._is_told = False

    def add_operation(self, name: str, opcode: str, rest: str) -> None:
        """Add what an operation makes, of a loop each part of its state."""
        given, _, types = rest.partition(" : ")
        is_asked = opcode in {"sdy.reshard", "sdy.sharding_constraint"}
        said = find_sdy_shardings(rest, self._meshes)
        results = re.findall(_TYPES, types.rpartition("-> ")[2])
        dims = [tuple(int(size) for size in each.split("x") if size) for each in results]
        _, is_placed, location = rest.rpartition(" loc(")
        place = self._find_place(location) if is_placed else (None, "")
        carried = re.findall(_CARRIED, given) if opcode == "stablehlo.while" else []
        for at, (inside, outside) in enumerate(carried):
            sharding = said[at] if len(said) == len(carried) else None
            size = dims[at] if at < len(dims) else None
            key = name if len(carried) == 1 else f"{name}#{at}"
            self.add(key, self._write_call("custom-call", [outside]), size, sharding, place)
            self._names[inside] = self._names[key]
        if not carried:
            operands = re.findall(_VALUE, given.partition(" {")[0])
            call = self._write_call("copy" if is_asked else opcode, operands)
            sharding = said[0] if len(said) == 1 else None
            self.add(name, call, dims[0] if len(dims) == 1 else None, sharding, place)

    def _write_call(self, opcode: str, operands: list[str]) -> str:
        known = [self._names[one] for one in operands if one in self._names]
        opcode = opcode.removeprefix("stablehlo.").replace("_", "-")
        if opcode not in ELEMENTWISE | {"copy"} or opcode == "compare" or not known:
            return f'custom-call({", ".join(known)}), custom_call_target="{opcode}"'
        return f"{opcode}({', '.join(known)})"

    def add(
        self,
        key: str,
        call: str,
        dims: tuple[int, ...] | None,
        sharding: Sharding | None,
        place: tuple[str | None, str],
    ) -> None:
        """Add one value."""
        self._names[key] = name = f"v{len(self._lines)}"
        shape = "token[]" if dims is None else f"f32[{','.join(map(str, dims))}]"
        line = f"  %{name} = {shape} {call}"
        if sharding is not None and sharding.mesh is not None:
            self._is_told = True
            axes = ",".join(f"'{axis.name}'={axis.size}" for axis in sharding.mesh.axes)
            ids = sharding.mesh.device_ids
            listed = f", device_ids=({','.join(map(str, ids))})" if isinstance(ids, tuple) else ""
            dim = [", ".join(map(_quote, each)) for each in sharding.dim_axes]
            parts = ", ".join(f"{{{each}}}" for each in dim)
            line += f", sharding={{mesh[{axes}]{listed}, [{parts}]}}"
        op_name, source = place
        if op_name:
            line += f', metadata={{op_name="{op_name}"{source}}}'
        self._lines.append(line)

    def _find_place(self, location: str) -> tuple[str | None, str]:
        """Return the op_name in a location, and the line as metadata has it."""
        for _ in range(_MOST_LOCATIONS):
            location = re.sub(r"#\w+", lambda one: self._aliases.get(one[0], one[0]), location)
            location = location[:_LONGEST_LOCATION]
        name, line = re.search(_QUOTED, location), re.search(_LINE, location)
        source = f' source_file="{line[1]}" source_line={line[2]}' if line else ""
        return name[1] if name else None, source

    def finish(self) -> str:
        """Return the text of a module."""
        if not self._is_told:
            return ""
        *lines, last = self._lines
        body = "\n".join([*lines, last.replace("  %", "  ROOT %", 1)])
        return f"HloModule shardy\n\nENTRY %main {{\n{body}\n}}\n"


def _quote(axis: AxisRef) -> str:
    name, part = axis.name, str(axis)[len(axis.name) :]
    return f"'{name}'{part}"
