"""Typed attribute values, each by the function that knows its notation.

Source: xla/hlo/parser/hlo_parser.cc; of device groups xla/hlo/ir/replica_group.cc,
mesh_and_axis.cc, hlo_sharding.cc and named_sharding.cc too. Every function takes a Scanner on one
value and raises ParseError where the notation breaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final

from msgspec.structs import replace

from hlotool.hlo import groups, values
from hlotool.hlo.groups import AxisRef, Iota, Mesh, ReplicaGroups, Sharding
from hlotool.hlo.scanner import STRING, Scanner, unquote

_KEY = re.compile(r"[a-z_]+")
_NUMBER = r"-?[0-9]{1,18}"
_SIZES = re.compile(rf"{_NUMBER}(?:x{_NUMBER})*+")
_PAD = rf"{_NUMBER}_{_NUMBER}(?:_[0-9]{{1,18}})?"
_PADS = re.compile(rf"{_PAD}(?:x{_PAD})*+")
_LABELS = re.compile(r"([0-9bf?]+)_([0-9io?]+)->([0-9bf?]+)")
_WINDOW_DEFAULTS = {"size": 1, "stride": 1, "lhs_dilate": 1, "rhs_dilate": 1, "rhs_reversal": 0}


def parse_integers(scanner: Scanner) -> tuple[int, ...]:
    """Read `{1,2,3}`."""
    parse = partial(Scanner.expect_integer, what="a number")
    return scanner.parse_list("{", "the numbers", parse, "}", "a number")


def parse_numbers(scanner: Scanner) -> tuple[int, ...]:
    """Read `{0,1}` or a bare `3`."""
    scanner.skip_blanks()
    if scanner.peek() == "{":
        return parse_integers(scanner)
    return (scanner.expect_integer("a number"),)


def parse_pairs(scanner: Scanner) -> tuple[tuple[int, int], ...]:
    """Read `{{0,1},{1,0}}`: source and target of each pair."""

    def parse_pair(scanner: Scanner) -> tuple[int, int]:
        start = scanner.pos
        pair = parse_integers(scanner)
        if len(pair) != 2:  # noqa: PLR2004 (source and target)
            scanner.fail("expected a pair {source,target}", start, scanner.pos)
        return pair[0], pair[1]

    return scanner.parse_list("{", "the pairs", parse_pair, "}", "a pair")


def parse_computation_names(scanner: Scanner) -> tuple[str, ...]:
    """Read a computation's name `%f`, or a list `{%f, %g}`."""
    return _parse_names(scanner, "a computation's name")


def parse_instruction_names(scanner: Scanner) -> tuple[str, ...]:
    """Read an instruction's name `%a`, or a list `{%a, %b}`."""
    return _parse_names(scanner, "an instruction's name")


def _parse_names(scanner: Scanner, what: str) -> tuple[str, ...]:
    if not scanner.accept_token("{"):
        return (scanner.expect_name(what),)
    parse = partial(Scanner.expect_name, what=what)
    return tuple(scanner.parse_items(parse, "}", "a name", may_trail=True))


def parse_window(scanner: Scanner) -> tuple[values.WindowDimension, ...]:
    """Read a window; parts left out have their default, all have the rank of `size`.

    window = "{" { key "=" ( sizes | pads ) } "}"
    sizes  = integer { "x" integer }      pads = low "_" high { "x" low "_" high }
    """
    start = scanner.pos
    scanner.expect("{", "before the window")
    parts: dict[str, list[int]] = {}
    pads: list[tuple[int, int]] = []
    while not scanner.accept_token("}"):
        key = scanner.expect_match(_KEY, "size, stride, pad, lhs_dilate, rhs_dilate or '}'")
        scanner.expect("=", f"after {key!r}")
        if key == "pad":
            text = scanner.expect_match(_PADS, "low_high for each dimension")
            pads = [(int(one.split("_")[0]), int(one.split("_")[1])) for one in text.split("x")]
        else:
            text = scanner.expect_match(_SIZES, "a number for each dimension")
            parts[key] = [int(one) for one in text.split("x")]
        scanner.accept_token(",")
    rank = max([len(pads), *map(len, parts.values())], default=0)
    filled = {key: parts.get(key, [value] * rank) for key, value in _WINDOW_DEFAULTS.items()}
    pads = pads or [(0, 0)] * rank
    if {len(pads), *map(len, filled.values())} != {rank}:
        scanner.fail("the window's parts differ in rank", start, scanner.pos)
    return tuple(
        values.WindowDimension(size, stride, low, high, lhs_dilate, rhs_dilate, bool(is_reversed))
        for (low, high), size, stride, lhs_dilate, rhs_dilate, is_reversed in zip(
            pads, *filled.values(), strict=True
        )
    )


