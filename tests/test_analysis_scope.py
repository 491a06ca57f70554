"""Scopes: what is left of an op_name when tracing's own words are taken off."""

from __future__ import annotations

import re

import pytest
from dump_files import SHARED, find_file, needs_shared
from hypothesis import given
from hypothesis import strategies as st
from parsed import read_module

from hlotool.analysis.origin import find_scope, is_of_loop, shorten_op_name
from hlotool.program.program import Program

CASES = {
    "": None,
    "x": None,
    "broadcast.72": None,
    "/add": None,
    "state['params']['a/b']": None,
    "jit(train_step)/mul": None,
    "jit(train_step)/adamw/mul": "adamw",
    "jit(train_step)/jit(main)/jvp(Transformer)/decoder/dot_general": "Transformer/decoder",
    "jit(f)/jvp()/while/body/closed_call/mlp/dot_general": "mlp",
    "jit(f)/transpose(jvp())/while/body/closed_call/checkpoint/mlp/transpose": "mlp",
    "jit(f)/transpose(jvp())/while/body/checkpoint/rematted_computation/mlp/mul": "mlp",
    "jit(f)/transpose(jvp(head))/jit(log_softmax)/broadcast_in_dim": "head",
    "jit(f)/transpose(jvp(a/b))/c/mul": "a/b/c",
    "jit(f)/vmap(layers.func_to_vmap)/layers/top_k": "layers.func_to_vmap/layers",
    "jit(f)/layer/while": "layer",
    "jit(f)/layer/while/body": "layer",
    "jit(f)/while/cond/lt": None,
    "jit(f)/cond/branch_1_fun/head/add": "head",
    "jit(f)/MoE/dispatch/BSM,BSEC -> EBCM/dot_general": "MoE/dispatch",
    "jit(f)/head/mul;jit(f)/head/broadcast_in_dim;jit(f)/head/add": "head",
    "jit(f)/head/mul;jit(f)/mlp/add": None,
    "jit(f)/(adamw/reduce_sum:adamw/add)": "adamw",
    "jit(f)/(adamw/reduce_sum:jvp(head)/reduce_sum)": None,
    "aten__add.547/aten__add": None,
    "model/layer.1/MatMul": "model/layer.1",
    # What JAX 0.10.2 writes for jax.checkpoint inside scopes; the forward pass of each has no
    # `transpose`, and its scope is the same. The path stands twice, or nearly so.
    "transpose(jvp(layer_11))/jvp(layer_11)/checkpoint/attention/dot_general": "layer_11/attention",
    "jit(f)/transpose(jvp(a))/l_0/jvp(a)/l_0/checkpoint/rematted_computation/mlp/tanh": "a/l_0/mlp",
    "jit(f)/transpose(jvp(a))/l_0/jvp(a)/l_0/add_any": "a/l_0",
    "jit(f)/transpose(jvp(a))/l_1/jvp(a)/l_1/remat2": "a/l_1",
    "jit(g)/t/transpose(jvp(a))/l_0/t/jvp(a)/l_0/checkpoint/mlp/mul": "t/a/l_0/mlp",
    "jit(g)/t/transpose(jvp(t))/jvp()/checkpoint/l_0/mlp/mul": "t/l_0/mlp",
    "jit(g)/t/transpose(t)/jvp(a)/l_0/select_n": "t/a/l_0",
    "jit(B)/transpose(jvp(a))/jvp(a)/checkpoint/block/checkpoint/mlp/mul": "a/block/mlp",
    "jit(f)/jvp(transpose(jvp(a)))/l_0/jvp(jvp(a))/l_0/checkpoint/mlp/mul": "a/l_0/mlp",
    "jit(f)/vmap(transpose(jvp(a)))/l_0/vmap(jvp(a))/l_0/checkpoint/mlp/mul": "a/l_0/mlp",
    "jit(D)/transpose(jvp(a))/while/body/closed_call/l/l/checkpoint/mlp/mul": "a/l/mlp",
    "jit(f)/transpose(jvp(l_0))/jvp(l_0)/checkpoint/(mlp/dot_general:mlp/mul)": "l_0/mlp",
    # Scopes that really stand in one another stay: nothing says that the path begins again.
    "jit(H)/transpose(jvp(l))/jvp(l)/checkpoint/l/l/attention/mul": "l/l/l/attention",
    "jit(f)/transpose(jvp(l))/l/mul": "l/l",
    "jit(f)/jvp(l)/l/checkpoint/mul": "l/l",
    "jit(f)/transpose(jvp(a))/while/body/closed_call/l/l/mul": "a/l/l",
    # Numbered siblings that XLA merged.
    "jit(f)/(jvp(l_0)/mlp/dot_general:jvp(l_1)/mlp/dot_general)": "l_*/mlp",
    "jit(f)/(jvp(l_0)/mlp/dot_general:jvp(l_1)/attention/dot_general)": "l_*",
    "jit(f)/jvp(unbalanced/mul": "jvp(unbalanced",
    "jit(f)/unknown(head)/mul": "unknown(head)",
}


