"""`hlotool buffers`: its options in `command`, its sentences in `text`."""

from hlotool.commands.buffers.command import buffers as buffers
