"""Pairs of the programs of two directories: by --map, path, content and name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.inputs import EQUAL, Candidate, Content, read_content, read_fingerprint
from hlotool.dump.identity import Identity, name_programs
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.table.sums import group_by
from hlotool.table.words import list_some

Way: TypeAlias = Literal[
    "the only ones", "map", "same path", "equal content", "similar content", "same name"
]
_LEAST_LIKENESS: Final = 0.8  # of programs that have neither path nor name in common
_MOST_LISTED: Final = 8
Named: TypeAlias = tuple[str, str]  # OLD and NEW of --map


class Pairing(Struct, frozen=True):
    """Programs of both sides that belong together; one is None where there is no other.

    `way` says how they were found. `is_ambiguous`: others of its side, or of the other, have
    equally much in common.
    """

    old: Candidate | None
    new: Candidate | None
    way: Way | None = None
    is_ambiguous: bool = False
    name: str = ""  # what it is called, as on the new side if there is one: no other is called so

    @property
    def function(self) -> str:
        """The function's name, as on the new side if there is one."""
        found = self.new or self.old
        return found.name if found else ""

    @property
    def place(self) -> str:
        """Where both lie in their directories, in short; once where that is the same."""
        places = [side.place for side in (self.old, self.new) if side]
        return " → ".join(dict.fromkeys(filter(None, places)))

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(side.size_bytes for side in (self.old, self.new) if side)


def pair_candidates(
    old: Sequence[Candidate], new: Sequence[Candidate], named: Sequence[Named] = ()
) -> list[Pairing]:
    """Pair programs by what the user says, fingerprint, key and likeness, in this order.

    XLA's number says in which order a process compiled, and counts for nothing. Of one name, those
    of equal content pair first, then those of equal keys, of equal folders, and by the place that
    an older document tells. Others of one name pair by content, of documents by what they are
    given: the most similar first; where several are equally similar and not equal, none is paired
    and all are ambiguous. Then the only ones of a name pair, and those of other names that do
    nearly the same. If each side has one program, these are the pair. Raises UsageError where
    --map names no program.
    """
    if len(old) == len(new) == 1 and not named:
        return _name_pairs([Pairing(old[0], new[0], "the only ones")])
    pairer = _Pairer(old, new)
    for before, after in named:
        pairer.pair_named(before, after)
    pairer.pair_same()
    pairer.pair_alone("same path", lambda one: (one.folder, pairer.name(one)))
    pairer.pair_saved()
    pairer.pair_alone("same path", lambda one: one.folder or None)
    pairer.pair_alike()
    return _name_pairs(pairer.pairings())


def _name_pairs(pairs: Sequence[Pairing]) -> list[Pairing]:
    known = [found for one in pairs if (found := one.new or one.old)]
    names = name_programs([one.named() for one in known])
    return [replace(one, name=name) for one, name in zip(pairs, names, strict=True)]


class Division(Struct, frozen=True):
    """A program, and those of the other side that do together what it does: it was split.

    If it `is_joined`, it is of the new side, and the parts of the old one.
    """

    whole: Candidate
    parts: tuple[Candidate, ...]
    is_joined: bool


_PART: Final = 0.7  # of what a part does the whole does, and of the whole the parts together
_LEAST_PART: Final = 0.02  # of the whole: less is in any program
_NO_WORK: Final = re.compile(r"parameter$|constant$|tuple$|get-tuple-element$")


def find_divisions(pairs: Sequence[Pairing]) -> list[Division]:
    """Find the programs that several of the other side do together, by what these do.

    Parts are programs without a counterpart, and the counterpart of the whole, which does less.
    """
    found = []
    every = {id(one): one for pair in pairs for one in (pair.old, pair.new) if one}
    is_any = any(pair.old is None or pair.new is None for pair in pairs)
    work = {key: _count_work(one) for key, one in every.items()} if is_any else {}
    for is_joined in (False, True):
        sides = [(one.new, one.old) if is_joined else (one.old, one.new) for one in pairs]
        alone = [part for whole, part in sides if whole is None and part]
        for whole, own in sides if alone else ():
            words = work.get(id(whole))
            if whole is None or not words:
                continue
            left, parts = words - work.get(id(own), Counter()), [own] if own else []
            for part in alone:
                does = work[id(part)]
                is_part = (left & does).total() >= _PART * does.total()
                if is_part and does.total() >= _LEAST_PART * words.total():
                    left -= does
                    parts.append(part)
            if len(parts) > 1 and left.total() <= (1 - _PART) * words.total():
                found.append(Division(whole, tuple(parts), is_joined))
                alone = [one for one in alone if one not in parts]
    return found


