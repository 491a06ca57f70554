"""How a `Line` is filled: names in braces become figures of its record, in their unit."""

from __future__ import annotations

from string import Formatter
from typing import Final

from hlotool.table.document import Line
from hlotool.table.units import format_bounds, format_field
from hlotool.table.words import count_noun
from hlotool.text import escape

_LEAST_WIDTH: Final = 20  # of a terminal, for prose


def render_line(line: Line, units: str = "auto") -> str:
    """Return the text of a line of prose.

    line = { text | "{" field name [ ":" noun ] "}" | "{{" | "}}" }
    """
    if line.block is None or line.record is None:
        return escape(line.template)
    is_upper = getattr(line.record, "is_upper_bound", False) is True
    parts = []
    for text, name, noun, _ in Formatter().parse(line.template):
        parts.append(text)
        if name is not None:
            field = line.block.field(name)
            shown = format_field(field, line.record, units)
            if field.is_summable and not field.is_exact:
                is_lower = getattr(line.record, field.lower_flag, False) is True
                shown = format_bounds(shown, is_lower=is_lower, is_upper=is_upper)
            parts.append(count_noun(shown, noun) if noun else shown)
    return escape("".join(parts))


def wrap(text: str, width: int | None, indent: str = "") -> str:
    """Break a line between words where it is wider than the terminal; the rest is indented."""
    if width is None or len(text) <= width or not text.strip():
        return text
    from textwrap import wrap as break_lines  # noqa: PLC0415  most lines fit

    margin = text[: len(text) - len(text.lstrip())]
    lines = break_lines(
        text.strip(),
        max(width, _LEAST_WIDTH),
        initial_indent=margin,
        subsequent_indent=margin + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)
