"""Every command in every format, for every list of rows that it has, on every dump of testdata.

A command line is run twice for its answer, as programs and as eyes have it. Each list of an answer
is then written in each format, and read back by another library: what is written holds the rows and
the values that JSON holds. The formats that one command alone has stand at the end.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
from dump_files import ROOT, TESTDATA, find_folders, find_texts, read_text, split_modules
from each import for_each
from msgspec.structs import replace
from parsed import load as load_dump
from tables import is_case
from test_formats import read_profile, read_trace
from test_schema_outputs import CASES, CHOOSING

from hlotool.analysis.graph.backend import find_backend
from hlotool.cli import run
from hlotool.commands.shared import output
from hlotool.commands.shared.options import RowOptions
from hlotool.errors import HlotoolError, UsageError
from hlotool.hlo.parser import parse_module
from hlotool.program import load
from hlotool.program.program import Program
from hlotool.table import Document, Field, RowList, Unit
from hlotool.table.cells import Look
from hlotool.text import Source, escape

pytest.importorskip("pyarrow")

from pyarrow import parquet

Row = dict[str, Any]
Kind = tuple[str, str, str, str]  # document, list, field, and what is there

# Together they ask for all the lists that there are of one program.
LINES: Final = (
    "summary {dump} --hbm 1GiB {chip}",
    "buffers {dump}",
    "buffers {dump} --all --timeline --peaks 3 --donation --hbm 1GiB",
    "fusions {dump} --missed --recompute {chip}",
    "collectives {dump} --operands --wide {chip}",
    "outline {dump} {chip}",
    "show {dump} {name}",
    "show {dump} {names}",
    "diff {other} {dump}",
    "check {dump} --config testdata/check/budgets.toml",
)
STEP: Final = TESTDATA / "dumps" / "gpu_h100" / "mlp_train"
EYES: Final = "--wide --limit 0 --units B"
CHIPS: Final = {"gpu": "--chip h100", "tpu": "--chip v5e"}
SHOWN: Final = ("fusion", "parameter", "all-reduce", "collective-permute-start", "while")
# With those of LINES and FORMS they have every kind of value that any dump of testdata leads to.
CHOSEN: Final = (
    "buffers/newer/module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt",
    "dumps/cpu/mlp_train",
    "dumps/gpu_h100/conv_quantized",
    "dumps/gpu_h100/mlp_train.remat",
    "dumps/tpu_v5e/nested_loops",
    "advice/cpu.scanned/module_0000.jit_train_step.cpu_after_optimizations.txt.gz",
    "folders/tpu_v5e.plain/module_0000.jit_affine.cl_1003875606.after_codegen.txt",
    "inputs/company/mentioned.txt",
    "packed/cpu/transformer_train",
    "packed/tpu7x/fsdp_train",
    "packed/tpu_v5e/transformer_train",
    "packed/tpu_v5p/fsdp_train.auto",
    "protos/async_forms.txt",
    "protos/custom_calls.txt",
    "questions/12-donated-not-usable/problem",
    "questions/20-slow-for-one-reduction/problem/a",
    "questions/43-largest-batch/problem/a",
    "questions/55-slow-sharded-loop/problem",
    "shardings/tpu_v5e/module_0221.jit_large_whole.cl_1003875606.after_optimizations.txt.gz",
)
FORMS: Final = (
    "cost/fusions.cases/fusion_with_custom_call",
    "hlo_forms/inferred.cases/inferred_moves",
)


def ask(line: str) -> tuple[Document, RowOptions] | None:
    """Run a command line for its answer, which is not printed; None where it is refused.

    A program is read and worked out once, however often it is asked about.
    """
    answers: list[tuple[Document, RowOptions]] = []

    def keep(document: Document, options: RowOptions, _: Look) -> Iterator[str]:
        answers.append((document, options))
        return iter(())

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(output, "render_document", keep)
        patch.setattr(load, "parse_module", parse_once)
        patch.setattr(load, "Program", make_once)
        code = run(line.split())
    assert code in ({0, 1, 4} if answers else {2, 3, 4}), line
    return answers[0] if answers else None


# As many as a folder holds; all programs of testdata together would take many GB.
KEPT: Final = 64
parse_once = lru_cache(KEPT)(parse_module)
_MADE: Final[dict[object, Program]] = {}


def make_once(*args: Any, **named: Any) -> Program:
    """Return the program that was made of a module, files and assumptions before."""
    name, module, assignment, files, assumptions = args
    key = name, id(module), assignment is None, files, assumptions
    if key not in _MADE:
        _MADE[key] = Program(*args, **named)
        if len(_MADE) > KEPT:
            del _MADE[next(iter(_MADE))]
    return _MADE[key]


def write(document: Document, options: RowOptions) -> str:
    return "".join(output.render_document(document, options, Look(options.units)))


def write_bytes(document: Document, options: RowOptions) -> bytes:
    return output._render_bytes(document, options)  # noqa: SLF001  as it is written to a file


def check(line: str) -> set[Kind]:
    """Hold all formats against JSON, for each list that a command line leads to; return kinds."""
    asked, shown = ask(f"{line} --format json"), ask(f"{line} --format markdown {EYES}")
    assert bool(asked) == bool(shown), line
    if asked is None or shown is None:
        return set()
    try:
        check_eyes(*shown)
        return check_forms(*asked)
    except Exception as error:
        error.add_note(f"in the answer of hlotool {line}")
        raise


def find_kind(value: Any) -> str:
    """Return what a value is, as finely as a format may treat it otherwise."""
    if isinstance(value, list):
        return " of ".join(dict.fromkeys(["list", *map(find_kind, value[:1])]))
    if isinstance(value, int) and not isinstance(value, bool):
        return "beyond int64" if value >= 1 << 63 else "negative" if value < 0 else "whole"
    if isinstance(value, str):
        return ("text" if value.isprintable() else "unprintable") if value else "empty"
    return type(value).__name__


# As programs have it.


def check_forms(document: Document, options: RowOptions) -> set[Kind]:
    made = json.loads(write(document, options))
    kinds = {(document.spec.name, "", "", "answer")}
    for rows in document.present():
        chosen = replace(options, rows=rows.name)
        for form, read in READERS.items():
            text = write(document, replace(chosen, format=form))
            assert read(text, made[rows.name]) == made[rows.name], form
        assert (
            read_parquet(write_bytes(document, replace(chosen, format="parquet")))
            == made[rows.name]
        )
        check_stacks(document, chosen, made[rows.name], rows)
        place = document.spec.name, rows.name
        kinds |= {(*place, key, find_kind(one[key])) for one in made[rows.name] for key in one}
    return kinds


def read_lines(text: str, _: list[Row]) -> list[Row]:
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read_cells(text: str, expected: list[Row], **how: Any) -> list[Row]:
    """Read what a spreadsheet reads; a text is one because that is what is expected."""
    header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True, **how)
    assert all(list(row) == header for row in expected)
    assert len(lines) == len(expected)
    return [
        {key: read_cell(cell, row[key]) for key, cell in zip(header, line, strict=True)}
        for line, row in zip(lines, expected, strict=True)
    ]


def read_cell(cell: str, expected: object) -> object:
    if not isinstance(expected, str):
        return json.loads(cell) if cell else None
    is_it = cell == escape(expected) or (cell == f"'{expected}" and expected[0] in "=+-@'")
    return expected if is_it else cell


READERS: Final[dict[str, Callable[[str, list[Row]], list[Row]]]] = {
    "jsonl": read_lines,
    "csv": read_cells,
    "tsv": lambda text, expected: read_cells(
        text, expected, delimiter="\t", quoting=csv.QUOTE_NONE
    ),
}


def read_parquet(data: bytes) -> list[Row]:
    """Read the rows; a map is a list of pairs, as JSON has it."""
    rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    return [{key: as_json(value) for key, value in row.items()} for row in rows]


def as_json(value: Any) -> Any:
    return list(map(as_json, value)) if isinstance(value, list | tuple) else value


def check_stacks(
    document: Document, options: RowOptions, expected: list[Row], rows: RowList
) -> None:
    """Hold the weights of stacks against the columns they are made of."""
    try:
        data = write_bytes(document, replace(options, format="pprof"))
    except UsageError:
        has_path = any(field.is_path for field in rows.fields)
        assert not has_path or not any(field.is_summable for field in rows.fields)
        return
    profile = read_profile(data)
    names = [profile.string_table[one.type] for one in profile.sample_type]
    assert len(profile.sample) == len(expected)
    for place, name in enumerate(names):
        if rows.field(name).joint is not None:  # a row weighs what it does not share with others
            continue
        scale = 1e9 if rows.field(name).unit is Unit.SECONDS else 1
        weights = [round((row[name] or 0) * scale) for row in expected]
        assert [sample.value[place] for sample in profile.sample] == weights, name
    lines = write(document, replace(options, format="folded")).splitlines()
    first = [sample.value[0] for sample in profile.sample if sample.value[0] > 0]
    assert [int(line.rpartition(" ")[2]) for line in lines] == first


# As eyes have it.


def check_eyes(document: Document, options: RowOptions) -> None:
    made = json.loads(write(document, replace(options, format="json")))
    for rows in document.present():
        chosen = replace(options, rows=rows.name)
        titles, lines = read_markdown(write(document, chosen))
        if not made[rows.name]:
            assert not lines
            continue
        assert titles == [field.title for field in rows.fields]
        if len(lines) == len(made[rows.name]):
            for row, cells in zip(made[rows.name], lines, strict=True):
                for field, cell in zip(rows.fields, cells, strict=True):
                    expect_cell(cell, row[field.name], field, row)
        else:
            assert rows.fold
            assert len(lines) < len(made[rows.name])
            expect_sums(lines, made[rows.name], rows.fields)
        below = [field.is_below for field in rows.fields]
        table = [
            [cell for cell, is_below in zip(line, below, strict=True) if not is_below]
            for line in lines
        ]
        expect_table(write(document, replace(chosen, format="table")), table)


def read_markdown(text: str) -> tuple[list[str], list[list[str]]]:
    """Read the table of a text: its heading and its rows, but no TOTAL, which is bold."""
    found = [split_cells(line) for line in text.split("\n") if line.startswith("| ")]
    if not found:
        return [], []
    titles, _, *lines = found
    return titles, [line for line in lines if not any(each.startswith("**") for each in line)]


def split_cells(line: str) -> list[str]:
    """Take a line apart at its bars, and undo what keeps markdown from acting on a text."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    cells, cell = [], ""
    for found in re.finditer(r"\\(.)|(&nbsp;)| (\|)(?: |$)|(.)", line[2:], re.DOTALL):
        escaped, blank, bar, other = found.groups()
        if bar:
            cells.append(cell)
            cell = ""
        else:
            cell += escaped or (" " if blank else other)
    return cells


