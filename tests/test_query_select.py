"""The row options: filter, fold, sort, cut, sum, group, choose columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sample_rows import FIELDS, SAMPLES, Sample

from hlotool.errors import HlotoolError, QueryError, UsageError
from hlotool.hlo.opcodes import OPCODES
from hlotool.table import (
    Fold,
    Range,
    RowList,
    Selection,
    Sum,
)
from hlotool.table.document import Group, Grouping, Rest, Total, Various
from hlotool.table.select import Query, select_rows
from hlotool.table.words import find_near, settle_names, split_name, suggest, suggest_field

ROWS = (
    Sample(name="b", kind="loop", size_bytes=10, sent_bytes=1, flops=5),
    Sample(name="a", kind="loop", size_bytes=10, sent_bytes=None, known_sent_bytes=8, flops=None),
    Sample(name="d", kind="input", size_bytes=40, sent_bytes=3, flops=7, note="x"),
    Sample(name="c", kind="custom", size_bytes=20, sent_bytes=4, flops=9, note="y"),
)


def names(selection: Selection) -> str:
    return "".join(row.name for row in selection.rows if isinstance(row, Sample))


def select(rows: tuple[Sample, ...] = ROWS, row_list: RowList = SAMPLES, **query: Any) -> Selection:
    return select_rows(row_list, rows, Query(**query))


def total(*sums: Sum | None) -> tuple[Total]:
    return (Total(sums),)


def group(by: str, rows: tuple[Sample, ...] = ROWS, **query: Any) -> Grouping:
    grouping = select(rows, by=by, **query).grouping
    assert grouping is not None
    return grouping


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("", "dcab"),  # -size_bytes, ties by name
        ("name", "abcd"),
        ("-name", "dcba"),
        ("size_bytes", "abcd"),
        ("+size_bytes", "abcd"),
        ("kind,-name", "cdba"),
        ("-kind, name", "abdc"),
        ("sent_bytes", "bdca"),  # a counts 8 once
        ("-sent_bytes", "acdb"),
        ("flops", "bdca"),  # unknown last
        ("-flops", "cdba"),  # unknown last still
        ("note", "cdab".replace("cd", "dc")),
        ("flags", "abcd"),
        ("-is_async", "abcd"),
    ],
)
def test_sort(sort: str, expected: str) -> None:
    assert names(select(sort=sort)) == expected


def test_without_a_sort_the_analysis_decides() -> None:
    assert names(select(row_list=replace(SAMPLES, sort=""))) == "badc"


@pytest.mark.parametrize(
    ("query", "kept", "rest"),
    [
        ({}, "dcab", None),
        ({"limit": 0}, "dcab", None),
        ({"limit": 4}, "dcab", None),
        ({"limit": 9}, "dcab", None),
        ({"limit": 2}, "dc", Rest(2, Sum(20), is_smaller=True)),
        ({"default_limit": 3}, "dca", Rest(1, Sum(10), is_smaller=True)),
        ({"default_limit": 3, "limit": 0}, "dcab", None),
        ({"limit": 1, "sort": "name"}, "a", Rest(3, Sum(70), is_smaller=False)),
        ({"limit": 1, "sort": "size_bytes"}, "a", Rest(3, Sum(70), is_smaller=False)),
        ({"limit": 1, "sort": "-size_bytes,name"}, "d", Rest(3, Sum(40), is_smaller=True)),
        ({"limit": 1, "where": "size_bytes < 30"}, "c", Rest(2, Sum(20), is_smaller=True)),
    ],
)
def test_limit(query: dict[str, Any], kept: str, rest: Rest | None) -> None:
    selection = select(**query)
    assert (names(selection), selection.rest) == (kept, rest)
    assert selection.rows_total == len(kept) + (rest.count if rest else 0)
    assert selection.is_limited == ("limit" in query)


def test_sorted_by_what_counts_once_is_sorted_by_size() -> None:
    sent = replace(SAMPLES, size="sent_bytes", sort="-known_sent_bytes")
    assert select(row_list=sent, limit=1).rest == Rest(3, Sum(8), is_smaller=True)


def test_what_is_unknown_is_not_said_to_be_smaller() -> None:
    worked = replace(SAMPLES, size="flops", sort="-flops")
    rest = Rest(2, Sum(5, is_lower_bound=True), is_smaller=False)
    assert select(row_list=worked, limit=2).rest == rest
    grouping = select(row_list=worked, limit=2, by="kind").grouping
    assert grouping is not None
    assert grouping.rest == Rest(1, Sum(5, is_lower_bound=True), is_smaller=False)


def test_what_does_not_add_up_has_no_total() -> None:
    selection = select(row_list=replace(SAMPLES, has_total=False), limit=1)
    assert selection.totals == ()
    assert selection.rest == Rest(3, None, is_smaller=True)


def test_totals_cover_all_rows_the_filter_kept() -> None:
    selection = select(
        where='kind != "custom"', limit=1, columns="name,size_bytes,sent_bytes,flops,count"
    )
    assert selection.totals == total(
        None,
        Sum(60),
        Sum(12, is_lower_bound=True),  # 8 once, in place of the unknown
        Sum(12, is_lower_bound=True),
        Sum(3),
    )


def test_a_total_of_unknowns_is_unknown() -> None:
    row = Sample(flops=None)
    assert select((row,), columns="flops").totals == total(Sum(None, is_lower_bound=True))
    assert select((), columns="flops").totals == total(Sum(0))


def test_bounds_are_independent() -> None:
    rows = (Sample(is_conditional=True, flops=None), Sample(flops=3))
    assert select(rows, columns="flops,size_bytes").totals == total(
        Sum(3, is_lower_bound=True, is_upper_bound=True),
        Sum(0, is_upper_bound=True),
    )
    lower = replace(SAMPLES, lower_if=("is_conditional",), upper_if=())
    assert select(rows, lower, columns="size_bytes").totals == total(Sum(0, is_lower_bound=True))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "name kind size_bytes"),
        ({"is_wide": True}, " ".join(field.name for field in FIELDS)),
        ({"columns": "flops, name"}, "flops name"),
        ({"columns": "flops,flops"}, "flops"),
        ({"columns": "+flops"}, "name kind size_bytes flops"),
        ({"columns": "+name"}, "name kind size_bytes"),
        ({"columns": "-kind"}, "name size_bytes"),
        ({"columns": "-kind,+flops"}, "name size_bytes flops"),
        ({"columns": "kind,+flops"}, "kind flops"),
        ({"columns": "class"}, "class"),
    ],
)
def test_columns(query: dict[str, Any], expected: str) -> None:
    assert " ".join(field.name for field in select(**query).columns) == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"sort": "nme"}, "--sort: there is no field 'nme' (column 1)"),
        ({"sort": "name,-sise_bytes"}, "--sort: there is no field 'sise_bytes' (column 6)"),
        ({"sort": "name,"}, "--sort: expected a field's name (column 6)"),
        ({"columns": "name,,kind"}, "--columns: expected a field's name (column 6)"),
        ({"by": "kid"}, "--by: there is no field 'kid' (column 1)"),
        ({"by": "-kind"}, "--by: there is no field '-kind' (column 1)"),
        ({"by": "kind", "columns": "name"}, "--columns: 'name' cannot be summed"),
        ({"by": "kind", "sort": "name"}, "--sort: groups have no 'name'"),
        ({"by": "kind", "sort": "ratio"}, "--sort: groups have no 'ratio'"),
        ({"by": "kind", "sort": "cont"}, "--sort: there is no field 'cont'"),
        ({"by": "kind,kind"}, "--by names a field twice."),
        ({"by": "count"}, "--by count: every group has a count of its own."),
        ({"where": "nme == 'x'"}, "--where: there is no field 'nme' (column 1)"),
    ],
)
def test_wrong_options_are_refused_even_without_rows(query: dict[str, Any], message: str) -> None:
    with pytest.raises(HlotoolError) as caught:
        select((), **query)
    assert isinstance(caught.value, QueryError | UsageError)
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("peek_bytes", ["peak_bytes", "size"], "did you mean peak_bytes?"),
        ("PEAK_BYTES", ["peak_bytes", "size"], "did you mean peak_bytes?"),
        ("bytes", ["a_bytes_b", "size"], "did you mean a_bytes_b?"),
        ("zzz", ["b", "a"], "there are b, a"),
        ("zzz", [f"n{index}" for index in range(14)], "n11 and 2 more"),
        ("zzz", [], "none exist"),
    ],
)
def test_suggestions(name: str, known: list[str], hint: str) -> None:
    assert suggest(name, known).endswith(hint)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("nosuch", []),
        ("nonsense", []),
        ("all-gathr", ["all-gather", "all-gather-done", "all-gather-start"]),
        ("allreduce", ["all-reduce", "reduce", "all-reduce-done"]),
        ("dot_general", ["dot"]),
        ("custom_call", ["custom-call"]),
        ("conv", ["convert", "cosine", "convolution", "bitcast-convert"]),
        ("Whil", ["while"]),
        ("sub", ["subtract"]),
        ("faster-fft", ["fft"]),
        ("x", []),
        ("", []),
    ],
)
def test_near_opcodes(wrong: str, near: list[str]) -> None:
    assert find_near(wrong, sorted(OPCODES)) == near


def test_what_a_table_calls_a_field() -> None:
    assert suggest_field("share_of_peak", FIELDS).startswith("did you mean share_of_peak?")
    assert suggest_field("×", FIELDS) == "× is called count since 1.0"
    assert suggest_field("estimatd", FIELDS).startswith("did you mean estimated_seconds?")
    assert suggest_field("estimated", FIELDS).startswith("did you mean estimated_seconds?")


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("fusion.12", "fusion"),
        ("fusion", "fusion"),
        ("all-gather-start.3.clone", "all-gather-start"),
        ("copy.2.remat", "copy"),
        ("copy.2.remat3.1", "copy"),
        ("p.0.q", "p.0.q"),
        ("v2", "v2"),
        (".5", ".5"),
        ("fusion.3.clone{0,12}", "fusion|{0,12}"),
        ("while.38{}", "while|{}"),
        ("odd.{x}", "odd.{x}"),
        ("a" + ".1" * 200_000 + "x", "a" + ".1" * 200_000 + "x"),
        ("a" + ".1" * 200_000, "a"),
    ],
    ids=lambda text: text[:20],
)
def test_numbers_that_xla_appends(name: str, base: str) -> None:
    stem, index = split_name(name)
    assert (f"{stem}|{index}" if index else stem) == base


def test_equal_names_stay_as_they_are() -> None:
    rows = (Sample(name="f.1"), Sample(name="f.1"))
    assert select(rows, is_folded=True).rows == [Sample(name="f.1", count=2)]


def test_fold() -> None:
    rows = (
        Sample(name="f.1", size_bytes=8, position=3, flops=2),
        Sample(name="g.1", size_bytes=8),
        Sample(name="f.2", size_bytes=8, position=5, flops=None),
        Sample(name="f.3", size_bytes=9),
        Sample(name="f", size_bytes=8, position=6, flops=3),
    )
    selection = select(rows, is_folded=True, sort="name", columns="name,size_bytes")
    assert selection.rows == [
        Sample(name="f.*", count=3, size_bytes=24, position=Range(3, 6), flops=None),  # type: ignore[arg-type]
        rows[3],
        rows[1],
    ]
    assert [field.name for field in selection.columns] == ["name", "size_bytes", "count"]
    assert selection.totals == total(None, Sum(41), Sum(5))
    assert select(rows, is_folded=True, sort="-position").rows[0].position == Range(3, 6)  # type: ignore[attr-defined]
    noted = tuple(replace(row, note=row.name) for row in rows)
    assert select(noted, is_folded=True, sort="note").rows[-1].note == Various(3)  # type: ignore[attr-defined]
    assert len(select(rows).rows) == 5


def test_folded_lists_are_joined() -> None:
    """Where the list says so; a row without a name folds with none that has one."""
    joining = replace(SAMPLES, fold=Fold(keys="kind", name="note", joined=("flags", "members")))
    rows = (
        Sample(note="f.1", flags=("x", "y"), members=(1,)),
        Sample(note="f.2", flags=("y",)),
        Sample(note=None, flags=("z",)),
        Sample(note="None", flags=("z",)),
        Sample(note=None, flags=("z",)),
    )
    folded = select(rows, joining, is_folded=True, sort="note").rows
    found = {(row.note, row.count): row.flags for row in folded if isinstance(row, Sample)}
    assert found == {("f.*", 2): ("x", "y"), (None, 2): ("z",), ("None", 1): ("z",)}


def test_groups() -> None:
    grouping = group("kind", columns="size_bytes,sent_bytes")
    assert [field.name for field in grouping.summed] == ["size_bytes", "sent_bytes"]
    assert grouping.groups == (
        Group("input", 1, (Sum(40), Sum(3)), 0.5),
        Group("custom", 1, (Sum(20), Sum(4)), 0.25),
        Group("loop", 2, (Sum(20), Sum(9, is_lower_bound=True)), 0.25),
    )
    assert grouping.total == Group(None, 4, (Sum(80), Sum(16, is_lower_bound=True)), 1.0)
    assert grouping.rest is None


APART = replace(SAMPLES, no_total_across="is_async")


def test_rows_that_do_not_add_up_together_have_a_total_each() -> None:
    rows = (*ROWS, Sample(name="e", is_async=True, size_bytes=3), Sample(name="f", is_async=True))
    selection = select(rows, APART, columns="size_bytes,name", limit=4)
    heading = SAMPLES.field("is_async").title
    assert selection.totals == (
        Total((Sum(80), None), f"{heading} False"),
        Total((Sum(3), None), f"{heading} True"),
    )
    assert selection.rest == Rest(2, None, is_smaller=True)
    assert select(ROWS, APART, columns="size_bytes").totals == total(Sum(80))


def test_groups_of_rows_that_do_not_add_up_together_are_apart_first() -> None:
    rows = (*ROWS, Sample(name="e", is_async=True, kind="loop", size_bytes=3))
    for by in ("kind", "kind,is_async"):
        grouping = select(rows, APART, by=by, columns="size_bytes").grouping
        assert grouping is not None
        assert labels(grouping.groups) == [(False, ["input", "custom", "loop"]), (True, ["loop"])]
        assert [one.share for one in grouping.groups] == [1.0, 1.0]
        assert [one.share for one in grouping.groups[0].groups] == [0.5, 0.25, 0.25]
        assert grouping.total is None
    cut = select(rows, APART, by="kind", columns="size_bytes", limit=1).grouping
    assert cut is not None
    assert cut.rest == Rest(1, None, is_smaller=True)
    assert cut.groups[0].rest == Rest(2, Sum(40), is_smaller=True)
    assert select(ROWS, APART, by="kind", columns="size_bytes").grouping == group(
        "kind", columns="size_bytes"
    )


def labels(groups: tuple[Group, ...]) -> list[object]:
    return [
        (group.label, labels(group.groups)) if group.groups else group.label for group in groups
    ]


@pytest.mark.parametrize(
    ("by", "query", "expected"),
    [
        ("kind,name", {}, [("input", ["d"]), ("custom", ["c"]), ("loop", ["a", "b"])]),
        (
            "kind,name",
            {"sort": "-name"},
            [("custom", ["c"]), ("input", ["d"]), ("loop", ["b", "a"])],
        ),
        ("kind", {"sort": "kind"}, ["custom", "input", "loop"]),
        ("kind", {"sort": "-kind"}, ["loop", "input", "custom"]),
        ("kind", {"sort": "-count"}, ["loop", "custom", "input"]),
        ("kind", {"sort": "share,-kind"}, ["loop", "custom", "input"]),
        ("kind", {"sort": "flops", "columns": "flops"}, ["loop", "input", "custom"]),
        ("note", {}, ["x", "y", None]),
        ("note", {"sort": "-note"}, ["y", "x", None]),
        ("size_bytes", {"sort": "size_bytes"}, [10, 20, 40]),
        ("flags", {}, [()]),
        ("kind", {"limit": 1}, ["input"]),
    ],
)
def test_order_of_groups(by: str, query: dict[str, Any], expected: list[object]) -> None:
    assert labels(group(by, **query).groups) == expected


def test_groups_are_cut_at_every_level() -> None:
    rows = (*ROWS, Sample(name="e", kind="input", size_bytes=1))
    grouping = group("kind,name", rows, limit=1)
    assert grouping.rest == Rest(2, Sum(40), is_smaller=True)
    assert grouping.groups[0].rest == Rest(1, Sum(1), is_smaller=True)
    assert group("kind", rows, limit=1, sort="kind").rest == Rest(2, Sum(61), is_smaller=False)


def test_rows_that_stand_for_many_count_as_many() -> None:
    rows = (Sample(count=48, size_bytes=1), Sample(count=2, size_bytes=1))
    assert group("kind", rows).total == Group(None, 50, (Sum(2),), 1.0)


def test_shares_without_a_size_are_shares_of_the_count() -> None:
    """What has a size without a total comes by it all the same."""
    shares = {"loop": 0.5, "custom": 0.25, "input": 0.25}
    for row_list, order in (
        (replace(SAMPLES, size=""), ["loop", "custom", "input"]),
        (replace(SAMPLES, has_total=False), ["input", "custom", "loop"]),
    ):
        grouping = select_rows(row_list, ROWS, Query(by="kind")).grouping
        assert grouping is not None
        assert [(each.label, each.share) for each in grouping.groups] == [
            (label, shares[label]) for label in order
        ]


def test_a_share_of_nothing_is_unknown() -> None:
    assert group("kind", (Sample(),)).groups[0].share is None
    assert group("kind", ()).groups == ()


MANY = st.lists(
    st.builds(
        Sample,
        name=st.sampled_from("abc"),
        kind=st.sampled_from(["loop", "input"]),
        size_bytes=st.integers(0, 9),
        flops=st.none() | st.integers(0, 9),
    ),
    max_size=12,
).map(tuple)


@given(MANY, st.integers(0, 5), st.booleans())
def test_nothing_is_lost(rows: tuple[Sample, ...], limit: int, is_folded: bool) -> None:
    selection = select(rows, limit=limit, is_folded=is_folded, columns="size_bytes,-count")
    shown = sum(row.size_bytes for row in selection.rows if isinstance(row, Sample))
    rest = selection.rest.size.value if selection.rest and selection.rest.size else 0
    assert shown + (rest or 0) == sum(row.size_bytes for row in rows)
    assert selection.totals == total(Sum(sum(row.size_bytes for row in rows)))


@given(MANY, st.sampled_from(["kind", "name", "kind,name", "flops,kind", "size_bytes"]))
def test_groups_add_up(rows: tuple[Sample, ...], by: str) -> None:
    grouping = group(by, rows, columns="size_bytes" if by != "size_bytes" else "flops")
    assert sum(each.count for each in grouping.groups) == len(rows)
    for each in grouping.groups:
        below = [inner.count for inner in each.groups]
        assert not below or sum(below) == each.count
    first = by.partition(",")[0]
    expected = Counter(getattr(row, first) for row in rows)
    assert {each.label: each.count for each in grouping.groups} == expected


@given(MANY, st.sampled_from(["name", "-size_bytes", "flops,-kind", "-flops"]))
def test_sorting_keeps_all_rows_and_is_stable(rows: tuple[Sample, ...], sort: str) -> None:
    once = select(rows, sort=sort).rows
    assert Counter(map(str, once)) == Counter(map(str, rows))
    assert list(select(tuple(once), sort=sort).rows) == list(once)  # type: ignore[arg-type]


def test_groups_show_what_they_are_sorted_by() -> None:
    rows = (Sample(kind="loop", known_sent_bytes=1), Sample(kind="input", known_sent_bytes=2))
    grouping = group("kind", rows, sort="-known_sent_bytes", columns="size_bytes")
    assert [field.name for field in grouping.summed] == ["size_bytes", "known_sent_bytes"]
    assert [(each.label, each.sums) for each in grouping.groups] == [
        ("input", (Sum(0), Sum(2))),
        ("loop", (Sum(0), Sum(1))),
    ]


def test_a_heading_of_two_columns_is_no_name() -> None:
    fields = [replace(FIELDS[0], name=name, heading="of both") for name in ("first", "second")]
    with pytest.raises(QueryError, match="first and second have this heading: name one of them"):
        settle_names("-of both", "--sort", fields)
    assert settle_names('x == "of both"', "--where", fields).text == 'x == "of both"'