@pytest.mark.parametrize(
    ("op_name", "short"),
    [
        ("jit(f)/transpose(jvp(a))/dot_general", "a/dot_general"),
        ("jit(f)/(adamw/reduce_sum:adamw/add:adamw/add)", "adamw/reduce_sum, add"),
        ("jit(f)/(transpose(jvp(a))/dot_general:b/dot_general)", "dot_general"),
        ("jit(f)/a:b", "jit(f)/a:b"),
        ("ws[0]", "ws[0]"),
    ],
)
def test_a_short_name_is_scope_and_primitives(op_name: str, short: str) -> None:
    assert shorten_op_name(op_name) == short


@pytest.mark.parametrize(("op_name", "scope"), CASES.items())
def test_scope(op_name: str, scope: str | None) -> None:
    assert find_scope(op_name) == scope


@given(st.text(alphabet="ajit()/;:'while.body->[]", max_size=60))
def test_any_text_gives_a_scope_without_empty_components(op_name: str) -> None:
    scope = find_scope(op_name)
    # Inside quotes a `/` is no separator: `'//'` is one component.
    assert scope is None or "" not in re.sub(r"'[^']*'", "quoted", scope).split("/")


OF_LOOP = {
    "jit(f)/jvp()/while": True,
    "jit(f)/jit(main)/jvp(model)/while[cond_nconsts=0 body_nconsts=1]": True,
    "jit(f)/jvp(model)/while/body/dynamic_update_slice": True,
    "jit(f)/while/body/jit(dynamic_index_in_dim)/dynamic_slice": True,
    "jit(f)/while/cond/lt": True,
    "jit(f)/while/body/add;jit(f)/while": True,
    "jit(f)/while/body/closed_call/mul": False,
    "jit(f)/while/body/mlp/mul": False,
    "jit(f)/while/body/add;jit(f)/mul": False,
    "jit(f)/meanwhile": False,
    "": False,
}


@pytest.mark.parametrize(("op_name", "is_it"), OF_LOOP.items())
def test_what_origin_a_loop(op_name: str, is_it: bool) -> None:
    assert is_of_loop(op_name) is is_it


def test_deep_nesting_ends() -> None:
    assert find_scope("jvp(" * 100_000 + "x" + ")" * 100_000 + "/mul") is not None


@needs_shared
def test_unrolled_layers_with_rematerialization() -> None:
    """Forward and backward pass of twelve layers meet: the scopes are those of the forward pass.

    48 of the 93 collectives have an op_name that states its layer twice. What stands behind
    `checkpoint` and `rematted_computation` is the module; 12 gather for several modules of their
    layer, `(mlp/dot_general:rematted_computation/attention/dot_general:…)`.
    """
    path = find_file(SHARED / "dumps" / "pairs" / "gpu.unroll12", "gpu_after_optimizations.txt")
    assert path is not None
    module = read_module(path)
    rows = Program("unroll12", module).collectives.rows
    twice = re.compile(
        r"jit\(train_step\)/transpose\(jvp\((layer_[0-9]+)\)\)/jvp\(\1\)/checkpoint/"
        r"(?:(?:rematted_computation/)?(attention|mlp)/[a-z_]+|\(.*\))"
    )
    found = [(row.scope, match) for row in rows if (match := twice.fullmatch(row.op_name or ""))]
    assert (len(rows), len(found)) == (93, 48)
    assert all(scope == "/".join(filter(None, match.groups())) for scope, match in found)
    assert sum(match[2] is None for _, match in found) == 12
    names = {one.metadata().op_name for one in module.instructions()}
    forward = {find_scope(name) for name in names if "transpose(" not in name}
    backward = {find_scope(name) for name in names if "transpose(" in name}
    whole_layers = {f"layer_{number}" for number in range(12)} | {"layer_*"}
    assert backward <= forward | whole_layers
