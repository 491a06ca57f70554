"""Scopes: what is left of an op_name when tracing's own words are taken off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.origin.scope import find_scope

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
    "jit(f)/jvp(unbalanced/mul": "jvp(unbalanced",
    "jit(f)/unknown(head)/mul": "unknown(head)",
}


@pytest.mark.parametrize(("op_name", "scope"), CASES.items())
def test_scope(op_name: str, scope: str | None) -> None:
    assert find_scope(op_name) == scope


@given(st.text(alphabet="ajit()/;:'while.body->[]", max_size=60))
def test_any_text_gives_a_scope_without_empty_components(op_name: str) -> None:
    scope = find_scope(op_name)
    # Inside quotes a `/` is no separator: `'//'` is one component.
    assert scope is None or "'" in scope or "" not in scope.split("/")


def test_deep_nesting_ends() -> None:
    assert find_scope("jvp(" * 100_000 + "x" + ")" * 100_000 + "/mul") is not None
