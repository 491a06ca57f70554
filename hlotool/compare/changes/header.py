"""What differs in the `HloModule` lines: donation, devices, the schedule's presence.

Which compiler flags differ, of `.debug_options` and of TPU's `tpu_comp_env.txt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.changes.instructions import LEFT, RIGHT
from hlotool.hlo import Alias, Donor, Module
from hlotool.table import WHOLE, column, figure
from hlotool.table.words import list_some


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
    return list_some(sorted(own), 1)


_IGNORED: Final = "xla_dump_"  # where and how the dump was written is no part of the program
_VALUE: Final = "its value"
_ABSENT: Final = "; null where it is not printed"

FlagFile: TypeAlias = Literal["debug_options", "tpu_comp_env"]


class FlagChange(Struct, frozen=True):
    """A flag with its values on each side, as printed; null where it is not printed.

    Of debug options that means its default, in `tpu_comp_env` that the release has none.
    """

    flag: Annotated[str, column("the flag", wants=WHOLE)]
    left: Annotated[
        str | None, column(_VALUE + LEFT + _ABSENT, heading="old", null_text="(not printed)")
    ]
    right: Annotated[
        str | None, column(_VALUE + RIGHT + _ABSENT, heading="new", null_text="(not printed)")
    ]
    file: Annotated[FlagFile, figure("the file that prints it")]

    @property
    def is_of_one_side(self) -> bool:
        """Whether one side alone prints it."""
        return self.left is None or self.right is None


def compare_flags(
    left: Mapping[str, tuple[str, ...]],
    right: Mapping[str, tuple[str, ...]],
    file: FlagFile = "debug_options",
) -> tuple[FlagChange, ...]:
    """List the flags that differ, by name; those about dumping are left out.

    XLA prints debug options that are not at their default, and what is the default differs
    between releases; of TPU's own environment all.
    """
    return tuple(
        FlagChange(flag, _text(left.get(flag)), _text(right.get(flag)), file)
        for flag in sorted(left.keys() | right.keys())
        if left.get(flag) != right.get(flag) and not flag.startswith(_IGNORED)
    )


def _text(values: tuple[str, ...] | None) -> str | None:
    return None if values is None else ", ".join(values)
