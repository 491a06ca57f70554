"""How are weighted stacks written for flame graphs? `outer;inner;leaf 42`, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlotool.render.exchange.stacks import Stack


def render_folded(stacks: Iterable[Stack]) -> Iterator[str]:
    """Yield a line for each stack that weighs anything, by its first weight."""
    for stack in stacks:
        if stack.values[0] > 0:
            frames = ";".join(frame.name.replace(";", ",") for frame in stack.frames)
            yield f"{frames} {stack.values[0]}\n"
