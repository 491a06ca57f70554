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
from hlotool.page.data import make_page
from hlotool.text import encode_json

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="needs node")
DUMPS = ("gpu_h100/transformer_train", "tpu_v5e/offload", "cpu/nested_loops", "cpu/scan_train")


def ask(code: str, data: object = None) -> Any:
    """Return what code says that runs behind the scripts; `model` is the first program's."""
    scripts = "".join(
        (PAGE / f"{one}.js").read_text("utf-8") for one in ("axis", "model", "icicle")
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
