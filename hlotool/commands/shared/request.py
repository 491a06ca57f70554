"""Which dump the user means, and the one program a command is about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.check.config import Config
from hlotool.commands.shared.say import say, say_all
from hlotool.commands.shared.stages import Stage, show_stages
from hlotool.errors import HlotoolError, ParseError, UsageError
from hlotool.fields import Unit
from hlotool.inputs import (
    DumpFile,
    Input,
    Inputs,
    NamedFiles,
    StageChoice,
    find_inputs,
    list_twins,
    short_path,
)
from hlotool.inputs.read.text_kind import TextKind
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.loading import find_largest, load_program
from hlotool.program.program import Program
from hlotool.render.units import format_value

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
