"""Every notation of a sharding comes to the same: which part of an array each device holds."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest
from each import for_each

from hlotool.analysis.shardings.report import report_shardings
from hlotool.analysis.shardings.witness import ask_module
from hlotool.hlo import AxisRef, Mesh, MeshAxis
from hlotool.hlo.attribute_values import parse_sharding
from hlotool.hlo.groups import Iota, Sharding
from hlotool.hlo.parser import parse_module
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.sharding import Spec, find_spec, name_axes
from hlotool.hlo.shardy import find_meshes, find_sdy_shardings, scan_mlir, write_propagated
from hlotool.text import Source

MESH = Mesh((MeshAxis("dp", 2), MeshAxis("fsdp", 2), MeshAxis("tp", 2)))


def read(text: str, rank: int, device_count: int = 8) -> Spec | None:
    sharding = Scanner(Source(text)).parse_whole(parse_sharding)
    return find_spec(sharding, rank, device_count)


# Notation, dimensions, how it is written, copies, and how the axes of MESH name it.
NOTATIONS = [
    ("{replicated}", 2, "P()", 8, "P()"),
    ("{devices=[4,2]<=[8]}", 2, "[4@2, 2@1]", 1, "P(('dp', 'fsdp'), 'tp')"),
    ("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", 2, "[4@2, _]", 2, "P(('dp', 'fsdp'))"),
    ("{devices=[1,8]<=[4,2]T(1,0)}", 2, "[_, 2@1·4@2]", 1, "P(None, ('tp', 'dp', 'fsdp'))"),
    (
        "{devices=[2,2,2]<=[2,2,2]T(2,1,0) last_tile_dim_replicate}",
        2,
        "[2@1, 2@2]",
        2,
        "P('tp', 'fsdp')",
    ),
    ("{devices=[2,4]0,2,1,3,4,6,5,7}", 2, "[2@4, 2@1·2@2]", 1, "P('dp', ('tp', 'fsdp'))"),
    ("{devices=[8]0,2,1,3,4,6,7,5}", 1, "[8]", 1, "[8]"),  # along no axes
    (
        "{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}",
        1,
        "[2@4]",
        2,
        "P('dp')",
    ),
    ("{manual}", 2, "manual", 1, "manual"),
    ("{maximal device=3}", 2, "on device 3", 1, "on device 3"),
    ("{mesh['a'=2,'b'=4], [{'b':(1)2}, {'a'}]}", 2, "P('b:(1)2', 'a')", 2, "P('fsdp', 'dp')"),
    (
        "{mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)), [{'b'}, {'a', ?}], replicated={}}",
        2,
        "P('b', 'a')",
        1,
        "P(('dp', 'fsdp'), 'tp')",
    ),
    ("{mesh['a'=2,'b'=4], device_ids=(3,1,0,2,7,4,6,5), [{'b'}]}", 1, "P('b')", 2, "P('b')"),
]


@for_each(NOTATIONS)
def test_notations(case: tuple[str, int, str, int, str]) -> None:
    text, rank, written, copies, named = case
    spec = read(text, rank)
    assert spec is not None
    assert (str(spec), spec.copies) == (written, copies)
    assert str(name_axes(spec, MESH)) == named


def test_a_part_of_an_axis() -> None:
    """Half of an axis is written as XLA writes it; halves that follow each other are it."""
    mesh = Mesh((MeshAxis("x", 8),))
    spec = read("{devices=[2,4]<=[8]}", 2)
    assert spec is not None
    assert name_axes(spec, mesh).axes == (("x:(1)2",), ("x:(2)4",))
    whole = read("{mesh['x'=8], [{'x':(1)2, 'x':(2)4}]}", 1)
    other = read("{devices=[8]<=[8]}", 1)
    assert whole is not None
    assert other is not None
    assert whole.is_equivalent_to(other)
    assert name_axes(other, mesh).axes == (("x",),)


WRONG = {
    "{devices=[2,2]<=[4]}": "it is for 4 devices, and the program runs on 8",
    "{devices=[8]<=[8]}": "it is for 1 dimensions, and the array has 2",
    "{devices=[4,2]0,0,1,2,3,4,5,6}": "its list does not name each device once",
    "{maximal device=9}": "device 9 is outside the 8",
    "{mesh['a'=8], [{'a'}, {'a'}]}": "axis a is used twice, or is not a part of its axis",
    "{mesh['a'=8], [{'b'}, {}]}": "the mesh has no axis 'b'",
    "{mesh['a'=8], [{'a':(1)3}, {}]}": "a sub-axis does not divide axis 'a'",
    "{mesh['a'=4], [{'a'}, {}]}": "it is for 4 devices, and the program runs on 8",
}


@for_each(WRONG)
def test_what_does_not_fit_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=WRONG[text].replace("(", r"\(")):
        read(text, 2)


def test_tiles_are_where_xla_puts_them() -> None:
    """For random tiles each device has the part that listing the devices gives it."""
    chance = random.Random(28)  # noqa: S311
    for _ in range(300):
        reshape = tuple(chance.choice((1, 2, 2, 3, 4)) for _ in range(chance.randint(1, 4)))
        perm = tuple(chance.sample(range(len(reshape)), len(reshape)))
        sizes = [reshape[number] for number in perm]
        at = chance.randint(0, len(sizes))
        dims = (prod(sizes[:at]), *sizes[at:])
        devices = Iota(dims, reshape, perm)
        last = ("replicated",) * (len(dims) > 1)
        sharding = Sharding("tiled", "", tile_dims=dims, devices=devices, last_tile_dims=last)
        spec = find_spec(sharding, len(dims) - len(last), prod(dims))
        assert spec is not None
        assert spec.dims is not None
        places = product(*map(range, dims))
        for device, place in zip(devices.expand(), places, strict=True):
            parts = [find_digit(device, steps) for steps in spec.dims]
            assert parts == list(place[: len(parts)])


def find_digit(device: int, steps: tuple[tuple[int, int], ...]) -> int:
    part = 0
    for size, stride in steps:
        part = part * size + device // stride % size
    return part


def test_shardy() -> None:
    meshes = find_meshes('{m = #sdy.mesh<["a"=2, "b"=4]>, "n-1" = #sdy.mesh<[], device_ids=[3]>}')
    assert meshes == {"m": Mesh((MeshAxis("a", 2), MeshAxis("b", 4))), "n-1": Mesh((), (3,))}
    text = '#sdy.sharding_per_value<[<@m, [{"a", "b":(2)2}, {?}p1]>, <@"n-1", []>]>'
    first, second = find_sdy_shardings(text, meshes)
    assert first.dim_axes == ((AxisRef("a"), AxisRef("b", 2, 2)), ())
    assert first.open_dims == (1,)
    device = find_spec(second, 0, 8)
    assert device is not None
    assert str(device) == "on device 3"
    assert find_sdy_shardings('<@unknown, [{"a"}]>', meshes) == []


def test_a_program_in_mlir() -> None:
    program = scan_mlir(
        'sdy.mesh @mesh = <["x"=8]>\n'
        "func.func public @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, "
        '[{"x"}, {}]>} loc("w[0]"), %arg1: tensor<i32>) -> (tensor<?x3xf32> '
        '{jax.result_info = "result"}) {\n'
    )
    first, second = program.arguments
    assert (first.name, first.dims, second.name, second.dims) == ("w[0]", (8, 3), None, ())
    assert first.sharding is not None
    assert [(one.name, one.dims) for one in program.results] == [("result", None)]
    assert not scan_mlir("module {}").arguments


X, Y = (
    'sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>',
    "sdy.sharding_per_value<[<@mesh, [{}, {}]>]>",
)
SIZES = "tensor<8x16xf32>"
SHARDY = f"""\
#loc1 = loc("w")
module @jit_f {{
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func @main(%arg0: {SIZES} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}} loc("w"),\
%arg1: tensor<8xi32>) -> {SIZES} {{
    %0 = stablehlo.sine %arg0 {{sdy.sharding = #{X}}} : {SIZES} loc(#loc3)
    %1:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %0) : tensor<8xi32>, {SIZES} attributes \
{{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}]>, <@mesh, [{{"x"}}, {{}}]>]>}}
    %2 = sdy.reshard %1#1 <@mesh, [{{}}, {{"x", "y":(1)2}}]> : {SIZES} loc(#loc4)
    %3 = stablehlo.dot %2, %2 {{sdy.sharding = #{Y}}} : ({SIZES}, {SIZES}) -> {SIZES} loc(#loc9)
  }}
}}
#loc2 = loc("/home/user/f.py":12:4 to :20)
#loc3 = loc("jit(f)/sin"(#loc2))
#loc4 = loc(fused["jit(f)/sharding_constraint", "/home/user/f.py":13:0])
#loc9 = loc(#loc9)
"""


def test_what_shardy_says_of_values() -> None:
    module = parse_module(Source(write_propagated(SHARDY), "shardy"))
    found = [
        (one.opcode, [each.name for each in one.operands], one.metadata().op_name, str(spec))
        for one in module.entry.instructions
        for sharding in (one.sharding(),)
        for spec in (find_spec(sharding, len(sharding.dim_axes), 8) if sharding else None,)
    ]
    assert found == [
        ("parameter", [], "w", "P('x')"),
        ("parameter", [], "", "None"),
        ("sine", ["v0"], "jit(f)/sin", "P('x')"),
        ("custom-call", ["v1"], "", "P()"),
        ("custom-call", ["v2"], "", "P('x')"),
        ("copy", ["v4"], "jit(f)/sharding_constraint", "P(None, ('x', 'y:(1)2'))"),
        ("custom-call", ["v5", "v5"], "", "P()"),
    ]
    places = [one.source_location() for one in module.entry.instructions]
    assert [place and place.line for place in places] == [None, None, 12, None, None, 13, None]
    assert not write_propagated('sdy.mesh @mesh = <["x"=4]>\n%0 = stablehlo.sine %1')


TEXT = """\
HloModule f, is_scheduled=true, num_partitions=4

