"""Inputs below 1 MB made to hurt: the work stays in proportion to the text.

Each takes some tenths of a second. Before it was mended it took 5 seconds or more, most never
ended. A machine that is slower, or busy, has as much more time as Python's own work takes there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from no_collector import no_collector

from hlotool.cli import run

MOST_SECONDS = 4.0  # of the processor, where the yardstick takes its time
YARDSTICK_SIZE, YARDSTICK_SECONDS = 100_000, 0.12
MOST_BYTES = 1_000_000
HEADER = "HloModule m, is_scheduled=true\n\n"
ADD = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n\n"
ARRAY = "f32[4]"


def many(template: str, count: int, separator: str = "\n") -> str:
    """Write a template, in which N stands for the number, so often."""
    return separator.join(template.replace("N", str(number)) for number in range(count))


def entry(body: str, root: str = "ROOT r = f32[4] negate(x)") -> str:
    return f"ENTRY e {{\n x = f32[4] parameter(0)\n{body}\n {root}\n}}\n"


def with_op_name(name: str) -> str:
    root = f'ROOT r = f32[4] negate(x), metadata={{op_name="{name}"}}'
    return HEADER + entry("", root)


def tuple_of(count: int) -> str:
    return f"({', '.join([ARRAY] * count)})"


def branches(count: int) -> str:
    """One conditional with a computation for each branch."""
    bodies = many("bN {\n p = f32[4] parameter(0)\n ROOT a = f32[4] add(p, p)\n}\n", count)
    named = many("bN", count, ", ")
    given = ", ".join(["x"] * count)
    root = f"ROOT c = f32[4] conditional(i, {given}), branch_computations={{{named}}}"
    return f"{HEADER}{bodies}\n{entry(' i = s32[] parameter(1)', root)}"


def branches_of_tuples(count: int, width: int) -> str:
    """One conditional whose branches are all one computation, which hands a tuple back."""
    shape, given, same = tuple_of(width), ", ".join(["x"] * count), ", ".join(["b"] * count)
    return (
        f"{HEADER}b {{\n ROOT p = {shape} parameter(0)\n}}\n\nENTRY e {{\n"
        f" i = s32[] parameter(0)\n x = {shape} parameter(1)\n"
        f" c = {shape} conditional(i, {given}), branch_computations={{{same}}}\n"
        + many(" gN = f32[4] get-tuple-element(c), index=N\n nN = f32[4] negate(gN)", width)
        + f"\n ROOT r = {shape} tuple({many('nN', width, ', ')})\n}}\n"
    )


def nested_fusions(depth: int) -> str:
    """Fusions, each of which has the next one twice."""
    levels = "".join(
        f"f{level} {{\n p = f32[4] parameter(0)\n"
        f" x = f32[4] fusion(p), kind=kLoop, calls=f{level - 1}\n"
        f" y = f32[4] fusion(x), kind=kLoop, calls=f{level - 1}\n ROOT r = f32[4] add(x, y)\n}}\n\n"
        for level in range(1, depth)
    )
    first = "f0 {\n p = f32[4] parameter(0)\n ROOT r = f32[4] exponential(p)\n}\n\n"
    root = f"ROOT c = f32[4] fusion(x), kind=kLoop, calls=f{depth - 1}"
    return HEADER + first + levels + entry("", root)


def nested_slices(depth: int) -> str:
    """Fusions, each of which reads another part of the result of the next, twice."""
    size = 1 << depth
    levels = "".join(
        f"f{level} {{\n p = f32[{size}] parameter(0)\n"
        f" x = f32[{size}] fusion(p), kind=kLoop, calls=f{level - 1}\n"
        f" s = f32[{1 << level}] slice(x), slice={{[0:{1 << level}]}}\n"
        f" y = f32[{size}] fusion(x), kind=kLoop, calls=f{level - 1}\n"
        f" ROOT r = f32[{size}] bitcast(y)\n}}\n\n"
        for level in range(1, depth)
    )
    return (
        f"{HEADER}f0 {{\n p = f32[{size}] parameter(0)\n ROOT r = f32[{size}] bitcast(p)\n}}\n\n"
        f"{levels}ENTRY e {{\n x = f32[{size}] parameter(0)\n"
        f" c = f32[{size}] fusion(x), kind=kLoop, calls=f{depth - 1}\n"
        " ROOT s = f32[4] slice(c), slice={[0:4]}\n}\n"
    )


def doubling_calls(depth: int) -> str:
    """Write computations, each of which calls the next one twice."""
    levels = "".join(
        f"f{level} {{\n p = f32[4] parameter(0)\n x = f32[4] call(p), to_apply=f{level - 1}\n"
        f" ROOT y = f32[4] call(x), to_apply=f{level - 1}\n}}\n\n"
        for level in range(1, depth)
    )
    first = "f0 {\n p = f32[4] parameter(0)\n ROOT r = f32[4] exponential(p)\n}\n\n"
    return HEADER + first + levels + entry("", f"ROOT c = f32[4] call(x), to_apply=f{depth - 1}")


def one_body(size: int, fusions: int) -> str:
    """Many fusions that call one large computation."""
    inside = many(" eN = f32[4] exponential(p)", size)
    body = f"f {{\n p = f32[4] parameter(0)\n{inside}\n ROOT r = f32[4] add(e0, e1)\n}}\n\n"
    calls = many(" cN = f32[4] fusion(x), kind=kLoop, calls=f", fusions)
    return HEADER + body + entry(calls)


def views(length: int, results: int) -> str:
    """Build a fusion with many results, each of them behind the same bitcasts."""
    chain = "".join(f" v{one} = f32[4] bitcast(v{one - 1})\n" for one in range(1, length))
    shape, held = tuple_of(results), ", ".join([f"v{length - 1}"] * results)
    return (
        f"{HEADER}f {{\n p = f32[4] parameter(0)\n v0 = f32[4] bitcast(p)\n{chain}"
        f" ROOT r = {shape} tuple({held})\n}}\n\n"
        + entry(f" c = {shape} fusion(x), kind=kLoop, calls=f")
    )


def updates(width: int) -> str:
    """Build a fusion that updates each element of its only parameter, a tuple."""
    shape = tuple_of(width)
    return (
        f"{HEADER}f {{\n p = {shape} parameter(0)\n z = s32[] constant(0)\n"
        " u = f32[1] constant({1})\n"
        + many(
            " gN = f32[4] get-tuple-element(p), index=N\n"
            " dN = f32[4] dynamic-update-slice(gN, u, z)",
            width,
        )
        + f"\n ROOT r = {shape} tuple({many('dN', width, ', ')})\n}}\n\n"
        f"ENTRY e {{\n x = {shape} parameter(0)\n"
        f" ROOT c = {shape} fusion(x), kind=kLoop, calls=f\n}}\n"
    )


def elements(count: int) -> str:
    """Build a tuple of one value, and take out each element."""
    held = ", ".join(["x"] * count)
    taken = many(" gN = f32[4] get-tuple-element(t), index=N", count)
    return HEADER + entry(f" t = {tuple_of(count)} tuple({held})\n{taken}")


def reductions(count: int, devices: int, groups: Callable[[int], str]) -> str:
    """Write all-reduces, with groups of their own each."""
    body = "\n".join(
        f" r{one} = f32[4] all-reduce(x), channel_id=1, replica_groups={groups(one)}, "
        "use_global_device_ids=true, to_apply=add"
        for one in range(count)
    )
    return f"HloModule m, is_scheduled=true, num_partitions={devices}\n\n{ADD}{entry(body)}"


def iota(number: int) -> str:
    groups, size = 1_000 - number % 500, 1_000 + number % 7
    return f"[{groups},{size}]<=[{groups * size}]"


def mesh_of_one_name(number: int) -> str:
    return f"mesh['a'=1000,'b'={50 + number % 900}] {{'b'}}"


def mesh_of_own_names(number: int) -> str:
    return f"mesh['a{number}'=1000,'b{number}'=1000] {{'b{number}'}}"


def async_chain(length: int) -> str:
    """Write one asynchronous operation of some steps."""
    steps = "".join(
        f" s{one} = ((f32[4]), f32[4], s32[]) async-update(s{one - 1})\n"
        for one in range(1, length)
    )
    return f"{HEADER}w {{\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}}\n\n" + entry(
        f" s0 = ((f32[4]), f32[4], s32[]) async-start(x), calls=w\n{steps}",
        f"ROOT d = f32[4] async-done(s{length - 1})",
    )


def frames(count: int) -> str:
    """Write stack frames, each the parent of the next, and who stands in the last of them."""
    rows = "".join(
        f"{one} {{file_location_id=1 parent_frame_id={one - 1}}}\n" for one in range(2, count + 1)
    )
    tables = (
        'FileNames\n1 "a.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
        "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}\n\n"
        f"StackFrames\n1 {{file_location_id=1}}\n{rows}\n"
    )
    body = "\n".join(
        f" r{one} = f32[4] negate(x), metadata={{stack_frame_id={count - one}}}"
        for one in range(count // 2)
    )
    return HEADER + tables + entry(body)


def pairs(count: int, devices: int) -> str:
    """Write permutes, with a pair of their own each, of many replicas."""
    body = many(" rN = f32[4] collective-permute(x), source_target_pairs={{N,N}}", count)
    return f"HloModule m, is_scheduled=true, num_partitions={devices}\n\n{entry(body)}"


def overlapping(count: int) -> str:
    """Write an assignment of values whose bytes and lives overlap at random."""
    chance = random.Random(1)  # noqa: S311  (any sequence will do, but always the same)
    lines = ["BufferAssignment:", f"allocation 0: size {count * 100}, preallocated-temp:"]
    ranges, at_first = [], []
    for number in range(count):
        size = chance.randrange(1, count * 10)
        offset, start = chance.randrange(count * 90), chance.randrange(count - 1)
        lines.append(
            f" value: <{number} v{number} @0> (size={size},offset={offset}): u8[{size}]{{0}}"
        )
        ranges.append(f"    v{number}{{}}:{start}-{chance.randrange(start, count)}")
        if not start:
            at_first.append(f"    v{number}: {size} bytes")
    steps = many("    N:step.N", count)
    lines += ["", f"HloLiveRange (max {count}):", "  InstructionSequence:", steps]
    lines += ["  BufferLiveRange:", *ranges, "  Live ranges at 0 (peak):", *at_first, ""]
    return "\n".join(lines)


SUMMARY, BUFFERS, FUSIONS, COLLECTIVES = ["summary"], ["buffers"], ["fusions"], ["collectives"]
RECOMPUTE, DIFF = ["fusions", "--recompute"], ["diff"]
ATTACKS: dict[str, tuple[Callable[[], str], list[list[str]]]] = {
    "branches": (lambda: branches(9_000), [SUMMARY, BUFFERS]),
    "compared branches": (lambda: branches(4_000), [DIFF]),
    "branches of tuples": (lambda: branches_of_tuples(30_000, 1_500), [SUMMARY, BUFFERS]),
    "nested fusions": (lambda: nested_fusions(40), [SUMMARY, FUSIONS, RECOMPUTE, BUFFERS, DIFF]),
    "nested slices": (lambda: nested_slices(30), [SUMMARY, FUSIONS]),
    "calls that double": (lambda: doubling_calls(60), [SUMMARY, BUFFERS, FUSIONS, DIFF]),
    "a shared body": (lambda: one_body(4_000, 9_000), [SUMMARY, FUSIONS, RECOMPUTE]),
    "views": (lambda: views(6_000, 30_000), [SUMMARY, FUSIONS, BUFFERS]),
    "updates": (lambda: updates(4_000), [SUMMARY, FUSIONS]),
    "elements": (lambda: elements(15_000), [SUMMARY, BUFFERS]),
    "iota groups": (lambda: reductions(4_000, 1_000_000, iota), [COLLECTIVES, DIFF]),
    "meshes": (lambda: reductions(3_000, 1_000_000, mesh_of_one_name), [COLLECTIVES]),
    "named meshes": (lambda: reductions(4_000, 1_000_000, mesh_of_own_names), [COLLECTIVES]),
    "axes of a mesh": (
        lambda: reductions(2, 1_000, lambda _: f"mesh[{many('aN=1', 30_000, ',')},z=1000] {{z}}"),
        [COLLECTIVES],
    ),
    "listed groups": (
        lambda: reductions(1, 90_000, lambda _: f"{{{many('{N}', 90_000, ',')}}}"),
        [COLLECTIVES],
    ),
    "pairs": (lambda: pairs(9_000, 100_000), [COLLECTIVES]),
    "stack frames": (lambda: frames(9_000), [SUMMARY, BUFFERS]),
    "a deep scope": (lambda: with_op_name("a/" * 400_000 + "b"), [SUMMARY, BUFFERS]),
    "loops in a scope": (lambda: with_op_name("/while[" * 110_000), [BUFFERS]),
    "overlapping values": (lambda: overlapping(5_000), [BUFFERS]),
    "merged scopes": (
        lambda: with_op_name("a/" * 4_000 + f"({many('bN', 4_000, ':')})"),
        [BUFFERS],
    ),
}


@pytest.mark.hard
@pytest.mark.parametrize(("make", "commands"), ATTACKS.values(), ids=ATTACKS)
def test_takes_its_time(
    make: Callable[[], str],
    commands: list[list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = make()
    assert len(text) < MOST_BYTES
    path = tmp_path / "m.txt"
    path.write_text(text)
    other = tmp_path / "n.txt"  # of other bytes: the same would be told at once
    other.write_text(f"{text}\n")
    for command in commands:
        with no_collector():
            slowness = measure_slowness()
            started = time.process_time()
            code = run([*command, str(path), *([str(other)] if command == DIFF else [])])
            seconds = time.process_time() - started
        assert code == 0, (command, capsys.readouterr().err)
        assert seconds < MOST_SECONDS * max(1.0, slowness, measure_slowness()), command


def measure_slowness() -> float:
    """Return how often the time that a known machine takes some work takes now."""
    started = time.process_time()
    names = {f"n{number}": [number] for number in range(YARDSTICK_SIZE)}
    assert sorted(names, key=lambda name: names[name][0]) == list(names)
    return (time.process_time() - started) / YARDSTICK_SECONDS


def test_long_chains_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.txt"
    path.write_text(async_chain(250))
    assert run(["buffers", str(path)]) == 0
    path.write_text(async_chain(6_000))
    assert run(["buffers", str(path)]) == 3
    assert "an asynchronous operation has more than 256 steps" in capsys.readouterr().err
