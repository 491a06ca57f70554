"""Text to IR, by hand. Knows nothing of files, commands or terminals.

Two readers give one answer: a quick one for what machines print, line by line, and a
recursive descent for everything, which is the authority and the only one that explains.

* `module` reads a module: `header`, index `tables`, then each `computation`; `entry` refuses one
  without the entry its header tells of.
* `instructions` (a room) has both readers of an instruction, `body` has them take turns, in bodies
  written in place of a computation's name too. `styles` refuses texts that leave out too much.
  `builder` is what both readers share.
* `inference` (a room) says which shape an instruction has that states none.
* `attributes` (a room) takes attributes apart when they are asked for.
* `shape`, `layout` and `strings` are read everywhere; `scanner` is the cursor of all that is
  written by hand.
* `buffers` (a room) reads buffer assignments, `debug_options` a module's flags, `usage_report`
  XLA's summary of memory, `out_of_memory` (a room) messages in logs.
* `foreign_lines` says, where parsing has failed, that a line is none of HLO. `templates`
  refuses texts yet to be filled in. `extent` says where a module ends in a longer text.
* `collector` keeps Python's garbage collector out of the way meanwhile.
"""

from hlotool.parse.module import parse_module

__all__ = ["parse_module"]
