"""Read what the XLA compiler wrote down: HLO modules and buffer assignments.

The public names are `load`, `load_all`, `summarize`, `ask_all`, `diff`, `Dump` and `HlotoolError`;
see docs/api.md.
"""

# No file is imported here: it would stand before the first line of `start`, which hears Ctrl-C.
TYPE_CHECKING = False  # true for type checkers

if TYPE_CHECKING:
    from hlotool.api import Dump, ask_all, diff, load, load_all, summarize
    from hlotool.errors import HlotoolError

__version__ = "1.0.0"
__all__ = ["Dump", "HlotoolError", "ask_all", "diff", "load", "load_all", "summarize"]
__all__ += ["__version__"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line needs none of them."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415  see above

        home = "hlotool.errors" if name == "HlotoolError" else "hlotool.api"
        return getattr(import_module(home), name)
    raise AttributeError(f"module 'hlotool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
