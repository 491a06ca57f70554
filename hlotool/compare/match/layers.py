"""The numbered layers of an unrolled model, aligned where there are more, fewer, or others.

Names say where a layer stands: `layer_3`, `layers[3]`, `['blocks'][3]`. What stands in one (its
scopes, its parameters and their shapes) says which it is. The layers of both sides are aligned as
sequences: those of like contents pair up in order, then what is left between two such pairs.
Of layers that are all alike the last ones are new.

    old:    layer_0 (dense)  layer_1 (dense)                   layer_2 (dense)
    new:    layer_0 (dense)  layer_1 (dense)  layer_2 (moe)    layer_3 (dense)

Here the new layer_3 is the old layer_2, and the new layer_2 is new.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.origin import find_scope
from hlotool.hlo import Module, Shape

_Dims: TypeAlias = Callable[[Shape], int]  # a shape's number, the layout aside
_Contents: TypeAlias = set[Hashable]  # of one layer
_NUMBERED: Final = re.compile(r"([A-Za-z]+)((?:_|\['?|'?\]\[)?)(\d+)(?=$|[\]/).:';])")
_FEWEST: Final = 2  # numbers of a sequence
_TELLING: Final = frozenset(("parameter", "dot", "convolution", "custom-call", "fusion"))
_APART: Final = 1_000_000  # added to the number of a new layer whose name an old one has
_ALIKE: Final = 0.7  # of what two layers hold, so that they may be the same


class Layers(Struct, eq=False):
    """How the layers of the new side are called on the old side.

    `families` are the numbered sequences that both sides have, `renamed` the old number by the
    new one, where they differ.
    """

    new: Module | None = None
    families: frozenset[str] = frozenset()
    renamed: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    _tags: dict[str, Hashable] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def translate(self, op_name: str, module: Module) -> str:
        """Return an op_name as the old side would have it."""
        if module is not self.new or not self.renamed or not op_name:
            return op_name
        known = self._known.get(op_name)
        if known is None:
            known = self._known[op_name] = _NUMBERED.sub(self._rename, op_name)
        return known

    def _rename(self, found: re.Match[str]) -> str:
        number = self.renamed.get(_family(found[1]), {}).get(int(found[3]), found[3])
        return f"{found[1]}{found[2]}{number}"

    def tag(self, op_name: str) -> Hashable:
        """Return the layers that a (translated) op_name lies in, None where it lies in none."""
        if not self.families or not op_name:
            return None
        if op_name not in self._tags:
            found = ((_family(one[1]), one[3]) for one in _NUMBERED.finditer(_path(op_name)))
            kept = dict.fromkeys(one for one in found if one[0] in self.families)
            self._tags[op_name] = tuple(kept) or None
        return self._tags[op_name]


def align_layers(old: Module, new: Module, dims: _Dims) -> Layers:
    """Return which numbered layers of two modules are the same."""
    sides = [_list_layers(module, dims) for module in (old, new)]
    families: set[str] = set()
    renamed: dict[str, Mapping[int, str]] = {}
    for name in sides[0].keys() & sides[1].keys():
        here, there = sides[0][name], sides[1][name]
        if not (_is_sequence(here) and _is_sequence(there)):
            continue
        families.add(name)
        pairs = dict(_align(sorted(here), sorted(there), here, there))
        numbers = {other: str(one) for one, other in pairs.items() if one != other}
        after = there.keys() - set(pairs.values())
        # A new layer must not pass for the old one of its number, whose own counterpart has
        # another.
        numbers |= {other: str(other + _APART) for other in after if other in here}
        if numbers:
            renamed[name] = numbers
    return Layers(new, frozenset(families), renamed)


def _list_layers(module: Module, dims: _Dims) -> Mapping[str, dict[int, _Contents]]:
    """Return what stands in the numbered layers that op_names speak of, by family.

    Each op_name counts once for what it stands for: a parameter, a heavy operation, a fusion.
    """
    families: dict[str, dict[int, _Contents]] = defaultdict(lambda: defaultdict(set))
    seen: set[tuple[str, str, int]] = set()
    for one in module.instructions():
        is_parameter = one.opcode == "parameter"
        if one.opcode not in _TELLING or (is_parameter and one.computation is not module.entry):
            continue
        op_name = one.metadata().op_name
        key = op_name, one.opcode, dims(one.shape) if one.opcode != "fusion" else 0
        if not op_name or key in seen:
            continue
        seen.add(key)
        contents = op_name if is_parameter else find_scope(op_name) or ""
        for found in _NUMBERED.finditer(_path(op_name)):
            name, number = _family(found[1]), int(found[3])
            families[name][number].add((_mask(contents, name, number), *key[1:]))
    return families


def _path(op_name: str) -> str:
    """Drop the primitive, the last component of a path."""
    return op_name.rpartition("/")[0] if "/" in op_name else op_name


def _family(word: str) -> str:
    return word.lower().removesuffix("s")


def _mask(text: str, name: str, number: int) -> str:
    """Return a path without the number of one layer, so that what stands in two is equal."""

    def mask(found: re.Match[str]) -> str:
        is_this = _family(found[1]) == name and int(found[3]) == number
        return f"{found[1]}{found[2]}#" if is_this else found[0]

    return _NUMBERED.sub(mask, text)


def _is_sequence(numbers: Iterable[int]) -> bool:
    """Say whether numbers are 0, 1, 2, … or 1, 2, 3, …; one alone is no sequence."""
    found = sorted(numbers)
    return len(found) >= _FEWEST and found[0] < _FEWEST and found[-1] - found[0] == len(found) - 1


def _align(
    old: list[int], new: list[int], here: Mapping[int, _Contents], there: Mapping[int, _Contents]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a longest common subsequence, the first there is, and what lies between.

    Layers between two pairs are paired in order as well: each may have changed.
    """
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    alike = [[_are_alike(here[one], there[other]) for other in new] for one in old]
    # Filled from the end, so that the walk below reads off the first of all longest alignments.
    for row in reversed(range(len(old))):
        for column in reversed(range(len(new))):
            table[row][column] = (
                table[row + 1][column + 1] + 1
                if alike[row][column]
                else max(table[row + 1][column], table[row][column + 1])
            )
    row = column = 0
    between: tuple[list[int], list[int]] = [], []
    while row < len(old) and column < len(new):
        if alike[row][column]:
            yield from zip(*between, strict=False)
            between = [], []
            yield old[row], new[column]
            row, column = row + 1, column + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            between[0].append(old[row])
            row += 1
        else:
            between[1].append(new[column])
            column += 1
    yield from zip([*between[0], *old[row:]], [*between[1], *new[column:]], strict=False)


def _are_alike(old: _Contents, new: _Contents) -> bool:
    return len(old & new) >= _ALIKE * len(old | new)
