"""The declaration of a check: one row a budget and module."""

from __future__ import annotations

from typing import Final

from hlotool.check.limits import CheckFacts, RuleResult
from hlotool.fields import Block, DocumentSpec, Field, RowList, Unit

RULES: Final = RowList(
    "rules",
    RuleResult,
    "every budget in every module it is about, those that fail first",
    key="name",
    has_total=False,
    limit=0, fields=(
        Field("status", Unit.TEXT, "what the budget came to", in_table=True,
              values=("pass", "fail", "no-match", "error")),
        Field("name", Unit.TEXT, "the budget's name", heading="budget", in_table=True),
        Field("module", Unit.TEXT, "the module; null where none matches", in_table=True,
              is_nullable=True, null_text=""),
        Field("expression", Unit.TEXT, "what it says"),
        Field("actual", Unit.MEASURE, "the figure that was measured", in_table=True,
              is_nullable=True, null_text="", unit_from="unit"),
        Field("limit", Unit.MEASURE, "the figure it is held against", in_table=True,
              is_nullable=True, null_text="", unit_from="unit"),
        Field("margin", Unit.MEASURE, "what is left until the limit; negative beyond it",
              in_table=True, is_nullable=True, null_text="", is_signed=True, unit_from="unit"),
        Field("baseline", Unit.MEASURE, "the earlier figure, where an increase is limited",
              is_nullable=True, null_text="", unit_from="unit"),
        Field("severity", Unit.TEXT, "whether exceeding it fails the run",
              values=("error", "warning")),
        Field("matched_count", Unit.COUNT, "rows that it looked at", is_nullable=True,
              is_summed=False),
        Field("is_lower_bound", Unit.FLAG, "whether the figure may be larger"),
        Field("is_upper_bound", Unit.FLAG, "whether the figure may be smaller"),
        Field("reason", Unit.TEXT, "what was found, or why nothing was checked", in_table=True,
              is_nullable=True, null_text=""),
        Field("message", Unit.TEXT, "what the budget's author says", in_table=True,
              is_nullable=True, null_text=""),
        Field("source_file", Unit.TEXT, "where to look: file of the user's program",
              is_nullable=True),
        Field("source_line", Unit.NUMBER, "line in that file", is_nullable=True),
    ))  # fmt: skip

FACTS: Final = Block(
    "facts",
    CheckFacts,
    "all budgets together",
    fields=(
        Field("ok", Unit.FLAG, "whether nothing fails and everything was checked"),
        Field("pass_count", Unit.COUNT, "budgets that are kept"),
        Field("fail_count", Unit.COUNT, "budgets that are exceeded and fail the run"),
        Field("warning_count", Unit.COUNT, "budgets that are exceeded and only warn"),
        Field("no_match_count", Unit.COUNT, "budgets with nothing to measure"),
        Field("error_count", Unit.COUNT, "modules that could not be read"),
    ),
)

CHECK: Final = DocumentSpec(
    "check",
    "budgets against a dump",
    scalars=FACTS,
    row_lists=(RULES,),
)
