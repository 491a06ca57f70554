"""Tables and markdown: layout, cuts, totals, what was left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sample_rows import SAMPLES, Sample

from hlotool.table import Document, DocumentSpec, Line, Selection
from hlotool.table.cells import Cells, Column, Look, make_cells
from hlotool.table.select import Query, select_rows
from hlotool.table.terminal import render_markdown, render_table, render_tables
from hlotool.text import escape

M = 1 << 20
ROWS = (
    Sample(name="all-gather.1", kind="loop", size_bytes=12 * M, flops=10**12),
    Sample(name="dot", kind="input", size_bytes=M, flops=None, note="x|y"),
    Sample(name="a_very_long_name_of_a_fusion.12345", kind="custom", size_bytes=3, flops=7),
)
SPEC = DocumentSpec("samples", "samples", row_lists=(SAMPLES,))


def select(rows: tuple[Sample, ...] = ROWS, **query: Any) -> Selection:
    return select_rows(SAMPLES, rows, Query(**query))


def table(width: int | None = None, rows: tuple[Sample, ...] = ROWS, **query: Any) -> str:
    return render_table(make_cells(select(rows, **query), "auto"), Look(width=width))


def lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def test_table() -> None:
    assert lines(table(columns="+flops,+note")) == [
        "name                                kind        size     flops  note",
        "----------------------------------  ------  --------  --------  ----",
        "all-gather.1                        loop    12.0 MiB    1.00 T  ?",
        "dot                                 input    1.0 MiB         ?  x|y",
        "a_very_long_name_of_a_fusion.12345  custom       3 B         7  ?",
        "TOTAL                                       13.0 MiB  ≥ 1.00 T",
    ]


def test_in_a_narrow_terminal_a_long_name_has_a_line_of_its_own() -> None:
    assert lines(table(40)) == [
        "name          kind        size",
        "------------  ------  --------",
        "all-gather.1  loop    12.0 MiB",
        "dot           input    1.0 MiB",
        "a_very_long_name_of_a_fusion.12345",
        "              custom       3 B",
        "TOTAL                 13.0 MiB",
    ]


def test_columns_that_find_no_room_are_below_their_rows() -> None:
    assert lines(table(24, columns="name,kind,size_bytes,flops", limit=1)) == [
        "name              size",
        "------------  --------",
        "all-gather.1  12.0 MiB",
        "    kind: loop",
        "    flops: 1.00 T",
        "… and 2 smaller (1.0 MiB)",
        "TOTAL         13.0 MiB",
        "    flops: ≥ 1.00 T",
    ]


def test_what_is_the_same_in_every_row_is_told_above() -> None:
    alike = tuple(Sample(name=one.name, kind="loop", size_bytes=one.size_bytes) for one in ROWS)

    def show(rows: tuple[Sample, ...], width: int) -> list[str]:
        return lines(table(width, rows, columns="kind,name,size_bytes"))

    shown = show(alike, 46)
    assert shown[:2] == ["kind of every row: loop", f"{'name':34}      size"]
    assert shown[5] == "a_very_long_name_of_a_fusion.12345       3 B"
    assert show(alike, 60)[0].split() == ["kind", "name", "size"]
    assert show(ROWS, 46)[3:5] == ["    kind: loop", f"{'dot':34}   1.0 MiB"]


def test_what_all_paths_begin_with_is_told_above() -> None:
    paths = ("jit/decoder/layer_0/mlp", "jit/decoder/layer_1/mlp", "jit/decoder/norm")
    fields = tuple(replace(each, is_path=each.name == "note") for each in SAMPLES.fields)
    rows = [Sample(f"dot.{number}", note=path) for number, path in enumerate(paths)]
    selection = select_rows(replace(SAMPLES, chosen=fields), rows, Query(columns="name,note"))
    assert lines(render_table(make_cells(selection, "auto"), Look(width=28))) == [
        "note: … is jit/decoder",
        "name   note",
        "-----  -------------",
        "dot.0  …/layer_0/mlp",
        "dot.1  …/layer_1/mlp",
        "dot.2  …/norm",
    ]


def test_a_screen_says_which_columns_answer() -> None:
    row_list = replace(SAMPLES, screen="size_bytes,name", wide_screen="kind").showing(
        ("name", "kind", "size_bytes", "flops")
    )

    def titles(width: int | None, **query: Any) -> list[str]:
        selection = select_rows(row_list, ROWS, Query(width=width, **query))
        return [each.title for each in selection.columns]

    assert titles(80) == ["size", "name"]
    assert titles(120) == ["size", "name", "kind"]
    assert titles(None) == ["size", "name", "kind", "flops"]
    assert titles(80, columns="flops") == ["flops"]
    assert titles(80, columns="+flops") == ["size", "name", "flops"]


def test_without_a_width_nothing_is_cut() -> None:
    assert "…" not in table(is_wide=True)
    assert "a_very_long_name_of_a_fusion.12345" in table(is_wide=True)


@given(st.integers(1, 120), st.lists(st.text(max_size=30), max_size=4))
def test_no_line_but_a_name_is_wider_than_the_terminal(width: int, names: list[str]) -> None:
    rows = tuple(Sample(name=name, size_bytes=len(name)) for name in names)
    whole = max((len(escape(name)) for name in names if " " in name), default=0)
    for line in lines(table(width, rows)):
        assert len(line) <= max(width, 20, 6 + whole, *(6 + len(word) for word in line.split()))


@given(st.integers(20, 120), st.lists(st.text(st.characters(codec="ascii"), min_size=1)))
def test_no_name_is_cut(width: int, names: list[str]) -> None:
    rows = tuple(Sample(name=name.replace(" ", "_")) for name in names)
    text = table(width, rows, limit=0)
    assert all(escape(row.name) in text for row in rows)


def test_verdicts_and_the_larger_part_are_coloured() -> None:
    fields = tuple(replace(each, is_verdict=each.name == "note") for each in SAMPLES.fields)
    rows = tuple(
        Sample(f"x{size}", note=word, size_bytes=size)
        for size, word in ((6, "fail"), (5, "warning"), (4, "pass"), (3, "else"))
    )
    selection = select_rows(
        replace(SAMPLES, chosen=fields), rows, Query(columns="name,note,size_bytes")
    )
    text = render_table(make_cells(selection, "B"), Look(has_color=True))
    assert lines(text)[2:-1] == [
        "x6     \x1b[31mfail\x1b[0m        \x1b[1m6\x1b[0m",
        "x5     \x1b[33mwarning\x1b[0m     \x1b[1m5\x1b[0m",
        "x4     \x1b[32mpass\x1b[0m        4",
        "x3     else        3",
    ]


def test_in_a_pipe_lists_alone_end() -> None:
    long = "/".join(["layer"] * 20)
    rows = (Sample(long, flags=(long,)),)
    text = render_table(make_cells(select(rows, columns="name,flags"), "auto"), Look(list_width=60))
    name, flags = lines(text)[2].split()
    assert name == long
    assert len(flags) == 60


def test_in_a_pipe_the_shape_of_a_tuple_ends() -> None:
    fields = tuple(replace(each, is_shape=each.name == "note") for each in SAMPLES.fields)
    shape = f"({','.join(['f32[8]'] * 20)})"
    selection = select_rows(
        replace(SAMPLES, chosen=fields), (Sample(note=shape),), Query(columns="name,note")
    )
    for list_width, shown in ((60, 60), (None, len(shape))):
        text = render_table(make_cells(selection, "auto"), Look(list_width=list_width))
        assert len(lines(text)[2].split()[1]) == shown


def test_a_very_long_cell_does_not_pad_very_many_rows() -> None:
    rows = (Sample(name="x" * 100_000, kind="loop"), *[Sample(name="y", kind="loop")] * 2_000)
    heading, *_ = table(rows=rows).split("\n")
    assert len(heading) < 40_000
    assert "x" * 100_000 in table(rows=rows[:600])


def test_limit_and_total() -> None:
    assert lines(table(limit=1))[2:] == [
        "all-gather.1  loop  12.0 MiB",
        "… and 2 smaller (1.0 MiB)",
        "TOTAL               13.0 MiB",
    ]
    assert lines(table(limit=1, sort="kind"))[3] == "… and 2 more (13.0 MiB)"


def test_no_rows() -> None:
    assert table(rows=()) == "(no rows)"
    assert table(where='name == "none"') == "(no rows)"
    assert table(rows=(), by="kind") == "(no rows)"


def test_a_single_row_needs_no_total() -> None:
    assert "TOTAL" not in table(rows=ROWS[:1])
    assert "TOTAL" not in table(by="class")


def test_a_total_finds_a_place_for_its_word() -> None:
    assert lines(table(columns="size_bytes"))[-1] == "TOTAL 13.0 MiB"
    assert lines(table(columns="size_bytes,name"))[-1] == "13.0 MiB  TOTAL"
    assert "TOTAL" not in table(columns="name,kind")


def test_folded_rows() -> None:
    rows = tuple(Sample(f"dot.{index}", size_bytes=M, position=index) for index in range(48))
    text = table(rows=(*rows, Sample("x")), is_folded=True, columns="+count,+position")
    assert lines(text) == [
        "name   kind      size    ×  position",
        "-----  ----  --------  ---  --------",
        "dot.*  loop  48.0 MiB  ×48      0–47",
        "x      loop       0 B              0",
        "TOTAL        48.0 MiB   49",
    ]


def test_groups_are_indented() -> None:
    rows = (*ROWS, Sample(name="dot", kind="loop", size_bytes=4 * M, is_conditional=True))
    assert lines(table(rows=rows, by="kind,name", limit=1)) == [
        "kind / name        count        size    share",
        "-----------------  -----  ----------  -------",
        "loop                   2  ≤ 16.0 MiB   94.1 %",
        "  all-gather.1         1    12.0 MiB   70.6 %",
        "  … and 1 smaller          ≤ 4.0 MiB",
        "… and 2 smaller (1.0 MiB)",
        "TOTAL                  4  ≤ 17.0 MiB  100.0 %",
    ]


def test_what_does_not_add_up_has_no_total() -> None:
    peaks = replace(SAMPLES, has_total=False)
    for query in (Query(), Query(by="kind")):
        assert "TOTAL" not in render_table(
            make_cells(select_rows(peaks, ROWS, query), "auto"), Look()
        )


def test_colour_marks_heading_total_and_rest() -> None:
    text = render_table(make_cells(select(limit=1), "auto"), Look(has_color=True))
    assert lines(text)[0].startswith("\x1b[1mname")
    assert lines(text)[3] == "\x1b[2m… and 2 smaller (1.0 MiB)\x1b[0m"
    assert lines(text)[4].startswith("\x1b[1mTOTAL")
    assert "\x1b" not in table(limit=1)


def test_a_name_cannot_act_on_the_terminal() -> None:
    text = table(rows=(Sample(name="\x1b[2J\x07|\u202e"),))
    assert r"\x1b[2J\x07|\u202e" in text
    assert "\x1b" not in text


def document(*row_lists: str, **values: Any) -> Document:
    return Document(SPEC, None, rows={"samples": ROWS}, shown=row_lists, **values)


def test_prose_stands_around_the_tables() -> None:
    answer = document(lines=(Line("above"), Line("it")), notes=(Line("below"),))
    text = render_tables(answer, [select(limit=1, columns="name")], Look())
    assert text == (
        "above\nit\n\nname\n------------\nall-gather.1\n… and 2 smaller (1.0 MiB)\n\nbelow\n"
    )


def test_markdown() -> None:
    answer = document(lines=(Line("<above> *it*"),), notes=(Line("below"),))
    assert render_markdown(answer, [select(limit=2, columns="name,note,size_bytes")], "B") == (
        "\\<above\\> \\*it\\*\n"
        "\n"
        "| name | note | size |\n"
        "| :-- | :-- | --: |\n"
        "| all-gather.1 | ? | 12,582,912 |\n"
        "| dot | x\\|y | 1,048,576 |\n"
        "| **TOTAL** |  | **13,631,491** |\n"
        "\n"
        "… and 1 smaller (3)\n"
        "\n"
        "below\n"
    )


@pytest.mark.parametrize("name", ["a|b", "a\nb", "`x`", "[a](b)", "<img>", "\\|", "a_b*c*"])
def test_markdown_keeps_its_columns(name: str) -> None:
    text = render_markdown(document(), [select((Sample(name=name),))], "auto")
    row = lines(text)[2]
    assert len(lines(text)) == 3
    assert row.replace("\\\\", "").replace("\\|", "").count("|") == 4


def test_markdown_leaves_names_readable() -> None:
    text = render_markdown(document(), [select((Sample(name="_a_b_ __c"),))], "auto")
    assert lines(text)[2].startswith("| \\_a_b\\_ \\_\\_c |")


def test_markdown_groups() -> None:
    text = render_markdown(document(), [select(by="kind,name", columns="size_bytes")], "auto")
    assert "| &nbsp;&nbsp;dot | 1 | 1.0 MiB | 7.7 % |" in lines(text)


def test_a_curve_is_whole() -> None:
    columns = (
        Column("metric", is_number=False, is_key=True),
        Column("trend", is_number=False),
    )
    cells = Cells(columns, (("count", "▁▂▃▄▅▆▇█" * 3),), "", ())
    assert lines(render_table(cells, Look(width=24)))[-1] == f"      {'▁▂▃▄▅▆▇█' * 3}"
