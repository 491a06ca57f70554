"""How a `Line` is filled: names in braces become figures of its record, in their unit."""

from __future__ import annotations

from string import Formatter

from hlotool.escape import escape
from hlotool.fields import Line
from hlotool.render.units import format_bounds, format_field


def render_line(line: Line, units: str = "auto") -> str:
    """Return the text of a line of prose.

    line = { text | "{" field name "}" | "{{" | "}}" }
    """
    if line.block is None or line.record is None:
        return escape(line.template)
    is_upper = getattr(line.record, "is_upper_bound", False) is True
    parts = []
    for text, name, _, _ in Formatter().parse(line.template):
        parts.append(text)
        if name is not None:
            field = line.block.field(name)
            shown = format_field(field, line.record, units)
            if field.is_summable and not field.is_exact:
                is_lower = getattr(line.record, field.lower_flag, False) is True
                shown = format_bounds(shown, is_lower=is_lower, is_upper=is_upper)
            parts.append(shown)
    return escape("".join(parts))