def _count_work(one: Candidate) -> Counter[str]:
    """Count what a program does, before optimizations if it can be; of a document nothing."""
    chosen = one.input
    if chosen is None or one.saved:
        return Counter()
    content = read_content(replace(chosen, module=chosen.before or chosen.module))
    words = content.words if content else Counter[str]()
    return Counter({word: count for word, count in words.items() if not _NO_WORK.search(word)})


def parse_map(items: Iterable[str]) -> tuple[Named, ...]:
    """Read `--map old=new`, given any number of times; the first `=` divides."""
    found = []
    for item in items:
        old, equals, new = item.partition("=")
        if not (old and equals and new):
            raise UsageError(f"--map {item}: expected OLD=NEW, two names, paths or locations.")
        found.append((old, new))
    return tuple(found)


def choose_pair(pairs: Sequence[Pairing], what: str) -> Pairing:
    """Return the one pair there is; raise UsageError if there are several."""
    whole = [pair for pair in pairs if pair.old and pair.new]
    if not whole:
        raise NothingCheckedError("no module has the same name on both sides; pair two with --map.")
    if len(whole) > 1:
        names = list_some(sorted(pair.name for pair in whole), _MOST_LISTED, "")
        raise UsageError(f"{what} takes one module; choose with --module: {names}.")
    return whole[0]


