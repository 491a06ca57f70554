"""`hlotool summary`: one screen about a module, or of a directory a row for each program.

Programs of a directory are read in parallel, on one machine or many.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final

import click
from msgspec.structs import replace

from hlotool.analysis.collectives.report import COLLECTIVE_ROWS
from hlotool.analysis.collectives.rows import HOST_LINE, HOST_TOTALS, CollectiveRow
from hlotool.analysis.collectives.totals import BETWEEN_SLICES, CollectiveTotals
from hlotool.analysis.cost.model import COST, TOLD_PADDING, CostReport
from hlotool.analysis.findings.finding import FINDINGS, Finding
from hlotool.analysis.log import LOG, choose_log_columns, list_chunks, list_messages
from hlotool.analysis.measured import (
    MEASURED,
    MEASURED_INSTRUCTIONS,
    MeasuredFacts,
    MeasuredInstruction,
)
from hlotool.analysis.memory.figures import ESTIMATED, TOTALS
from hlotool.analysis.memory.placed import REPLICATED, ReplicatedRow
from hlotool.analysis.memory.rows import BufferRow
from hlotool.analysis.memory_text import USAGE_REPORT
from hlotool.analysis.summary import report
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.following import DUMP
from hlotool.commands.shared.many import add_programs, many_programs
from hlotool.commands.shared.memory_text import describe_usage, say_fit, write_accuracy
from hlotool.commands.shared.messages import fold_alike, quote_command, say, say_all
from hlotool.commands.shared.output import print_document, render_document
from hlotool.commands.shared.request import Request, load_one, progress
from hlotool.dump.files import DumpFile
from hlotool.dump.find import parse_module_pattern
from hlotool.dump.read import STDIN
from hlotool.dump.siblings import find_pass_metadata
from hlotool.dump.text_kind import TextKind
from hlotool.errors import UsageError
from hlotool.program.load import load_program
from hlotool.program.program import Program
from hlotool.table import Block, Document, InputPaths, Line, Unit, quote_braces
from hlotool.table.cells import Look
from hlotool.table.select import sort_rows
from hlotool.table.sums import group_by
from hlotool.table.units import format_value, parse_size
from hlotool.table.words import count_noun, list_some

_EXAMPLE: Final = """\
hlotool summary dump/module_0001.jit_step.txt
hlotool summary dump/ -n 3 --columns program,peak,sent/step,axes -o top.csv
hlotool summary dump/ --module jit_step --chip h100"""

_WHOLE: Final = frozenset(("table", "markdown", "json"))  # forms that hold more than rows
_MOST_ROWS: Final = 24  # of a terminal
# Whether opcodes and loops have a table, holders and findings that it shows, instructions that it
# names as longest: what is left out first comes last.
_WAYS: Final = (
    (True, True, 5, 3, 3),
    (False, True, 5, 3, 3),
    (False, False, 5, 3, 3),
    (False, False, 3, 3, 3),
    (False, False, 3, 2, 3),
    (False, False, 2, 1, 3),
    (False, False, 1, 1, 3),
    (False, False, 0, 1, 3),
    (False, False, 0, 1, 0),
    (False, False, 0, 0, 0),
)
_LIMITS: Final = ("hbm", "chip", "chip_file")  # what a program must fit in, and the machine
_MOST_HOLDERS: Final = 2_000  # that a summary looks at; `buffers` has them all


_SPECS: Final = (report.SUMMARY_DIRECTORY, add_programs(report.SUMMARY), report.SUMMARY, LOG)


@document_command(
    "summary",
    report.SUMMARY,
    report.SUMMARY_DIRECTORY,
    LOG,
    example=_EXAMPLE,
    others=(USAGE_REPORT,),
    choose_specs=lambda values: sorted(
        (*_SPECS, USAGE_REPORT),  # first what is printed, whose fields hints name
        key=lambda one: (one.name == "summary-directory") != os.path.isdir("".join(values["path"])),  # noqa: PTH112
    ),
)
@shared.dump_options
@shared.add_options(shared.MACHINE)
@shared.option("--hbm SIZE", "Check whether the program fits in SIZE, such as 80GiB.")
@shared.directory_options
@shared.option("--no-findings", "Omit the findings.")
@shared.option("--dump DIR", "With a log: the dump of the programs that its messages name.")
@many_programs(TextKind.MEMORY_REPORT, TextKind.LOG, is_table=True)
def summary(
    request: Request,
    fleet: shared.FleetOptions,
    *,
    hbm: str | None,
    no_findings: bool,
    dump: str | None,
    options: shared.RowOptions,
) -> Document | int:
    """Summarize a module on one screen, or list the modules of a directory."""
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    other = request.find_other(TextKind.MEMORY_REPORT, TextKind.LOG)
    if other is not None and other.kind is TextKind.LOG:
        return _describe_log(other, request, dump)
    if dump is not None:
        raise UsageError("--dump needs a log; this is a dump.")
    if other is not None:
        return describe_usage(other, request, "spaces", "allocations")
    if not _asks_for_one(request, fleet, options):
        return _print_modules(request, fleet, options, limit)
    fleet.refuse()
    saved = request.find().inputs[0].document
    if saved is not None:
        return _describe_saved(saved, limit, options.units)
    program = load_one(request, with_buffers=True)
    found = program.summarize(with_findings=not no_findings, limit_bytes=limit)
    metadata = find_pass_metadata(program.paths.module_path or "", request.unpacking)
    compiling = tuple(_say_compiling(metadata)) if metadata and options.wants_overview else ()
    return _describe(found, program, options, compiling, has_findings=not no_findings)


def _describe_saved(file: DumpFile, limit_bytes: int | None, units: str) -> Document:
    """Return the programs that an earlier answer, or a baseline, tells of."""
    from hlotool.program.fleet import list_saved  # noqa: PLC0415  most are dumps

    rows = list_saved(file.read())
    columns, lists = report.choose_directory_columns(rows), {"modules": rows, "compilations": ()}
    notes = () if limit_bytes is None else (say_fits(rows, limit_bytes, units),)
    return Document(columns, InputPaths(file.path), rows=lists, notes=notes)


def _describe_log(file: DumpFile, request: Request, dump: str | None) -> Document:
    """Return the messages of a log, with what they are about in a dump."""
    from hlotool.oom.log import parse_log  # noqa: PLC0415  most are dumps

    log = parse_log(file.read())
    asked = None if dump is None else replace(request, path=dump, found=None, told=set())
    inputs = () if asked is None else asked.find().inputs
    modules = [load_program(one, request.path).expect_module() for one in inputs if one.module]
    rows = list_messages(log.messages, modules)
    command = quote_command("buffers", request.path)
    more = Line(f"{command} lists the values that hold memory")
    is_full = any(row.kind == "out-of-memory" for row in rows)
    return Document(
        choose_log_columns(rows),
        InputPaths(request.path),
        rows={"rows": rows, "chunks": list_chunks(log.chunks)},
        notes=(more,) if is_full else (),
        shown=("rows", "chunks") if log.chunks else ("rows",),
    )


def _asks_for_one(request: Request, fleet: shared.FleetOptions, options: shared.RowOptions) -> bool:
    """Whether a path leads to one program, and is not asked for a table of programs.

    Who filters or sorts without naming a list, or wants rows alone, means the programs of a
    directory, however many there are.
    """
    found = request.find()
    if not found.is_directory:
        return True
    of_many = {report.MODULES.name, report.COMPILATIONS.name}
    if len(found.inputs) > 1 or fleet != shared.FleetOptions() or options.rows in of_many:
        return False
    return bool(options.rows) or (not options.chooses_rows and options.format in _WHOLE)


def _describe(
    found: report.Summary,
    program: Program,
    options: shared.RowOptions,
    compiling: tuple[Line, ...] = (),
    *,
    has_findings: bool = True,
) -> Document:
    """Return the answer: for eyes in the order of the questions, else all that there is."""
    rows: dict[str, Sequence[object]] = {
        "opcodes": found.opcodes,
        "dtypes": found.dtypes,
        "loops": found.loops,
        "replicated": found.replicated,
    }
    if found.measured is not None:
        rows["instructions"] = found.instructions
    if has_findings:
        rows["findings"] = found.findings
    holders: Sequence[BufferRow] = ()
    if options.wants_overview or options.rows == "holders":
        rows["holders"] = holders = program.list_holders(_MOST_HOLDERS)
    names = ["module", "compilation", "cost", "memory", "collectives", "host", "measured"]
    names += ["fit"] if found.fit is not None else []
    names += ["roofline", "step_time"] if found.roofline is not None else []
    blocks = {name: getattr(found, name) for name in names}
    document = Document(
        report.choose_summary_columns(found, is_sharded=any(row.is_placed for row in holders)),
        program.paths,
        blocks=blocks,
        rows=rows,
        lines=(*say_what(found), *compiling),
        find_words=program.find_words,
    )
    if not options.wants_overview:
        is_ordered = options.rows == "findings" and not (options.sort or options.by)
        return replace(document, notes=say_order(found.findings) if is_ordered else ())

    def shorten(_: Document) -> Iterator[Document]:
        return (_place_prose(document, found, way) for way in _WAYS)

    return replace(next(shorten(document)), shorten=shorten, most_rows=_MOST_ROWS)


def render_summary(program: Program, width: int | None = None) -> str:
    """Return what a terminal shows of a program."""
    options = shared.RowOptions()
    document = _describe(program.summarize(), program, options)
    return "".join(render_document(document, options, Look(width=width)))


def _place_prose(
    document: Document, found: report.Summary, way: tuple[bool, bool, int, int, int]
) -> Document:
    """Put the sentences before, between and behind the tables of holders and loops."""
    has_opcodes, has_loops, holder_count, finding_count, instruction_count = way
    rows, lines, above = document.rows, document.lines, {}
    more = {name: _repeat(document, "summary", "--rows", name) for name in rows}
    more["holders"] = _repeat(document, "buffers")
    memory = say_memory(found, _repeat(document, "buffers", keeps_limit=True))
    notes = tuple(say_findings(found, finding_count, more.get("findings", "")))
    measured = say_measured(found, instruction_count, more.get("instructions", ""))
    work = (*say_work(found), *say_collectives(found), *measured)
    if len(rows["holders"]) == _MOST_HOLDERS:
        note = f"only the {_MOST_HOLDERS:,} largest values at the peak are searched; "
        notes = (Line(f"{note}`hlotool buffers` lists every one"), *notes)
    if rows["holders"] and holder_count:
        above["holders"] = memory
    else:
        lines = (*lines, Line(""), *memory, *_count_left("value", "holders", rows, more))
    if rows["loops"] and has_loops:
        above["loops"] = work
    else:
        work = (*work, *_count_left("loop", "loops", rows, more))
        notes = (*work, *((Line(""), *notes) if notes else ()))
    if not above:
        lines, notes = (*lines, Line(""), *notes), ()
        if not has_opcodes and not rows["holders"]:
            notes = tuple(_count_left("opcode", "opcodes", rows, more))
    limits = {"holders": holder_count}
    lists = (
        replace(one, limit=limits.get(one.name, one.limit), more=more.get(one.name, ""))
        for one in document.spec.row_lists
    )
    spec = replace(document.spec, row_lists=tuple(lists))
    shown = tuple(above) or ("opcodes" * has_opcodes,)
    return replace(document, spec=spec, lines=lines, above=above, notes=notes, shown=shown)


def _repeat(document: Document, command: str, *words: str, keeps_limit: bool = False) -> str:
    """Return the command line that shows more of a program: as typed, with other words."""
    if click.get_current_context(silent=True) is None:
        return quote_command(command, document.input.path if document.input else "", *words)
    return shared.repeat_command((*DUMP, *_LIMITS[not keeps_limit :]), *words, command=command)


def _count_left(
    noun: str, name: str, rows: Mapping[str, Sequence[object]], more: Mapping[str, str]
) -> Iterator[Line]:
    """Say how many rows a list has that is left out, and what shows them."""
    if rows[name]:
        said = f"{count_noun(len(rows[name]), noun)}: {more[name]}"
        yield Line(said, is_typed=True)


def _print_modules(
    request: Request,
    fleet: shared.FleetOptions,
    options: shared.RowOptions,
    limit_bytes: int | None,
) -> int:
    """Print the table of a directory; a program that cannot be read costs one row.

    Errors go to stderr too, alike ones as one; the exit code returned is that of the first one.
    """
    from hlotool.program.fleet import Member, measure_members, name_rows  # noqa: PLC0415  start-up time

    found = request.find()
    members = [Member(one, found.path) for one in found.inputs]
    with (
        progress("reading", sum(each.size_bytes for each in members)) as advance,
        fleet.open(request.assumptions.for_several(), advance) as opened,
    ):
        measured = measure_members(members, opened)
        if opened.cache:
            say_all(opened.cache.notes)
    say_all(note for each in measured for note in each.notes)
    errors = [each.row.error for each in measured if each.row.error is not None]
    for error in fold_alike(errors, "--where 'error != null' --columns error -n 0 lists all"):
        say(error)
    rows = name_rows([each.row for each in measured])
    is_pointed = options.wants_overview and not request.more
    notes = point_to_program(request.path, rows) if is_pointed else ()
    if limit_bytes is not None:
        notes = (say_fits(rows, limit_bytes, options.units), *notes)
    lists: dict[str, Sequence[object]] = {"modules": rows}
    if options.rows == report.COMPILATIONS.name or (not options.rows and options.format in _WHOLE):
        from hlotool.compare.compilations import (  # noqa: PLC0415  long, and a folder's alone
            find_compilations,
        )

        # Who chooses by place sees some compilations of a function: of these nothing is said.
        pattern = parse_module_pattern(request.module)
        compiled = [
            row
            for row in find_compilations(found.inputs, found.path)
            if pattern is None or pattern.is_found(row.function)
        ]
        lists["compilations"] = compiled
        if options.wants_overview:
            notes = (*(say_compilations(compiled) if compiled else say_versions(rows)), *notes)
    document = Document(
        report.choose_directory_columns(rows), InputPaths(found.path), rows=lists, notes=notes
    )
    print_document(document, options)
    return next((each.exit_code for each in measured if each.exit_code), 0)


_FINDING: Final = Block("finding", Finding, FINDINGS.meaning)
_WORST: Final = Block("collective", CollectiveRow, COLLECTIVE_ROWS.meaning)
_INSTRUCTION: Final = Block("instruction", MeasuredInstruction, MEASURED_INSTRUCTIONS.meaning)
_MOST_INSTRUCTIONS: Final = 3  # one line each; --rows instructions has all
_FLAGS_WIDTH: Final = 62  # how far flags go on: one line of a terminal
_PARTS: Final = {
    "compute": "compute-bound work",
    "memory": "memory-bound work",
    "exposed": "exposed transfers",
}
# Whose work it is, where that is not one device's.
_SCOPES: Final = {
    "device": "",
    "program": " (whole program, before partitioning)",
    "mixed": " (before partitioning; parts under shard_map are counted for one device)",
}


def say_what(found: report.Summary) -> Iterator[Line]:
    """Say what the program is, and under what it was compiled."""
    facts, compiled = found.module, found.compilation
    scheduled = "scheduled" if facts.is_scheduled else "not scheduled"
    devices = count_noun(facts.num_partitions, "partition")
    devices += f" × {count_noun(facts.replica_count, 'replica')}"
    parts = [f"{{name}}: {facts.backend or 'backend unknown'}, {scheduled}, {devices}"]
    if compiled.mesh:
        parts.append(quote_braces(f"mesh {' '.join(compiled.mesh)}"))
    yield Line(", ".join(parts), report.MODULE, facts)
    text = "{instruction_count:instruction} ({executed_instruction_count} outside fusions), "
    text += "{parameter_count:parameter} {parameter_bytes} ({donated_parameter_count} donated)"
    yield Line(text, report.MODULE, facts)
    known = []
    if compiled.flags:  # those that find room on a line; JSON has them all
        ends = accumulate(len(flag) + len(", ") for flag in compiled.flags)
        count = max(1, sum(end <= _FLAGS_WIDTH for end in ends))
        known.append(f"flags: {list_some(compiled.flags, count)}")
    known += [f"compiler cl_{compiled.build}"] if compiled.build is not None else []
    if known:
        yield Line("; ".join(known))
    if compiled.tpu_flag_count is not None:
        text = "tpu_comp_env.txt has {tpu_flag_count:flag}, default or not; `hlotool diff` compares"
        yield Line(f"{text} them", report.COMPILATION, compiled)


def _say_compiling(metadata: DumpFile) -> Iterator[Line]:
    """Say how long all passes took, and which took longest."""
    from hlotool.compare import pass_times  # noqa: PLC0415  most dumps lack the file

    rows, totals = pass_times.list_pass_times(pass_times.read_runs(metadata), ())
    if rows:
        most = max(rows, key=lambda row: row.own_seconds or 0)
        time = format_value(most.own_seconds, Unit.SECONDS)
        said = f"the longest {time} ({quote_braces(most.pass_name)})"
        yield Line(f"compilation: passes took {{seconds}}, {said}", pass_times.TOTALS, totals)


def say_memory(found: report.Summary, remedy: str = "") -> tuple[Line, ...]:
    """Say how much memory it takes, and whether that fits."""
    memory = found.memory
    lines = [Line(f"memory unknown: {found.memory_unknown}")]
    if memory is not None and memory.estimated:
        allocated = write_accuracy("allocated", memory.estimated, memory.backend)
        is_known = memory.estimated.allocated_bytes is not None
        temp = "at most " if memory.backend == "tpu" else ""
        text = f"allocated {allocated}, " if is_known else ""
        text += f"peak {{peak_bytes}}, temp peak {temp}{{temp_peak_bytes}}"
        lines = [Line(f"memory (estimate): {text}", ESTIMATED, memory.estimated)]
    elif memory is not None:
        text = "memory: {allocated_bytes} allocated, peak {peak_bytes}; arguments "
        text += "{argument_bytes}, temp {temp_bytes}"
        lines = [Line(text, TOTALS, memory.totals)]
    lines += _say_replicated(found)
    if found.fit is not None:
        lines.append(say_fit(found.fit))
        if found.fit.fits is False:
            remedy = remedy or "`hlotool buffers` with the same option"
            lines.append(Line(f"ways to fit: {remedy}", is_typed=True))
    return tuple(lines)


_REPLICATED_ROW: Final = Block("group", ReplicatedRow, REPLICATED.meaning)


def _say_replicated(found: report.Summary) -> Iterator[Line]:
    """Say how much of the peak is replicated over the axes over which most is."""
    row = found.most_replicated
    if row is not None:
        over = "over {replicated_over}" if row.replicated_over else "on {copies} devices"
        text = f"{{peak_bytes}} of the peak is replicated {over} ({{parameter_count:parameter}})"
        yield Line(text, _REPLICATED_ROW, row)


def say_work(found: report.Summary) -> Iterator[Line]:
    """Say what one step computes and moves, and on a chip what it waits for and what limits it."""
    cost = found.cost
    text = f"work{_SCOPES[cost.counted_for]}: {{total_flops_per_step}} flops{_say_parts(cost)}"
    text += ", {traffic_bytes_per_step} of traffic"
    if cost.padded_traffic_bytes_per_step > cost.traffic_bytes_per_step * TOLD_PADDING:
        text += " ({padded_traffic_bytes_per_step} with tile padding)"
    if cost.arithmetic_intensity is not None:
        text += ", {arithmetic_intensity} flop/B"
    yield Line(text, COST, cost)
    if found.roofline is not None and found.step_time:
        yield _say_step_time(found.step_time, found.roofline.chip)
    if found.roofline is not None:
        yield _say_roofline(found.roofline, found)


def _say_step_time(run: report.StepEstimate, chip: str) -> Line:
    """Say how long a step takes, and what most of that is, before what limits its work."""
    most = "its largest part is unknown"
    if run.largest_part is not None:
        most = f"{{largest_share}} of it {_PARTS[run.largest_part]}"
    padded = (
        " to {padded_seconds}" if run.padded_seconds > run.estimated_seconds * TOLD_PADDING else ""
    )
    text = f"{quote_braces(chip)}: {{estimated_seconds}}{padded} per step (estimate), {most}"
    if run.xla_seconds is not None:
        text += "; XLA estimates {xla_seconds} for its kernels"
    return Line(text, report.STEP_TIME, run)


def _say_roofline(roofline: report.Roofline, found: report.Summary) -> Line:
    """Say how long arithmetic, and all traffic, take by themselves, and which takes longer."""
    subject = "at its peaks" if found.step_time else "{chip}, at its peaks"
    text = f"{subject}: arithmetic {{compute_seconds}}, all traffic {{memory_seconds}}"
    is_padded = roofline.padded_memory_seconds > roofline.memory_seconds * TOLD_PADDING
    text += " to {padded_memory_seconds}" if is_padded else ""
    if roofline.bound is None:
        why = say_why_unknown(found.cost)
        if not roofline.is_lower_bound:
            why = "a peak rate is unknown" if roofline.assumed_bf16 else "padding could change it"
        text += f"; its limit is unknown: {why}"
    else:
        text += {"compute": "; compute-bound", "memory": "; memory-bound"}[roofline.bound]
    if roofline.assumed_bf16:
        text += f"; products in {', '.join(roofline.assumed_bf16)} are assumed as fast as in bf16"
    return Line(text, report.ROOFLINE, roofline)


def _say_parts(cost: CostReport) -> str:
    """Say which part of the work are matrix products of the text, and which custom calls.

    A library's products are custom calls, and no matrix products of the text.
    """
    if not cost.custom_call_flops_per_step:
        return " ({matrix_flops_per_step} in matrix products)" if cost.matrix_flops_per_step else ""
    calls = "{custom_call_flops_per_step} in custom calls, such as those of a library"
    if not cost.matrix_flops_per_step:
        return f" ({calls})"
    return f" ({{matrix_flops_per_step}} in dots and convolutions, {calls})"


def say_why_unknown(cost: CostReport) -> str:
    """Say what makes the work or the traffic of a step a lower roofline."""
    count = max(cost.unknown_custom_call_count_per_step, cost.unknown_traffic_count_per_step)
    if count:
        return f"{count_noun(count, 'custom call is', 'custom calls are')} not costed"
    return "a size or a trip count is not known"


def say_collectives(found: report.Summary) -> Iterator[Line]:
    """Say what is sent, how much of it nothing hides, and where most of that is."""
    totals, slices, host = found.collectives, found.collectives.between_slices(), found.host
    if totals.count:
        text = (
            "collectives: {count} run {executions:time} and send {sent_bytes_per_step} per device"
        )
        basis = _say_basis(totals)
        if totals.exposed_seconds is not None:
            text += f"; {{exposed_seconds}} of {{transfer_seconds}} is exposed, by estimate{basis}"
        elif totals.exposed_bytes_per_step is not None:
            text += f"; {{exposed_bytes_per_step}} is exposed, by estimate{basis}"
        if totals.is_node_assumed:
            text += "; nodes of {devices_per_node} assumed"
        yield Line(text, report.COLLECTIVES, totals)
    worst = found.worst_collective
    if worst is not None:
        is_timed = worst.exposed_seconds is not None
        size = "{exposed_seconds}" if is_timed else "{exposed_bytes_per_step}"
        over = " over {axes}" if worst.axes else ""
        at = " ({source})" if worst.source else ""
        text = f"most exposed: {size} of {{name}}{over}{at}"
        yield Line(text, _WORST, worst)
    if slices is not None:
        text = "between slices (dcn): {count} of them send {sent_bytes_per_step} per device"
        yield Line(text, BETWEEN_SLICES, slices)
    if host.count:
        yield Line(HOST_LINE, HOST_TOTALS, host)


def _say_basis(totals: CollectiveTotals) -> str:
    """Say at which speeds work is held against transfers, where the user names no chip."""
    if totals.reference_chip is None:
        return ""
    if totals.transfer_seconds is None:
        return " at the ratios of {reference_chip}"
    return " for work at the rates of {reference_chip} and the given link"


def say_measured(
    found: report.Summary, most: int = _MOST_INSTRUCTIONS, more: str = "--rows instructions"
) -> Iterator[Line]:
    """Say how often a profiler saw it run, and how long; without instructions no account of it."""
    if found.measured is None:
        return
    accounts = _say_device_time(found.measured) if most else ()
    text = "measured: {step_count:run} on {device_count:device}"
    if found.measured.step_seconds is not None:
        text += ", {step_seconds} each"
    yield Line(text, MEASURED, found.measured)
    yield from (Line(one, MEASURED, found.measured) for one in accounts)
    if found.collectives.measured_seconds is not None:
        text = (
            "measured collectives: {measured_seconds} per step, "
            "{measured_exposed_seconds} of it exposed"
        )
        yield Line(text, report.COLLECTIVES, found.collectives)
    yield from _name_longest(found.instructions, most, more)


def _say_device_time(measured: MeasuredFacts) -> Iterator[str]:
    """Say what of the devices' time is of no instruction by its own mark; and what TPU states."""
    parts = {
        "named_seconds": "of kernels matched by name or order",
        "copy_seconds": "copies",
        "collective_seconds": "collectives' kernels",
        "unknown_seconds": "unknown",
    }
    told = [f"{{{name}}} {what}" for name, what in parts.items() if getattr(measured, name)]
    if told:
        joined = "{joined_seconds} of instructions"
        yield f"device time of the profile: {{device_seconds}} = {' + '.join((joined, *told))}"


