"""What do the words and marks of a table mean that are no field's?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hlotool.fields import VARIOUS
from hlotool.query.group import COUNT, SHARE
from hlotool.render.cells import COUNT_SHARE_TITLE, COUNT_TITLE, NO_LABEL, SHARE_TITLE, TOTAL
from hlotool.render.units import UNKNOWN

LEGEND: Final[Mapping[str, str]] = {
    TOTAL: "the sum of a column over all rows that --where keeps, also those that -n leaves out",
    COUNT_TITLE: f"with --by: {COUNT.meaning}",
    SHARE_TITLE: f"with --by: {SHARE.meaning}; of the column by which a list says how large a row "
    "is, in JSON else of the number of rows",
    COUNT_SHARE_TITLE: "with --by: the group's part of the number of rows, as their figures do not "
    "add up",
    NO_LABEL: "the group of rows that have no value in the field of --by",
    UNKNOWN: "not known, and no guess; null in JSON",
    "≥": "at least: a part of the sum is unknown; is_lower_bound in JSON",
    "≤": "at most: a part of the sum may not happen; is_upper_bound in JSON",
    "about": "at least and at most: a part is unknown, and another may not happen",
    "~": "an estimate",
    VARIOUS.value: "in a row that stands for several: they differ in it, and it is no number",
    "×": "how many equal things the row stands for",
    "–": "between two numbers: the least and the most of the things that a row stands for; alone: "
    "there is none",
    "…": "something was left out or cut here; -w shows it, and JSON has it",
    "beside": "in a sentence: in addition to, and not counted in it",
    "most exposed": "the collective of which no work hides the most, in bytes sent or in time; "
    "see exposed",
    "work": "what a device computes while a collective runs, which hides the time of the transfer",
    "moves": "reads and writes in memory, in bytes; what is sent to other devices is not in it",
    "8@1": "how the devices of a group are numbered: 8 devices whose numbers are 1 apart",
    "layer_*": "in a path: numbered siblings taken as one; --numbered keeps them apart",
}