ENTRY main_spmd {
  p = (f32[4], bf16[2,6]) parameter(0), sharding={{devices=[4]<=[4]}, {devices=[1,2,2]<=[4]
    last_tile_dim_replicate}}
  q = f32[3] parameter(1), sharding={devices=[2]<=[2]}
  r = f32[3] parameter(2), sharding={devices=[2]<=[4]}
  ROOT t = (f32[3]) tuple(q)
}
"""


def test_tuples_and_what_does_not_fit() -> None:
    module = parse_module(Source(TEXT))
    report = report_shardings(module, (ask_module(module, "f.txt"),), None)
    first, second, third, fourth = report.parameters
    assert (first.global_shape, first.spec_text) == ("f32[16]", "[4@1]")
    assert (second.global_shape, second.spec_text) == ("bf16[2,12]", "[_, 2@2]")
    assert (third.global_shape, third.spec, third.copies) == (None, None, None)
    assert third.problem == (
        "{devices=[2]<=[2]} in f.txt does not fit: it is for 2 devices, and the program runs on 4"
    )
    assert (fourth.global_shape, fourth.spec, fourth.copies) == (None, None, None)
    assert fourth.problem == "<string>:7:46: both sides of '<=' must hold the same devices"
    assert report.totals.unknown_count == 2


UNEVEN = """\
HloModule f, num_partitions=4, is_scheduled=SCHEDULED

ENTRY main {
  p = f32[SIZE] parameter(0), sharding={devices=[4]<=[4]}
  ROOT r = f32[] constant(0)
}
"""


@pytest.mark.parametrize(
    ("size", "part", "is_fitting"),
    [("10", "3", True), ("12", "3", True), ("9", "3", True), ("8", "3", False), ("13", "3", False)],
)
def test_uneven_parts(size: str, part: str, *, is_fitting: bool) -> None:
    """A device holds at most a part, rounded up; the last ones may hold less, or nothing."""
    before, after = (
        parse_module(Source(UNEVEN.replace("SIZE", each).replace("SCHEDULED", scheduled)))
        for each, scheduled in ((size, "false"), (part, "true"))
    )
    witnesses = ask_module(after, "after.txt"), ask_module(before, "before.txt")
    (row,) = report_shardings(after, witnesses, None).parameters
    assert row.global_shape == f"f32[{size}]"
    assert (row.spec_text, row.copies) == (("[4@1]", 1) if is_fitting else (None, None))
    assert (row.problem is None) == is_fitting
