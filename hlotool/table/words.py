"""Words of sentences: counts, lists, and names.

Counts and lists are `1 line`, `2,000 lines`, `a, b and 3 more`, `a, b or c`. Of names it is what
several have in common, and what was meant by a wrong one: names of instructions share all but their
numbers (`fusion.1` and `fusion.7`: `fusion.*`), and so do the components of paths into the user's
program (`layer_0/mlp` and `layer_1/mlp`: `layer_*/mlp`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from hlotool.errors import QueryError
from hlotool.table.field import Field
from hlotool.table.renamed import find_new, read_table, say_renamed
from hlotool.text import Source

_ONE: Final = frozenset((1, "1"))


def plural(count: int | str | None, one: str, many: str = "") -> str:
    """Return the word that goes with a count, which may be written already or unknown.

    >>> plural(1, "line"), plural(None, "line"), plural("2.1k", "line is", "lines are")
    ('line', 'lines', 'lines are')
    """
    return one if count in _ONE else many or f"{one}s"


def count_noun(count: int | str | None, one: str, many: str = "") -> str:
    """Write a count, or take it as it is written, and what is counted behind it.

    >>> count_noun(1, "line"), count_noun(2000, "line"), count_noun(None, "line")
    ('1 line', '2,000 lines', '? lines')
    """
    number = f"{count:,}" if isinstance(count, int) else count
    return f"{number or '?'} {plural(count, one, many)}"


def list_some(names: Sequence[str], most: int = 3, more: str = " and {} more") -> str:
    """Write the first names; `more` is a template that says how many others there are.

    >>> list_some(["a", "b"]), list_some(["a", "b", "c"], 2), list_some(["a", "b"], 1, ", …")
    ('a, b', 'a, b and 1 more', 'a, …')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (more.format(rest) if rest > 0 else "")


_LISTED: Final = re.compile(r"(?P<one>[^,]+)(?P<others>(?:, [^,]+?)+)(?: and (?P<rest>\d+) more)?")


def shorten_list(text: str) -> str:
    """Write but the first of names that `list_some` wrote; other text stays.

    >>> shorten_list("a, b and 3 more"), shorten_list("a, b"), shorten_list("a")
    ('a and 4 more', 'a and 1 more', 'a')
    """
    if (found := _LISTED.fullmatch(text)) is None:
        return text
    return f"{found['one']} and {found['others'].count(',') + int(found['rest'] or 0)} more"


def join_words(words: Sequence[str], conjunction: str) -> str:
    """Join words as a sentence does.

    >>> join_words(["a"], "or"), join_words(["a", "b", "c"], "or")
    ('a', 'a, b or c')
    """
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


_MOST_NEAR: Final = 4
_MOST_COMPARED: Final = 20_000  # letter by letter, which takes some 20 µs each
_MOST_ALIKE: Final = 3
_CANDIDATES: Final = 12  # of which the most alike may begin with another letter, and are not near
# How alike names are that are near, from 0 to 1; those who mistype mostly begin right.
_LEAST: Final = 0.55
_LEAST_OF_ANOTHER_LETTER: Final = 0.7


def find_near(name: str, known: Iterable[str]) -> list[str]:
    """Return the names most like a wrong one, then those that hold it, else its own parts.

    Case does not count.
    """
    wrong, names = name.lower(), list(known)
    folded = {candidate.lower(): candidate for candidate in names[:_MOST_COMPARED]}
    near = [folded[match] for match in _find_alike(wrong, folded)]
    if len(wrong) > 1:
        holding = (one for one in names if wrong in one.lower())
        near += sorted(holding, key=lambda one: not one.lower().startswith(wrong))
    if not near:
        words = wrong.replace("_", "-")
        ends = ((one, one.lower().replace("_", "-")) for one in names)
        near = [
            one for one, end in ends if words.startswith(f"{end}-") or words.endswith(f"-{end}")
        ]
    return list(dict.fromkeys(near))[:_MOST_NEAR]


def _find_alike(wrong: str, known: Collection[str]) -> list[str]:
    """Return the names that are spelled nearly so, the nearest first."""
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  only an error needs it

    alike = (
        one
        for one in get_close_matches(wrong, known, n=_CANDIDATES, cutoff=_LEAST)
        if one[:1] == wrong[:1]
        or SequenceMatcher(None, one, wrong).ratio() >= _LEAST_OF_ANOTHER_LETTER
    )
    return list(islice(alike, _MOST_ALIKE))


_APPENDED: Final = re.compile(r"[0-9]+|clone|remat[0-9]*")
_INDEX: Final = re.compile(r"\{[0-9,]*\}")
_FOLDED: Final = re.compile(r"(?P<base>.+)\.\*(?:\{(?P<index>[0-9,]*)\})?", re.DOTALL)


