"""A progress bar on stderr, when stderr is a terminal and the work lasts above a second.

It ends with an estimate of the time left: what is not done yet takes as long as what is.

How far is a command about one program? It reads, then asks for one thing after the other.

How long each takes is told from the length of the text alone: the shares are those that a training
step of 100 MB has, so the time left is an estimate.

Which dump the user means, and the one program a command is about.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.check.config import Config
from hlotool.commands.shared.stderr import say, say_all
from hlotool.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.dump.find import find_inputs
from hlotool.dump.names import short_path
from hlotool.dump.siblings import NamedFiles, list_twins
from hlotool.dump.text_kind import TextKind
from hlotool.errors import HlotoolError, ParseError, UsageError
from hlotool.program.load import find_largest, load_program
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program
from hlotool.table import Unit
from hlotool.table.units import format_value

T = TypeVar("T")

PATIENCE_SECONDS = 1.0


@contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Give a function that says how many of `length` steps were done since its last call."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield _ignore
        return
    meter = _Meter(label, length)
    try:
        yield meter.advance
    finally:
        meter.close()


def track(items: Iterable[T], label: str, length: int) -> Iterator[T]:
    """Yield items, and show how many are done once it takes long."""
    with progress(label, length) as advance:
        for item in items:
            yield item
            advance(1)


class _Meter:
    """Counts steps, and draws only after the user has waited."""

    def __init__(self, label: str, length: int) -> None:
        self.label = label
        self.length = length
        self.done = 0
        self.bar: Any = None
        self.started = time.monotonic()

    def advance(self, steps: int) -> None:
        """Count steps; draw the bar or move it on."""
        self.done += steps
        if self.bar is not None:
            self.bar.update(steps)
        elif time.monotonic() - self.started > PATIENCE_SECONDS:
            import click  # noqa: PLC0415  most runs are over before

            self.bar = click.progressbar(length=self.length, label=self.label, file=sys.stderr)
            self.bar.start -= time.monotonic() - self.started  # it counts from when it is drawn
            self.bar.last_eta = 0.0
            self.bar.update(self.done)

    def close(self) -> None:
        """Leave the bar's line, if there is one."""
        if self.bar is not None:
            self.bar.render_finish()


def _ignore(steps: int) -> None:
    """Do nothing: nobody is looking."""


Stage: TypeAlias = Literal["executions", "costs", "memory", "prints", "fusions"]

_READING: Final = 17_000
_SHARES: Final[dict[Stage, int]] = {
    "executions": 4_000,
    "costs": 8_000,
    "memory": 30_000,
    "prints": 16_000,
    "fusions": 8_000,
}


