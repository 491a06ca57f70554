"""How long each pass of a compilation took, and what it made larger.

Times are those of `module_NNNN.metadata.textproto` (`--xla_dump_module_metadata`), or of the host's
events in a profile of the compilation; growth is that between dumps of passes. All three name a
pass by its pipeline and itself; they are joined in the order in which passes end. Follows
xla/service/hlo.proto (HloPassMetadata) and xla/hlo/pass/hlo_pass_pipeline.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from hlotool.compare.causes.cause import list_executed
from hlotool.compare.passes import START, Snapshot, Step, read_snapshot
from hlotool.errors import InputError, MissingPackageError
from hlotool.hlo.opcodes import FREE
from hlotool.proto.kind import is_proto_readable
from hlotool.table import (
    BYTES,
    COUNT,
    NUMBER,
    SECONDS,
    WHOLE,
    Block,
    DocumentSpec,
    RowList,
    Unit,
    column,
    figure,
)


def _shown(meaning: str, unit: Unit, heading: str) -> Meta:
    return column(meaning, unit, heading=heading, is_signed=heading != "folded", null_text="")


class PassTime(Struct, frozen=True):
    """One run of a pass, or what changed the module between two pipelines."""

    order: Annotated[int, column("its place in the order in which passes end", NUMBER)]
    pass_name: Annotated[str, column("the pass", heading="pass", min_width=WHOLE)]
    pipeline: Annotated[str, column("the pipeline that ran it", hide_order=5)]
    own_seconds: Annotated[
        float | None,
        column(
            "how long it took, passes in it aside",
            SECONDS,
            heading="time",
            is_summed=True,
            null_text="",
        ),
    ] = None
    new_instruction_count: Annotated[
        int | None, figure("instructions after it; null where it left no dump", NUMBER)
    ] = None
    instruction_delta: Annotated[
        int | None, _shown("instructions after less before", COUNT, "grew")
    ] = None
    result_bytes_delta: Annotated[
        int | None,
        _shown("bytes made by instructions outside fusions, after less before", BYTES, "arrays"),
    ] = None
    folded_bytes: Annotated[
        int | None, _shown("bytes of constants that constant folding made", BYTES, "folded")
    ] = None


class PassTotals(Struct, frozen=True):
    """A compilation; null where nothing tells."""

    pass_count: Annotated[int, figure("runs of passes that have a time", COUNT)]
    pipeline_count: Annotated[int, figure("pipelines that ran these", COUNT)]
    seconds: Annotated[float | None, figure("their time, nested ones counted once", SECONDS)]
    compile_seconds: Annotated[
        float | None, figure("from a profile: time of the whole compilation", SECONDS)
    ]
    outside_seconds: Annotated[float | None, figure("the part of it outside passes", SECONDS)]
    folded_bytes: Annotated[
        int | None, figure("bytes of constants that folding made; null without dumps", BYTES)
    ]


TOTALS: Final = Block("totals", PassTotals, "all passes together")
PASS_TIMES: Final = RowList(
    "passes",
    PassTime,
    "runs of passes, the longest first",
    sort="-own_seconds,-instruction_delta",
    size="own_seconds",
    key="order",
    has_total=False,
    limit=15,
)
PASSES: Final = DocumentSpec(
    "passes", "what the passes of a compilation cost", (TOTALS,), (PASS_TIMES,), version=1
)
_MICRO: Final = 1_000_000  # picoseconds
_SECOND: Final = 1e-12
_FOLDING: Final = re.compile(r"constant[_-]fold", re.IGNORECASE)
_RUN: Final = re.compile(r"^pass_metadata \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_SAID: Final = re.compile(r'^  (\w+): "?([^"\n]*)', re.MULTILINE)
_WHOLE: Final = re.compile(r"backend_compile\w*")
_NO_PASSES: Final = frozenset((START, "RunInvariantCheckers"))  # which take time all the same
_NOT_IN_FILES: Final = re.compile(r"[/\\\[\] ]")  # of a name


class PassRun(Struct, frozen=True):
    """When a pass ran, in picoseconds, and whether it changed the module; None: nobody knows."""

    name: str
    pipeline: str
    begin: int
    end: int
    has_changed: bool | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What the name of its dump says of it."""
        return _NOT_IN_FILES.sub("_", self.pipeline), _NOT_IN_FILES.sub("_", self.name)


def parse_metadata(text: str) -> list[PassRun]:
    """Read the passes of a metadata file; one that did not end is left out."""
    runs = []
    for block in _RUN.findall(text):
        said = dict(_SAID.findall(block))
        times = [said.get(f"{edge}_timestamp_usec", "") for edge in ("start", "end")]
        if all(map(str.isdecimal, times)):
            begin, end = (int(each) * _MICRO for each in times)
            name, pipeline = (said.get(f"{what}_name", "") for what in ("pass", "pipeline"))
            runs.append(PassRun(name, pipeline, begin, end, "module_changed" in said))
    return runs


