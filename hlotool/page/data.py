"""All that the scripts of a page draw and tell, in columns: instructions, steps, values, transfers.

Everything here ends as JSON in the page, packed, in the keys that the scripts read. A column has a
number for each row. What is said often is a word, told by its place in `words`; -1 is none. A step
is a position in the schedule: the first instructions are the steps, in order, and behind them
stand those inside fusions and reducers. Sizes are bytes, times seconds; what nobody knows is null.
Sums, curves and who holds which byte are worked out in the page, of what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec.structs import asdict

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.cost import NOTHING
from hlotool.analysis.dataflow.schedule import find_problem, flatten_schedule
from hlotool.analysis.graph.backend import find_space_name
from hlotool.analysis.measured import join_times
from hlotool.analysis.memory.reduction_plan import Plan
from hlotool.analysis.memory.rows import find_parameter_name
from hlotool.analysis.memory.value_origins import ValueOrigin
from hlotool.analysis.origin import Origin, find_parameter_tree, read_origin, write_short_source
from hlotool.analysis.outline.clock import NO_TIME
from hlotool.analysis.outline.report import OutlineRow
from hlotool.compare.inputs import DiffSide, level_sides
from hlotool.hlo import DebugInfo, Instruction
from hlotool.hlo.buffers import format_position
from hlotool.hlo.module import list_plain_texts
from hlotool.page.sources import Excerpt
from hlotool.program.program import Program

Json: TypeAlias = dict[str, object]

NO_PLAN: Final = Plan()
NO_PROGRAM: Final[Json] = {"sides": [], "labels": [""]}  # of a page that tables make up
_MOST_OUTLINED: Final = 3_000
_LONGEST: Final = 400  # of attributes and literals
# What the page knows of each instruction, in the order of `_describe_instruction`.
_FIGURES: Final = (
    "name", "opcode", "shape", "computation", "attributes", "scope", "source", "frame", "pass",
    "flops", "traffic_bytes", "bounds", "limit", "seconds", "measured",
)  # fmt: skip
_RUNS_STEPS: Final = frozenset(("while", "conditional", "call"))
_SPLITS: Final = frozenset(("loop", "conditional", "branch", "condition", "call", "repeat"))


def make_page(
    program: Program, limit_bytes: int | None = None, plan: Plan = NO_PLAN, *excerpts: Excerpt
) -> Json:
    """Return what a page draws of a program; `limit_bytes` is the memory that it must fit.

    With `plan` there are ways to, and with `excerpts` source text.
    """
    side = _Model(program).describe(limit_bytes)
    side |= {"ways": _describe_ways(plan), "texts": _columns(map(asdict, excerpts))}
    return {"sides": [side], "labels": [""]}


def make_pair_page(
    sides: tuple[DiffSide, DiffSide], labels: tuple[str, str], limit_bytes: int | None = None
) -> Json:
    """Return what a page draws of two programs, old and new, by their labels.

    Memory is estimated on both sides if it is on one. A saved document has nothing to draw.
    """
    models = [
        _Model(each.program).describe(limit_bytes) if each.program else None
        for each in level_sides(sides)
    ]
    return {"sides": models, "labels": labels}


class _Model:
    """Collects the columns of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memory = program.memory
        self.debug_info = program.module.debug_info if program.module else DebugInfo()
        self.words: dict[str, int] = {}
        self.frames: dict[int, int] = {}  # places of rows of StackFrames
        self.names: dict[str, int] = {}  # of instructions, by which the records name them
        self.instructions: list[Instruction | None] = []
        self.step_count = self._add_instructions()

    def word(self, text: str | None) -> int:
        """Return the place of a text among the words; -1 for none."""
        return self.words.setdefault(text, len(self.words)) if text else -1

    def source(self, origin: Origin | ValueOrigin) -> int:
        """Return the place of the word for a source line."""
        return self.word(write_short_source(origin.source_file, origin.source_line))

    def frame(self, row: int | None) -> int:
        """Return the place of a row of StackFrames; -1 for none, or one that the text lacks."""
        frames, caller = self.debug_info.frames, row or 0
        while caller in frames and caller not in self.frames:
            self.frames[caller] = len(self.frames)
            caller = frames[caller].parent
        return self.frames.get(row or 0, -1)

    def instruction(self, name: str) -> int:
        """Return the place of an instruction; one that no text has gets a place for its name."""
        if name not in self.names:
            self.names[name] = len(self.instructions)
            self.instructions.append(None)
        return self.names[name]

    def _add_instructions(self) -> int:
        """Give each instruction its place, and return how many steps there are."""
        module, ranges = self.program.module, self.memory.map.live_ranges if self.memory else None
        sequence: Sequence[str] = ranges.sequence if ranges else ()
        if module and not sequence and not find_problem(module):
            sequence = [one.full_name for one in flatten_schedule(module).sequence]
        for name in sequence:
            self.names.setdefault(name, len(self.instructions))
            self.instructions.append(None)
        count = len(self.instructions)
        for one in module.instructions() if module else ():
            name = one.full_name
            place = self.names.get(name, self.names.get(one.name))
            # A name that stands in several computations is, in an assignment, any of these.
            if place is None or self.instructions[place] is not None:
                self.names[name] = place = len(self.instructions)
                self.instructions.append(None)
            self.instructions[place] = one
            self.names.setdefault(name, place)
        return count

    def describe(self, limit_bytes: int | None) -> Json:
        """Return everything of the program."""
        program, module = self.program, self.program.module
        report, chip = self.memory, program.pricing.chip if module else None
        rows = program.explained_collectives.rows if module else ()
        colors = report.map.colors() if report and report.map.live_ranges else ()
        outline = program.find_outline() if module else None
        return {
            "steps": self.step_count,
            "problem": self._find_problem(),
            "spaces": [self._describe_space(space, limit_bytes) for space in colors],
            "is_estimate": self.memory is not None and self.memory.figures.sizes_from == "estimate",
            "transfers": _columns(map(self._describe_transfer, rows)),
            "outline": self._describe_outline(outline.rows[:_MOST_OUTLINED]) if outline else {},
            "findings": [
                [self.instruction(one.instruction), self.word(one.message)]
                for one in (program.findings if module else ())
                if one.instruction
            ],
            "placements": self._describe_placements() if module else {},
            "times": self._describe_times(outline.begins) if outline else None,
            "instructions": self._describe_instructions(),
            "computations": self._describe_computations() if module else {},
            "chip": chip and {"name": chip.name, "is_rated": program.pricing.is_rated},
            "ridge": chip and chip.flops_per_second / chip.hbm_bytes_per_second,
            # Last, as all else finds its frames and words.
            "frames": _columns(map(self._describe_frame, list(self.frames))),
            "words": list(self.words),
        }

    def _describe_frame(self, row: int) -> Json:
        """Return a line with its function, and the frame that calls it."""
        found = self.debug_info.find_location(row)
        text = f"{write_short_source(found.file, found.line)} {found.function}" if found else "?"
        caller = self.frames.get(self.debug_info.frames[row].parent, -1)
        return {"what": self.word(text.strip()), "caller": caller}

    def _describe_placements(self) -> Json:
        """Return where parameters and results lie on the devices, by the instruction."""
        found, entry = self.program.placed_arrays, self.program.expect_module().entry
        returned = entry.root.operands if entry.root.opcode == "tuple" else (entry.root,)
        homes = [one for one, *_ in entry.parameter_arrays()]
        homes += [one for one in returned for _ in one.shape.leaves()]
        return _columns(
            {
                "instruction": self.names[home.full_name],
                "global_shape": self.word(row.global_shape),
                "spec": self.word(row.spec_text),
                "copies": row.copies,
            }
            for home, row in zip(homes, (*found.parameters, *found.results), strict=True)
        )

    def _find_problem(self) -> str:
        """Say why there are no lanes, '' where there are."""
        module = self.program.module
        if self.step_count:
            return ""
        if module is None:
            return "The text of the module is missing, so live ranges are unknown."
        return find_problem(module) or "Nothing runs."

    # Memory.

    def _describe_space(self, space: int, limit_bytes: int | None) -> Json:
        """Return where the values of a space lie, and when; its curve, allocations and peak."""
        report = self.memory
        assert report is not None  # noqa: S101  there are spaces
        curve = report.map.curve(space)
        allocations = list(report.map.placed(space))
        names = [
            find_parameter_name(one, self.program.module, report.map.assignment)
            for one in allocations
        ]
        rows = []
        for place, (home, name) in enumerate(zip(allocations, names, strict=True)):
            tree = find_parameter_tree(name) if name else None
            for value in filter(lambda one: one.size_bytes, home.values):
                live, origin = report.map.range_of(value), report.origins.of(value)
                rows.append(
                    {
                        "instruction": self.instruction(value.instruction),
                        "index": self.word(format_position("", value.index)),
                        "allocation": place,
                        **_take(value, "number", "offset", "size_bytes"),
                        "live_from": live.start if live else 0,
                        "live_until": live.end if live else self.step_count,
                        "shape": self.word(str(value.shape)),
                        "scope": self.word(tree or origin.scope),
                        "source": self.source(origin),
                        "frame": self.frame(origin.stack_frame),
                    }
                )
        return {
            "number": space,
            "name": find_space_name(report.figures.backend, space) or f"space {space}",
            "limit_bytes": limit_bytes if space == 0 else None,
            "positions": curve.positions if curve else (),
            "levels": curve.levels if curve else (),
            "peak": report.peak_of(space).position,
            "allocations": _columns(
                {
                    **_take(one, "number", "size_bytes"),
                    "type": self.word(one.allocation_type),
                    "parameter": self.word(name),
                }
                for one, name in zip(allocations, names, strict=True)
            ),
            "values": _columns(rows),
        }

    # What runs.

    def _describe_instructions(self) -> Json:
        names = {place: name for name, place in self.names.items()}
        rows = (
            self._describe_instruction(names.get(place, ""), one)
            for place, one in enumerate(self.instructions)
        )
        found: Json = dict(zip(_FIGURES, zip(*rows, strict=True), strict=False))
        operands: list[int] = []
        counts: list[int] = []
        for one in self.instructions:
            given = one.operands if one else ()
            counts.append(len(given))
            operands += (self.names[each.full_name] for each in given)
        return {**found, "operand_counts": counts, "operands": operands}

    def _describe_instruction(self, name: str, one: Instruction | None) -> tuple[object, ...]:
        if one is None:  # which only a buffer assignment names
            return (name, *(-1 for _ in _FIGURES[1:]))
        program = self.program
        called = one.called_computations()
        origin = read_origin(one, (each for body in called for each in body.instructions))
        runs = program.executions.counts.get(one.computation)
        cost = program.costs.of_all_rounds(one) if runs else NOTHING
        known = runs.known if runs else 0
        is_exact = runs is None or runs.is_exact
        # Whether flops and traffic leave something out, and count what might not run; as `show`.
        bounds = (
            (cost.is_total_lower_bound or not is_exact)
            + 2 * (cost.is_traffic_lower_bound or not is_exact)
            + 4 * (cost.is_upper_bound or (runs is not None and runs.is_conditional))
        )
        op_name, timed = origin.op_name or "", program.step_time
        taken = timed.clock.of(one) if timed and timed.clock else NO_TIME
        way = 2 if "transpose(" in op_name else int(bool(op_name))
        return (
            name,
            self.word(one.opcode),
            self.word(str(one.shape)[:_LONGEST]),
            self.word(one.computation.name),
            self.word(self._write_attributes(one)),
            self.word(origin.scope),
            self.source(origin),
            self.frame(origin.stack_frame),
            3 if "rematted_computation" in op_name else way,
            cost.total_flops * known,
            cost.traffic_bytes * known,
            int(bounds),
            1 if taken.compute > taken.memory else 2 * bool(taken.memory),
            round(self._time(one) * known, 12),
            join_times(program.measured, (one.name,)).seconds or 0.0,
        )

    def _time(self, one: Instruction) -> float:
        """Return how long one execution takes, without what has its own time; 0 if unknown.

        What an asynchronous start runs beside the work takes no time but that its end waits.
        """
        timed = self.program.step_time
        if timed is None or timed.clock is None or one.opcode in _RUNS_STEPS:
            return 0.0
        start = next(iter(self.program.graph.callers.get(one.computation, ())), None)
        if start and start.opcode == "async-start":
            run = timed.clock.of_run(one.computation).total
            return timed.clock.of(one).total if timed.clock.of(start).total >= run else 0.0
        taken = timed.clock.of(one).total
        if one.opcode == "async-start":
            ran = [timed.clock.of_run(each).total for each in one.called_computations()]
            return 0.0 if taken >= sum(ran) else taken
        return taken

    def _write_attributes(self, one: Instruction) -> str:
        if (text := next(list_plain_texts(one.computation, (one,)))) is None:
            held = (item for item in one.attributes.items() if item[0] != "metadata")
            text = ", ".join(f"{key}={each}" for key, each in held)
        return f"{one.literal[:_LONGEST]}\n{text.strip(', ')[:_LONGEST]}".rstrip()

    def _describe_computations(self) -> Json:
        """Return who calls each computation, and how often it runs; null if nobody knows."""
        callers, executions = self.program.graph.callers, self.program.executions
        return _columns(
            {
                "name": self.word(one.name),
                "caller": self.names[calling[0].full_name]
                if (calling := callers.get(one, ()))
                else -1,
                "runs": executions.of(one),
                "is_run": int(one in executions.counts),
            }
            for one in self.program.expect_module().computations.values()
        )

    def _describe_times(self, begins: Mapping[str, float]) -> Json | None:
        """Return when each step begins on the modelled clock, and the last ends; None without."""
        if (timed := self.program.step_time) is None or not self.step_count:
            return None
        names = (one.full_name if one else "" for one in self.instructions[: self.step_count])
        found = [round(now, 12) for now in list_begins(begins, names)]
        found.append(max(found[-1], timed.duration.total))
        return {"begins": found, "is_timed": timed.is_timed}

    def _describe_transfer(self, row: CollectiveRow) -> Json:
        """Describe a collective: exposed is null where nobody knows what work hides."""
        is_known = row.exposed_share is not None
        return {
            "start": self.instruction(row.name),
            "end": self.instruction(row.members[-1] if row.is_async else row.name),
            "kind": self.word(row.kind),
            "axes": self.word(", ".join(row.axes) if row.axes else "unknown axis"),
            "sent_bytes": row.known_sent_bytes_per_step,
            "is_bound": int(row.sent_bytes_per_step is None),
            "exposed_bytes": row.known_exposed_bytes_per_step if is_known else None,
            **_take(row, "exposed_share", "exposed_seconds"),
            "cause": self.word(row.cause and str(row.cause)),
            "dtype": self.word(row.dtype),
        }

    def _describe_outline(self, rows: Sequence[OutlineRow]) -> Json:
        """Return the program as it runs, of what splits it with its first and last step."""
        spans: list[list[int]] = []
        for row in rows:
            places = [self.names.get(name, -1) for name in row.names]
            steps = [place for place in places if 0 <= place < self.step_count]
            spans.append([min(steps), max(steps)] if steps else [self.step_count, -1])
        for row, span in zip(reversed(rows), reversed(spans), strict=True):
            if row.parent is not None:
                above = spans[row.parent]
                above[:] = min(above[0], span[0]), max(above[1], span[1])
        return _columns(map(self._describe_row, rows, spans))

    def _describe_row(self, row: OutlineRow, span: Sequence[int]) -> Json:
        is_split = row.kind in _SPLITS
        return {
            "what": self.word(row.what),
            "kind": self.word(row.kind),
            **_take(row, "count", "depth", "exposed_share"),
            "parent": -1 if row.parent is None else row.parent,
            "first": self.instruction(row.names[0])
            if row.names and row.kind not in {"branch", "condition"}
            else -1,
            "scope": self.word(row.scope),
            "from": span[0] if is_split else -1,
            "until": span[1] if is_split else -1,
            "share": row.time_share,
            "flops": row.flops_per_step,
            "traffic_bytes": row.traffic_bytes_per_step,
            "sent_bytes": row.sent_bytes_per_step,
            "bounds": row.is_flops_lower_bound
            + 2 * row.is_traffic_lower_bound
            + 4 * row.is_upper_bound,
            "is_open": int(row.executions is None),
        }