def _name_longest(rows: Sequence[MeasuredInstruction], most: int, more: str) -> Iterator[Line]:
    """Name what took most of the time; nothing where the profile does not tell of runs."""
    timed = [row for row in rows if row.measured_seconds]
    if timed and most:
        yield Line("longest:")
    for row in timed[:most]:
        share = " ({share})" if row.share is not None else ""
        place = quote_braces(f" ({row.source})" if row.source else "")
        yield Line(f"* {{measured_seconds}}{share} {{name}}, {{opcode}}{place}", _INSTRUCTION, row)
    if len(timed) > most:
        left = f"… and {len(timed) - most:,} more" if most else "instructions by time"
        yield Line(f"{left}: {more}", is_typed=True)


def say_findings(found: report.Summary, most: int, command: str) -> Iterator[Line]:
    """Name what is worth a look in a line each, the worst first; the list itself says more."""
    if not found.findings:
        return
    for one in found.findings[:most]:
        size = "{bytes} " if one.bytes is not None else ""
        time = "{estimated_seconds} " if one.estimated_seconds is not None else ""
        place = quote_braces(one.source.rpartition("/")[2]) if one.source else ""
        subject = _say_subject(one)
        between = " " if "×" in subject else ", "  # so that most stay one line of a terminal
        where = between.join(part for part in (subject, place) if part)
        where = f": {where}" if where else ""
        yield Line(f"* {size}{time}{{id}}{where}", _FINDING, one, tone=one.severity)
    more = len(found.findings) - most
    said = f"… and {more} more, with remedies" if more > 0 else "remedies"
    said = said if most else count_noun(more, "finding")
    yield Line(f"{said}: {command}", is_typed=True)


