"""Texts made to hurt: each gets an answer or a ParseError, in time linear in its length.

Nothing is timed here: the texts are so long that anything worse than linear would not end.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from described import describe_module

from hlotool.errors import ParseError
from hlotool.hlo.parser import parse_module
from hlotool.hlo.scanner import MOST_NESTED
from hlotool.text import Source

LONG = 100_000  # characters, at least, of each text
DEEP = 10_000


def entry(*lines: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m\n\nENTRY e {{\n  p = f32[8]{{0}} parameter(0)\n{body}\n}}\n"


def attribute(key: str, value: str, opcode: str = "negate") -> str:
    return entry(f"ROOT r = f32[8]{{0}} {opcode}(p), {key}={value}")


def header(attributes: str) -> str:
    return f"HloModule m, {attributes}\n\nENTRY e {{\n  ROOT p = f32[8]{{0}} parameter(0)\n}}\n"


def times(piece: str, length: int = LONG) -> str:
    return piece * (length // len(piece))


def nested(opened: str, closed: str, inside: str = "", depth: int = DEEP) -> str:
    return opened * depth + inside + closed * depth


def nested_bodies(depth: int, blank: str = " ") -> str:
    """Write calls whose callees are written in their place; canonical prints do, on lines."""
    opened = f"x = f32[8]{{0}} parameter(0){blank}ROOT r = f32[8]{{0}} call(x), to_apply={{{blank}"
    return entry(
        f"ROOT r = f32[8]{{0}} call(p), to_apply={{{blank}{opened * depth}"
        f"ROOT x = f32[8]{{0}} parameter(0){f'{blank}}}' * (depth + 1)}"
    )


# Read, whatever their size.
ACCEPTED: dict[str, Callable[[], str]] = {
    "computations nested as deeply as may be": lambda: nested_bodies(MOST_NESTED - 1),
    "computations nested as deeply, on lines": lambda: nested_bodies(MOST_NESTED - 1, "\n  "),
    "JSON nested deeply": lambda: attribute("backend_config", nested('{"a":', "}", "1")),
    "JSON lists nested deeply": lambda: attribute("backend_config", f'{{"a":{nested("[", "]")}}}'),
    "JSON with a huge integer": lambda: attribute("backend_config", f'{{"n":{times("9")}}}'),
    "braces nested deeply": lambda: attribute("frontend_attributes", f"{{a={nested('{', '}')}}}"),
    "a long literal": lambda: entry(f"ROOT r = f32[8]{{0}} constant({{{times('1, ')}1}})"),
    "a long name": lambda: entry(f"ROOT {times('r')} = f32[8]{{0}} negate(p)"),
    "many attributes": lambda: entry(
        "ROOT r = f32[8]{0} negate(p)" + "".join(f", k{number}=1" for number in range(LONG // 8))
    ),
    "many operands": lambda: entry(
        f'ROOT r = f32[8]{{0}} custom-call({times("p, ")}p), custom_call_target="x"'
    ),
    "many comments": lambda: entry(f"ROOT r = f32[8]{{0}} negate({times('/**/')}p)"),
    "many blank lines": lambda: times("\n") + entry("ROOT r = f32[8]{0} negate(p)"),
    "many open comments in values": lambda: (
        "HloModule m\n\n"
        + "".join(
            f"c{number} {{ ROOT p = f32[8]{{0}} parameter(0), frontend_attributes={{a={{/*}}}} }}\n"
            for number in range(LONG // 60)
        )
    ),
    "many computations on one line": lambda: (
        "HloModule m "
        + "".join(f"c{number} {{ ROOT p = f32[] parameter(0) }} " for number in range(LONG // 40))
    ),
    "many instructions on one line": lambda: (
        "HloModule m\n\nENTRY e {\n  p = f32[] parameter(0) "
        + " ".join(f"r{number} = f32[] negate(p)" for number in range(LONG // 30))
        + "\n}\n"
    ),
    "many bodies in place": lambda: entry(
        *(
            f"r{number} = f32[8]{{0}} call(p), to_apply={{ ROOT x = f32[8]{{0}} parameter(0) }}"
            for number in range(LONG // 60)
        )
    ),
    "the same sugar many times": lambda: (
        "HloModule m\n\n"
        + "\n".join(
            f"c{number} {{\n  p = f32[8] parameter(0)\n  s = ((f32[8]), f32[8]) tanh-start(p)\n"
            "  ROOT d = f32[8] tanh-done(s)\n}\n"
            for number in range(LONG // 120)
        )
    ),
    "a chain of stack frames": lambda: (
        "HloModule m\n\nStackFrames\n"
        + "".join(
            f"{number} {{file_location_id=1 parent_frame_id={number + 2}}}\n"
            for number in range(1, LONG // 40)
        )
        + entry("ROOT r = f32[8]{0} negate(p), metadata={stack_frame_id=1}").removeprefix(
            "HloModule m"
        )
    ),
    "a long dynamic shape": lambda: entry(f"ROOT r = f32[{times('1,')}1] negate(p)"),
    "an iota of many ones": lambda: attribute(
        "replica_groups", f"[2,4]<=[8,{times('1,')}1]", "all-reduce"
    ),
    "a mesh of many axes": lambda: attribute(
        "replica_groups",
        f"mesh[{','.join(f'a{number}=1' for number in range(LONG // 8))}] {{a0,a1}}",
        "all-reduce",
    ),
}

# Refused, with the words that say why.
REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    "tuples nested deeply": (
        lambda: entry(f"r = {nested('(', ')', 'f32[]')} negate(p)"),
        "nested more than",
    ),
    "buffers nested deeply": (
        lambda: entry(f"r = {nested('b(', ')', 'f32[]')} negate(p)"),
        "nested more than",
    ),
    "operands nested deeply": (
        lambda: entry(f"r = f32[8] negate({nested('f32[8] negate(', ')', 'p')})"),
        "nested more than",
    ),
    "computations nested deeply": (lambda: nested_bodies(DEEP), "nested more than"),
    "computations nested deeply, on lines": (
        lambda: nested_bodies(DEEP, "\n  "),
        "nested more than",
    ),
    "shardings nested deeply": (
        lambda: attribute("sharding", nested("{", "}", "replicated")),
        "nested more than",
    ),
    "brackets never closed": (lambda: entry(f"r = f32[8] negate({times('(')}"), "nested more than"),
    "a brace never closed": (lambda: attribute("metadata", times("{")), "never closed"),
    "a signature never closed": (lambda: f"HloModule m\n\nENTRY e {times('(')}", "never closed"),
    "tuples that double": (
        lambda: entry("t0 = tuple(p)", *(f"t{n + 1} = tuple(t{n}, t{n})" for n in range(60))),
        "shapes left out have more than 1,048,576 parts together",
    ),
    "large tuples": (
        lambda: entry(
            f"t = tuple({times('p, ', 3000)}p)", *(f"u{n} = copy(t)" for n in range(DEEP))
        ),
        "shapes left out have more than 1,048,576 parts together",
    ),
    "ranks that double": (
        lambda: entry("d0 = f32[1] negate(p)", *(f"d{n + 1} = dot(d{n}, d{n})" for n in range(60))),
        "shapes left out have more than 1,048,576 parts together",
    ),
    "sizes that double": (
        lambda: entry("d0 = dot(p, p)", *(f"d{n + 1} = dot(d{n}, d{n})" for n in range(60))),
        "it has more elements than 64 bits can count",
    ),
    "tuples in tuples": (
        lambda: entry("t0 = tuple(p)", *(f"t{n + 1} = tuple(t{n})" for n in range(DEEP))),
        "tuples are nested more than 64 deep",
    ),
    "quotes": (lambda: entry(f"r = f32[8] negate({times(chr(34))}p)"), "an operand"),
    "odd quotes": (
        lambda: entry(f"r = f32[8] negate(p), k={times(chr(34))}{chr(34)}"),
        "",
    ),
    "parentheses in turn": (lambda: entry(f"r = (f32[8{times(') a(')}"), ""),
    "shapes in turn": (lambda: entry(f"r = (f32[8]{times('), f32[8](')}"), ""),
    "a huge dimension": (lambda: entry(f"r = f32[{times('9')}] negate(p)"), ""),
    "huge dimensions": (
        lambda: entry(f"r = f32[{times('999999999,')}9] negate(p)"),
        "more elements than 64 bits can count",
    ),
    "a huge tile": (
        lambda: entry(f"r = f32[8]{{0:T({times('999999999,')}9)}} negate(p)"),
        "more elements than 64 bits can count",
    ),
    "a huge parameter number": (
        lambda: entry(f"q = f32[8] parameter({times('9')})"),
        "expected a parameter number",
    ),
    "a huge element number": (
        lambda: entry(f"r = f32[8] get-tuple-element(p), index={times('9')}"),
        "larger than 64 bits",
    ),
    "a huge channel": (
        lambda: attribute("channel_id", times("9"), "all-reduce"),
        "larger than 64 bits",
    ),
    "huge iota dimensions": (
        lambda: attribute("replica_groups", f"[2,{9 * 10**17}]<=[{9 * 10**17},2]", "all-reduce"),
        "must be a mistake",
    ),
    "many iota dimensions": (
        lambda: attribute("replica_groups", f"[1,1]<=[{times('9999,')}1]", "all-reduce"),
        "must be a mistake",
    ),
    "huge mesh": (
        lambda: attribute("replica_groups", f"mesh['a'={10**18}] {{'a'}}", "all-reduce"),
        "must be a mistake",
    ),
    "huge sharding": (
        lambda: attribute("sharding", f"{{devices=[{10**18}]<=[{10**18}]}}"),
        "must be a mistake",
    ),
    "many sub-axes": (
        lambda: attribute("replica_groups", f"mesh[a=8] {{{times('a:(2)2,')}a}}", "all-reduce"),
        "an axis is grouped twice",
    ),
    "a huge number of replicas": (lambda: header(f"replica_count={10**18}"), "expected a count"),
    "a huge alias": (
        lambda: header(f"input_output_alias={{ {{}}: ({times('9')}, {{}}) }}"),
        "larger than 64 bits",
    ),
    "a comment never closed": (lambda: entry(f"r = f32[8] negate(p) {times('/*')}"), ""),
    "a string never closed": (
        lambda: attribute("custom_call_target", f'"{times("x")}'),
        "never closed",
    ),
    "a window of huge numbers": (
        lambda: attribute("window", f"{{size={times('9')}}}"),
        "",
    ),
    "labels of many dimensions": (
        lambda: attribute("dim_labels", f"b{times('0')}f_{times('0')}io->b{times('0')}f"),
        "labels must name",
    ),
    "header braces": (lambda: f"HloModule m, frontend_attributes={times('{')}", "never closed"),
    "metadata of huge numbers": (
        lambda: attribute("metadata", f"{{source_line={times('9')}}}"),
        "larger than 64 bits",
    ),
    "a control character": (lambda: entry("r = f32[8] negate(p\x00)"), "expected ')'"),
    "digits of another script": (lambda: entry("q = f32[٣] parameter(١)"), "a dimension"),
}


@pytest.mark.parametrize("make", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(make: Callable[[], str]) -> None:
    describe_module(parse_module(Source(make())))


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_refused(make: Callable[[], str], words: str) -> None:
    text = make()
    with pytest.raises(ParseError) as caught:
        describe_module(parse_module(Source(text)))
    assert words in caught.value.message
    assert len(str(caught.value)) < 1000
