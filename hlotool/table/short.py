"""An answer in at most so many characters: rows whole and in their order, totals those of all rows.

In JSON the first row comes first, a finding where there is one; then rows of the list that is asked
for; then figures and totals, which take no more than three fifths while rows want room; then rows
of all lists in equal parts. Where not even one row finds room, rows hold fewer fields, and
`columns` names them. Tables lose rows, then sentences, then lists, then columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, takewhile
from typing import Any, Final

from msgspec.structs import replace

from hlotool.table.document import Document, Line, Rest, Selection, find_main
from hlotool.table.formats import Json, count_rows, list_units, make_json
from hlotool.table.terminal import cut
from hlotool.text import disarm_lines, encode_json

_FIXED: Final = ("schema", "hlotool_version", "grouped_by", "columns", "rows_total", "rows_omitted")
_OF_COMMANDS: Final = 0.25  # of the room that is free then
_OF_FIGURES: Final = 0.6
_OF_ROW: Final = 0.7
# Rows of a list, sentences in one place, lists and columns; 0: all.
_WAYS: Final = (
    *((rows, 0, 0, 0) for rows in (0, 50, 20, 12, 8, 5, 3, 2, 1)),
    *((1, lines, 0, 0) for lines in (4, 2, 1)),
    *((1, 1, 1, columns) for columns in (0, 5, 3, 1)),
)


def render_short_json(
    document: Document,
    selections: Sequence[Selection],
    version: str,
    commands: Sequence[str],
    most: int,
    *,
    asked: Selection | None = None,
) -> str:
    """Return an answer as compact JSON of at most so many characters.

    Of `commands` to go on with the first is for more of it, and goes where there is none. The list
    that is `asked` for comes before all figures.
    """
    figures = make_json(document, selections, version)
    lists = {key: list(one) for key, one in figures.items() if isinstance(one, Iterator)}
    answer: Json = {key: figures.pop(key) for key in _FIXED if key in figures}
    figures = {key: one for key, one in figures.items() if key not in lists}
    figures["units"] = dict(list_units(document, selections))
    totals = dict(zip(lists, map(count_rows, selections), strict=True))
    counts = {key: {"shown": len(lists[key]), "total": total} for key, total in totals.items()}
    whole = answer | figures | {"next": commands[1:]} | lists | {"lists": counts}
    if _measure(whole) <= most:
        return _write(whole)
    answer |= {"next": [], **dict.fromkeys(lists, ())}
    answer["lists"] = {key: {"shown": each, "total": each} for key, each in totals.items() if each}
    room = most - _measure(answer)
    answer["next"], room = _take(commands, room, int(room * _OF_COMMANDS))
    main = find_main(selections)
    taken = dict.fromkeys(lists, 0)
    if main is not None:
        name = next(key for key, one in zip(lists, selections, strict=True) if one is main)
        first: Any = lists[name][0]
        columns = list(first)
        if _measure(first) > room * _OF_ROW:
            columns = _choose_fields(first, main, int(room * _OF_ROW))
            answer["columns"] = columns
            room -= _measure(columns) + len('"columns":')
            lists[name] = [{key: row[key] for key in columns} for row in lists[name]]
            lists[name][0] = _cut_texts(lists[name][0], room)
        taken[name], room = 1, room - _measure(lists[name][0])
    if asked is not None:
        name = next(key for key, one in zip(lists, selections, strict=True) if one is asked)
        rows, room = _take(lists[name][taken[name] :], room, int(room * _OF_ROW))
        taken[name] += len(rows)
    room = _add_figures(answer, figures, room, int(room * (1 - _OF_FIGURES)))
    room = _add_rows(lists, taken, room)
    _add_figures(answer, figures, room, 0)
    for key, rows in lists.items():
        answer[key] = rows[: taken[key]]
    answer["lists"] = {
        key: {"shown": taken[key], "total": total} for key, total in totals.items() if total
    }
    if figures and _measure(answer | {"left_out": list(figures)}) <= most:
        answer["left_out"] = list(figures)
    return _write(answer)


def _write(value: object) -> str:
    return f"{encode_json(value, is_compact=True)}\n"


def _measure(value: object) -> int:
    """Return the characters of a value, and of the comma or line end behind it."""
    return len(_write(value))


def _choose_fields(row: Json, selection: Selection, room: int) -> list[str]:
    """Name the fields that find room: the longest leave first, last what tables show.

    Where some leave, `columns` has the names of those that stay, too.
    """
    shown = {field.name for field in selection.columns if field.in_table}
    if selection.grouping:
        shown = {"count", "share", "is_lower_bound", "is_upper_bound"}  # which all groups have
    key = selection.row_list.key_field.name
    by_size = sorted(row, key=lambda each: (each == key, each in shown, -_measure(row[each])))
    chosen = list(row)
    while by_size[1:] and _measure({each: row[each] for each in chosen}) + _measure(chosen) > room:
        chosen.remove(by_size.pop(0))
    return chosen


def _cut_texts(row: Any, room: int) -> Json:
    """Cut the texts of a row of which nothing else can leave."""
    excess = _measure(row) - room
    return {
        key: cut(one, max(40, len(one) - excess)) if isinstance(one, str) and excess > 0 else one
        for key, one in row.items()
    }


def _take(values: Sequence[object], room: int, most: int) -> tuple[list[object], int]:
    """Return the values, from the first, that find room, and the room that is left."""
    ends = list(takewhile(lambda end: end <= most, accumulate(map(_measure, values))))
    return [*values[: len(ends)]], room - max(ends, default=0)


def _add_figures(answer: Json, figures: Json, room: int, least: int) -> int:
    """Move figures and totals into an answer while so much room stays; return the room left."""
    for key in list(figures):
        size = _measure(figures[key]) + len(encode_json(key)) + 1
        if room - size >= least:
            answer[key] = figures.pop(key)
            room -= size
    return room


def _add_rows(lists: dict[str, list[object]], taken: dict[str, int], room: int) -> int:
    """Count the rows of each list that find room: in equal parts, then what is left in order."""
    wanting = [key for key, rows in lists.items() if taken[key] < len(rows)]
    for parts in (len(wanting), 1):
        part = room // max(parts, 1)
        for key in wanting:
            most = min(part, room)
            rows, left = _take(lists[key][taken[key] :], most, most)
            taken[key], room = taken[key] + len(rows), room - most + left
    return room


def render_short_text(
    document: Document,
    selections: Sequence[Selection],
    render: Callable[[Document, Sequence[Selection]], str],
    command: str,
    most: int,
) -> str:
    """Return tables and prose of at most so many characters; where some is missing, say so."""
    more = (Line(command, is_typed=True),) if command else ()
    for rows, lines, lists, columns in _WAYS:
        shown = [_cut_selection(one, rows, columns) for one in selections[: lists or None]]
        made = _cut_prose(document, lines)
        if shown != selections or made != document:
            made = replace(made, notes=(*made.notes, *more))
        text = disarm_lines(render(made, shown))
        if len(text) <= most:
            return text
    return cut_text(text, most)


def _cut_selection(selection: Selection, rows: int, columns: int) -> Selection:
    """Leave the first rows, or groups, and the first columns."""
    if columns:
        selection = replace(selection, columns=selection.columns[:columns], totals=())
    grouping = selection.grouping
    found = grouping.groups if grouping else selection.rows
    if not rows or len(found) <= rows:
        return selection
    before = grouping.rest if grouping else selection.rest
    rest = Rest(len(found) - rows + (before.count if before else 0))
    if grouping:
        cut = replace(grouping, groups=grouping.groups[:rows], rest=rest)
        return replace(selection, grouping=cut)
    return replace(selection, rows=found[:rows], rest=rest)


def _cut_prose(document: Document, lines: int) -> Document:
    """Leave so many sentences in each place, and the first finding or verdict behind them."""
    if not lines:
        return document

    def keep(said: tuple[Line, ...]) -> tuple[Line, ...]:
        return (*said[:lines], *[one for one in said[lines:] if one.tone][:1])

    return replace(
        document,
        lines=keep(document.lines),
        above={name: keep(said) for name, said in document.above.items()},
        notes=keep(document.notes),
    )


def cut_text(text: str, most: int) -> str:
    """Return the first lines of a text that find room, and say how many follow."""
    if len(text) <= most:
        return text
    lines = text.splitlines(keepends=True)
    tail = f"… {len(lines):,} more lines\n"
    kept = sum(end + len(tail) <= most for end in accumulate(map(len, lines)))
    if not kept:  # one line alone is too long
        return f"{text[: most - len(tail) - 1]}\n{tail}"
    return "".join(lines[:kept]) + f"… {len(lines) - kept:,} more lines\n"