def _say_subject(found: Finding) -> str:
    """Name the largest of what a finding is about, and how many there are."""
    if found.instruction is not None:
        return "{instruction}" + (f" ×{found.count:,}" if found.count > 1 else "")
    if found.parameter is not None:
        return "{parameter}" + (f" and {found.count - 1:,} more" if found.count > 1 else "")
    return ""


def say_order(findings: Sequence[Finding]) -> tuple[Line, ...]:
    """Say how the list of findings is sorted, and what the column says that it is sorted by."""
    timed = [one for one in findings if one.weighted_bytes is not None]
    if not timed:
        return ()
    said = "Warnings first, then by time"
    if all(one.estimated_seconds is not None for one in timed):
        return (Line(f"{said}."),)
    moved = "`as traffic` counts the bytes that memory moves in that time"
    return (Line(f"{said}: {moved}, at the ratios of the chip or of the reference chip."),)


# A directory.


def point_to_program(path: str, rows: Sequence[report.ProgramRow]) -> tuple[Line, ...]:
    """Say what to type to see one program, the first that could be read, and what all send."""
    readable = sort_rows(report.MODULES, [row for row in rows if row.error is None], "")
    first = next((row for row in readable if isinstance(row, report.ProgramRow)), None)
    if first is None or len(rows) == 1 or path == STDIN:
        return ()
    typed = quote_command("summary", path, "--module", first.place)
    lines = [Line(f"{typed}  # one program", is_typed=True)]
    if any(row.sent_bytes_per_step for row in rows):
        sent = "--by", "program,axes", "--sort", "-sent_bytes_per_step"
        typed = quote_command("collectives", path, *sent)
        lines.append(Line(f"{typed}  # what all send", is_typed=True))
    return tuple(lines)


