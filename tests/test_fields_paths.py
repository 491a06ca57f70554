"""Paths: what numbered siblings, and other paths, have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.table.words import fold_numbers, share_path

FOLDED = {
    "layer_0": "layer_*",
    "model/layers_3/mlp": "model/layers_*/mlp",
    "layers[7]": "layers[*]",
    "block12/attn": "block*/attn",
    "model.layers.3.attn": "model.layers.*.attn",
    "layers/0/attn": "layers/*/attn",
    "state['params']['layers_0'][3]['w']": "state['params']['layers_*'][*]['w']",
    "conv2d/mlp": "conv2d/mlp",
    "layer_*/mlp": "layer_*/mlp",
}
SHARED = [
    (["a/b"], "a/b"),
    (["layer_0/mlp", "layer_11/mlp"], "layer_*/mlp"),
    (["layers_0/expert_3", "layers_1/expert_3"], "layers_*/expert_3"),
    (["layer_0/mlp", "layer_1/attention"], "layer_*"),
    (["layer_0", "layer_0/mlp"], "layer_0"),
    (["encoder/attention", "decoder/attention"], "*/attention"),
    (["model/encoder/wq", "model/decoder/self/wq"], "model/*/wq"),
    (["head", "adamw"], "*"),
    (["layer_*/mlp", "layer_1/mlp"], "layer_*/mlp"),
    (["layers[0]['w']", "layers[1]['w']"], "layers[*]['w']"),
]


@pytest.mark.parametrize(("path", "folded"), FOLDED.items())
def test_numbers_at_the_end_of_components_fold(path: str, folded: str) -> None:
    assert fold_numbers(path) == folded


@pytest.mark.parametrize(("paths", "shared"), SHARED)
def test_what_paths_share(paths: list[str], shared: str) -> None:
    assert share_path(paths) == shared
    assert share_path(paths[::-1]) == shared


@given(st.lists(st.text(alphabet="ab01_/[]'*.", max_size=12), min_size=1, max_size=4))
def test_any_paths_share_something_that_says_so(paths: list[str]) -> None:
    """One path is itself; siblings fold to what each of them folds to."""
    shared = share_path(paths)
    if len(set(paths)) == 1:
        assert shared == paths[0]
    elif len(set(map(fold_numbers, paths))) == 1:
        assert fold_numbers(shared) == fold_numbers(paths[0])
