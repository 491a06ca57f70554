"""`hlotool buffers`: its options in `command`, its sentences in `text`."""

from hlotool.commands.buffers.command import DOCUMENTS, buffers

__all__ = ["DOCUMENTS", "buffers"]