_MOST_REASONS: Final = 4
_MOST_FUNCTIONS: Final = 3  # one line each; --rows compilations has all


def say_versions(rows: Sequence[report.ProgramRow]) -> Iterator[Line]:
    """Say which functions are there several times, for other arguments."""
    known = [row for row in rows if row.arguments]
    for (_, name), found in group_by(known, lambda row: (row.folder, row.module)).items():
        versions = [*dict.fromkeys(row.arguments or () for row in found)]
        same = set(versions[0]).intersection(*versions)
        own = [", ".join(one for one in each if one not in same) for each in versions]
        if 1 < len(versions) <= _MOST_REASONS:
            text = f"{len(versions)} programs of {name} differ: {'; '.join(own)}"
            yield Line(text, is_cuttable=True)


def say_compilations(rows: Sequence[report.ReasonRow]) -> Iterator[Line]:
    """Say which functions were compiled several times, and what made each compilation new."""
    functions = group_by(rows, lambda row: (row.function, row.place.rpartition("#")[0]))
    for (function, folder), found in list(functions.items())[:_MOST_FUNCTIONS]:
        times, of = max(row.compilation for row in found), f" ({folder.strip()})" if folder else ""
        said = f"{function}{of} compiled {times:,} times: {_say_chain(found)}"
        yield Line(said, is_cuttable=True)
    if len(functions) > _MOST_FUNCTIONS:
        more = count_noun(len(functions) - _MOST_FUNCTIONS, "function")
        yield Line(f"… and {more} more; --rows compilations lists every one")
    if any(row.reason == "nothing" for row in rows):
        yield Line(
            "Equal dumps do not show the cause: weak types, JAX settings, devices or recreated"
        )
        yield Line("functions. JAX_EXPLAIN_CACHE_MISSES=1 makes JAX print it.")