def _describe_ways(plan: Plan) -> list[Json]:
    """Return what is reserved over time as it is, and with each way to fit that has a number."""
    found = []
    for number, curve in enumerate(plan.curves):
        changes = dict.fromkeys(row.how for row in plan.rows if row.option == number)
        name = ", ".join(changes) or "as it is"
        found.append({"name": name, **_take(curve, "positions", "levels")})
    return found


def _columns(rows: Iterable[Json]) -> Json:
    """Turn rows into columns; what a row does not tell is -1. The first tells most."""
    told = list(rows)
    names = max(told, key=len, default={})
    return {name: [row.get(name, -1) for row in told] for name in names}


def _take(row: object, *names: str) -> Json:
    """Return figures under the names that the record has for them."""
    return {name: getattr(row, name) for name in names}


def list_begins(begins: Mapping[str, float], names: Iterable[str]) -> Iterator[float]:
    """Yield when steps begin on the modelled clock, by their names in schedule order; times rise.

    Behind the first round of a loop stands the loop itself, which takes all other rounds.
    """
    now = 0.0
    for name in names:
        now = max(now, begins.get(name, 0.0))
        yield now


def list_levels(program: Program) -> tuple[tuple[float, int], ...]:
    """Return from when on which bytes of space 0 are in use, the most of each instant; times rise.

    There are none where nothing says when values are live.
    """
    report = program.memory
    curve = report.map.curve(0) if report else None
    if report is None or curve is None or report.map.live_ranges is None:
        return ()
    levels: dict[float, int] = {}
    begins = program.find_outline().begins
    for place, now in enumerate(list_begins(begins, report.map.live_ranges.sequence)):
        levels[now] = max(levels.get(now, 0), curve.at(place))
    return tuple(levels.items())
