"""Names of parameters, from the module and from the used values, and the trees they are in."""

from __future__ import annotations

import pytest
from buffer_dumps import Dump, find_dumps
from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.memory.rows import find_parameter_name
from hlotool.analysis.origin import find_parameter_tree

DUMPS = [dump for dump in find_dumps() if not dump.path.is_file()]


@pytest.mark.parametrize("dump", DUMPS[:3], ids=lambda dump: dump.name)
def test_parameters_have_the_same_name_without_the_module(dump: Dump) -> None:
    names = []
    for allocation in dump.assignment.allocations:
        name = find_parameter_name(allocation, dump.module, dump.assignment)
        assert find_parameter_name(allocation, None, dump.assignment) == name
        names.append(name)
    assert any(names)


TREES = {
    # flax TrainState with optax, as in a dump of MaxText
    "state.params['params']['decoder']['decoder_norm']['scale']": "state.params",
    "state.opt_state[0].mu['params']['decoder']['logits_dense']['kernel']": "state.opt_state[0].mu",
    "state.opt_state[0].nu['params']['token_embedder']['embedding']": "state.opt_state[0].nu",
    "state.opt_state[2].count": "state.opt_state",
    "state.step": "state",
    # dicts and tuples
    "state['mu']['layers'][0]['down']": "state['mu']",
    "state['params']['ln_f']": "state['params']",
    "state['step']": "state",
    "state[0]['down']": "state[0]",
    "layers[1][0]": "layers[1]",
    "data['inputs_position']": "data",
    "filters[2]": "filters",
    "batch['x']{1}": "batch",
    "tokens": "tokens",
    "state['a/b.c[0]']['w']": "state['a/b.c[0]']",
    "xla__device_data": "xla__device_data",
    "": None,
    "['x']": None,
}


@pytest.mark.parametrize(("name", "tree"), TREES.items())
def test_trees(name: str, tree: str | None) -> None:
    assert find_parameter_tree(name) == tree


@given(st.text(alphabet="ab.0_[]'\"{}", max_size=30))
def test_a_tree_is_where_its_name_begins(name: str) -> None:
    tree = find_parameter_tree(name)
    assert tree is None or (tree and name.startswith(tree))