_ALONE: Final = {
    "nothing": "the same program again",
    "program": "other",
    "sharding": "other shardings of",
}


def _say_chain(rows: Sequence[report.ReasonRow]) -> str:
    """Say the reasons of one function's compilations: `x f32[8,16] → [9,16] → bf16`."""
    first = rows[0]
    if len(rows) == 1 and first.old is first.new is None:
        return f"{_ALONE[first.reason]} {first.subject}".rstrip()
    is_sized = all(row.reason in {"shape", "type"} for row in rows)
    follow = is_sized or all(one.new == other.old for one, other in pairwise(rows))
    if follow and (first.new or len(rows) == 1) and len({row.subject for row in rows}) == 1:
        values = " → ".join(each or "(none)" for each in (first.old, *(row.new for row in rows)))
        dtype = (first.old or "").partition("[")[0]
        named = "constant " * (first.reason == "constant") + first.subject
        return f"{named} {values}".replace(f"→ {dtype}[", "→ [")
    reasons = Counter(_say_chain([row]) for row in rows)
    said = [f"{count:,} × {text}" if count > 1 else text for text, count in reasons.items()]
    return list_some(said, _MOST_REASONS)


def say_fits(rows: Sequence[report.ProgramRow], limit_bytes: int, units: str) -> Line:
    """Say which programs do not fit into so much memory, and of how many nobody can tell."""
    found = report.check_fit(rows, limit_bytes)
    limit = format_value(limit_bytes, Unit.BYTES, units)
    named = [f"{'~ ' * row.is_estimate}{row.program}" for row in found.too_large]
    said = f"do not fit in {limit}: {', '.join(named)}"
    if not named:
        said = f"none is known to exceed {limit}" if found.unknown_count else f"all fit in {limit}"
    unknown = found.unknown_count
    return Line(f"{said}; unknown of {unknown:,}" if unknown else said)