def split_name(name: str) -> tuple[str, str]:
    """Drop what makes a name unique, and split off the index of a tuple.

    name  = [ computation "/" ] base { "." ( digits | "clone" | "remat" [ digits ] ) } [ index ]
    index = "{" digits { "," digits } "}"

    `body/fusion.12.clone{1}` is `fusion` and `{1}`. Read from the end, each character once: names
    are as long as a dump likes.
    """
    end = name.rfind("{")
    if end < 0 or not _INDEX.fullmatch(name, end):
        end = len(name)
    stop = end
    while (dot := name.rfind(".", 0, stop)) > 0 and _APPENDED.fullmatch(name, dot + 1, stop):
        stop = dot
    return name[name.rfind("/", 0, stop) + 1 : stop], name[end:]


def fold_name(name: str) -> str:
    """Write a star for what makes a name unique: `fusion.*{1}`, as rows of several are called."""
    base, index = split_name(name)
    return f"{base}.*{index}"


def find_folded(name: str) -> tuple[str, str | None] | None:
    """Return base and index, None without one, of what `fold_name` wrote; None for another name."""
    match = _FOLDED.fullmatch(name)
    return (match["base"], match["index"]) if match else None


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


_MOST_LISTED = 12  # names shown when none is near


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint that lists the names nearest to a wrong one."""
    names = list(known)
    if near := find_near(name, names):
        return f"did you mean {join_words(near, 'or')}?"
    if len(names) == 1:
        return f"known: {names[0]}"
    return f"there are {list_some(names, _MOST_LISTED)}" if names else "none exist"


def suggest_field(name: str, fields: Iterable[Field]) -> str:
    """Return a hint about a name that is no field: its new name, or what has one like it."""
    known = {field.name: field.title for field in fields}
    if (new := find_new(name, known)) is not None:
        return say_renamed(name, new)
    if meant := [one for one in read_table().meant.get(name, ()) if one in known]:
        return f"did you mean {join_words(meant, 'or')}?"
    near = {} if find_near(name, known) else find_near(name.replace("_", " "), known.values())
    return suggest(name, (one for one, title in known.items() if not near or title in near))


# A text of an expression: a backslash escapes the quote and itself.
QUOTED: Final = r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'"


class SettledNames(Struct, frozen=True):
    """What was typed with the names of fields, and older names in it with those of today."""

    text: str
    renamed: Mapping[str, str]


def settle_names(
    text: str, option: str, fields: Sequence[Field], *, reads_older: bool = True
) -> SettledNames:
    """Write the names of fields where an option has headings as printed, or names of before 1.0.

    A heading may be of several words, or hold a sign: `size at peak > 1 GiB` and `-sent/step`. What
    stands in quotes is no name. Raises QueryError for a heading that two columns share.
    """
    known = {field.name for field in fields}
    headings: dict[str, list[str]] = {}
    for field in fields:
        if field.title not in known:
            headings.setdefault(field.title, []).append(field.name)
    older_headings = read_table().headings if reads_older else ()
    titles = sorted((*headings, *older_headings), key=len, reverse=True)
    pattern = re.compile(
        rf"(?P<quoted>{QUOTED})|(?<![\w.])(?P<name>{'|'.join(map(re.escape, titles))}"
        r"|[^\W\d]\w*(?:\.\w+)*)(?![\w.]|\s*\()",
        re.DOTALL,
    )
    renamed: dict[str, str] = {}

    def settle(found: re.Match[str]) -> str:
        if (name := found["name"]) is None or name in known:
            return found[0]
        older = find_new(name, known) if reads_older else None
        names = headings.get(name) or ([older] if older else [])
        if len(names) > 1:
            message = f"{join_words(names, 'and')} have this heading: name one of them"
            raise QueryError(message, Source(text, option), *found.span())
        if names and name not in headings:
            renamed[name] = names[0]
        return names[0] if names else name

    return SettledNames(pattern.sub(settle, text), renamed)


def parse_names(
    text: str, option: str, fields: Iterable[Field], signs: str = ""
) -> tuple[tuple[str, Field], ...]:
    """Read `[sign]name{,[sign]name}` and return each sign ('' if none) with its field.

    Raises QueryError at the first name that is not among `fields`, or is empty.
    """
    known = {field.name: field for field in fields}
    source = Source(text, option)
    found: list[tuple[str, Field]] = []
    pos = 0
    for part in text.split(","):
        start = pos + len(part) - len(part.lstrip())
        pos += len(part) + 1
        name = part.strip()
        sign = name[:1] if name[:1] and name[:1] in signs else ""
        name = name.removeprefix(sign).strip()
        if name not in known:
            message = f"there is no field {name!r}" if name else "expected a field's name"
            end = start + max(1, len(part.strip()))
            raise QueryError(message, source, start, end, suggest_field(name, known.values()))
        found.append((sign, known[name]))
    return tuple(found)
