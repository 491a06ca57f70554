"""JSON, JSON Lines and CSV: exact figures under their declared names."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from sample_rows import FIELDS, SAMPLES, Sample

from hlotool.table import (
    BYTES,
    NUMBER,
    RATIO,
    Block,
    Document,
    DocumentSpec,
    InputPaths,
    Selection,
    figure,
)
from hlotool.table.formats import render_csv, render_json, render_jsonl, render_tsv
from hlotool.table.schema import make_schema
from hlotool.table.select import Query, select_rows
from hlotool.text import escape


class Peak(Struct, frozen=True):
    """A nested record."""

    position: Annotated[int | None, figure("where", NUMBER)] = 7


class Memory(Struct, frozen=True):
    """A record of scalars with a block inside."""

    size_bytes: Annotated[int, figure("size", BYTES)] = 1 << 70
    ratio: Annotated[float | None, figure("ratio", RATIO)] = math.nan
    peak: Peak | None = None


MEMORY = Block(
    "memory",
    Memory,
    "memory",
    blocks=(Block("peak", Peak, "the peak", is_nullable=True),),
    is_nullable=True,
)
EXTRA = Block("extra", Peak, "with an option", is_optional=True)
OTHER = replace(SAMPLES, name="others", is_optional=True)
SPEC = DocumentSpec(
    "sample",
    "a sample",
    blocks=(MEMORY, EXTRA),
    row_lists=(SAMPLES, OTHER),
    scalars=Block("top", Peak, "at the top"),
    version=3,
)
ROWS = (
    Sample(name="a", size_bytes=10, flops=None, flags=("x", "y"), is_async=None),
    Sample(name='b,"\n', size_bytes=30, ratio=math.inf, kind="input"),
    Sample(name="c\udcff", size_bytes=2**63, note="ü"),
)
VALIDATOR = jsonschema.Draft202012Validator(make_schema(SPEC))


def select(rows: tuple[Sample, ...] = ROWS, **query: Any) -> Selection:
    return select_rows(SAMPLES, rows, Query(is_wide=True, **query))


def document(rows: tuple[Sample, ...] = ROWS, others: Any = None, **blocks: Any) -> Document:
    lists = {"samples": rows} | ({} if others is None else {"others": others})
    held = {"memory": Memory()} | blocks
    return Document(SPEC, InputPaths("dump.txt"), rows=lists, blocks=held, scalars=Peak())


def selections(answer: Document, chosen: Selection | None = None) -> list[Selection]:
    return [
        chosen or select_rows(rows, answer.rows[rows.name], Query(is_wide=True))
        if rows is SAMPLES
        else select_rows(rows, answer.rows[rows.name], Query(is_wide=True))
        for rows in answer.present()
    ]


def read(answer: Document, chosen: Selection | None = None) -> dict[str, Any]:
    text = "".join(render_json(answer, selections(answer, chosen), "1.2.3"))
    made: dict[str, Any] = json.loads(text)
    others, _, _ = json.dumps(made, indent=2).partition('  "units": ')
    assert text == f'{others}  "units": {json.dumps(made["units"])},\n  "next": []\n}}\n'
    VALIDATOR.validate(made)
    return made


def test_document() -> None:
    made = read(document())
    assert list(made) == [
        "schema",
        "hlotool_version",
        "input",
        "position",
        "memory",
        "samples",
        "units",
        "next",
    ]
    assert made["schema"] == "hlotool/sample/v3"
    assert made["hlotool_version"] == "1.2.3"
    assert made["input"] == {
        "path": "dump.txt",
        "module_path": None,
        "buffers_path": None,
        "live_range_path": None,
        "mesh_path": None,
    }
    assert made["position"] == 7
    assert made["memory"] == {"size_bytes": 1 << 70, "ratio": None, "peak": None}


def test_units() -> None:
    units = read(document())["units"]
    shown = {name: units[name] for name in ("size_bytes", "ratio", "position", "flops")}
    assert shown == {
        "size_bytes": "bytes",
        "ratio": "ratio",
        "position": "number",
        "flops": "flops",
    }
    chosen = read(document(memory=None), select(columns="name,flops"))["units"]
    assert chosen == {"flops": "flops", "position": "number"}


def test_rows() -> None:
    rows = read(document(), select(sort="name"))["samples"]
    assert [row["name"] for row in rows] == [row.name for row in ROWS]
    assert list(rows[0]) == [field.name for field in FIELDS]
    assert rows[0]["class"] == "temp"
    assert rows[0]["flags"] == ["x", "y"]
    assert rows[0]["is_async"] is None
    assert rows[1]["ratio"] is None
    assert rows[2]["size_bytes"] == 2**63


def test_optional_parts() -> None:
    made = read(document((), ROWS, memory=Memory(peak=Peak(None)), extra=Peak()))
    assert made["memory"]["peak"] == {"position": None}
    assert made["extra"] == {"position": 7}
    assert (len(made["samples"]), len(made["others"])) == (0, 3)
    assert read(document(memory=None))["memory"] is None


def test_a_selection_replaces_its_list_only() -> None:
    answer = document(others=ROWS)
    made = read(answer, select(where="size_bytes > 10", sort="size_bytes"))
    assert [row["size_bytes"] for row in made["samples"]] == [30, 2**63]
    assert len(made["others"]) == 3
    assert "rows_total" not in made
    assert "columns" not in made


@pytest.mark.parametrize(("limit", "omitted"), [(1, 2), (2, 1), (3, 0), (0, 0)])
def test_a_limit_is_told(limit: int, omitted: int) -> None:
    made = read(document(), select(limit=limit))
    assert (made["rows_total"], made["rows_omitted"]) == (3, omitted)
    assert len(made["samples"]) == 3 - omitted


def test_chosen_columns_are_told() -> None:
    made = read(document(), select(columns="size_bytes,name", limit=1))
    assert made["columns"] == ["size_bytes", "name"]
    assert made["samples"] == [{"size_bytes": 2**63, "name": "c\udcff"}]


def test_groups() -> None:
    made = read(document(), select(by="kind,name", columns="size_bytes,flops", limit=1))
    assert made["grouped_by"] == ["kind", "name"]
    assert "samples" not in made
    assert (made["rows_total"], made["rows_omitted"]) == (2, 1)
    assert made["groups"] == [
        {
            "kind": "loop",
            "count": 2,
            "size_bytes": 2**63 + 10,
            "flops": 0,
            "share": 1.0,
            "is_lower_bound": True,
            "is_upper_bound": False,
            "groups": [
                {
                    "name": "c\udcff",
                    "count": 1,
                    "size_bytes": 2**63,
                    "flops": 0,
                    "share": 1.0,
                    "is_lower_bound": False,
                    "is_upper_bound": False,
                }
            ],
        }
    ]


def test_json_lines() -> None:
    lines = list(render_jsonl(select(columns="name,flags,flops", sort="name")))
    assert lines[0] == '{"name": "a", "flags": ["x", "y"], "flops": null}\n'
    assert [json.loads(line)["name"] for line in lines] == [row.name for row in ROWS]
    assert list(render_jsonl(select(()))) == []


def test_csv() -> None:
    text = "".join(
        render_csv(select(columns="name,size_bytes,flops,flags,is_async,ratio", sort="name"))
    )
    assert text == (
        "name,size_bytes,flops,flags,is_async,ratio\n"
        'a,10,,"[""x"", ""y""]",,1.0\n'
        '"b,""\\n",30,0,[],false,\n'
        "c\\xff,9223372036854775808,0,[],false,1.0\n"
    )
    assert list(render_csv(select((), columns="name"))) == ["name\n"]


def test_groups_are_flattened() -> None:
    selection = select(by="kind,name", columns="size_bytes", sort="kind,name")
    rows = list(csv.DictReader(io.StringIO("".join(render_csv(selection)))))
    assert [(row["kind"], row["size_bytes"]) for row in rows] == [
        ("input", "30"),
        ("loop", "10"),
        ("loop", str(2**63)),
    ]
    assert list(rows[0]) == [
        *("kind", "name", "count", "size_bytes", "share", "is_lower_bound", "is_upper_bound")
    ]
    lines = [json.loads(line) for line in render_jsonl(selection)]
    assert [(line["kind"], line["size_bytes"]) for line in lines] == [
        ("input", 30),
        ("loop", 10),
        ("loop", 2**63),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "hlotool/sample/v4"},
        {"position": "7"},
        {"memory": {"size_bytes": 1.5, "ratio": None, "peak": None}},
        {"memory": {"size_bytes": 1}},
        {"samples": [{"name": "a"}]},
        {"samples": None},
        {"input": {"path": None}},
        {"groups": [{}]},
    ],
)
def test_the_schema_refuses(change: dict[str, object]) -> None:
    made = read(document())
    assert list(VALIDATOR.iter_errors(made | change))


@pytest.mark.parametrize("key", ["schema", "hlotool_version", "input", "position", "samples"])
def test_the_schema_misses(key: str) -> None:
    made = read(document())
    del made[key]
    assert list(VALIDATOR.iter_errors(made))


def test_an_enumeration_is_closed() -> None:
    answer = document((Sample(kind="other"),))  # type: ignore[arg-type]
    made = json.loads("".join(render_json(answer, selections(answer), "1")))
    assert [error.message for error in VALIDATOR.iter_errors(made)] == [
        "'other' is not one of ['custom', 'input', 'loop']"
    ]


SAMPLE_ROWS = st.lists(
    st.builds(
        Sample,
        name=st.text(),
        flops=st.none() | st.integers(),
        ratio=st.none() | st.floats(),
        flags=st.lists(st.text(), max_size=2).map(tuple),
        note=st.none() | st.text(),
    ),
    max_size=3,
).map(tuple)


class _Counted(Sequence[Sample]):
    """A million rows, made when they are asked for."""

    asked = 0

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, number: Any) -> Any:
        self.asked = max(self.asked, number)
        return Sample(name=str(number))


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_rows_are_made_one_at_a_time(form: str) -> None:
    rows = _Counted()
    chosen = replace(select(), rows=rows)
    if form == "json":
        pieces = render_json(document(), [chosen], "1")
    else:
        pieces = render_jsonl(chosen) if form == "jsonl" else render_csv(chosen)
    assert len([next(pieces) for _ in range(50)]) == 50
    assert 20 < rows.asked <= 50


@given(SAMPLE_ROWS)
def test_every_format_holds_the_same_rows(rows: tuple[Sample, ...]) -> None:
    selection = select(rows, sort="position")
    made = read(document(rows), selection)["samples"]
    assert [json.loads(line) for line in render_jsonl(selection)] == made
    table = list(csv.DictReader(io.StringIO("".join(render_csv(selection)), newline="")))
    assert [row["flops"] for row in table] == [
        "" if row["flops"] is None else str(row["flops"]) for row in made
    ]
    names = [re.sub("^'(?='*[=+@\uff1d\uff0b\uff0d\uff20-])", "", row["name"]) for row in table]
    assert names == [escape(row["name"]) for row in made]


def test_tsv_has_a_line_a_row() -> None:
    rows = (Sample("a\tb\nc", flops=None, flags=("x", "y")), Sample("=cmd()"))
    assert list(render_tsv(select(rows, columns="name,flops,flags", sort="-name"))) == [
        "name\tflops\tflags\n",
        'a\\tb\\nc\t\t["x", "y"]\n',
        "'=cmd()\t0\t[]\n",
    ]
