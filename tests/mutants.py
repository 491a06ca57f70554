"""Texts with a few small injuries, the same ones every time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final

MARKS: Final = "%{}()[]\"'=,:*#/\\<>.+-_ \n\t0123456789aR"
_TOKEN = re.compile(r"[A-Za-z0-9_.\-]+|\s+|.")

Mutation = Callable[[random.Random, str], str]


def delete_char(random_: random.Random, text: str) -> str:
    at = random_.randrange(len(text))
    return text[:at] + text[at + 1 :]


def insert_char(random_: random.Random, text: str) -> str:
    at = random_.randrange(len(text) + 1)
    return text[:at] + random_.choice(MARKS) + text[at:]


def replace_char(random_: random.Random, text: str) -> str:
    at = random_.randrange(len(text))
    return text[:at] + random_.choice(MARKS) + text[at + 1 :]


def delete_mark(random_: random.Random, text: str) -> str:
    """Delete a bracket, quote or other mark: what damages structure most."""
    places = [match.start() for match in re.finditer(r"[^\w\s.]", text)]
    if not places:
        return text
    at = random_.choice(places)
    return text[:at] + text[at + 1 :]


def _tokens(random_: random.Random, text: str) -> tuple[list[str], int]:
    tokens = _TOKEN.findall(text)
    return tokens, random_.randrange(len(tokens))


def delete_token(random_: random.Random, text: str) -> str:
    tokens, at = _tokens(random_, text)
    del tokens[at]
    return "".join(tokens)


def duplicate_token(random_: random.Random, text: str) -> str:
    tokens, at = _tokens(random_, text)
    tokens.insert(at, tokens[at])
    return "".join(tokens)


def move_token(random_: random.Random, text: str) -> str:
    tokens, at = _tokens(random_, text)
    token = tokens[at]
    tokens.insert(random_.randrange(len(tokens)), token)
    return "".join(tokens)


def swap_tokens(random_: random.Random, text: str) -> str:
    tokens, at = _tokens(random_, text)
    other = random_.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def _lines(random_: random.Random, text: str) -> tuple[list[str], int]:
    lines = text.split("\n")
    return lines, random_.randrange(len(lines))


def delete_line(random_: random.Random, text: str) -> str:
    lines, at = _lines(random_, text)
    del lines[at]
    return "\n".join(lines)


def duplicate_line(random_: random.Random, text: str) -> str:
    lines, at = _lines(random_, text)
    lines.insert(random_.randrange(len(lines)), lines[at])
    return "\n".join(lines)


def join_lines(random_: random.Random, text: str) -> str:
    lines, at = _lines(random_, text)
    lines[at : at + 2] = [" ".join(lines[at : at + 2])]
    return "\n".join(lines)


def truncate(random_: random.Random, text: str) -> str:
    return text[: random_.randrange(len(text))]


MUTATIONS: Final[dict[str, tuple[Mutation, ...]]] = {
    "characters": (delete_char, insert_char, replace_char, delete_mark),
    "tokens": (delete_token, duplicate_token, move_token, swap_tokens),
    "lines": (delete_line, duplicate_line, join_lines, truncate),
}


def injure(mutation: Mutation, text: str, random_: random.Random) -> str:
    """Injure a text one to four times in one way."""
    for _ in range(random_.choice((1, 1, 1, 2, 2, 3, 4))):
        if text:
            text = mutation(random_, text)
    return text
