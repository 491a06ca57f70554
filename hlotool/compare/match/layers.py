"""Which layer of an unrolled model is which, when there are more, fewer, or others?

Names say where a layer stands: `layer_3`, `layers[3]`, `['blocks'][3]`. What stands in one (its
scopes, its parameters and their shapes) says which it is. The layers of both sides are aligned as
sequences: those of like contents pair up in order, then what is left between two such pairs.
Of layers that are all alike the last ones are new.

    left:   layer_0 (dense)  layer_1 (dense)                   layer_2 (dense)
    right:  layer_0 (dense)  layer_1 (dense)  layer_2 (moe)    layer_3 (dense)

Here the right layer_3 is the left layer_2, and the right layer_2 is new.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.origin import find_scope
from hlotool.hlo import Computation, Instruction, Module

if TYPE_CHECKING:
    from hlotool.compare.match.signature import Signatures

Side: TypeAlias = Literal["left", "right"]
_NUMBERED: Final = re.compile(r"([A-Za-z]+)((?:_|\['?|'?\]\[)?)(\d+)(?=$|[\]/).:';])")
_FEWEST: Final = 2  # numbers of a sequence
_TELLING: Final = frozenset(("parameter", "dot", "convolution", "custom-call", "fusion"))
_APART: Final = 1_000_000  # added to the number of a new layer whose name a left one has
_ALIKE: Final = 0.7  # of what two layers hold, so that they may be the same


class LayerChange(Struct, frozen=True):
    """A layer that only one side has: `layer_12`, new on the right (or gone from it).

    `family` is what its like are called, without number and plural: `layer`.
    """

    scope: str
    side: Side
    family: str
    number: int


class Layers(Struct, eq=False):
    """How the layers of the right side are called on the left.

    `changes` are the layers that one side has alone. `families` are the numbered sequences that
    both have, `renamed` the left number by the right one, where they differ.
    """

    right: Module | None = None
    changes: tuple[LayerChange, ...] = ()
    families: frozenset[str] = frozenset()
    _tags: dict[str, Hashable] = field(default_factory=dict)
    renamed: dict[str, dict[int, str]] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def translate(self, op_name: str, module: Module) -> str:
        """Return an op_name as the left side would have it."""
        if module is not self.right or not self.renamed or not op_name:
            return op_name
        known = self._known.get(op_name)
        if known is None:
            known = self._known[op_name] = _NUMBERED.sub(self._rename, op_name)
        return known

    def tag(self, op_name: str) -> Hashable:
        """Return the layers that a (translated) op_name lies in, None where it lies in none."""
        if not self.families or not op_name:
            return None
        if op_name not in self._tags:
            found = [
                (_family(one[1]), one[3])
                for one in _NUMBERED.finditer(_path(op_name))
                if _family(one[1]) in self.families
            ]
            self._tags[op_name] = tuple(dict.fromkeys(found)) or None
        return self._tags[op_name]

    def _rename(self, found: re.Match[str]) -> str:
        number = self.renamed.get(_family(found[1]), {}).get(int(found[3]), found[3])
        return f"{found[1]}{found[2]}{number}"


def align_layers(left: Module, right: Module, signatures: Signatures) -> Layers:
    """Find which numbered layers of two modules are the same, and which are on one side only."""
    sides = [_find_layers(module, signatures) for module in (left, right)]
    layers = Layers(right)
    families: set[str] = set()
    changes: list[LayerChange] = []
    for name in sides[0].keys() & sides[1].keys():
        here, there = sides[0][name], sides[1][name]
        if not (_is_sequence(here) and _is_sequence(there)):
            continue
        families.add(name)
        pairs = dict(_align(sorted(here), sorted(there), here, there))
        renamed = {other: str(one) for one, other in pairs.items() if one != other}
        new = [other for other in there if other not in pairs.values()]
        renamed |= {other: str(other + _APART) for other in new if other in here}
        if renamed:
            layers.renamed[name] = renamed
        gone = [one for one in here if one not in pairs]
        changes += [LayerChange(here[one].scope, "left", name, one) for one in sorted(gone)]
        changes += [LayerChange(there[one].scope, "right", name, one) for one in sorted(new)]
    layers.changes = tuple(changes)
    layers.families = frozenset(families)
    return layers


def seed_parameters(
    left: Computation, right: Computation, signatures: Signatures
) -> dict[Instruction, Instruction]:
    """Pair the parameters of two entries by name, where a name stands for one on each side."""
    here, there = (_by_name(side.parameters, signatures) for side in (left, right))
    return {one: there[name] for name, one in here.items() if name in there}


def _by_name(parameters: Iterable[Instruction], signatures: Signatures) -> dict[str, Instruction]:
    names = [(signatures.op_name(one), one) for one in parameters]
    counts = Counter(name for name, _ in names)
    return {name: one for name, one in names if name and counts[name] == 1}


class _Layer(Struct, eq=False):
    """What stands in one layer; `scope` is how it is called."""

    scope: str
    contents: set[Hashable] = field(default_factory=set)


def _find_layers(module: Module, signatures: Signatures) -> Mapping[str, dict[int, _Layer]]:
    """Find the numbered layers that the op_names of a module speak of, by family."""
    families: dict[str, dict[int, _Layer]] = defaultdict(dict)
    for op_name, contents in _list_contents(module, signatures):
        for found in _NUMBERED.finditer(_path(op_name)):
            name, number = _family(found[1]), int(found[3])
            layer = families[name].setdefault(number, _Layer(found[0]))
            if "[" in layer.scope and "[" not in found[0]:
                layer.scope = found[0]
            layer.contents.add(_mask(contents, name, number))
    return families


def _list_contents(
    module: Module, signatures: Signatures
) -> Iterator[tuple[str, tuple[str, str, int]]]:
    """Yield each op_name once with what it stands for: a parameter, a heavy operation, a fusion."""
    seen: set[tuple[str, str, int]] = set()
    for one in module.instructions():
        is_parameter = one.opcode == "parameter"
        if one.opcode not in _TELLING or (is_parameter and one.computation is not module.entry):
            continue
        op_name = one.metadata().op_name
        dims = signatures.dims(one.shape) if one.opcode != "fusion" else 0
        key = op_name, one.opcode, dims
        if op_name and key not in seen:
            seen.add(key)
            yield op_name, (op_name if is_parameter else find_scope(op_name) or "", *key[1:])


def _path(op_name: str) -> str:
    """Drop the primitive, the last component of a path."""
    return op_name.rpartition("/")[0] if "/" in op_name else op_name


def _is_sequence(numbers: Iterable[int]) -> bool:
    """Say whether numbers are 0, 1, 2, … or 1, 2, 3, …; one alone is no sequence."""
    found = sorted(numbers)
    return len(found) >= _FEWEST and found[0] < _FEWEST and found[-1] - found[0] == len(found) - 1


def _family(word: str) -> str:
    return word.lower().removesuffix("s")


def _mask(contents: tuple[str, str, int], name: str, number: int) -> Hashable:
    def mask(found: re.Match[str]) -> str:
        is_this = _family(found[1]) == name and int(found[3]) == number
        return f"{found[1]}{found[2]}#" if is_this else found[0]

    return _NUMBERED.sub(mask, contents[0]), *contents[1:]


def _align(
    left: list[int], right: list[int], here: Mapping[int, _Layer], there: Mapping[int, _Layer]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a longest common subsequence, the first there is, and what lies between.

    Layers between two pairs are paired in order as well: each may have changed.
    """
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike = [[_are_alike(here[one], there[other]) for other in right] for one in left]
    for row in reversed(range(len(left))):
        for column in reversed(range(len(right))):
            table[row][column] = (
                table[row + 1][column + 1] + 1
                if alike[row][column]
                else max(table[row + 1][column], table[row][column + 1])
            )
    row = column = 0
    between: tuple[list[int], list[int]] = [], []
    while row < len(left) and column < len(right):
        if alike[row][column]:
            yield from zip(*between, strict=False)
            between = [], []
            yield left[row], right[column]
            row, column = row + 1, column + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            between[0].append(left[row])
            row += 1
        else:
            between[1].append(right[column])
            column += 1
    yield from zip([*between[0], *left[row:]], [*between[1], *right[column:]], strict=False)


def _are_alike(left: _Layer, right: _Layer) -> bool:
    shared = len(left.contents & right.contents)
    return shared >= _ALIKE * len(left.contents | right.contents)
