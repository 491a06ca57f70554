"""`hlotool diff`: its options in `command`, its sentences in `text`."""

from hlotool.commands.diff.command import DOCUMENTS, diff

__all__ = ["DOCUMENTS", "diff"]
