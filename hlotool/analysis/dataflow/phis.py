"""Phis without a choice: where only one value ever meets, it is seen there itself.

Follows PhiGraph::Optimize (xla/hlo/analysis/hlo_dataflow_analysis.h): loops pass values on
from slot to slot, and a phi stands only where something new comes in.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.dataflow.values import Value, resolve


def replace_idle_phis(phis: list[Value]) -> None:
    """Replace phis in which one value meets, alone or as a circle of phis."""
    for circle in _find_circles(phis):
        members = set(circle)
        outside = {
            found
            for phi in circle
            for value in phi.inputs or ()
            if (found := resolve(value)) not in members
        }
        if len(outside) == 1:
            (only,) = outside
            for phi in circle:
                phi.replacement = only
        elif len(circle) > 1:
            _replace_single(circle)


def _replace_single(circle: list[Value]) -> None:
    """Replace members in which, beside themselves, one value meets; until nothing changes."""
    users: dict[Value, list[Value]] = {}
    for phi in circle:
        for value in phi.inputs or ():
            users.setdefault(value, []).append(phi)
    pending = circle[::-1]
    while pending:
        phi = pending.pop()
        if phi.replacement is not None:
            continue
        others = {resolve(value) for value in phi.inputs or ()} - {phi}
        if len(others) == 1:
            phi.replacement = others.pop()
            followers = users.pop(phi, [])
            pending += followers
            if phi.replacement.is_phi:
                users.setdefault(phi.replacement, []).extend(followers)


def _find_circles(phis: list[Value]) -> Iterator[list[Value]]:
    """Yield the sets of phis that reach each other, inputs before users (Tarjan, 1972)."""
    order: dict[Value, int] = {}
    lowest: dict[Value, int] = {}
    on_stack: set[Value] = set()
    stack: list[Value] = []
    for start in phis:
        if start in order:
            continue
        walk = [(start, _phi_inputs(start))]
        order[start] = lowest[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while walk:
            phi, inputs = walk[-1]
            following = next(inputs, None)
            if following is not None:
                if following not in order:
                    order[following] = lowest[following] = len(order)
                    stack.append(following)
                    on_stack.add(following)
                    walk.append((following, _phi_inputs(following)))
                elif following in on_stack:
                    lowest[phi] = min(lowest[phi], order[following])
                continue
            walk.pop()
            if walk:
                lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[phi])
            if lowest[phi] == order[phi]:
                circle = [stack.pop()]
                while circle[-1] is not phi:
                    circle.append(stack.pop())
                on_stack.difference_update(circle)
                yield circle[::-1]


def _phi_inputs(phi: Value) -> Iterator[Value]:
    return iter([value for value in phi.inputs or () if value.inputs is not None])
