"""What differs in the `HloModule` lines: donation, devices, the schedule's presence."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.fields import column
from hlotool.ir import Alias, Donor, Module


class HeaderChange(Struct, frozen=True):
    """One part of the header with another value on each side."""

    name: Annotated[str, column("part of the HloModule line")]
    left: Annotated[
        str, column("value on the left; of aliases, those that only the left has", heading="old")
    ]
    right: Annotated[
        str, column("value on the right; of aliases, those that only the right has", heading="new")
    ]


def compare_headers(left: Module, right: Module) -> tuple[HeaderChange, ...]:
    """List the parts that differ.

    Left out: the name; the entry's layout, which the parameters and the root tell; and what
    only steers the partitioner.
    """
    here, there = left.header, right.header
    parts = (
        ("is_scheduled", here.is_scheduled, there.is_scheduled),
        ("replica_count", here.replica_count, there.replica_count),
        ("num_partitions", here.num_partitions, there.num_partitions),
    )
    changes = [
        HeaderChange(name, str(one).lower(), str(other).lower())
        for name, one, other in parts
        if one != other
    ]
    aliases = _aliases(here.aliases), _aliases(there.aliases)
    donors = _donors(here.donors), _donors(there.donors)
    for name, (one_set, other_set) in (("input_output_alias", aliases), ("buffer_donor", donors)):
        if one_set != other_set:
            changes.append(
                HeaderChange(name, _extra(one_set, other_set), _extra(other_set, one_set))
            )
    return tuple(changes)


def _aliases(aliases: tuple[Alias, ...]) -> frozenset[str]:
    return frozenset(
        f"output {_index(one.output_index)} in parameter {one.number}{_index(one.index)}"
        + f" ({one.kind})" * bool(one.kind)
        for one in aliases
    )


def _donors(donors: tuple[Donor, ...]) -> frozenset[str]:
    return frozenset(f"parameter {one.parameter}{_index(one.index)}" for one in donors)


def _index(index: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, index)) + "}"


def _extra(items: frozenset[str], others: frozenset[str]) -> str:
    """Name what one side has and the other has not: the first, and how many more."""
    own = items - others
    if not own:
        return "no others" if items else "none"
    more = f" and {len(own) - 1} more" if len(own) > 1 else ""
    return min(own) + more