def parse_dim_labels(scanner: Scanner) -> values.DimLabels:
    """Read `b01f_01io->b01f`; a digit is the number of a spatial dimension, `?` is unused."""
    start = scanner.pos
    scanner.skip_blanks()
    if (match := scanner.accept_match(_LABELS)) is None:
        scanner.fail_expected("dimension labels such as b01f_01io->b01f")
    lhs, rhs, output = match.groups()
    spatial = [str(number) for number in range(sum(map(str.isdigit, lhs)))]
    for labels, letters in ((lhs, "bf"), (rhs, "io"), (output, "bf")):
        if sorted(labels.replace("?", "")) != sorted([*spatial, *letters]):
            message = "the labels must name batch, features and each spatial dimension once"
            scanner.fail(message, start)
    return values.DimLabels(
        lhs.index("b"), lhs.index("f"), tuple(map(lhs.index, spatial)),
        rhs.index("i"), rhs.index("o"), tuple(map(rhs.index, spatial)),
        output.index("b"), output.index("f"), tuple(map(output.index, spatial)),
    )  # fmt: skip


def parse_slices(scanner: Scanner) -> tuple[values.SliceDimension, ...]:
    """Read `{[0:4], [0:1024:2]}`."""
    what = "a dimension of the slice"

    def parse_slice(scanner: Scanner) -> values.SliceDimension:
        scanner.expect("[", f"before {what}")
        start = scanner.expect_integer("where the slice starts")
        scanner.expect(":", "after the start")
        limit = scanner.expect_integer("where the slice ends")
        stride = scanner.expect_integer("the stride") if scanner.accept_token(":") else 1
        scanner.expect("]", f"after {what}")
        return values.SliceDimension(start, limit, stride)

    return scanner.parse_list("{", "the slice", parse_slice, "}", what)


def parse_padding(scanner: Scanner) -> tuple[values.PaddingDimension, ...]:
    """Read `1_1_2x0_-3`: low, high and interior of each dimension."""
    text = scanner.expect_match(_PADS, "padding such as 0_1x2_2_1")
    return tuple(values.PaddingDimension(*map(int, one.split("_"))) for one in text.split("x"))


def parse_backend_config(scanner: Scanner) -> values.BackendConfig:
    """Read JSON, a quoted string, or raw braces that are no JSON; nothing is refused."""
    text = unquote(scanner.text[scanner.pos : scanner.end].strip())
    scanner.pos = scanner.end
    try:
        value = json.loads(text)
        if "\\u" in text:  # may have made half a character, which nobody can print
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        value = None
    return values.BackendConfig(text, value if isinstance(value, dict) else None)


_KIND = re.compile(r"may-alias|must-alias")
# An alias of a whole parameter, as most are.
_ALIAS = re.compile(r" ?\{([0-9]{1,9}|)\}: \(([0-9]{1,9}), \{\}(?:, (may-alias|must-alias))?\)")


def parse_aliases(scanner: Scanner) -> tuple[values.Alias, ...]:
    """Read `{ alias, alias }`: which outputs share memory with which parameters or operands."""
    scanner.expect("{", "before the list")
    return tuple(scanner.parse_items(_parse_alias, "}", "an entry of the list"))


def _parse_alias(scanner: Scanner) -> values.Alias:
    """Read `{output index}: (number, {index}[, may-alias|must-alias])`."""
    if usual := scanner.accept_match(_ALIAS):
        element, parameter, kind_text = usual.groups()
        return values.Alias((int(element),) if element else (), int(parameter), (), kind_text or "")
    output = _parse_index(scanner)
    scanner.expect(":", "after the output's index")
    scanner.expect("(", "before the aliased number")
    number = scanner.expect_count("a number")
    scanner.expect(",", "after the number")
    index = _parse_index(scanner)
    has_kind = scanner.accept_token(",")
    kind = scanner.expect_match(_KIND, "may-alias or must-alias") if has_kind else ""
    scanner.expect(")", "after the alias")
    return values.Alias(output, number, index, kind)


