"""Every form HLO text takes, as one small module each, with all that is to be read from it.

The tables of testdata/hlo_forms have the text and its `reading`; --update-golden rewrites the
latter. Both readers must say the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from described import describe_module, format_description
from tables import TableCase, find_cases, rewrite

from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module, read_module
from hlotool.program.program import Program
from hlotool.text import Source

FORMS = find_cases(Path(__file__).parents[1] / "testdata" / "hlo_forms")
READERS = {"both readers": parse_module, "descent alone": partial(read_module, is_slow=True)}


def test_there_are_forms() -> None:
    assert len(FORMS) >= 30


@pytest.mark.parametrize("parse", READERS.values(), ids=READERS)
@pytest.mark.parametrize("case", FORMS, ids=lambda case: case.name)
def test_form(
    case: TableCase, parse: Callable[[Source], Module], request: pytest.FixtureRequest
) -> None:
    found = describe_module(parse(Source(case.text, case.name)))
    if request.config.getoption("--update-golden") and parse is parse_module:
        rewrite(case, reading=format_description(found))
    assert json.loads(json.dumps(found)) == json.loads(case.parts["reading"])


@pytest.mark.parametrize(
    "config",
    [
        "'single'", '"foo"', '"\\010\\000abc"', "{a: 1}", '{"a":"}"}', "[1,2]", '"null"', '"3"',
        '{"fusion_backend_config":[]}', '{"gemm_backend_config":5}', '{"known_trip_count":5}',
        '{"known_trip_count":{"n":"x"}}', '{"flag_configs":3}', '{"operation_queue_id":{"a":1}}',
        '{"outer_dimension_partitions":"x"}', '{"fusion_backend_config":{"kind":3}}',
    ],
)  # fmt: skip
def test_configurations_of_other_backends(config: str) -> None:
    """A configuration that no backend known here writes costs no answer."""
    text = f"""HloModule m
f {{ q = f32[8] parameter(0)
  ROOT n = f32[8] negate(q) }}
c {{ s = (f32[8]) parameter(0)
  ROOT k = pred[] constant(false) }}
b {{ s = (f32[8]) parameter(0)
  ROOT t = (f32[8]) copy(s) }}
ENTRY e {{ p = f32[8] parameter(0)
  x = f32[8] fusion(p), kind=kLoop, calls=f, backend_config={config}
  y = (f32[8], s8[4]) custom-call(x), custom_call_target="__cublas$gemm", backend_config={config}
  z = f32[8] get-tuple-element(y), index=0
  t.1 = (f32[8]) tuple(z)
  ROOT w = (f32[8]) while(t.1), condition=c, body=b, backend_config={config} }}
"""
    program = Program("m", parse_module(Source(text, "m")))
    assert program.summarize().module.instruction_count == 12
    assert program.fusions.rows[0].executions == 1


@pytest.mark.parametrize("parse", READERS.values(), ids=READERS)
def test_nine_hundred_operands(parse: Callable[[Source], Module]) -> None:
    """SparseCore dumps have an async-start over more than 900 operands."""
    module = parse(Source(write_many_operands(900)))
    start = module.entry.instructions[-2]
    assert [one.name for one in start.operands] == [f"p{number}" for number in range(900)]
    assert start.shape.size_bytes == 900 * 8 * 2 + 4
    assert start.callee() is module.computations["wrapped"]
    assert start.users == (module.entry.root,)


def write_many_operands(count: int) -> str:
    numbers = range(count)
    comments = [f"/*index={number}*/" if number and number % 5 == 0 else "" for number in numbers]
    parameters = "".join(f"  p{number} = f32[2]{{0}} parameter({number})\n" for number in numbers)
    names = ", ".join(f"{comments[number]}p{number}" for number in numbers)
    shapes = ", ".join(f"{comment}f32[2]{{0}}" for comment in comments)
    return (
        f"HloModule many\n\nwrapped {{\n{parameters}  ROOT t = ({shapes}) tuple({names})\n}}\n\n"
        f"ENTRY main {{\n{parameters}"
        f"  start = (({shapes}), ({shapes}), s32[]) async-start({names}), calls=wrapped\n"
        f"  ROOT done = ({shapes}) async-done(start)\n}}\n"
    )
