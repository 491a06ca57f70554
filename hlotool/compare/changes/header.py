"""What differs outside the instructions: in the `HloModule` lines, and among the compiler flags.

Flags are those of `.debug_options` and of TPU's `tpu_comp_env.txt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.changes.instructions import NEW, OLD
from hlotool.hlo import Alias, Donor, Module
from hlotool.table import column, figure
from hlotool.table.words import list_some


class HeaderChange(Struct, frozen=True):
    """One part of the header with another value on each side."""

    name: Annotated[str, column("part of the HloModule line")]
    old: Annotated[
        str, column("value on the old side; of aliases, those that are gone", heading="old")
    ]
    new: Annotated[
        str, column("value on the new side; of aliases, those that are new", heading="new")
    ]


def compare_headers(old: Module, new: Module) -> tuple[HeaderChange, ...]:
    """List the parts that differ.

    Left out: the name; the entry's layout, which the parameters and the root tell; and what
    only steers the partitioner.
    """
    here, there = old.header, new.header
    changes = []
    for name in ("is_scheduled", "replica_count", "num_partitions"):
        one, other = (str(getattr(side, name)).lower() for side in (here, there))
        if one != other:
            changes.append(HeaderChange(name, one, other))
    aliases = [frozenset(map(_write_alias, side.aliases)) for side in (here, there)]
    donors = [frozenset(map(_write_donor, side.donors)) for side in (here, there)]
    for name, (before, after) in (("input_output_alias", aliases), ("buffer_donor", donors)):
        if before != after:
            changes.append(HeaderChange(name, _extra(before, after), _extra(after, before)))
    return tuple(changes)


def _write_alias(one: Alias) -> str:
    kind = f" ({one.kind})" if one.kind else ""
    return f"output {_index(one.output_index)} in parameter {one.number}{_index(one.index)}{kind}"


def _write_donor(one: Donor) -> str:
    return f"parameter {one.parameter}{_index(one.index)}"


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
_ABSENT: Final = "; null if not printed"

FlagFile: TypeAlias = Literal["debug_options", "tpu_comp_env"]


class FlagChange(Struct, frozen=True):
    """A flag with its values on each side, as printed; null where it is not printed.

    Of debug options that means its default, in `tpu_comp_env` that the release has none.
    """

    flag: Annotated[str, column("the flag")]
    old: Annotated[
        str | None, column(_VALUE + OLD + _ABSENT, heading="old", null_text="(not printed)")
    ]
    new: Annotated[
        str | None, column(_VALUE + NEW + _ABSENT, heading="new", null_text="(not printed)")
    ]
    file: Annotated[FlagFile, figure("the file that prints it")]


def compare_flags(
    old: Mapping[str, tuple[str, ...]],
    new: Mapping[str, tuple[str, ...]],
    file: FlagFile = "debug_options",
) -> tuple[FlagChange, ...]:
    """List the flags that differ, by name; those about dumping are left out.

    XLA prints debug options that are not at their default, and what is the default differs
    between releases; of TPU's own environment all.
    """
    here, there = (
        {flag: ", ".join(values) for flag, values in side.items()} for side in (old, new)
    )
    return tuple(
        FlagChange(flag, here.get(flag), there.get(flag), file)
        for flag in sorted(old.keys() | new.keys())
        if old.get(flag) != new.get(flag) and not flag.startswith(_IGNORED)
    )