def parse_donors(scanner: Scanner) -> tuple[values.Donor, ...]:
    """Read `{ (parameter, {index}), … }`: which parameters are donated."""

    def parse_donor(scanner: Scanner) -> values.Donor:
        scanner.expect("(", "before a donated parameter")
        parameter = scanner.expect_count("a parameter number")
        scanner.expect(",", "after the parameter number")
        index = _parse_index(scanner)
        scanner.expect(")", "after the donated parameter")
        return values.Donor(parameter, index)

    scanner.expect("{", "before the list")
    return tuple(scanner.parse_items(parse_donor, "}", "an entry of the list"))


def _parse_index(scanner: Scanner) -> values.ShapeIndex:
    """Read a shape index `{0, 1}`."""
    scanner.expect("{", "before a shape index")
    parse = partial(Scanner.expect_count, what="an index")
    return tuple(scanner.parse_items(parse, "}", "an index"))


_PAIR = re.compile(
    rf"([A-Za-z_]\w*+)=(?:({STRING})|(-?[0-9]{{1,18}})|(\{{[^{{}}\"]*+\}}|true|false))(?: |,|\Z)",
    re.ASCII,
)
_KEY_METADATA = re.compile(r"[A-Za-z_]\w*+", re.ASCII)
_WORD = re.compile(r"[\w.\-+]+", re.ASCII)
_STRINGS = frozenset(("op_type", "op_name", "source_file", "deduplicated_name", "scheduling_name"))
_NUMBERS = frozenset(
    ("source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id")
)

# As machines print it among other attributes, to its closing brace.
_WHOLE = re.compile(rf", ?metadata=\{{(?:[^{{}}\"]++|{STRING})*+\}}")
_MOST_KEPT: Final = 32_768  # values: one text is read again and again, and repeated by others


def drop_metadata(text: str) -> str:
    """Return a text without the metadata in it; what no machine prints may stay."""
    return _WHOLE.sub("", text)


# What names places in the user's files, above the first computation.
_TABLES: Final = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*", re.MULTILINE
)
_OP_NAME: Final = re.compile(rf"op_name={STRING}")


def drop_tables(text: str) -> str:
    """Return a text without the tables of places in the user's files."""
    return _TABLES.sub("", text)


def keep_op_names(text: str) -> str:
    """Return a text with no metadata in it but op_names."""

    def keep(found: re.Match[str]) -> str:
        op_name = _OP_NAME.search(found[0])
        return f", metadata={{{op_name[0]}}}" if op_name else ""

    return _WHOLE.sub(keep, text)


@lru_cache(maxsize=_MOST_KEPT)
def read_metadata(text: str) -> values.Metadata | None:
    """Read a value as machines print it; None when it is not of that form."""
    if not text.startswith("{") or not text.endswith("}"):
        return None
    known: dict[str, Any] = {}  # strings and numbers
    other: dict[str, str] = {}
    pos, end = 1, len(text) - 1
    while pos < end:
        if (match := _PAIR.match(text, pos, end)) is None:
            return None
        key, string, number, rest = match.groups()
        if string is not None and key in _STRINGS:
            known[key] = unquote(string)
        elif number is not None and key in _NUMBERS:
            known[key] = int(number)
        elif key in _STRINGS or key in _NUMBERS:
            return None
        else:
            other[key] = string or number or rest
        pos = match.end()
    return values.Metadata(**known, other=other)


