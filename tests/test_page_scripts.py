"""The scripts of a page without a browser: what they work out is what the analyses say.

`axis.js`, `model.js` and `icicle.js` know no page; node runs them on the data of real dumps.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import pytest
from dump_files import TESTDATA
from parsed import load
from report_pages import PAGE, SMALL

from hlotool.analysis.memory.memory_map import list_holdings
from hlotool.analysis.memory.rows import BufferRow, all_rows
from hlotool.analysis.origin import add_stacks
from hlotool.analysis.show.subjects import SubjectRow
from hlotool.errors import QueryError
from hlotool.hlo.parser import parse_module
from hlotool.page.data import make_page
from hlotool.program.program import Program
from hlotool.table.expression.compile import compile_where
from hlotool.table.field import fields_of
from hlotool.text import Source, encode_json

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="needs node")
DUMPS = ("gpu_h100/transformer_train", "tpu_v5e/offload", "cpu/nested_loops", "cpu/scan_train")


def ask(code: str, data: object = None) -> Any:
    """Return what code says that runs behind the scripts; `model` is the first program's."""
    scripts = "".join(
        (PAGE / f"{one}.js").read_text("utf-8") for one in ("axis", "model", "where", "icicle")
    )
    made = 'const data = JSON.parse(require("fs").readFileSync(0));\n'
    model = "const model = data && new Model(data.sides[0]);\n"
    program = f"{scripts}{made}{model}console.log(JSON.stringify((() => {{ {code} }})()));"
    assert NODE
    found = subprocess.run(
        [NODE, "-e", program], input=encode_json(data), capture_output=True, text=True, check=True
    )
    return json.loads(found.stdout)


@pytest.mark.parametrize("name", DUMPS)
def test_who_holds_which_byte(name: str) -> None:
    """At random steps of each space, holders are those of `buffers --at`; stacks add up."""
    program = load(TESTDATA / "dumps" / name).program
    memory = program.memory
    assert memory
    assert memory.map.live_ranges
    chance = random.Random(34)  # noqa: S311  no secret
    steps = [chance.randint(0, memory.map.live_ranges.end) for _ in range(25)]
    said = ask(
        f"""const steps = {json.dumps(steps)};
        return model.spaces.map((space) => ({{
          number: space.raw.number,
          held: steps.map((step) =>
            space.holders(step).map(([value, size]) => [model.valueName(space, value), size])),
          used: Array.from(space.used),
          sums: ["type", "scope", "dtype"].map((by) => Array.from(space.used, (_, step) =>
            space.stack(by).levels.reduce((sum, each) => sum + each[step], 0))),
        }}));""",
        make_page(program),
    )
    assert [each["number"] for each in said] == list(memory.map.colors())
    for space in said:
        curve = memory.map.curve(space["number"])
        assert curve
        assert space["used"] == [curve.at(step) for step in range(memory.map.live_ranges.end + 1)]
        assert space["sums"] == [space["used"]] * 3
        for step, held in zip(steps, space["held"], strict=True):
            wanted = list_holdings(memory.map, step, space["number"])
            assert held == [[one.value.name, one.live_bytes] for one in wanted], step


def test_what_lies_at_a_byte() -> None:
    """Of 300 points, each names a value that is live there, or a hole."""
    program = load(SMALL).program
    memory = program.memory
    assert memory
    assert memory.map.live_ranges
    chance = random.Random(7)  # noqa: S311  no secret
    placed = list(memory.map.placed(0))
    points = []
    for _ in range(300):
        home = chance.choice([one for one in placed if one.size_bytes])
        below = sum(one.size_bytes for one in placed[: placed.index(home)])
        step = chance.randint(0, memory.map.live_ranges.end)
        points.append((home, step, below, int(chance.random() * home.size_bytes)))
    asked = json.dumps([(step, below + offset) for _, step, below, offset in points])
    said = ask(
        f"""const space = model.spaces[0]; return {asked}.map(([step, byte]) => {{
        const value = space.valueAt(step, byte);
        return value < 0 ? null : model.valueName(space, value); }});""",
        make_page(program),
    )
    for (home, step, _, offset), name in zip(points, said, strict=True):
        there = {
            str(value.name)
            for each, value, _ in memory.map.live_at(step, 0)
            if each is home and value.offset <= offset < value.offset + value.size_bytes
        }
        assert (name in there) if there else name is None
    assert sum(name is not None for name in said) > 60


