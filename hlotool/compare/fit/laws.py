"""What varies between compilations of one program, and how a number follows it.

A variable is a size that differs, such as a batch of 8 and 16. A law is c · v ** p, of several
variables their product, or v times an integer plus an integer, as in a slice of `v - 1`. A number
of two compilations always fits several laws; the first that fits is taken, as sizes of arrays are
products. With a batch of 8 and 16, the numbers 24 and 48 are `3 · batch`, 7 and 15 `batch - 1`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.errors import UsageError
from hlotool.program.program import Program
from hlotool.table.words import join_words

Sizes: TypeAlias = tuple[int, ...]  # of one number, a program each
_POWERS: Final = (1, 2, 3, -1, 0)
_MOST_POWER: Final = 3


class Dimension(Struct, frozen=True):
    """A size of the arguments that differs: `tokens[0]`, 8 and 16."""

    name: str
    sizes: Sizes

    def __str__(self) -> str:
        """Write it as a user reads it."""
        return f"{self.name} {' → '.join(map(str, self.sizes))}"


class Variable(Struct, frozen=True):
    """What varies: its value in each program, and the dimensions that follow it.

    `is_counted` where no dimension follows: the number of arguments does, as that of layers that
    are written one after the other.
    """

    name: str
    values: Sizes
    dimensions: tuple[Dimension, ...]
    is_counted: bool = False


class Law(Struct, frozen=True):
    """A number as a function of the variables: coefficient · Π value ** power + offset."""

    coefficient: Fraction
    powers: tuple[int, ...]
    offset: int = 0

    def at(self, values: Sequence[int]) -> Fraction:
        """Return the number where the variables have these values; perhaps no whole one."""
        scale = prod(Fraction(one) ** power for one, power in zip(values, self.powers, strict=True))
        return self.coefficient * scale + self.offset


@lru_cache(maxsize=1 << 16)
def find_law(numbers: Sizes, points: tuple[Sizes, ...]) -> Law | None:
    """Return the law of a number that is `numbers` where the variables are `points`, if any."""
    rank = len(points[0])
    if len(set(numbers)) == 1:
        return Law(Fraction(numbers[0]), (0,) * rank)
    if 0 not in numbers and all(map(all, points)):  # powers of 0 say nothing
        for powers in _list_powers(rank):
            unit = Law(Fraction(1), powers)
            pairs = zip(numbers, points, strict=True)
            ratios = {Fraction(one) / unit.at(point) for one, point in pairs}
            if len(ratios) == 1:
                return Law(ratios.pop(), powers)
    for place in range(rank):
        law = _find_affine(numbers, [point[place] for point in points], place, rank)
        if law is not None:
            return law
    return None


def _list_powers(rank: int) -> Iterator[tuple[int, ...]]:
    """List the powers of several variables, the plain ones first."""
    found = [one for one in product(_POWERS, repeat=rank) if any(one)]
    found.sort(key=lambda one: (sum(map(abs, one)), [_POWERS.index(each) for each in one]))
    return (one for one in found if sum(map(abs, one)) <= _MOST_POWER)


def _find_affine(numbers: Sizes, values: Sequence[int], place: int, rank: int) -> Law | None:
    low, high = min(values), max(values)
    if low == high:
        return None
    first, last = numbers[values.index(low)], numbers[values.index(high)]
    slope = Fraction(last - first, high - low)
    offset = first - slope * low
    pairs = zip(values, numbers, strict=True)
    if any(slope * one + offset != number for one, number in pairs) or offset.denominator != 1:
        return None
    return Law(slope, tuple(int(one == place) for one in range(rank)), int(offset))


# What varies.

_NUMBERED: Final = re.compile(r"\[\d+\]")
_HOLDER: Final = re.compile(r"(\w+)'?\]?\[\*\]")  # of what is numbered: `layers`
_NEEDS: Final = "hlotool fit needs programs that differ in one size"


def find_variables(programs: Sequence[Program], named: Mapping[str, Sizes]) -> tuple[Variable, ...]:
    """Return what varies between programs; `named` are the variables that the user names.

    Raises UsageError where nothing varies, where dimensions follow none of the named variables,
    and where the programs are too few to tell what varies apart.
    """
    arguments = [_read_arguments(program) for program in programs]
    if len({tuple(one) for one in arguments}) > 1:
        return (_count_arguments(arguments, named),)
    found = list(_list_dimensions(arguments))
    if not found:
        raise UsageError(
            "the arguments of these programs have the same shapes, so nothing varies.",
            f"{_NEEDS}, such as two batch sizes.",
        )
    variables = _name_variables(found, named) if named else _group(found)
    _check_rank(variables, len(programs))
    return variables


def _read_arguments(program: Program) -> dict[str, Sizes]:
    """Return the shapes of the arguments: global ones where files say all of them."""
    rows = program.find_shardings().parameters
    is_global = all(row.global_shape is not None for row in rows)
    found: dict[str, Sizes] = {}
    for row in rows:
        text = (row.global_shape if is_global else row.local_shape) or ""
        _, _, dims = text.partition("[")
        name = row.name or str(len(found))
        name = name if name not in found else f"{name} #{len(found)}"
        found[name] = tuple(int(one) for one in re.findall(r"\d+", dims.partition("]")[0]))
    return found


def _list_dimensions(arguments: Sequence[Mapping[str, Sizes]]) -> Iterator[Dimension]:
    for name, first in arguments[0].items():
        shapes = [one[name] for one in arguments]
        if len({len(shape) for shape in shapes}) > 1:
            raise UsageError(f"{name} has {len(first)} dimensions in one program, more in another.")
        for place, sizes in enumerate(zip(*shapes, strict=True)):
            if len(set(sizes)) > 1:
                yield Dimension(f"{name}[{place}]", sizes)


def _group(dimensions: Sequence[Dimension]) -> tuple[Variable, ...]:
    """Put together dimensions that always go together; the first of them names the variable."""
    groups: list[list[Dimension]] = []
    for one in dimensions:
        group = next((each for each in groups if _follows(one.sizes, each[0].sizes)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return tuple(Variable(group[0].name, group[0].sizes, tuple(group)) for group in groups)


def _name_variables(
    dimensions: Sequence[Dimension], named: Mapping[str, Sizes]
) -> tuple[Variable, ...]:
    followers: defaultdict[str, list[Dimension]] = defaultdict(list)
    changing = f"These dimensions change: {_join_names([str(each) for each in dimensions])}."
    for one in dimensions:
        name = next((each for each in named if _follows(one.sizes, named[each])), None)
        if name is None:
            raise UsageError(f"{one} follows none of {_join_names(list(named))}.", changing)
        followers[name].append(one)
    for name, values in named.items():
        if name not in followers:
            sizes = ",".join(map(str, values))
            raise UsageError(f"no dimension follows --vary {name}={sizes}.", changing)
    return tuple(Variable(name, values, tuple(followers[name])) for name, values in named.items())


def _follows(sizes: Sizes, values: Sizes) -> bool:
    """Say whether sizes are proportional to some values, or one more or less than each."""
    steps = {size - value for size, value in zip(sizes, values, strict=True)}
    return _ratios(sizes, values) == 1 or (len(steps) == 1 and steps <= {-1, 1})


def _ratios(sizes: Sizes, values: Sizes) -> int:
    return len({Fraction(one, value) for one, value in zip(sizes, values, strict=True) if value})


def _count_arguments(
    arguments: Sequence[Mapping[str, Sizes]], named: Mapping[str, Sizes]
) -> Variable:
    """Return the variable that numbers arguments: layers that are written one after the other."""
    families = [
        {_NUMBERED.sub("[*]", name): shape for name, shape in one.items()} for one in arguments
    ]
    if any(family != families[0] for family in families):
        only = sorted(set(families[0]) ^ set(families[-1]))[:3]
        what = f": only one has {_join_names(only)}" if only else " and shapes"
        raise UsageError(f"the programs have different arguments{what}.", f"{_NEEDS}.")
    if len(named) > 1:
        raise UsageError("the number of arguments changes, so name only one variable with --vary.")
    counts = [defaultdict[str, int](int) for _ in arguments]
    for count, one in zip(counts, arguments, strict=True):
        for name in one:
            count[_NUMBERED.sub("[*]", name)] += 1
    pattern = next(name for name in counts[0] if len({count[name] for count in counts}) > 1)
    sizes = tuple(count[pattern] for count in counts)
    holder = _HOLDER.search(pattern)
    name, values = next(iter(named.items()), (holder[1] if holder else pattern, sizes))
    return Variable(name, values, (Dimension(pattern, sizes),), is_counted=True)


def _check_rank(variables: Sequence[Variable], count: int) -> None:
    """Raise UsageError unless each variable changes alone between two of the programs."""
    points = list(zip(*(one.values for one in variables), strict=True))
    for place, variable in enumerate(variables):
        is_told = any(
            all((one[other] != two[other]) == (other == place) for other in range(len(variables)))
            for one in points
            for two in points
        )
        if not is_told:
            others = [one for one in variables if one is not variable]
            keep = _join_names([f"{one.name} = {one.values[0]}" for one in others])
            names = _join_names([one.name for one in variables])
            raise UsageError(
                f"{len(variables)} sizes vary in {count} programs: {names}.",
                f"Compile one more, with {variable.name} = {variable.values[-1]} and {keep}.",
            )


def _join_names(names: Sequence[str]) -> str:
    return join_words(names, "and")