def expect_cell(cell: str, value: Any, field: Field, row: Row) -> None:
    """Expect that a cell says a value; figures are exact where their unit is."""
    unit = Unit(row.get("unit", Unit.TEXT)) if field.unit is Unit.MEASURE else field.unit
    where = f"{field.name}: {cell!r} is {value!r}"
    if value is None:
        instead = row[field.null_from] if field.null_from else None
        assert cell == escape(field.null_text if instead is None else instead), where
    elif field.shown is not None or field.is_curve or unit is Unit.TEXT is not field.unit:
        assert bool(cell) == (value != ""), where
    elif isinstance(value, bool):
        assert cell == ("yes" if value else "no"), where
    elif isinstance(value, str):
        assert cell == escape(value), where
    elif isinstance(value, list):
        nested = ("{" + ",".join(map(str, each)) + "}" for each in value if isinstance(each, list))
        flat = ", ".join(escape(str(each)) for each in value)
        assert cell in {flat, "{" + ",".join(nested) + "}"}, where
    else:
        relative, least = TOLERANCES.get(unit, (0, 0))
        assert read_figure(cell) == pytest.approx(value, rel=relative, abs=least), where


# Some figures are written with three digits, or as tenths of a percent.
TOLERANCES: Final = {Unit.SECONDS: (5e-3, 0), Unit.RATIO: (5e-3, 0), Unit.PERCENT: (0, 5.1e-4)}
PREFIXES: Final = dict(zip("yzafpnμm kMGTPE", range(-24, 19, 3), strict=True))