def parse_metadata(scanner: Scanner) -> values.Metadata:
    """Read metadata by hand.

    metadata = "{" { key "=" ( string | integer | word | "{" … "}" ) [","] } "}"

    Keys that XLA has since dropped or added are kept in `other`.
    """
    scanner.expect("{", "before the metadata")
    known: dict[str, Any] = {}  # strings and numbers
    other: dict[str, str] = {}
    while not scanner.accept_token("}"):
        key = scanner.expect_match(_KEY_METADATA, "a metadata key or '}'")
        scanner.expect("=", f"after {key!r}")
        scanner.skip_blanks()
        start = scanner.pos
        if key in _STRINGS:
            known[key] = unquote(scanner.expect_string(f"the value of {key!r}"))
        elif key in _NUMBERS:
            known[key] = scanner.expect_integer(f"the value of {key!r}")
        elif scanner.peek() in {"{", "["}:
            scanner.skip_group(f"the value of {key!r}")
            other[key] = scanner.text[start : scanner.pos]
        elif scanner.peek() in {'"', "'"}:
            other[key] = scanner.expect_string(f"the value of {key!r}")
        else:
            other[key] = scanner.expect_match(_WORD, f"a value of {key!r}")
        scanner.accept_token(",")
    return values.Metadata(**known, other=other)


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
        parse = partial(_parse_counts, opener="{", closer="}")
        return ReplicaGroups(listed=scanner.parse_list("{", "the groups", parse, "}", "a group"))
    if scanner.starts_with("["):
        dims = _parse_counts(scanner, "[", "]")
        scanner.expect("<=", "after the dimensions")
        iota = _parse_iota(scanner, dims, start)
        if len(iota.dims) != 2:  # noqa: PLR2004 (groups and their size)
            scanner.fail("expected two dimensions, groups and their size", start, scanner.pos)
        return ReplicaGroups(iota=iota)
    if not scanner.accept("mesh"):
        scanner.fail_expected("replica groups: '{', '[' or 'mesh['")
    groups = ReplicaGroups(mesh=_parse_mesh(scanner), grouped_axes=_parse_axes(scanner)[0])
    _check_devices(scanner, groups.check_mesh, start)
    return groups


def _check_devices(scanner: Scanner, check: Callable[[], None], start: int) -> None:
    """Refuse a notation that contradicts itself, at its place."""
    try:
        check()
    except ValueError as error:
        scanner.fail(str(error), start, scanner.pos)


def _parse_counts(scanner: Scanner, opener: str, closer: str) -> tuple[int, ...]:
    """Read numbers of devices or dimensions in brackets: `{1,2,3}`, `[2,4]`, `(1,0)`."""
    parse = partial(Scanner.expect_count, what="a number")
    return scanner.parse_list(opener, "the numbers", parse, closer, "a number")


def _parse_iota(scanner: Scanner, dims: tuple[int, ...], start: int) -> Iota:
    """Read what stands behind the `<=` of an iota list that begins at `start`.

    iota = "[" integers "]" "<=" "[" integers "]" [ "T(" integers ")" ]
    """
    reshape = _parse_counts(scanner, "[", "]")
    perm = _parse_counts(scanner, "(", ")") if scanner.accept_token("T") else ()
    iota = Iota(dims, reshape, perm)
    _check_devices(scanner, iota.check, start)
    return iota


def _parse_mesh(scanner: Scanner) -> Mesh:
    """Read a mesh behind the word `mesh`.

    mesh    = "[" [ name "=" integer { "," name "=" integer } ] "]" [ "," devices ]
    devices = "device_ids=(" ( integers | "[" dims "]" [ "T(" integers ")" ] ) ")"
    """
    start = scanner.pos
    axes: dict[str, groups.MeshAxis] = {}

    def parse_axis(scanner: Scanner) -> None:
        name = unquote(scanner.expect_match(_AXIS_NAME, "an axis name"))
        if name in axes:
            scanner.fail(f"the mesh has two axes {name!r}", start, scanner.pos)
        scanner.expect("=", "after the axis name")
        axes[name] = groups.MeshAxis(name, scanner.expect_count("the size of the axis"))

    scanner.parse_list("[", "the mesh axes", parse_axis, "]", "an axis")
    before = scanner.pos
    devices: Iota | tuple[int, ...] | None = None
    if scanner.accept_token(",") and scanner.accept_token("device_ids="):
        devices = _parse_device_ids(scanner)
    else:
        scanner.pos = before
    mesh = Mesh(tuple(axes.values()), devices)
    _check_devices(scanner, mesh.check, start)
    return mesh


