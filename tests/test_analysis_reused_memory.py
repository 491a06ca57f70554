"""Temporary values in the memory of outputs and donated parameters: who moves in, and who not."""

from __future__ import annotations

import random

import pytest

from hlotool.analysis.memory.estimate import estimate_assignment
from hlotool.analysis.memory.intervals import Usage
from hlotool.hlo.buffers import Allocation
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

TPU = ', backend_config={"flag_configs":[]}'


def allocations(entry: str, header: str = "") -> list[Allocation]:
    body = "\n".join(f"  {line.strip()}" for line in entry.strip().splitlines())
    text = f"HloModule m, is_scheduled=true{header}\n\nENTRY main {{\n{body}\n}}\n"
    return list(estimate_assignment(parse_module(Source(text))).assignment.allocations)


def inhabitants(entry: str, header: str = "") -> dict[str, str]:
    """Write the values of each allocation that the program returns, under its class."""
    return {
        "+".join(sorted(value.name for value in one.values)): one.allocation_type
        for one in allocations(entry, header)
        if one.is_live_out
    }


def test_an_output_has_guests_before_it_is_written() -> None:
    entry = """
        p = f32[16] parameter(0)
        a = f32[8] slice(p), slice={[0:8]}
        b = f32[4] slice(a), slice={[0:4]}
        c = f32[2] slice(b), slice={[0:2]}
        d = f32[1] slice(c), slice={[0:1]}
        ROOT o = f32[8] custom-call(d), custom_call_target="x"
    """
    assert inhabitants(entry) == {"a+c+o": "output"}


def test_ranges_that_meet_need_an_operation_that_writes_over_its_operand() -> None:
    entry = """
        p = f32[8] parameter(0)
        a = f32[8] negate(p)
        ROOT o = f32[8] {}
    """
    assert inhabitants(entry.format("exponential(a)")) == {"a+o": "output"}
    assert inhabitants(entry.format("reverse(a), dimensions={0}")) == {"o": "output"}


def test_a_view_of_the_operand_is_looked_at_where_it_is_the_last() -> None:
    entry = """
        p = f32[2,4] parameter(0)
        a = f32[2,4] negate(p)
        v = f32[8] bitcast(a)
        ROOT o = f32[8] exponential(v)
    """
    assert inhabitants(entry) == {"a+o": "output"}


def test_what_is_larger_or_lives_longer_stays_out() -> None:
    entry = """
        p = f32[16] parameter(0)
        a = f32[16] negate(p)
        b = f32[8] slice(p), slice={[0:8]}
        c = f32[4] slice(a), slice={[0:4]}
        d = f32[8] custom-call(c), custom_call_target="x"
        e = f32[4] slice(b), slice={[0:4]}
        ROOT t = (f32[8], f32[4]) tuple(d, e)
    """
    assert inhabitants(entry) == {"d": "output", "c+e": "output", "t{}": "output"}


def test_a_guest_keeps_others_out() -> None:
    """XLA visits `a` before `b`, the first operand of the root before the second."""
    entry = """
        p = f32[8] parameter(0)
        a = f32[8] reverse(p), dimensions={0}
        b = f32[8] transpose(p), dimensions={0}
        c = f32[2] custom-call(a, b), custom_call_target="x"
        ROOT o = f32[8] custom-call(c), custom_call_target="x"
    """
    assert inhabitants(entry) == {"a+o": "output"}


def test_a_donated_parameter_has_guests_between_its_last_use_and_its_output() -> None:
    entry = """
        p = f32[8] parameter(0)
        q = f32[8] parameter(1)
        a = f32[2] slice(p), slice={[0:2]}
        b = f32[8] reverse(q), dimensions={0}
        c = f32[2] custom-call(a, b), custom_call_target="x"
        ROOT o = f32[8] custom-call(c), custom_call_target="x"
    """
    assert inhabitants(entry, ", input_output_alias={ {}: (0, {}, may-alias) }") == {
        "b+o+p": "parameter"
    }
    assert inhabitants(entry) == {"b+o": "output"}


def test_a_copy_stays_away_from_its_operand() -> None:
    entry = """
        p = f32[8] parameter(0)
        a = f32[8] reverse(p), dimensions={0}
        b = f32[2] slice(a), slice={[0:2]}
        c = f32[8] copy(a)
        d = f32[2] custom-call(b, c), custom_call_target="x"
        ROOT o = f32[8] custom-call(d), custom_call_target="x"
    """
    found = inhabitants(entry)
    assert len(found) == 1
    assert not any({"a", "c"} <= set(name.split("+")) for name in found)


def test_parameters_and_tables_of_tuples_are_never_reused() -> None:
    entry = """
        p = f32[8] parameter(0)
        a = f32[8] reverse(p), dimensions={0}
        b = f32[2] slice(a), slice={[0:2]}
        ROOT t = (f32[2]) tuple(b)
    """
    assert inhabitants(entry) == {"b": "output", "t{}": "output"}


def test_nothing_is_assumed_of_the_tpu_compiler() -> None:
    entry = f"""
        p = f32[8] parameter(0)
        a = f32[8] negate(p){TPU}
        ROOT o = f32[8] exponential(a){TPU}
    """
    assert inhabitants(entry) == {"o": "output"}


def test_many_values_that_end_where_many_outputs_begin_take_no_time() -> None:
    count = 400
    numbers = range(count)
    rows = ["p = f32[8] parameter(0)"]
    rows += [f"a{one} = f32[8] reverse(p), dimensions={{0}}" for one in numbers]
    outputs = ", ".join("f32[8]" for _ in numbers)
    operands = ", ".join(f"a{one}" for one in numbers)
    rows.append(f'ROOT o = ({outputs}) custom-call({operands}), custom_call_target="x"')
    assert len(allocations("\n".join(rows))) == 2 * count + 2


@pytest.mark.parametrize("seed", range(5))
def test_usage_knows_who_is_in_use_when(seed: int) -> None:
    pick = random.Random(seed)  # noqa: S311
    end = pick.randrange(1, 40)
    usage = Usage(end)
    added: list[tuple[int, int, int]] = []
    for _ in range(60):
        start, stop = sorted((pick.randrange(end + 1), pick.randrange(end + 1)))
        expected = {number for number, low, high in added if max(low, start) < min(high, stop)}
        found = usage.find(start, stop)
        assert {number for number in range(100) if found >> number & 1} == expected
        added.append((pick.randrange(100), start, stop))
        usage.add(*added[-1])