def read_figure(cell: str) -> float:
    """Read a figure as eyes do: `≥ 1,234`, `−41.0 %`, `1.23 ms`, `×48`."""
    plain = cell.lstrip("≥≤~×about ").replace(",", "").replace("−", "-")
    number, _, unit = plain.partition(" ")
    if unit == "%":
        return float(number) / 100
    power = PREFIXES.get(unit[0], 0) if unit[1:] or unit in PREFIXES else 0
    return float(number or 1) * 10**power if power else float(number or 1)


def expect_sums(lines: list[list[str]], expected: list[Row], fields: Sequence[Field]) -> None:
    """Expect that folded rows add up to what those they stand for come to."""
    for place, field in enumerate(fields):
        values = [row[field.name] for row in expected]
        cells = [line[place] for line in lines]
        is_exact = field.unit in {Unit.COUNT, Unit.TIMES, Unit.BYTES, Unit.FLOPS}
        is_plain = field.is_summable and field.joint is None and field.shown is None
        if is_exact and is_plain and None not in values:
            assert sum(map(read_figure, cells)) == sum(values), field.name


def expect_table(text: str, rows: list[list[str]]) -> None:
    """Expect rows in a table, in this order, each on a line; between them there may be others."""
    lines = text.split("\n")
    rule = next(place for place, line in enumerate(lines) if re.fullmatch(r"-+( +-+)*", line))
    starts = [found.start() for found in re.finditer("-+", lines[rule])]
    ends = [*starts[1:], None]
    rest = iter(lines[rule + 1 :])
    for row in rows:
        expected = [cell.strip() for cell in row]
        assert any(
            [line[start:end].strip() for start, end in zip(starts, ends, strict=True)] == expected
            for line in rest
        ), row