class Stages:
    """Counts what is done of a program's stages."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._read = 0.0
        self._told = 0

    def watch(self, count: int, length: int) -> None:
        """Count characters of a text that has so many."""
        self._read = min(self._read + _READING * count / length, _READING)
        self._tell(int(self._read))

    def work_out(self, program: Program, stages: tuple[Stage, ...]) -> None:
        """Have a program, which is read, work out what the command will ask for.

        What cannot be worked out raises once more when the command asks, behind the notes.
        """
        self._tell(_READING)
        for stage in stages:
            with suppress(HlotoolError):
                getattr(program, stage)
            self._advance(_SHARES[stage])

    def _tell(self, done: int) -> None:
        self._advance(done - self._told)
        self._told = done


@contextmanager
def show_stages(stages: tuple[Stage, ...]) -> Iterator[Stages]:
    """Show how far reading and the stages are, once they take long."""
    with progress("working", _READING + sum(_SHARES[each] for each in stages)) as advance:
        yield Stages(advance)


_MOST_LISTED: Final = 12  # programs that --module leaves


class Request(Struct, frozen=True):
    """Which dump the user means: PATH and the options that choose in it.

    `budgets` are those of --budget, `config` is what the configuration says, `assumptions` what
    it and the options say that no dump tells.
    `found` remembers what PATH led to: standard input can be read only once. `told` are the
    notes that the user has.
    """

    path: str
    stage: StageChoice = "after"
    module: str | None = None
    named: NamedFiles = field(default_factory=NamedFiles)
    budgets: tuple[str, ...] = ()
    config: Config = field(default_factory=Config)
    assumptions: Assumptions = NO_ASSUMPTIONS
    found: list[Inputs] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    def find(self, also: tuple[TextKind, ...] = ()) -> Inputs:
        """Return the inputs that PATH leads to, and tell the user what was passed over."""
        if not self.found:
            found = find_inputs(self.path, self.stage, self.module, self.named, also=also)
            self.found.append(found)
            self.tell(self.found[0].notes)
        return self.found[0]

    def find_other(self, *kinds: TextKind) -> DumpFile | None:
        """Return the file that PATH is, if that is a text of one of these kinds and no dump."""
        found = self.find(kinds)
        return found.inputs[0].other if len(found.inputs) == 1 else None

    def tell(self, notes: tuple[str, ...]) -> None:
        """Tell the user what was not told before."""
        say_all(note for note in notes if note not in self.told)
        self.told.update(notes)


def load_one(request: Request, *stages: Stage, with_buffers: bool = False) -> Program:
    """Read the one program a command is about, and work out what it will ask for: the stages.

    Of several the one with the most allocated memory, and stderr says so; raises UsageError
    where --module leaves several. The buffer assignment is read only on request.
    """
    found, path = request.find(), request.path
    if len(found.inputs) == 1:
        return _load(request, found.inputs[0], stages, with_buffers=with_buffers)
    if request.module is not None:
        raise UsageError(*_list_matches(request, found))

    chosen, size_bytes = find_largest(found)
    why = (
        f"the one with the most allocated memory ({format_value(size_bytes, Unit.BYTES)})"
        if size_bytes is not None
        else "the first, as none has a readable buffer assignment"
    )
    say(
        f"{len(found.inputs)} modules match in {path}; this shows {chosen.path}, {why}. "
        "Choose with --module."
    )
    return _load(request, chosen, stages, with_buffers=with_buffers)


def _list_matches(request: Request, found: Inputs) -> tuple[str, ...]:
    """Say which programs --module leaves, each by its place, which chooses it."""
    shown = found.inputs[:_MOST_LISTED]
    places = [short_path(one.path, found.path) for one in shown]
    width = max(map(len, places))
    more = len(found.inputs) - len(shown)
    what = f"--module {request.module!r} matches {len(found.inputs)} programs in {found.path}"
    return (
        f"{what}; choose one by its place:",
        *(f"  {place:<{width}}  {one.path}" for place, one in zip(places, shown, strict=True)),
        *((f"  and {more} more",) if more else ()),
    )


def _load(
    request: Request, chosen: Input, stages: tuple[Stage, ...], *, with_buffers: bool
) -> Program:
    """Read a program, and tell the user what of it was not understood."""
    with show_stages(stages) as shown:
        load = partial(
            load_program,
            path=request.path,
            with_buffers=with_buffers,
            assumptions=request.assumptions,
            watch=shown.watch,
        )
        try:
            program = load(chosen)
        except ParseError as error:
            twin = _load_twin(request, chosen, load, error)
            if twin is None:
                raise
            program = twin
        shown.work_out(program, stages)
    request.tell(program.notes())
    return program


def _load_twin(
    request: Request, chosen: Input, load: Callable[[Input], Program], error: ParseError
) -> Program | None:
    """Read a program from the same text in another file, as this one is cut short or damaged."""
    module = chosen.module
    if module is None or error.source.name != module.path:
        return None
    for twin in list_twins(module.raw_path):
        with suppress(HlotoolError):
            program = load(replace(chosen, module=twin))
            request.tell((f"{error.sentence()}. This is about {twin.path}, beside it.",))
            return program
    return None
