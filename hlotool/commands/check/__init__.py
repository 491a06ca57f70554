"""`hlotool check`: its options in `command`, its sentences in `text`."""

from hlotool.commands.check.command import DOCUMENTS, check

__all__ = ["DOCUMENTS", "check"]
