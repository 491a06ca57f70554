"""`hlotool diff --passes DIR --trace EXPR`: which pass made what, and which removed it."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.commands.diffing.passes import choose_compilation
from hlotool.commands.shared.command import RowOptions, print_document, track
from hlotool.compare.passes.answer import DIFF_TRACE, TraceFacts
from hlotool.compare.passes.compared import compare_in_turn
from hlotool.compare.passes.snapshot import Snapshot, read_snapshot
from hlotool.compare.passes.steps import list_steps
from hlotool.compare.passes.trace import Tracer
from hlotool.fields import Document, InputPaths, Line, quote_braces


def print_trace(directory: str, module: str | None, expression: str, options: RowOptions) -> None:
    """Print which pass made, and which removed, what an expression chooses."""
    tracer = Tracer(expression)
    before: Snapshot | None = None
    steps = list_steps(choose_compilation(directory, module))
    for step in track(steps, "passes", len(steps)):
        snapshot = read_snapshot(step, before)
        if before is None:
            tracer.start(snapshot)
        elif before.state is not snapshot.state:
            tracer.follow(snapshot, compare_in_turn(before, snapshot)[1])
        before = snapshot
    tracer.expect_words()
    facts = tracer.facts()
    document = Document(
        DIFF_TRACE,
        InputPaths(directory),
        scalars=facts,
        rows={"trace": tracer.rows()},
        lines=tuple(_trace_lines(facts)),
    )
    print_document(document, options)


def _trace_lines(facts: TraceFacts) -> Iterator[Line]:
    if facts.first_pass is None:
        yield Line("no dump has an instruction for which the expression holds")
        return
    yield Line(f"first appears {_write_pass(facts.first_pass, facts.first_step)}")
    if facts.last_pass is None:
        yield Line(f"{facts.left_count:,} of {facts.seen_count:,} are there to the end")
    elif facts.going_on_count < facts.seen_count:
        yield Line(f"the last is gone {_write_pass(facts.last_pass, facts.last_step)}")
    if facts.going_on_count:
        names = ", ".join(facts.going_on_opcodes)
        verb = "goes" if facts.going_on_count == 1 else "go"
        text = f"{facts.going_on_count:,} of {facts.seen_count:,} {verb} on as {names}"
        if facts.last_pass is not None and facts.going_on_count == facts.seen_count:
            text += f", the last {_write_pass(facts.last_pass, facts.last_step)}"
        yield Line(text)


def _write_pass(name: str, step: int | None) -> str:
    """Write which pass it was; without a step it is a text before or after all passes."""
    if step is None:
        return f"in the text {name}"
    link = "" if name.startswith(("between ", "before ")) else "by "
    return quote_braces(f"{link}{name} (step {step})")