def _parse_device_ids(scanner: Scanner) -> Iota | tuple[int, ...]:
    """Read `(3,2,1,0)` or `([2,4]T(1,0))`, the transposed arange of that shape."""
    start = scanner.pos
    scanner.expect("(", "before the device ids")
    scanner.skip_blanks()
    if not scanner.starts_with("["):
        scanner.pos = start
        return _parse_counts(scanner, "(", ")")
    reshape = _parse_counts(scanner, "[", "]")
    perm = _parse_counts(scanner, "(", ")") if scanner.accept_token("T") else ()
    scanner.expect(")", "after the device ids")
    _check_devices(scanner, Iota(reshape, reshape, perm).check, start)
    return Iota((groups.count_devices(reshape),), reshape, perm)


def _parse_axes(scanner: Scanner) -> tuple[tuple[AxisRef, ...], bool]:
    """Read a list of axes `{'a', 'b':(1)2}` and whether it is open (ends in `?`).

    axes = "{" [ axis { "," axis } ] [ [","] "?" ] "}"
    axis = name [ ":(" integer ")" integer ]
    """
    axes = scanner.parse_list("{", "the axes", _parse_axis, "}", "an axis")
    return tuple(axis for axis in axes if axis), None in axes


def _parse_axis(scanner: Scanner) -> AxisRef | None:
    """Read an axis or a part of one, `'b':(1)2`; None for `?`."""
    if scanner.accept_token("?"):
        return None
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


_SHARDING_WORD = re.compile(r"[a-z_]+")
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
        elements = scanner.parse_items(parse_sharding, "}", "a sharding")
        sharding = Sharding("tuple", "", elements=tuple(elements))
    else:
        sharding = _parse_single(scanner)
    scanner.pos = start
    text = scanner.skip_group("the sharding").strip()
    scanner.leave()
    return replace(sharding, text=text)


def _parse_single(scanner: Scanner) -> Sharding:
    word = scanner.expect_match(_SHARDING_WORD, "a sharding")
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
    tile_dims = _parse_counts(scanner, "[", "]")
    devices: Iota | tuple[int, ...]
    if scanner.accept_token("<="):
        devices = _parse_iota(scanner, tile_dims, start)
    else:
        numbers = [scanner.expect_count("a device")]
        while scanner.accept_token(","):
            numbers.append(scanner.expect_count("a device"))
        devices = tuple(numbers)
    last: list[str] = []  # what the dimensions beyond the array's rank mean
    if scanner.accept_token("last_tile_dim_replicate"):
        last.append("replicated")
    elif scanner.accept_token("last_tile_dims="):
        scanner.expect("{", "before the kinds of the last dimensions")
        what = "manual, replicated, unreduced or maximal"
        while not scanner.accept_token("}"):
            last.append(scanner.expect_match(_SHARDING_WORD, what))
            scanner.accept_token(",")
    return Sharding("tiled", "", tile_dims=tile_dims, devices=devices, last_tile_dims=tuple(last))


def _parse_named(scanner: Scanner) -> Sharding:
    """Read a named sharding behind the word `mesh`.

    named = mesh "," ( "replicated" | "manual" | "unreduced"
                     | "[" [ axes { "," axes } ] "]" { "," extra "=" axes } )
    """
    mesh = _parse_mesh(scanner)
    scanner.expect(",", "after the mesh")
    if not scanner.accept_token("["):
        return Sharding(scanner.expect_match(_SHARDING_WORD, "dimension shardings"), "", mesh=mesh)
    dims = scanner.parse_items(_parse_axes, "]", "a dimension's axes", may_trail=True)
    extras: dict[str, tuple[AxisRef, ...]] = {}  # `, replicated={'b'}, manual={'c'}`
    while scanner.accept_token(","):
        key = scanner.expect_match(_SHARDING_WORD, "replicated, unreduced, manual or metadata")
        scanner.expect("=", f"after {key!r}")
        if key not in {"replicated", "unreduced", "manual"}:
            break
        extras[f"{key}_axes"] = _parse_axes(scanner)[0]
    dim_axes = tuple(axes for axes, _ in dims)
    return Sharding(
        "named",
        "",
        mesh=mesh,
        dim_axes=dim_axes,
        open_dims=tuple(number for number, (_, is_open) in enumerate(dims) if is_open),
        **extras,  # type: ignore[arg-type]
    )