def test_sums_of_all_steps_are_those_of_the_program() -> None:
    program = load(SMALL).program
    found = ask("return model.sum(0, model.steps);", make_page(program))
    assert found["flops"] == program.cost.total_flops_per_step
    assert found["traffic_bytes"] == program.cost.traffic_bytes_per_step
    assert program.step_time
    assert found["seconds"] == pytest.approx(program.step_time.duration.total)
    rows = program.collectives.rows
    assert found["sent_bytes"] == sum(row.known_sent_bytes_per_step for row in rows)
    assert found["exposed_bytes"] == sum(row.known_exposed_bytes_per_step for row in rows)


def test_an_instruction_is_told_as_show_tells_it() -> None:
    program = load(SMALL).program
    names = [row.name for row in program.fusions.rows[:20]] + ["while.26"]
    data = make_page(program)
    said = ask(
        f"""const name = (each) => model.names[each];
        return {json.dumps(names)}.map((each) => model.places.get(each)).map((one) => [
        model.flops[one], model.traffic_bytes[one], model.operands(one).map(name),
        model.users(one).map(name), model.way(one)]);""",
        data,
    )
    for name, (flops, traffic, operands, users, way) in zip(names, said, strict=True):
        found = program.show((name,))
        (row,) = found.subjects
        assert (flops, traffic) == (row.flops_per_step, row.traffic_bytes_per_step)
        near = [(one.relation, one.name) for one in found.neighbours]
        assert operands == [each for relation, each in near if relation == "operand"]
        assert set(users) == {each for relation, each in near if relation == "user"}
        assert tuple(way) == row.call_path


def test_stacks_and_shardings_are_those_of_the_commands() -> None:
    program = load(SMALL).program
    names = [row.name for row in program.fusions.rows[:20]]
    said = ask(
        f"""return {{
        stacks: {json.dumps(names)}.map((name) => model.stack(model.frame[model.places.get(name)])
          .map((each) => model.word(each.what))),
        placed: model.placements.map((each) => [model.names[each.instruction],
          model.word(each.global_shape), model.word(each.spec), each.copies]) }};""",
        make_page(program),
    )
    subjects = add_stacks(program.show(tuple(names)).subjects, program.module)
    assert any(said["stacks"])
    for row, stack in zip(subjects, said["stacks"], strict=True):
        assert stack == [line.rpartition("/")[2] for line in row.stack or ()]
    report, entry = program.shardings, program.expect_module().entry
    homes = [*entry.parameters, *entry.root.operands]
    rows = [*report.parameters, *report.results]
    assert said["placed"] == [
        [home.full_name, row.global_shape or "", row.spec_text or "", row.copies]
        for home, row in zip(homes, rows, strict=True)
    ]
    assert any(row.copies and row.copies > 1 for row in rows)


def test_arrays_of_a_tuple_are_told_of_the_tuple() -> None:
    text = """HloModule m
ENTRY main {
  both = (f32[8], f32[4,4]) parameter(0)
  one = f32[2] parameter(1)
  ROOT out = ((f32[8], f32[4,4]), f32[2]) tuple(both, one)
}"""
    made: Any = make_page(Program("m", parse_module(Source(text))))
    (side,) = made["sides"]
    placed = side["placements"]
    shapes = [side["words"][at] for at in placed["global_shape"]]
    names = [side["instructions"]["name"][at] for at in placed["instruction"]]
    assert names == ["both", "both", "one"] * 2
    assert shapes == ["f32[8]", "f32[4,4]", "f32[2]"] * 2


def test_what_limits_a_step_is_what_the_clock_says() -> None:
    program = load(SMALL).program
    clock = program.step_time and program.step_time.clock
    assert clock
    told = make_page(program)["sides"]
    assert isinstance(told, list)
    found = dict(
        zip(told[0]["instructions"]["name"], told[0]["instructions"]["limit"], strict=True)
    )
    limits = set()
    for one in program.expect_module().entry.instructions:
        if one.opcode == "fusion":
            taken = clock.of(one)
            limits.add(found[one.full_name])
            assert (found[one.full_name] == 1) == (taken.compute > taken.memory)
    assert limits == {1, 2}