# The dumps.


def find_programs() -> list[Path]:
    """Find dumps in folders, single texts, and cases of tables, each once; none that is injured."""
    folders = [one for one in find_folders() if one.is_relative_to(TESTDATA)]
    roots = [one for one in TESTDATA.iterdir() if one.is_dir() and one.name != "bad"]
    return folders + [one for one in split_modules(*roots) if one.parent not in folders]


def write_lines(path: Path, other: Path) -> Iterator[str]:
    """Yield what is asked of a dump, beside which another is there to be compared with."""
    text = find_texts(path)[-1] if path.is_dir() else path
    module = parse_once(Source(read_text(text), str(text)))
    found = {one.opcode: one.full_name for one in module.instructions()}
    names = [module.entry.root.full_name, *(found[one] for one in SHOWN if one in found)]
    given = {"dump": path, "other": other, "chip": CHIPS.get(find_backend(module) or "", "")}
    for line in LINES:
        yield line.format(**given, name=names[-1], names=" ".join(names))


def check_program(path: Path, other: Path) -> set[Kind]:
    return {kind for line in write_lines(path, other) for kind in check(line)}


@for_each([one for one in CASES if not set(one.split()) & CHOOSING])
def test_other_answers(line: str) -> None:
    assert check(line)


@for_each(CHOSEN)
def test_chosen_programs(name: str) -> None:
    assert check_program(TESTDATA / name, STEP)


@for_each(FORMS)
def test_forms(name: str) -> None:
    with TemporaryDirectory() as folder:
        assert check_program(write_case(TESTDATA / name, Path(folder)), STEP)


def write_case(path: Path, folder: Path) -> Path:
    """Write a case of a table as a file."""
    program = folder / f"{path.parent.stem}.{path.name}.txt"
    program.write_text(read_text(path), encoding="utf-8")
    return program


