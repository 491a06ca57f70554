"""Budgets in a test: assertions about what XLA made of a function.

    from hlotool.testing import assert_budget, assert_collectives

    def test_train_step_fits():
        compiled = jax.jit(train_step).lower(state, batch).compile()
        assert_budget(compiled, "buffers.temp_bytes <= 8GiB")
        assert_collectives(compiled, {"all-gather": 2, "reduce-scatter": 1})

What is compiled may be what `jax.jit(f).lower(x).compile()` returns, HLO text, or a path to
a dump. Needs neither JAX nor pytest.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.api import load
from hlotool.check.config import Budget
from hlotool.check.judge import judge_rule
from hlotool.check.results import write_sentence
from hlotool.check.rule import compile_rule, expect_budget_words, list_unknown_values
from hlotool.dump.find import Compiled
from hlotool.hlo import Module
from hlotool.program.metrics import METRICS, ROW_LISTS
from hlotool.program.program import Program
from hlotool.table.expression.compile import compile_where, expect_row_words
from hlotool.text import escape

Dumped: TypeAlias = "str | os.PathLike[str] | Compiled"

# CompiledMemoryStats of XLA, by the names that budgets have for the same figures.
_MEASURED = {
    "argument_bytes": "argument_size_in_bytes",
    "output_bytes": "output_size_in_bytes",
    "alias_bytes": "alias_size_in_bytes",
    "temp_bytes": "temp_size_in_bytes",
}


def assert_budget(compiled: Dumped, *budgets: str, module: str | None = None) -> None:
    """Raise AssertionError unless every budget holds.

    Budgets are those of `hlotool check --budget`. A compiled JAX function tells its argument,
    output, alias and temp bytes itself; further figures of `buffers` need a dump. A budget
    with nothing to measure fails. `module` is a regular expression that chooses in a dump
    directory. Raises QueryError for a budget that does not parse.
    """
    __tracebackhide__ = True  # pytest then points at the test
    program = _read(compiled, module)
    rules = [compile_rule(Budget(expression=text)) for text in budgets]
    for rule in rules:
        expect_budget_words(rule, [list_unknown_values(rule, program)])
    results = [judge_rule(rule, program) for rule in rules]
    if failed := [write_sentence(one) for one in results if one.status != "pass"]:
        raise AssertionError("\n".join(map(escape, failed)))


def assert_collectives(
    compiled: Dumped,
    expected: Mapping[str, int],
    *,
    where: str = "",
    allow_others: bool = False,
    module: str | None = None,
) -> None:
    """Raise AssertionError unless there are exactly so many collectives of each kind.

    Logical collectives count, each once: a start with its done, a transfer spread over
    several fusions. Kinds are what they amount to (`hlotool collectives`). Kinds that `expected`
    does not name must not occur, unless others are allowed. `where` is a condition on rows,
    as of `--where`; what it leaves out does not count.
    """
    __tracebackhide__ = True
    program = _read(compiled, module)
    rows = program.collectives.rows
    if where:
        fields = ROW_LISTS["collectives"].fields
        keeps = compile_where(where, fields, "where")
        expect_row_words(where, fields, rows, program.find_words, "where")
        rows = tuple(row for row in rows if keeps(row))
    found = Counter(row.kind for row in rows)
    kinds = expected.keys() if allow_others else expected.keys() | found.keys()
    if wrong := [kind for kind in sorted(kinds) if found[kind] != expected.get(kind, 0)]:
        listed = [
            f"{kind}: expected {expected.get(kind, 0)}, found {found[kind]}"
            + "".join(
                f"\n  {escape(f'{row.name} {_place(row)}')}" for row in rows if row.kind == kind
            )
            for kind in wrong
        ]
        raise AssertionError("\n".join(listed))


def measure(compiled: Dumped, *metrics: str) -> dict[str, float]:
    """Return metrics of what is compiled, by their names; AssertionError for an unknown one."""
    program = _read(compiled, None)
    found = {name: program.metric(name) if name in METRICS else None for name in metrics}
    known = {name: one for name, one in found.items() if isinstance(one, int | float)}
    if len(known) < len(found):
        raise AssertionError(f"not known: {', '.join(sorted(found.keys() - known.keys()))}")
    return known


def _place(row: CollectiveRow) -> str:
    """Say where a collective comes from, as far as the dump does."""
    parts = (row.dtype, row.scope, f"{row.source_file}:{row.source_line}" * bool(row.source_file))
    return " ".join(filter(None, parts))


def _read(compiled: Dumped, module: str | None) -> Program:
    dump = load(compiled, module=module)
    is_bare = isinstance(compiled, Compiled) and dump.assignment is None
    if is_bare and (measured := _measure(compiled)):
        return _CompiledProgram(dump.module.name, dump.module, measured)
    return dump.program


def _measure(compiled: object) -> dict[str, int]:
    """Return what a compiled function says of its memory, nothing if it says nothing."""
    analyze = getattr(compiled, "memory_analysis", None)
    try:
        stats = analyze() if analyze is not None else None
    except (NotImplementedError, RuntimeError):  # the backend does not tell
        return {}
    found = {name: getattr(stats, theirs, None) for name, theirs in _MEASURED.items()}
    return {name: value for name, value in found.items() if isinstance(value, int)}


class _CompiledProgram(Program):
    """A compiled function: its text, and the sums of memory that the compiler reports."""

    def __init__(self, name: str, module: Module, measured: Mapping[str, int]) -> None:
        super().__init__(name, module)
        self._measured = measured

    def metric(self, path: str) -> object:
        """Return a metric; sums of memory are the compiler's own."""
        block, _, name = path.rpartition(".")
        if block == "buffers" and name in self._measured:
            return self._measured[name]
        return super().metric(path)


__all__ = ["assert_budget", "assert_collectives", "measure"]
