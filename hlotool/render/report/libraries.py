"""Where do the page's template language and its charts come from? From two packages of an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlotool.errors import UsageError

if TYPE_CHECKING:
    from jinja2 import Environment

_MISSING = "hlotool report needs {}; install hlotool[report]."


def expect_templates() -> Environment:
    """Return where templates are read from; what is filled in is escaped.

    Raises UsageError where jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  an extra
    except ImportError as error:
        raise UsageError(_MISSING.format("jinja2")) from error
    return Environment(
        loader=PackageLoader("hlotool.render.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def expect_chart_script() -> str:
    """Return plotly's script, which draws in the browser; raise UsageError where it is missing."""
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415  an extra, and slow to import
    except ImportError as error:
        raise UsageError(_MISSING.format("plotly")) from error
    script: str = get_plotlyjs()
    return script
