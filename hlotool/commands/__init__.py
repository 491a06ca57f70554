"""One file a subcommand: its options, and what it asks of a program.

Long prose is in `prose`, a file a command. An answer of another kind has a file of its own: the
table of a directory, formats of other tools. Those of `buffers`, `diff`, `check` and `report` have
rooms: `holding`, `diffing`, `checking`, `pages`; so have the words of `explain`: `explaining`. What
all share is in `shared`.

`COMMANDS` is what `hlotool --help` shows without importing any of them; the module of a
command has its name and holds a click command of that name.
"""

from typing import Final

COMMANDS: Final = {
    "summary": "A module on one screen; a directory as a table of modules.",
    "buffers": "Who holds memory at the peak.",
    "fusions": "What each fusion costs.",
    "collectives": "What crosses the interconnect.",
    "outline": "A program as it runs, on a screen.",
    "show": "All about one instruction, parameter or source line.",
    "diff": "What changed between two dumps.",
    "report": "A program as one page of HTML.",
    "text": "The HLO text of a module, also of a protobuf.",
    "check": "Budgets from hlotool.toml, for CI.",
    "fields": "The fields of a command: names, units, meanings.",
    "explain": "What a number, a word or an option means.",
    "schema": "The JSON Schema of a command's answer.",
}