@lru_cache
def find_known_kinds() -> set[Kind]:
    """Return the kinds of value that those chosen, and other answers, have."""
    lines = [one for one in CASES if not set(one.split()) & CHOOSING]
    known = {kind for line in lines for kind in check(line)}
    known |= {kind for name in CHOSEN for kind in check_program(TESTDATA / name, STEP)}
    with TemporaryDirectory() as folder:
        for name in FORMS:
            known |= check_program(write_case(TESTDATA / name, Path(folder)), STEP)
    return known


PARTS: Final = 8


@pytest.mark.hard
@pytest.mark.parametrize("part", range(PARTS))
def test_every_program(part: int, tmp_path: Path) -> None:
    """No program leads to a kind of value that is not known."""
    new = {}
    for path in find_programs()[part::PARTS]:
        program = write_case(path, tmp_path) if is_case(path) else path
        try:
            kinds = check_program(program, STEP)
        except HlotoolError:  # some forms are there to be refused
            continue
        new[str(path)] = sorted(kinds - find_known_kinds())
    assert {name: kinds for name, kinds in new.items() if kinds} == {}


# The formats that one command alone has.


def write_file(line: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        assert run([*line.split(), "--output", str(path)]) in {0, 1, 4}, line
        return path.read_bytes()


@for_each(CHOSEN)
def test_traces_and_graphs(name: str) -> None:
    """Slices of a trace nest on each track; a graph has every instruction that runs, once."""
    path = TESTDATA / name
    program = load_dump(path).program
    made = json.loads(write_file(f"outline {path} --format model-explorer"))
    nodes = made["graphs"][0]["nodes"]
    assert len(nodes) == sum(len(one.instructions) for one in program.executions.executed)
    known = {node["id"] for node in nodes}
    assert len(known) == len(nodes)
    for node in nodes:
        assert {edge["sourceNodeId"] for edge in node["incomingEdges"]} <= known
    module = program.expect_module()
    asked = module.entry.root.full_name
    for form in ("dot", "mermaid"):
        assert asked in write_file(f"show {path} {asked} --format {form}").decode()
    chip = CHIPS.get(find_backend(module) or "")
    if chip:
        check_trace(read_trace(write_file(f"outline {path} {chip} --format perfetto")))


def check_trace(trace: Any) -> None:
    names = {
        packet.track_descriptor.uuid: packet.track_descriptor.name
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    assert set(names.values()) >= {"work", "memory in use"}
    depths: Counter[int] = Counter()
    before: dict[int, int] = {}
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in names
        assert before.get(event.track_uuid, 0) <= packet.timestamp
        before[event.track_uuid] = packet.timestamp
        depths[event.track_uuid] += {1: 1, 2: -1}.get(event.type, 0)
        assert depths[event.track_uuid] >= 0
        if names[event.track_uuid] == "memory in use":
            assert event.type == event.TYPE_COUNTER
            assert event.counter_value > 0
    assert not +depths


@for_each(CHOSEN)
def test_budgets_for_others(name: str) -> None:
    """Each system hears of every budget, and of as many that are exceeded."""
    line = f"check {TESTDATA / name} --config {TESTDATA / 'check' / 'budgets.toml'} --format"
    results = json.loads(write_file(f"{line} json"))["rules"]
    bad = [one for one in results if one["status"] != "pass"]
    suites = ET.fromstring(write_file(f"{line} junit"))  # noqa: S314  our own
    assert sorted(one.get("name") or "" for one in suites.iter("testcase")) == sorted(
        one["name"] for one in results
    )
    wrong = [one for one in suites.iter() if one.tag in {"failure", "error"}]
    assert len(wrong) == sum(one["severity"] == "error" for one in bad)
    (ran,) = json.loads(write_file(f"{line} sarif"))["runs"]
    assert [one["kind"] for one in ran["results"]].count("fail") == len(bad)
    assert len(ran["results"]) == len(results)
    told = write_file(f"{line} github").decode().splitlines()
    assert sum(one.startswith("::") for one in told) == len(bad)