# Each is asked of instructions that run by themselves, as `show` has them, and of values that have
# memory of their own, as `buffers` has them.
CONDITIONS: tuple[str, ...] = (
    'opcode == "fusion"',
    "opcode != 'fusion' and executions > 1",
    'name contains "gemm_fusion" or not (source_line > 20)',
    'name ~ "^gemm.*[0-2]$" and name !~ "\\\\.1"',
    "scope == null",
    'scope != null and scope ~ "attention|mlp"',
    "source_line in [12, 20, null] or source_line not in (31, 33)",
    "flops_per_step / traffic_bytes_per_step >= 8",
    "flops_per_step - 2 * traffic_bytes_per_step > -1e6",
    "traffic_bytes_per_step > 1.5MiB and traffic_bytes_per_step <= 1_000_000.5 kB",
    "not flops_per_step > 0",
    "not (source_line == 20 or opcode in ['copy', \"tuple\"])",
    "1e3 < flops_per_step",
    "flops_per_step == -0.0",
    'computation == "while_body" or computation ~ "region|body"',
    "(flops_per_step > 1) == true",
    'allocation_type == "temp" and size_bytes >= 1.1 MB',
    "live_until - live_from > 20 and space == 0",
    'value contains "{" and shape ~ "^f32"',
    'shape not contains "bf16" and offset == 0',
    "size_bytes / (live_from - live_until) < 0",
    "allocation in [0, 1, 2, -3]",
    'opcode == "parameter" or source == null',
    'source ~ "transformer_train.py:\\\\d+$"',
    "instruction != value",
)
# What neither reads, and what a page leaves to hlotool, as it may mean something else there.
REFUSED: tuple[tuple[str, bool], ...] = (
    ("name", True),
    ('name > "a"', True),
    ("name == fusion", True),
    ("flops_per_step > 2MiB", True),
    ("size_bytes > 2ms", True),
    ("size_bytes > 5%", True),
    ("live_from < 1 < 2", True),
    ("size_bytes >", True),
    ("(size_bytes > 1", True),
    ('size_bytes == "1"', True),
    ("size_bytes in [1, 'a']", True),
    ("size_bytes in []]", True),
    ("name ~ name", True),
    ('name ~ "(?=a)"', True),
    ("count() > 1", True),
    ("size_bytes < null", True),
    ("nothing == 1", True),
    ("- name == 1", True),
    ("1 and 2", True),
    (f"{'(' * 17}size_bytes > 1{')' * 17}", True),
    ("size_bytes = 1", True),
    ('name ~ "a{2}"', False),
    ('name ~ "\\\\bgemm"', False),
    ("size_bytes + 1MiB > 2MiB", False),
    ('parameter_name == "x"', False),
)
READ = """
const named = () =>
  listRunning(model).map((one) => [model.names[one], readInstruction(model, one)]);
const held = () => model.spaces.flatMap((space) => Array.from(space.instruction, (_, value) =>
  [`${space.raw.number} ${model.valueName(space, value)}`, readValue(space, value)]));
const ask = (text, fields, list) => {
  try {
    const test = parseWhere(text, fields);
    return list().filter(([, get]) => test(get)).map(([name]) => name);
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
};
const fields = (text) => [ask(text, INSTRUCTION_FIELDS, named), ask(text, VALUE_FIELDS, held)];
"""


def test_conditions_hold_for_the_same_rows() -> None:
    program = load(SMALL).program
    memory = program.memory
    assert memory
    told = make_page(program)
    assert isinstance(told["sides"], list)
    side = told["sides"][0]
    runs = {one.name for one in program.executions.counts}
    asked = program.show(tuple(side["instructions"]["name"])).subjects
    shown = [row for row in asked if row.computation in runs]
    values = all_rows(memory, None)
    held = [row for row in values if row.size_bytes and row.allocation_type != "thread-local"]
    said = ask(f"{READ} return {json.dumps(CONDITIONS)}.map(fields);", told)
    met: set[str] = set()
    for text, answers in zip(CONDITIONS, said, strict=True):
        for fields, rows, name, answer in (
            (SubjectRow, shown, lambda row: row.name, answers[0]),
            (BufferRow, held, lambda row: f"{row.space} {row.value}", answers[1]),
        ):
            if answer is None:
                continue
            test = compile_where(text, fields_of(fields))
            wanted = sorted(name(row) for row in rows if test(row))
            assert sorted(answer) == wanted, text
            assert len(wanted) < len(rows), text
            met.add(text if wanted else "")
    assert met >= set(CONDITIONS)


