"""A module as lines that can be edited, each of which remembers what it was.

A line that was there from the start keeps its `origin`; a new one has none. Whoever edits what
a line itself says marks it `touched`. So the true pairing is known however the text is printed.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from hlotool.compare.changes.reasons import format_shape
from hlotool.hlo import Module
from hlotool.hlo.opcodes import CALL_KEYS, LISTS_OF_CALLEES
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

_SKIPPED = frozenset((*CALL_KEYS, "control-predecessors"))


@dataclass(eq=False)
class Line:
    """One instruction."""

    shape: str
    opcode: str
    operands: list[Line] = field(default_factory=list)
    literal: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    callees: list[tuple[str, list[Body]]] = field(default_factory=list)
    origin: int | None = None
    touched: bool = False

    @property
    def called(self) -> list[Body]:
        """The bodies that this calls."""
        return [body for _, bodies in self.callees for body in bodies]

    @property
    def dtype(self) -> str:
        """The dtype of an array, '(' and so on of a tuple."""
        return self.shape.partition("[")[0]

    @property
    def is_array(self) -> bool:
        """Whether the shape is an array."""
        return not self.shape.startswith("(") and "[" in self.shape


@dataclass(eq=False)
class Body:
    """One computation; its lines define before they use."""

    lines: list[Line]
    root: Line
    is_entry: bool = False

    def users(self, line: Line) -> list[Line]:
        """List the lines that have this one as an operand."""
        return [one for one in self.lines if line in one.operands]

    def parameters(self) -> list[Line]:
        """List the parameters by number."""
        found = [one for one in self.lines if one.opcode == "parameter"]
        return sorted(found, key=lambda one: int(one.literal))

    def put_behind(self, line: Line, new: Line) -> Line:
        """Put a new line directly behind another."""
        self.lines.insert(self.lines.index(line) + 1, new)
        return new

    def put_before(self, line: Line, new: Line) -> Line:
        """Put a new line directly before another."""
        self.lines.insert(self.lines.index(line), new)
        return new

    def redirect(self, old: Line, new: Line, users: list[Line] | None = None) -> None:
        """Let the users of one line, or some of them, use another."""
        for user in self.users(old) if users is None else users:
            if user is not new:
                user.operands = [new if one is old else one for one in user.operands]
        if users is None and self.root is old:
            self.root = new

    def prune(self) -> None:
        """Drop what no line uses any more."""
        kept = {self.root}
        for line in reversed(self.lines):
            if line in kept or line.opcode == "parameter" or not line.is_array:
                kept.add(line)
                kept.update(line.operands)
        self.lines = [line for line in self.lines if line in kept]


@dataclass(eq=False)
class Listing:
    """A module; callees stand before their callers."""

    bodies: list[Body]

    @property
    def entry(self) -> Body:
        """The computation that is run."""
        return next(body for body in self.bodies if body.is_entry)

    def lines(self) -> Iterator[Line]:
        """Yield all lines."""
        for body in self.bodies:
            yield from body.lines

    def callers(self) -> dict[Body, list[Line]]:
        """Return who calls each body."""
        found: dict[Body, list[Line]] = {body: [] for body in self.bodies}
        for line in self.lines():
            for body in line.called:
                found[body].append(line)
        return found

    def copy(self) -> Listing:
        """Return a copy that can be edited."""
        return copy.deepcopy(self)

    def drop_dead(self) -> None:
        """Drop the computations that nothing calls any more."""
        reached = [self.entry]
        for body in reached:
            new = [one for line in body.lines for one in line.called if one not in reached]
            reached.extend(dict.fromkeys(new))
        self.bodies = [body for body in self.bodies if body in reached]


def list_module(text: str) -> Listing:
    """Take a text apart."""
    return _take_apart(parse_module(Source(text)))


def _take_apart(module: Module) -> Listing:
    bodies: dict[str, Body] = {}
    lines: dict[object, Line] = {}
    for computation in module.computations.values():
        made = []
        for one in computation.instructions:
            line = Line(
                format_shape(one.shape),
                one.opcode,
                [lines[operand] for operand in one.operands],
                one.literal,
                {key: text for key, text in one.attributes.items() if key not in _SKIPPED},
                [(key, [bodies[each.name] for each in one.callees(key)]) for key in CALL_KEYS],
                origin=len(lines),
            )
            line.callees = [(key, called) for key, called in line.callees if called]
            lines[one] = line
            made.append(line)
        root = lines[computation.root]
        bodies[computation.name] = Body(made, root, computation is module.entry)
    return Listing(list(bodies.values()))


@dataclass(frozen=True)
class Print:
    """How a listing is printed: other names and order, without metadata."""

    is_shuffled: bool = False
    has_metadata: bool = True


def print_listing(
    listing: Listing, style: Print, chooser: random.Random
) -> tuple[str, dict[str, Line]]:
    """Write a module, and say which line has which name."""
    bodies = _order_bodies(listing, chooser) if style.is_shuffled else listing.bodies
    lines = {body: _order(body, chooser) if style.is_shuffled else body.lines for body in bodies}
    every = [line for body in bodies for line in lines[body]]
    numbers = list(range(len(every)))
    if style.is_shuffled:
        chooser.shuffle(numbers)
    names = {line: f"v{number}" for line, number in zip(every, numbers, strict=True)}
    called = {body: f"c{place}" for place, body in enumerate(bodies)}
    texts = ["HloModule edited, is_scheduled=true\n"]
    for body in bodies:
        head = f"{'ENTRY ' if body.is_entry else ''}%{called[body]} {{"
        rows = [
            _write(line, names, called, style, is_root=line is body.root) for line in lines[body]
        ]
        texts.append("\n".join((head, *rows, "}\n")))
    return "\n".join(texts), {name: line for line, name in names.items()}


def _write(
    line: Line, names: dict[Line, str], called: dict[Body, str], style: Print, *, is_root: bool
) -> str:
    operands = ", ".join(f"%{names[one]}" for one in line.operands)
    attributes = [
        f"{key}={text}"
        for key, text in line.attributes.items()
        if key != "metadata" or style.has_metadata
    ]
    for key, bodies in line.callees:
        one = ", ".join(f"%{called[body]}" for body in bodies)
        attributes.insert(0, f"{key}={{{one}}}" if key in LISTS_OF_CALLEES else f"{key}={one}")
    behind = "".join(f", {one}" for one in attributes)
    root = "ROOT " if is_root else ""
    return (
        f"  {root}%{names[line]} = {line.shape} {line.opcode}({operands or line.literal}){behind}"
    )


def _order(body: Body, chooser: random.Random) -> list[Line]:
    """Return the lines in another order that operands allow."""
    waits = {line: set(line.operands) for line in body.lines}
    users: dict[Line, list[Line]] = {line: [] for line in body.lines}
    for line, operands in waits.items():
        for one in operands:
            users[one].append(line)
    ready = [line for line, operands in waits.items() if not operands]
    found = []
    while ready:
        place = chooser.randrange(len(ready))
        ready[place], ready[-1] = ready[-1], ready[place]
        line = ready.pop()
        found.append(line)
        for user in users[line]:
            waits[user].discard(line)
            if not waits[user]:
                ready.append(user)
    assert len(found) == len(body.lines)
    return found


def _order_bodies(listing: Listing, chooser: random.Random) -> list[Body]:
    """Return the bodies in another order, callees first."""
    waits = {body: {one for line in body.lines for one in line.called} for body in listing.bodies}
    found: list[Body] = []
    while waits:
        ready = [body for body, called in waits.items() if called <= set(found)]
        body = chooser.choice(ready)
        found.append(body)
        del waits[body]
    return found
