"""From the `[[custom_call]]` of a configuration to rules: each expression is parsed once."""

from __future__ import annotations

from functools import partial
from typing import Final

from hlotool.analysis.cost.call_figures import CALL_FIGURES
from hlotool.check.config import Config
from hlotool.check.custom_call import Count, WrittenCall
from hlotool.check.pattern import expect_pattern
from hlotool.inputs.read.text import display_name
from hlotool.program.call_rules import CallRule
from hlotool.query.expression import Expression
from hlotool.query.parse import parse_number
from hlotool.query.vocabulary import Vocabulary

_VOCABULARY: Final = Vocabulary(CALL_FIGURES)


def compile_call_costs(config: Config) -> tuple[CallRule, ...]:
    """Check what a configuration says of custom calls, and parse it.

    Raises QueryError where an expression does not parse or names what no call has, UsageError
    for a target that is no regular expression.
    """
    name = display_name(config.path)
    return tuple(_compile(one, name) for one in config.custom_calls)


def _compile(written: WrittenCall, name: str) -> CallRule:
    place = partial(written.lines.place, name)
    return CallRule(
        expect_pattern(written.target, "target", place("target")),
        _parse(written.flops, f"{place('flops')}: flops"),
        _parse(written.bytes, f"{place('bytes')}: bytes"),
    )


def _parse(count: Count, place: str) -> Expression | None:
    return None if count is None else parse_number(str(count), _VOCABULARY, place)
