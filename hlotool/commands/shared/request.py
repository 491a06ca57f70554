"""The dump that the user means, the one program of it that a command is about, and the wait for it.

That work goes on is shown on stderr, when stderr is a terminal and it lasts above a second: by a
bar where steps are counted, with an estimate of the time left (what is not done yet takes as long
as what is), by a spinner where they are not.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from threading import Event, Thread
from typing import Any, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.check.config import Config
from hlotool.commands.shared.messages import say, say_all
from hlotool.dump.budget import DEFAULT_BUDGET, ByteBudget
from hlotool.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.dump.find import refuse_path, resolve_inputs
from hlotool.dump.names import short_path
from hlotool.dump.read import STDIN
from hlotool.dump.siblings import NamedFiles, list_twins
from hlotool.dump.stores import is_address
from hlotool.dump.text_kind import TextKind
from hlotool.errors import HlotoolError, InputError, NothingCheckedError, ParseError, UsageError
from hlotool.program.load import find_largest, load_program, note_files
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program
from hlotool.table import Unit
from hlotool.table.units import format_value

T = TypeVar("T")

_MOST_LISTED: Final = 12  # programs that --module leaves


class Request(Struct, eq=False):
    """Which dump the user means: PATH and the options that choose in it.

    `budgets` are those of --budget, `config` is what the configuration says, `assumptions` what
    it and the options say that no dump tells, `unpacking` what may be fetched and unpacked.
    `found` is what PATH led to, once it was looked for: standard input can be read only once.
    `told` are the notes that the user has, or, if it `is_quiet`, gets from who asked. `more` are
    further PATHs, `form` is the output's, where it is for programs and must not hide others.
    """

    path: str
    stage: StageChoice = "after"
    module: str | None = None
    named: NamedFiles = field(default_factory=NamedFiles)
    budgets: tuple[str, ...] = ()
    config: Config = field(default_factory=Config)
    assumptions: Assumptions = NO_ASSUMPTIONS
    unpacking: ByteBudget = DEFAULT_BUDGET
    found: Inputs | None = None
    told: set[str] = field(default_factory=set)
    is_quiet: bool = False
    more: tuple[str, ...] = ()
    form: str = ""

    def find(self, also: tuple[TextKind, ...] = ()) -> Inputs:
        """Return the inputs that PATH leads to, and tell the user what was passed over."""
        if self.found is None:
            self.found = self._find_several() if self.more else self._find(self.path, also)
            self.tell(self.found.notes)
        return self.found

    def _find(self, path: str, also: tuple[TextKind, ...] = ()) -> Inputs:
        return resolve_inputs(
            path, self.stage, self.module, self.named, also=also, budget=self.unpacking
        )

    def _find_several(self) -> Inputs:
        """Return the programs of several paths; what cannot be read is one that says so.

        Raises NothingCheckedError where --module leaves nothing of any.
        """
        from hlotool.program.fleet import forget_text  # noqa: PLC0415  start-up time

        if STDIN in (self.path, *self.more):
            raise UsageError("- is standard input; give no other PATH.")
        inputs: dict[str, Input] = {}
        notes: list[str] = []
        nothing: NothingCheckedError | None = None
        for path in (self.path, *self.more):
            try:
                found = self._find(path)
            except NothingCheckedError as error:
                nothing = error
                continue
            except InputError as error:
                inputs[path] = refuse_path(path, str(error))
                continue
            notes += found.notes
            inputs |= {one.path: forget_text(one) for one in found.inputs}
        if nothing is not None and not inputs:
            raise nothing
        return Inputs(
            _find_folder((self.path, *self.more)), True, tuple(inputs.values()), tuple(notes)
        )

    def of_each(self) -> Request:
        """Return what holds for each of several programs, whoever reads it."""
        return Request(
            "",
            self.stage,
            assumptions=self.assumptions.for_several(),
            unpacking=self.unpacking,
            config=self.config,
            is_quiet=True,
        )

    def find_other(self, *kinds: TextKind) -> DumpFile | None:
        """Return the file that PATH is, if that is a text of one of these kinds and no dump."""
        found = self.find(kinds)
        return found.inputs[0].other if len(found.inputs) == 1 else None

    def tell(self, notes: tuple[str, ...]) -> None:
        """Tell the user what was not told before."""
        if not self.is_quiet:
            say_all(note for note in notes if note not in self.told)
        self.told.update(notes)


def _find_folder(paths: tuple[str, ...]) -> str:
    """Return the folder below which all paths lie; of addresses there is none.

    If all are absolute it is: a worker on another machine has another working directory.
    """
    if any(map(is_address, paths)):
        return "."
    folders = (each if os.path.isdir(each) else os.path.dirname(each) for each in paths)  # noqa: PTH112,PTH120
    common = os.path.commonpath([*map(os.path.abspath, folders)])
    return common if all(map(os.path.isabs, paths)) else os.path.relpath(common)


def refuse_several(request: Request, typed: str) -> UsageError:
    """Return the error for an answer that would be about one of several programs, unsaid."""
    found = request.find()
    return UsageError(
        f"{found.path} has {len(found.inputs):,} programs; {typed} shows only one.",
        "Choose one with --module REGEX, or print the rows of all with --format jsonl:",
        "this works for buffers, fusions, collectives, shardings and summary --rows NAME.",
    )


def load_one(request: Request, *, with_buffers: bool = False) -> Program:
    """Read the one program a command is about.

    Of several the one with the most allocated memory, and stderr says so; raises UsageError
    where --module leaves several. The buffer assignment is read only on request.
    """
    found, path = request.find(), request.path
    if len(found.inputs) == 1:
        return _load(request, found.inputs[0], with_buffers=with_buffers)
    if request.module is not None:
        raise UsageError(*_list_matches(request, found))

    if request.form:
        raise refuse_several(request, request.form)
    chosen, size_bytes = find_largest(found)
    why = f"the one with the most allocated memory ({format_value(size_bytes, Unit.BYTES)})"
    if size_bytes is None:
        why = "the first, because none has a readable buffer assignment"
    say(
        f"{len(found.inputs)} modules match in {path}; shown: {chosen.path}, {why}. "
        "Choose with --module."
    )
    return _load(request, chosen, with_buffers=with_buffers)


def _list_matches(request: Request, found: Inputs) -> tuple[str, ...]:
    """Say which programs --module leaves, each by its place, which chooses it."""
    shown = found.inputs[:_MOST_LISTED]
    places = [short_path(one.path, found.path) for one in shown]
    width = max(map(len, places))
    more = len(found.inputs) - len(shown)
    what = f"--module {request.module!r} matches {len(found.inputs)} programs in {found.path}"
    return (
        f"{what}; choose one by its location:",
        *(f"  {place:<{width}}  {one.path}" for place, one in zip(places, shown, strict=True)),
        *((f"  and {more} more",) if more else ()),
    )


def _load(request: Request, chosen: Input, *, with_buffers: bool) -> Program:
    """Read a program, and tell the user what of it was not understood.

    One that is cut short or damaged is read from another file with the same text, if there is one.
    """
    read = partial(
        load_program, path=request.path, with_buffers=with_buffers, assumptions=request.assumptions
    )
    module = chosen.module
    with spinner("reading"):
        try:
            program = read(chosen)
            if program.module and chosen.buffers is None:
                _ = program.graph  # a computation that is not there is missed now
        except ParseError as error:
            is_module = module is not None and error.source.name == module.path
            for twin in list_twins(module) if module and is_module else ():
                with suppress(HlotoolError):
                    program = read(replace(chosen, module=twin))
                    request.tell((f"{error.sentence()}. The answer uses {twin.path}, next to it.",))
                    break
            else:
                if not is_module or module is None or chosen.buffers:
                    raise
                program = read(replace(chosen, module=_mend(request, module, error)))
    request.tell(note_files(program))
    return program


def _mend(request: Request, module: DumpFile, error: ParseError) -> DumpFile:
    """Return a module with holes where text is missing; raise the error where that is not why."""
    from hlotool.analysis.graph.calls import read_call_graph  # noqa: PLC0415  most texts are whole
    from hlotool.dump.fragment import find_fragment  # noqa: PLC0415  the same
    from hlotool.hlo.parser import parse_module  # noqa: PLC0415  the same

    fragment = None if error.source.is_fragment else find_fragment(error.source)
    if fragment is None:
        raise error
    try:
        read_call_graph(parse_module(fragment.source))
    except ParseError:
        raise error from None
    request.tell(fragment.notes)
    return replace(module, source=fragment.source, is_settled=True)


# That work goes on.

PATIENCE_SECONDS = 1.0
_TURN_SECONDS = 0.1


@contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Give a function that says how many of `length` steps were done since its last call."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
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


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Turn a sign behind a label until the work is done, and wipe it away."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    is_done = Event()
    thread = Thread(target=_spin, args=(label, is_done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def _spin(label: str, is_done: Event) -> None:
    if is_done.wait(PATIENCE_SECONDS):
        return
    for sign in cycle("|/-"):
        sys.stderr.write(f"\r{label} {sign}")
        sys.stderr.flush()
        if is_done.wait(_TURN_SECONDS):
            break
    sys.stderr.write(f"\r{'':{len(label) + 2}}\r")
    sys.stderr.flush()


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
        """Wipe the bar away, if there is one, and show the cursor again."""
        if self.bar is not None:
            sys.stderr.write("\r\x1b[K\x1b[?25h")
            sys.stderr.flush()
