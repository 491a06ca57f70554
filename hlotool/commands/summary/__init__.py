"""`hlotool summary`: its options in `command`, its sentences in `text`."""

from hlotool.commands.summary.command import DOCUMENTS, summary

__all__ = ["DOCUMENTS", "summary"]