class _Pairer:
    """The pairs so far, and who waits for one."""

    def __init__(self, old: Sequence[Candidate], new: Sequence[Candidate]) -> None:
        self.old = list(old)
        self.new = list(new)
        self._is_old = frozenset(id(one) for one in old)
        self._found: list[Pairing] = []
        self._new_names: dict[str, str] = {}
        self._contents: dict[int, Content | None] = {}
        self._identities: dict[int, Identity] = {}

    def name(self, one: Candidate) -> str:
        """Return a program's name; of one on the old the new one, if --map tells."""
        is_old = id(one) in self._is_old
        return self._new_names.get(one.name, one.name) if is_old else one.name

    def pairings(self) -> list[Pairing]:
        """Return all pairs, then what has no counterpart."""
        alone = [Pairing(one, None) for one in self.old]
        return [*self._found, *alone, *(Pairing(None, one) for one in self.new)]

    def pair_named(self, old: str, new: str) -> None:
        """Pair what --map names: two programs, or all of one name with all of another."""
        here, there = _find_named(old, self.old, "OLD"), _find_named(new, self.new, "NEW")
        if len(here) == len(there) == 1:
            self._pair(here[0], there[0], "map")
        else:
            self._new_names.update((one.name, there[0].name) for one in here)

    def pair_alone(self, way: Way, key: Callable[[Candidate], Hashable | None]) -> None:
        """Pair programs that alone on their side have a key; None is no key."""
        for found, others in self._group(key):
            if len(found) == len(others) == 1:
                self._pair(found[0], others[0], way)

    def pair_same(self) -> None:
        """Pair those of equal content within a name, of several with one key; then equal keys."""
        counts = Counter((id(one) in self._is_old, self.name(one)) for one in self.old + self.new)
        several = {name for (_, name), count in counts.items() if count > 1}

        def find_key(one: Candidate) -> tuple[Hashable, ...] | None:
            name = self.name(one)
            return (name, self._identify(one).arguments) if name in several else None

        for found, others in self._group(find_key):
            self._pair_group(found, others, EQUAL)
        self.pair_alone("same path", lambda one: (key := find_key(one)) and (*key, one.folder))

    def pair_saved(self) -> None:
        """Pair those of one name by their whole places where a document tells no more of them."""
        places = {(other.name, other.place): other for other in self.new if other.place}
        for one in list(self.old):
            other = places.get((self.name(one), one.place))
            if other and (one.saved or other.saved):
                self._pair(one, other, "same path")

    def pair_alike(self) -> None:
        """Pair by content within a name, then the last ones of a name, then across names."""
        for found, others in self._group(self.name):
            if len(found) == len(others) == 1:
                self._pair(found[0], others[0], "same name")
            else:
                self._pair_group(found, others, 0.0)
        if self.old and self.new:
            self._pair_group(list(self.old), list(self.new), _LEAST_LIKENESS)

    def _group(
        self, key: Callable[[Candidate], Hashable | None]
    ) -> list[tuple[list[Candidate], list[Candidate]]]:
        """Return the programs of both sides by a key that the old side has; None is no key."""
        here, there = group_by(self.old, key), group_by(self.new, key)
        return [(found, there.get(name, [])) for name, found in here.items() if name is not None]

    def _pair_group(self, here: list[Candidate], there: list[Candidate], least: float) -> None:
        """Pair the most similar first; those that others equal in that are ambiguous."""
        ranked = sorted(
            (-likeness, one.folder != other.folder, place, number)
            for place, one in enumerate(here)
            for number, other in enumerate(there)
            if (likeness := self._likeness(one, other, least)) >= least
        )
        while ranked:
            likeness, _, place, number = ranked[0]
            tied = [each for each in ranked if each[0] == likeness]
            rows = {row for *_, row, column in tied if column == number} | {place}
            columns = {column for *_, row, column in tied if row == place} | {number}
            twins = [(here[place], here[row]) for row in rows]
            twins += [(there[number], there[column]) for column in columns]
            if all(self._is_twin(*both) for both in twins):
                way: Way = "equal content" if likeness == -EQUAL else "similar content"
                self._pair(here[place], there[number], way)
                rows, columns = {place}, {number}
            else:
                self._give_up([here[row] for row in rows], [there[column] for column in columns])
            ranked = [one for one in ranked if one[2] not in rows and one[3] not in columns]

    def _likeness(self, one: Candidate, other: Candidate, least: float) -> float:
        """Return how much two programs have in common; 0 where that is unknown.

        Of a document no content is known, only what a program of its name is given.
        """
        if self._is_twin(one, other):
            return EQUAL
        if one.saved or other.saved:
            return 0.0 if least else self._identify(one).likeness(self._identify(other))
        sizes = one.size_bytes, other.size_bytes
        if least and min(sizes) * 2 < max(sizes):
            return -1.0
        here, there = self._content(one), self._content(other)
        return here.likeness(there) if here and there else 0.0

    def _is_twin(self, one: Candidate, other: Candidate) -> bool:
        """Whether two programs hold the same, so that either will do.

        Texts that are not equal letter by letter are parsed, where they do the same as often.
        """
        if one is other:
            return True
        if not (one.saved or other.saved):
            here, there = self._content(one), self._content(other)
            if here is None or there is None or here.words != there.words:
                return False
            if here.text == there.text:
                return True
        print_ = self._print(one)
        return print_ is not None and print_ == self._print(other)

    def _print(self, one: Candidate) -> str | None:
        """Return a fingerprint; of a document of before it was kept there is none."""
        found = self._identify(one)
        if found.fingerprint is None and one.input and not one.saved:
            found = replace(found, fingerprint=read_fingerprint(one.input) or "")
            self._identities[id(one)] = found
        return found.fingerprint or None

    def _identify(self, one: Candidate) -> Identity:
        if id(one) not in self._identities:
            self._identities[id(one)] = one.identify()
        return self._identities[id(one)]

    def _content(self, one: Candidate) -> Content | None:
        if id(one) not in self._contents:
            self._contents[id(one)] = read_content(one.input) if one.input else None
        return self._contents[id(one)]

    def _pair(self, one: Candidate, other: Candidate, way: Way) -> None:
        self._found.append(Pairing(one, other, way))
        self.old = [each for each in self.old if each is not one]
        self.new = [each for each in self.new if each is not other]

    def _give_up(self, old: Sequence[Candidate], new: Sequence[Candidate]) -> None:
        """Leave programs alone that could be each other's counterparts in several ways."""
        self._found += [Pairing(one, None, is_ambiguous=True) for one in old]
        self._found += [Pairing(None, one, is_ambiguous=True) for one in new]
        gone = {id(one) for one in (*old, *new)}
        self.old = [one for one in self.old if id(one) not in gone]
        self.new = [one for one in self.new if id(one) not in gone]


def _find_named(text: str, candidates: Sequence[Candidate], side: str) -> list[Candidate]:
    """Return the programs that --map means: by path or place one, by name all of it."""
    # What names one program alone: its path as found, below its directory, its place.
    found = []
    for one in candidates:
        path = one.input.path if one.input and not one.saved else ""
        key = one.key if one.key != one.name else ""
        if text in {path, one.path_below, one.folder, one.place, key} - {""}:
            found.append(one)
    found = found or [one for one in candidates if one.name == text]
    if found:
        return found
    listed = list_some(sorted({one.key for one in candidates}), _MOST_LISTED, "")
    raise UsageError(f"--map: {side} has no module {text!r}; it has {listed}.")
