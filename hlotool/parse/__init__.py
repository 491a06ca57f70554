"""Text to IR, by hand. Knows nothing of files, commands or terminals."""

from hlotool.parse.module import parse_module, parse_module_slowly

__all__ = ["parse_module", "parse_module_slowly"]