def test_a_page_refuses_what_it_may_get_wrong() -> None:
    texts = [text for text, _ in REFUSED]
    said = ask(f"{READ} return {json.dumps(texts)}.map(fields);", make_page(load(SMALL).program))
    assert said == [[None, None]] * len(REFUSED)
    for text, is_wrong in REFUSED:
        refused = 0
        for fields in (SubjectRow, BufferRow):
            try:
                compile_where(text, fields_of(fields))
            except QueryError:
                refused += 1
        assert (refused == 2) == is_wrong, text


STEPS = "const axis = Axis.ofTimes([0, 1, 1, 1, 4, 4.5]); return "
GIB = "5 * 2 ** 30"
CASES: list[tuple[str, object]] = [
    # Steps 1 and 2 take no time; behind the last is the end, which takes none either.
    (f"{STEPS}[0, 0.5, 1, 3.9, 4, 4.5, 9].map((x) => axis.stepAt(x))", [0, 0, 3, 3, 4, 5, 5]),
    (f"{STEPS}[axis.meet(0, 1), axis.meet(0.5, 1.1)]", [[0, 0], [0, 3]]),
    (f"{STEPS}axis.meet(4, 9)", [4, 5]),
    # Ten columns of half a second: the third holds three steps, of which two take no time.
    (f"{STEPS}Array.from(axis.columns(0, 5, 10).first)", [0, 0, 1, 3, 3, 3, 3, 3, 4, 5]),
    (f"{STEPS}Array.from(axis.columns(0, 5, 10).last)", [0, 0, 3, 3, 3, 3, 3, 3, 5, 5]),
    # A step as wide as a pixel is the one at its middle; of narrower ones the largest counts.
    ("return Axis.ofSteps(8).choose(0, 8, 8, 3, () => 0)", {"step": 3, "several": 1}),
    ("return Axis.ofSteps(8).choose(0, 8, 2, 0, (s) => s % 3)", {"step": 2, "several": 4}),
    ("return Axis.ofSteps(9).columns(0, 9, 3).last.join()", "2,5,8"),
    (
        f"return ticks(0, {GIB}, 5, byteBase({GIB})).map(bytes)",
        ["0 B", *(f"{n}.0 GiB" for n in range(1, 6))],
    ),
    ("return [bytes(null), seconds(0), seconds(2e-6)]", ["?", "0 s", "2.00 µs"]),
    ("return [count(1.5e9), bound(1, 1), bound(0, 4)]", ["1.50 G", "about ", "≤ "]),
    ("return plain('a\\u202eb')", "a\ufffdb"),
    # Levels with one child are one; what has nothing is left out.
    (
        (
            "const t = growTree([[['a', 'b', 'x'], 3], [['a', 'b', 'y'], 5], [['c'], 0]]);"
            "return [t.value, t.children.map((n) => [n.name, n.path, n.value])]"
        ),
        [8, [["a/b", "a/b", 8]]],
    ),
    (
        (
            "const t = growTree([[['a'], 90], [['b'], 5], [['c'], 3], [['d'], 2]]);"
            "return layTree(t, 0.06).slice(1).map(([n, , from, until]) => [n.name, from, until])"
        ),
        [["a", 0, 0.9], ["(smaller ones)", 0.9, 1]],
    ),
]


@pytest.mark.parametrize(("code", "wanted"), CASES)
def test_pure_functions(code: str, wanted: object) -> None:
    assert ask(code) == wanted


def test_scripts_are_read_by_node() -> None:
    """No script has a word that the language does not know."""
    for script in PAGE.glob("*.js"):
        assert NODE
        assert subprocess.run([NODE, "--check", script], check=False).returncode == 0