def read_events(path: str, data: bytes, module: str) -> tuple[list[PassRun], int | None]:
    """Return the passes of a module's last compilation in a profile, and how long all of it took.

    An event `PIPELINE (MODULE)` holds those of its passes, which may hold pipelines. Raises
    InputError where the profile is broken, or tells of no pass.
    """
    if not is_proto_readable():
        raise MissingPackageError(
            f"{path}: a profile needs one more package: pip install 'hlotool[pb]'."
        )
    from hlotool.profile.space import Space, Tables  # noqa: PLC0415  optional

    space = Space(path, path, data)
    runs: list[PassRun] = []
    wholes: list[tuple[int, int]] = []
    for plane in space.planes():
        tables = Tables(space, plane)
        for line in space.lines(plane):
            events = [
                (begin := line.start_ps + each.offset_ps, begin + each.duration_ps, name)
                for each in space.events(line)
                if (name := tables.name(each.metadata_id))
            ]
            wholes += [(begin, end) for begin, end, name in events if _WHOLE.fullmatch(name)]
            runs += _list_runs(events, f" ({module})")
    for begin, end in sorted(wholes, reverse=True):
        inside = [one for one in runs if begin <= one.begin and one.end <= end]
        if inside:
            return inside, end - begin
    if not runs:
        raise InputError(f"{path}: no event of this profile is of a pass of {module}.")
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


class _Sizes(Struct, frozen=True):
    """How large the module is in a text, and the bytes of each constant."""

    instructions: int
    result_bytes: int
    constants: Mapping[str, int]


def list_pass_times(
    found: Iterable[PassRun], steps: Sequence[Step], whole_ps: int | None = None
) -> tuple[list[PassTime], PassTotals]:
    """Join when passes ran with what the dumps between them show.

    A dump at the start of a pipeline shows what ran before it. Raises what reading a module raises.
    """
    runs = sorted(found, key=lambda each: (each.end, -each.begin))
    own = _find_own_times(runs)
    rows: dict[float, PassTime] = {}
    for at, (one, time) in enumerate(zip(runs, own, strict=True)):
        known = 0 if one.has_changed is False and steps else None  # there is no dump of it
        rows[at] = PassTime(0, one.name, one.pipeline, time * _SECOND, None, known, known)
    at = 0
    before: Snapshot | None = None
    sizes = _Sizes(0, 0, {})
    for step in steps:
        snapshot = read_snapshot(step, before)
        is_new = before is None or snapshot.state is not before.state
        old, sizes = sizes, _measure(snapshot) if is_new else sizes
        is_first, before = before is None, snapshot
        if is_first:
            continue
        is_start = step.name[1] == START
        key = (step.pipeline, step.culprit) if is_start else step.name
        place = next((each for each in range(at, len(runs)) if runs[each].key == key), None)
        if place is not None:
            at = at if is_start else place + 1
            rows[place] = _add_growth(rows[place], old, sizes)
        elif is_new:
            row = PassTime(0, step.culprit, step.pipeline)
            rows[at - 1 / (len(rows) + 2)] = _add_growth(row, old, sizes)
    passes = [one for one in runs if one.name not in _NO_PASSES]
    total = sum(own)
    folded = [row.folded_bytes for row in rows.values() if row.folded_bytes is not None]
    return [replace(rows[at], order=order) for order, at in enumerate(sorted(rows), 1)], PassTotals(
        len(passes),
        len({one.pipeline for one in passes}),
        total * _SECOND if runs else None,
        None if whole_ps is None else whole_ps * _SECOND,
        None if whole_ps is None else (whole_ps - total) * _SECOND,
        sum(folded) if steps else None,
    )


def _find_own_times(runs: Sequence[PassRun]) -> list[int]:
    """Return how long each pass took without those within it, which are of another pipeline."""
    own = [one.end - one.begin for one in runs]
    held: list[int] = []
    for at in sorted(range(len(runs)), key=lambda at: (runs[at].begin, -runs[at].end)):
        one = runs[at]
        while held and (runs[held[-1]].end < one.end or runs[held[-1]].pipeline == one.pipeline):
            held.pop()
        if held:
            own[held[-1]] -= one.end - one.begin
        held.append(at)
    return own


def _measure(snapshot: Snapshot) -> _Sizes:
    program = snapshot.state.program
    made = (
        one.shape.size_bytes or 0 for one, _ in list_executed(program) if one.opcode not in FREE
    )
    constants = {
        one.full_name: one.shape.size_bytes or 0
        for one in program.expect_module().instructions()
        if one.opcode == "constant"
    }
    return _Sizes(snapshot.state.opcodes.total(), sum(made), constants)


def _add_growth(row: PassTime, old: _Sizes, new: _Sizes) -> PassTime:
    """Add to a pass what differs between two texts."""
    folded = row.folded_bytes
    if _FOLDING.search(row.pass_name):
        made = (size for name, size in new.constants.items() if name not in old.constants)
        folded = (folded or 0) + sum(made)
    return replace(
        row,
        new_instruction_count=new.instructions,
        instruction_delta=(row.instruction_delta or 0) + new.instructions - old.instructions,
        result_bytes_delta=(row.result_bytes_delta or 0) + new.result_bytes - old.result_bytes,
        folded_bytes=folded,
    )
