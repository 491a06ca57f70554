"""What do paths into the user's program share? `layer_0/mlp` and `layer_1/mlp`: `layer_*/mlp`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

ANY: Final = "*"  # a number, or components in which paths differ
_NUMBER: Final = re.compile(
    r"(?:[0-9]+|\*)(?=$|[/\]'\").])"
)  # or a star, at the end of a component


def fold_numbers(path: str) -> str:
    """Write a star for each number at the end of a component: siblings become equal.

    >>> fold_numbers("decoder/layers_3/mlp"), fold_numbers("state['layers'][7]['w']")
    ('decoder/layers_*/mlp', "state['layers'][*]['w']")
    """
    return _NUMBER.sub(ANY, path)


def share_path(paths: Collection[str]) -> str:
    """Return what paths have in common: a path again, with stars for what differs.

    Numbered siblings differ in their numbers alone. Of other paths the components are shown
    with which all begin and, behind a star, those with which all end; a star alone says that
    they share nothing. There is at least one path.

    >>> share_path(["layer_0/mlp", "layer_1/mlp"]), share_path(["layer_0/mlp", "layer_0/norm"])
    ('layer_*/mlp', 'layer_0')
    >>> share_path(["encoder/attention", "decoder/attention"]), share_path(["head", "adamw"])
    ('*/attention', '*')
    """
    split = [path.split("/") for path in dict.fromkeys(paths)]
    start = share_start(split)
    if all(len(path) == len(start) for path in split):
        return "/".join(start)
    end = share_start([path[len(start) :][::-1] for path in split])[::-1]
    return "/".join([*start, *([ANY] if end or not start else []), *end])


def share_start(paths: Sequence[Sequence[str]]) -> list[str]:
    """Return the components with which all paths begin, a star for each number that differs."""
    shared: list[str] = []
    for components in zip(*paths, strict=False):
        different = dict.fromkeys(components)
        if len(different) == 1:
            shared.append(components[0])
            continue
        if len({fold_numbers(one) for one in different}) > 1:
            break
        words = _NUMBER.split(components[0])
        numbers = zip(*map(_NUMBER.findall, different), strict=True)
        stars = [each[0] if len(set(each)) == 1 else ANY for each in numbers]
        shared.append(
            "".join(word for pair in zip(words, [*stars, ""], strict=True) for word in pair)
        )
    return shared
