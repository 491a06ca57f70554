"""Read what the XLA compiler wrote down: HLO modules and buffer assignments.

The public names are `load`, `load_all`, `summarize`, `diff`, `Dump` and `HlotoolError`; see
docs/api.md.
"""

import sys

# No file is imported here: it would stand before the first line of `start`, which hears Ctrl-C.
TYPE_CHECKING = False  # true for type checkers

if TYPE_CHECKING:
    from types import ModuleType

    from hlotool.api import Dump, diff, load, load_all, summarize
    from hlotool.errors import HlotoolError
else:
    ModuleType = type(sys)

__version__ = "0.1.0"
__all__ = ["Dump", "HlotoolError", "__version__", "diff", "load", "load_all", "summarize"]

_HOMES = {
    "Dump": "hlotool.api",
    "HlotoolError": "hlotool.errors",
    "diff": "hlotool.api",
    "load": "hlotool.api",
    "load_all": "hlotool.api",
    "summarize": "hlotool.api",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line needs none of them."""
    if name in _HOMES:
        from importlib import import_module  # noqa: PLC0415  see above

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'hlotool' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """A package of which `diff` is the function, though a room has that name too.

    Python puts a room into its package when it is first imported; here that is passed over.
    """

    @property
    def diff(self) -> object:
        """The function that docs/api.md tells of."""
        return __getattr__("diff")

    @diff.setter
    def diff(self, room: object) -> None:
        pass


sys.modules[__name__].__class__ = _Package
