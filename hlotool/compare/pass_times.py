"""How long each pass of a compilation took, and what it made larger.

Times are those of `module_NNNN.metadata.textproto` (`--xla_dump_module_metadata`), or of the host's
events in a profile of the compilation; growth is that between dumps of passes. All three name a
pass by its pipeline and itself; they are joined in the order in which passes end. Follows
xla/service/hlo.proto (HloPassMetadata) and xla/hlo/pass/hlo_pass_pipeline.cc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.passes import PASSES, START, PassRow, Step, compare_in_turn, read_in_turn
from hlotool.dump.files import DumpFile
from hlotool.dump.read import read_source
from hlotool.errors import InputError
from hlotool.profile.space import Space, Tables
from hlotool.profile.spans import Timeline
from hlotool.table import Block, DocumentSpec, figure
from hlotool.table.sums import group_by


class PassTotals(Struct, frozen=True):
    """A compilation; null where nothing tells."""

    pass_count: Annotated[int, figure("runs of passes with a known time")]
    pipeline_count: Annotated[int, figure("pipelines that ran these")]
    seconds: Annotated[float | None, figure("their time, nested ones counted once")]
    outside_seconds: Annotated[float | None, figure("from a profile: time outside passes")]
    folded_bytes: Annotated[int | None, figure("constants that constant folding made")]


TOTALS: Final = Block("totals", PassTotals, "all passes together")
_SHOWN: Final = (
    "pass_name pipeline own_seconds new_instruction_count old_only_count new_only_count "
    "new_result_bytes constant_bytes"
)
TIMED: Final = replace(
    PASSES.showing(_SHOWN.split()),
    meaning="runs of passes, the longest first",
    sort="-own_seconds,-new_only_count",
    size="own_seconds",
    limit=15,
)
PASS_TIMES: Final = DocumentSpec(
    "passes", "what the passes of a compilation cost", (TOTALS,), (TIMED,), version=1
)
_NAME: Final[Callable[[PassRow], str]] = attrgetter("pass_name")
_MICRO: Final = 1_000_000  # picoseconds
_SECOND: Final = 1e-12
_FOLDING: Final = re.compile(r"constant[_-]fold", re.IGNORECASE)
_RUN: Final = "\npass_metadata {\n"
_SAID: Final = re.compile(r'^  (\w+): "?([^"\n]*)', re.MULTILINE)
_TIME: Final = re.compile(r"[0-9]{1,18}")
_WHOLE: Final = re.compile(r"backend_compile\w*")
_NO_PASSES: Final = frozenset((START, "RunInvariantCheckers"))  # which take time all the same
_NOT_IN_FILES: Final = re.compile(r"[/\\\[\] ]")  # of a name


class PassRun(Struct, frozen=True):
    """When a pass ran, in picoseconds."""

    name: str
    pipeline: str
    begin: int
    end: int

    @property
    def key(self) -> tuple[str, str]:
        """What the name of its dump says of it."""
        return _NOT_IN_FILES.sub("_", self.pipeline), _NOT_IN_FILES.sub("_", self.name)


def parse_metadata(text: str) -> list[PassRun]:
    """Read the passes of a metadata file; one that did not end is left out."""
    runs = []
    for block in f"\n{text}".split(_RUN)[1:]:
        said = dict(_SAID.findall(block))
        times = [said.get(f"{edge}_timestamp_usec", "") for edge in ("start", "end")]
        if all(map(_TIME.fullmatch, times)):
            begin, end = (int(each) * _MICRO for each in times)
            name, pipeline = (said.get(f"{what}_name", "") for what in ("pass", "pipeline"))
            runs.append(PassRun(name, pipeline, begin, max(begin, end)))
    return runs


def read_runs(file: DumpFile | None) -> list[PassRun]:
    """Return the passes of a metadata file; none without one."""
    return parse_metadata(read_source(file.raw_path, file.budget).text) if file else []


def read_events(path: str, data: bytes, module: str) -> tuple[list[PassRun], int | None]:
    """Return the passes of a module's last compilation in a profile, and how long all of it took.

    An event `PIPELINE (MODULE)` holds those of its passes, which may hold pipelines. Raises
    InputError where the profile is broken, or tells of no pass.
    """
    space = Space(path, path, data)
    runs: list[PassRun] = []
    wholes: list[tuple[int, int]] = []
    for plane in space.planes():
        tables = Tables(space, plane)
        for line in space.lines(plane):
            events = [(begin, end, name) for name, _, begin, end in tables.walk(line) if name]
            wholes += [(begin, end) for begin, end, name in events if _WHOLE.fullmatch(name)]
            runs += _list_runs(events, f" ({module})")
    for begin, end in sorted(wholes, reverse=True):
        inside = [one for one in runs if begin <= one.begin and one.end <= end]
        if inside:
            return inside, end - begin
    if not runs:
        raise InputError(f"{path}: no event of this profile belongs to a pass of {module}.")
    return runs, None


def _list_runs(events: Iterable[tuple[int, int, str]], ending: str) -> Iterator[PassRun]:
    """Yield what runs in pipelines, whose names have an ending; events are from, to and name."""
    held: list[tuple[int, str]] = []  # what is open: its end, and its name if it is a pipeline
    for begin, end, name in sorted(events, key=lambda each: (each[0], -each[1])):
        while held and held[-1][0] <= begin:
            held.pop()
        pipeline = name.removesuffix(ending)
        if pipeline == name and held and held[-1][1]:
            yield PassRun(name, held[-1][1], begin, end)
        held.append((end, "" if pipeline == name else pipeline))


def list_pass_times(
    found: Iterable[PassRun], steps: Sequence[Step], whole_ps: int | None = None
) -> tuple[list[PassRow], PassTotals]:
    """Join when passes ran with what the dumps between them show, in the order in which they end.

    Raises what reading a module raises.
    """
    runs = sorted(found, key=lambda each: (each.end, -each.begin))
    line = Timeline()
    for number, run in enumerate(runs):
        line.add(run.begin, run.end, number)
    own = line.share(len(runs))
    timed = [
        PassRow(None, one.name, one.pipeline, "", (), own_seconds=time * _SECOND)
        for one, time in zip(runs, own, strict=True)
    ]
    rows: list[PassRow] = []
    at, folded = 0, 0
    for before, snapshot in read_in_turn(steps):
        if before is None:
            continue
        row, changes = compare_in_turn(before, snapshot)
        made = (one.shape.size_bytes or 0 for one in changes.added if one.opcode == "constant")
        row = replace(row, constant_bytes=sum(made))
        folded += (row.constant_bytes or 0) if _FOLDING.search(row.pass_name) else 0
        # At the start of a pipeline it shows what ran before, and writing it took the time.
        name = snapshot.step.name
        places = () if name[1] == START else range(at, len(runs))
        place = next((each for each in places if runs[each].key == name), None)
        if place is not None:
            rows += timed[at:place]
            one, at = timed[place], place + 1
            rows.append(replace(row, pipeline=one.pipeline, own_seconds=one.own_seconds))
        elif row.differs_in:
            rows.append(row)
    passes = [one for one in runs if one.name not in _NO_PASSES]
    return [*rows, *timed[at:]], PassTotals(
        len(passes),
        len({one.pipeline for one in passes}),
        sum(own) * _SECOND if runs else None,
        None if whole_ps is None else (whole_ps - sum(own)) * _SECOND,
        folded if steps else None,
    )


def find_slower(old: Iterable[PassRun], new: Iterable[PassRun]) -> tuple[str, float, float] | None:
    """Return the pass whose time differs most, and its seconds, passes in it aside, in both.

    None where that is below a tenth of the longer compilation.
    """
    before, after = (
        {
            name: sum(row.own_seconds or 0.0 for row in rows)
            for name, rows in group_by(list_pass_times(runs, ())[0], _NAME).items()
        }
        for runs in (old, new)
    )
    found = [(name, before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}]
    most = max(found, key=lambda each: abs(each[2] - each[1]), default=("", 0.0, 0.0))
    least = max(sum(before.values()), sum(after.values())) / 10
    return most if abs(most[2] - most[1]) > least else None
