"""Tables and markdown: layout, cuts, totals, what was left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sample_rows import SAMPLES, Sample

from hlotool.table import WHOLE, Document, DocumentSpec, Line, Selection
from hlotool.table.cells import Cells, Column, Look, make_cells
from hlotool.table.select import Query, select_rows
from hlotool.table.terminal import render_markdown, render_table, render_tables

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


def test_a_narrow_terminal_cuts_names_in_the_middle() -> None:
    assert lines(table(40)) == [
        "name                    kind        size",
        "----------------------  ------  --------",
        "all-gather.1            loop    12.0 MiB",
        "dot                     input    1.0 MiB",
        "a_very_long…sion.12345  custom       3 B",
        "TOTAL                           13.0 MiB",
    ]


def test_columns_that_find_no_room_are_named() -> None:
    assert lines(table(24, columns="name,kind,size_bytes,flops")) == [
        "name              kind",
        "----------------  ------",
        "all-gather.1      loop",
        "dot               input",
        "a_very_l…n.12345  custom",
        "(no room for size,",
        "flops; -w shows all)",
    ]


def test_what_is_the_same_in_every_row_is_told_below() -> None:
    fields = tuple(
        replace(each, hide_if_constant=each.name == "kind", min_width=WHOLE * (each.name == "name"))
        for each in SAMPLES.fields
    )
    row_list = replace(SAMPLES, chosen=fields)
    alike = tuple(Sample(name=one.name, kind="loop", size_bytes=one.size_bytes) for one in ROWS)

    def show(rows: tuple[Sample, ...], columns: str, width: int) -> list[str]:
        selection = select_rows(row_list, rows, Query(columns=columns))
        return lines(render_table(make_cells(selection, "auto"), Look(width=width)))

    shown = show(alike, "kind,name,size_bytes", 46)
    assert shown[0].split() == ["name", "size"]
    assert shown[4] == "a_very_long_name_of_a_fusion.12345       3 B"
    assert shown[-1] == "(kind of every row shown: loop; -w shows all)"
    assert show(alike, "kind,name,size_bytes", 60)[0].split() == ["kind", "name", "size"]
    assert show(ROWS, "kind,name,size_bytes", 46)[0].split() == ["kind", "name", "size"]


def test_without_a_width_nothing_is_cut() -> None:
    assert "…" not in table(is_wide=True)
    assert "a_very_long_name_of_a_fusion.12345" in table(is_wide=True)


@given(st.integers(1, 120), st.lists(st.text(max_size=30), max_size=4))
def test_no_line_is_wider_than_the_terminal(width: int, names: list[str]) -> None:
    rows = tuple(Sample(name=name, size_bytes=len(name)) for name in names)
    text = table(width, rows)
    body = lines(text.partition("(no room")[0])
    assert all(len(line) <= max(width, 12) for line in body)


def test_what_differs_never_looks_alike() -> None:
    names = (f"{'x' * number}_of_one_length_{'y' * (20 - number)}" for number in range(1, 20))
    rows = tuple(Sample(name) for name in names)
    shown = lines(table(30, rows))[2 : 2 + len(rows)]
    assert len(set(shown)) == len(rows)


def test_columns_leave_by_rank_but_those_that_were_asked_for() -> None:
    ranks = {"name": 0, "kind": 1, "size_bytes": 2, "flops": 0}
    fields = tuple(
        replace(each, in_table=each.name in ranks, hide_order=ranks.get(each.name, 0))
        for each in SAMPLES.fields
    )
    row_list = replace(SAMPLES, chosen=fields)

    def titles(width: int, columns: str = "") -> list[str]:
        selection = select_rows(row_list, ROWS, Query(columns=columns))
        return lines(render_table(make_cells(selection, "auto"), Look(width=width)))[0].split()

    assert titles(80) == ["name", "kind", "size", "flops"]
    assert titles(31) == ["name", "kind", "flops"]
    assert titles(20) == ["name", "flops"]
    assert titles(24, "name,size_bytes,kind") == ["name", "size"]


def test_a_name_keeps_what_it_wants_while_others_may_leave() -> None:
    def head(wants: int) -> list[str]:
        ways = {"kind": 2, "size_bytes": 1}
        fields = tuple(
            replace(
                each,
                in_table=each.name in {"name", *ways},
                hide_order=ways.get(each.name, 0),
                min_width=wants if each.name == "name" else 0,
            )
            for each in SAMPLES.fields
        )
        selection = select_rows(replace(SAMPLES, chosen=fields), ROWS, Query())
        return lines(render_table(make_cells(selection, "auto"), Look(width=40)))[0].split()

    assert head(0) == ["name", "kind", "size"]
    assert head(30) == ["name", "size"]
    assert head(34) == ["name"]


def test_columns_of_equal_width_are_cut_alike() -> None:
    rows = (Sample("n" * 40, note="t" * 40),)
    name, note = lines(table(42, rows, columns="name,note"))[2].split()
    assert (len(name), len(note)) == (20, 20)


def test_names_stay_whole_while_others_give_way() -> None:
    """A name that a user greps for is cut only where no column can leave in its place."""
    ranks = {"name": 0, "kind": 1, "size_bytes": 2, "flops": 0}
    fields = tuple(
        replace(
            each,
            in_table=each.name in ranks,
            hide_order=ranks.get(each.name, 0),
            min_width=WHOLE if each.name == "name" else 0,
        )
        for each in SAMPLES.fields
    )
    selection = select_rows(replace(SAMPLES, chosen=fields), ROWS, Query())

    def show(width: int) -> tuple[list[str], str]:
        shown = lines(render_table(make_cells(selection, "auto"), Look(width=width)))
        return shown[0].split(), shown[4].split()[0]

    assert show(62) == (["name", "kind", "size", "flops"], ROWS[2].name)
    assert show(60) == (["name", "kind", "flops"], ROWS[2].name)
    assert show(44) == (["name", "flops"], ROWS[2].name)
    assert show(30) == (["name", "flops"], "a_very_lon…ion.12345")


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


def test_of_a_curve_the_newest_part_stays() -> None:
    columns = (
        Column("metric", is_number=False, is_cuttable=True, is_key=True),
        Column("trend", is_number=False, is_cuttable=True, is_curve=True),
    )
    cells = Cells(columns, (("count", "▁▂▃▄▅▆▇█" * 3),), "", ())
    *_, row = render_table(cells, Look(width=24)).split("\n")
    assert row == "count   …▂▃▄▅▆▇█▁▂▃▄▅▆▇█"
