"""Does a budget name a word that no module can ever hold? It would be met for ever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.check.rule import Rule
from hlotool.program.figures import ROW_LISTS
from hlotool.program.program import Program
from hlotool.query.expression import Aggregate, find_reads
from hlotool.query.words import Stranger, find_strangers, refuse_stranger


def list_strangers(rule: Rule, program: Program) -> tuple[Stranger, ...]:
    """Return the words of a budget that neither hlotool knows nor the program holds."""
    return tuple(
        found
        for one in find_reads(rule.tree)
        if isinstance(one, Aggregate) and one.where is not None
        for found in find_strangers(
            one.where, ROW_LISTS[one.rows].fields, program.rows(one.rows), program.find_words
        )
    )


def expect_budget_words(rule: Rule, found: Iterable[Sequence[Stranger]]) -> None:
    """Raise QueryError where a word of a budget is strange to every module it was held against.

    `found` are the strangers of each. Where there is none, nobody knows.
    """
    first, *others = [*found] or [()]
    for one in first:
        places = [{each.start for each in strangers} for strangers in others]
        if all(one.start in starts for starts in places):
            raise refuse_stranger(one, rule.source)
