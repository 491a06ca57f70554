"""`hlotool diff`: its options in `command`, its forms in `answers` and `passes`.

Its sentences are in `text`, those of reasons in `cause_text`.
"""

from hlotool.commands.diff.command import diff as diff
