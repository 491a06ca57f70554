"""Ask XLA for protos of texts, and for the text it prints of each: NAME.hlo.pb.gz and NAME.txt.

    python testdata/protos/make_protos.py        (needs jaxlib, pinned in pyproject.toml)

What comes back of a text may be less than it held; what counts is the text of the proto.
"""

import gzip
from pathlib import Path

from jaxlib import _hlo

FOLDER = Path(__file__).parent
TEXTS = FOLDER.parent
FROM = {
    "async_collectives": "async/collectives.txt",
    "async_operations": "async/operations.sugared.txt",
    "async_forms": "hlo_forms/async_forms.txt",
    "custom_calls": "custom_calls/called.txt",
    "recovery_table": "hlo_forms/recovery_table.txt",
    "scatter": "collectives/scatter.txt",
    "shardings": "hlo_forms/shardings.txt",
    "train_step": "dumps/cpu/mlp_train/module_0000.jit_train_step.cpu_after_optimizations.txt",
    "typed_attributes": "hlo_forms/typed_attributes.txt",
}
_HEAD = """HloModule {name}

sum {{
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}}

ENTRY main {{
"""
# Constants of every type, shardings of all versions, and attributes that no dump here has.
CONSTANTS = (
    "f32[3] constant({1e-5, nan, inf})",
    "f32[] constant(-nan(0x12))",
    "f32[2,2]{0,1} constant({{1,2},{3.14159274,0.1}})",
    "f64[2] constant({0.1, 1e300})",
    "bf16[3] constant({0.1, 3.14, nan})",
    "f16[3] constant({0.1, 3.14, 65504})",
    "f8e4m3fn[3] constant({0.1, 3, nan})",
    "f8e5m2[3] constant({0.1, 3, inf})",
    "f8e8m0fnu[2] constant({1, 2})",
    "f4e2m1fn[3] constant({1, 2, 0.5})",
    "f8e4m3[2] constant({1.1, 2})",
    "f8e3m4[2] constant({1.1, 2})",
    "f8e4m3b11fnuz[2] constant({1.1, 2})",
    "f8e5m2fnuz[2] constant({1.1, 2})",
    "f8e4m3fnuz[2] constant({1.1, nan})",
    "s4[5] constant({1,-2,3,-4,5})",
    "u4[5] constant({1,2,3,14,5})",
    "s2[3] constant({1,-2,-1})",
    "u2[3] constant({1,2,3})",
    "c64[2] constant({(1,2), (0.1,nan)})",
    "c128[] constant((1,-2.5))",
    "u64[2] constant({18446744073709551615,1})",
    "s64[] constant(-9223372036854775808)",
    "s8[3] constant({-1,2,3})",
    "u8[3] constant({255,2,3})",
    "s16[2] constant({-1,300})",
    "u16[2] constant({65535,3})",
    "pred[2,2] constant({{1,0},{1,1}})",
    "pred[] constant(true)",
    "f32[2,0] constant({{},{}})",
    "s32[1,2,1,2] constant({{{{1,2}},{{3,4}}}})",
    "f32[11] constant({1,2,3,4,5,6,7,8,9,10,11})",
)
SHARDINGS = (
    "{mesh['x'=2,'y'=2], [{'x'}, {}]}",
    "{mesh['x'=4,'y'=2], [{'x':(1)2, 'y'}, {?}], replicated={'x':(2)2}}",
    "{mesh['x'=2], replicated}",
    "{mesh['x'=2,'y'=2], device_ids=(1,0,2,3), [{'x'}, {'y'}]}",
    "{maximal_mesh[device_id=3]}",
    "{mesh['x'=2], manual}",
    "{mesh['x'=2], unreduced}",
    "{mesh['x'=2,'y'=2], [{}, {'y'}], unreduced={'x'}}",
    "{devices=[2,1,2]<=[4] last_tile_dims={manual}}",
    "{devices=[2,2]0,2,1,3}",
    '{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate metadata={op_name="a"}}',
    "{manual}",
    "{unreduced}",
    "{unknown}",
    "{maximal device=1}",
    "{replicated shard_as 1}",
    "{devices=[4,1]<=[4] shard_like 2}",
)
ATTRIBUTES = (
    (
        'f32[4] negate(v), origin={{"a" {1,2}}}, metadata={op_type="a\\"b" op_name="\\303\\251\\n" '
        'profile_type={1,2} deduplicated_name="x" scheduling_name="y"}'
    ),
    "f32[4] exponential(v), result_accuracy={tolerance={atol=1e-7,rtol=0.2,ulps=3}}",
    "f32[4] tanh(v), result_accuracy={mode=highest}, statistics={visualizing_index=0,a=1e-9,b=2}",
    'f32[4] negate(v), frontend_attributes={a="x\'y",b={"k":1}}, backend_config="q\'r"',
    (
        "f32[] dot(v, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
        "operand_precision={high,default}, algorithm=dot_bf16_bf16_f32"
    ),
    "pred[4] compare(v, v), direction=LT, type=TOTALORDER",
    "f32[4] all-reduce(v), replica_groups=[2,2]<=[2,2]T(1,0), constrain_layout=true, to_apply=sum",
    "f32[7] pad(v, s), padding=1_2_0",
    "f32[2] slice(v), slice={[0:4:3]}",
    "f32[4] reduce-precision(v), exponent_bits=5, mantissa_bits=3",
    'f32[4] custom-call(v), custom_call_target="a\'b", literal=(f32[2]{0} {1,2}, s32[] 5)',
    "u64[2] rng-get-and-update-state(), delta=4",
)


def make_texts() -> dict[str, str]:
    """Return the texts of which protos are made, by name."""
    texts = {name: (TEXTS / path).read_text(encoding="utf-8") for name, path in FROM.items()}
    texts["constants"] = _make_module("constants", CONSTANTS)
    sharded = [f"f32[8,8] negate(m), sharding={each}" for each in SHARDINGS]
    texts["all_shardings"] = _make_module("all_shardings", sharded)
    texts["attributes"] = _make_module("attributes", ATTRIBUTES)
    return texts


def _make_module(name: str, instructions: tuple[str, ...] | list[str]) -> str:
    lines = [f"  i{number} = {each}" for number, each in enumerate(instructions)]
    head = [
        "  v = f32[4] parameter(0), parameter_replication={true}",
        "  m = f32[8,8] parameter(1)",
        "  s = f32[] constant(0)",
    ]
    last = "  ROOT r = f32[4] negate(v)"
    return _HEAD.format(name=name) + "\n".join([*head, *lines, last]) + "\n}\n"


def main() -> None:
    """Write the protos and the texts that XLA prints of them."""
    for name, text in make_texts().items():
        proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
        printed = _hlo.HloModule.from_serialized_hlo_module_proto(proto).to_string()
        (FOLDER / f"{name}.hlo.pb.gz").write_bytes(gzip.compress(proto, mtime=0))
        (FOLDER / f"{name}.txt").write_text(printed, encoding="utf-8")


if __name__ == "__main__":
    main()
