"""Which rows a command prints when its answer has several lists, or none."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from dump_files import TESTDATA
from msgspec.structs import replace
from sample_rows import SAMPLES, Sample

from hlotool.commands.collectives import collectives
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import find_target, render_document, settle_options
from hlotool.errors import QueryError, UsageError
from hlotool.table import Document, DocumentSpec
from hlotool.table.cells import Look
from hlotool.table.schema import make_schema

TRANSFORMER = TESTDATA / "dumps" / "gpu_h100" / "transformer_train"
SECOND = replace(SAMPLES, name="seconds", title="Seconds", limit=1, sort="name")
THIRD = replace(SAMPLES, name="thirds", is_optional=True, title="Thirds")
SPEC = DocumentSpec("two", "two lists", row_lists=(SAMPLES, SECOND, THIRD))
EMPTY = DocumentSpec("none", "no lists")
ROWS = (Sample("a", size_bytes=1), Sample("b", size_bytes=2), Sample("c", size_bytes=3))


def show(*shown: str, **options: Any) -> str:
    document = Document(SPEC, None, rows={"samples": ROWS, "seconds": ROWS}, shown=shown)
    options.setdefault("columns", "name")
    return "".join(render_document(document, RowOptions(**options), Look()))


def test_the_first_list_is_shown() -> None:
    assert show() == "name\n----\nc\nb\na\n"


def test_a_document_chooses_what_it_shows() -> None:
    assert show("seconds", "samples", columns="", limit=2) == (
        "Seconds\n"
        "name   kind  size\n"
        "-----  ----  ----\n"
        "a      loop   1 B\n"
        "… and 2 more (5 B)\n"
        "TOTAL         6 B\n"
        "\n"
        "name   kind  size\n"
        "-----  ----  ----\n"
        "c      loop   3 B\n"
        "b      loop   2 B\n"
        "… and 1 smaller (1 B)\n"
        "TOTAL         6 B\n"
    )


def test_whoever_chooses_rows_sees_their_list_alone() -> None:
    assert show("seconds", "samples", where="size_bytes > 2") == "name\n----\nc\n"
    assert show("seconds", columns="", sort="name").startswith("name   kind  size\n")


def test_a_list_is_named() -> None:
    assert show("samples", rows="seconds") == "name\n----\na\n… and 2 more (5 B)\n"
    assert show(rows="seconds", limit=0) == "name\n----\na\nb\nc\n"


def test_csv_and_json_lines_print_one_list() -> None:
    assert show(format="csv", sort="name") == "name\na\nb\nc\n"
    assert show(format="csv", rows="seconds", sort="-name", limit=1) == "name\nc\n"
    assert show(format="jsonl", rows="seconds", limit=1) == '{"name": "a"}\n'


def test_json_holds_all_lists() -> None:
    made = json.loads(show(format="json", columns="", rows="seconds", where="size_bytes == 2"))
    assert [row["name"] for row in made["samples"]] == ["c", "b", "a"]
    assert [row["name"] for row in made["seconds"]] == ["b"]
    assert "thirds" not in made
    jsonschema.Draft202012Validator(make_schema(SPEC)).validate(made)


def test_json_is_sorted_as_tables_are() -> None:
    made = json.loads(show(format="json", columns="", rows="seconds", sort="-name"))
    assert [row["name"] for row in made["samples"]] == ["c", "b", "a"]
    assert [row["name"] for row in made["seconds"]] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "second"}, "--rows: there is no row list 'second'; did you mean seconds?"),
        ({"rows": "thirds"}, "--rows thirds: this answer has no such list."),
    ],
)
def test_lists_that_are_not_there(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        show(**options)
    assert str(caught.value) == message


def test_an_answer_without_rows() -> None:
    document = Document(EMPTY, None)
    assert list(render_document(document, RowOptions(), Look())) == ["\n"]
    assert json.loads("".join(render_document(document, RowOptions(format="json"), Look())))[
        "schema"
    ]
    for options in (RowOptions(format="csv"), RowOptions(where="a > 1")):
        with pytest.raises(UsageError, match="no rows"):
            render_document(document, options, Look())


def test_options_must_fit_one_of_the_documents() -> None:
    options = RowOptions(where="size_bytes > 1")
    settle_options([EMPTY, SPEC], options)
    settle_options([], options)
    with pytest.raises(UsageError, match="no rows"):
        settle_options([EMPTY], options)
    with pytest.raises(QueryError, match="no field 'siz'"):
        settle_options([SPEC, EMPTY], RowOptions(where="siz > 1"))


def test_the_target_of_row_options() -> None:
    assert find_target(SPEC, RowOptions()) is SAMPLES
    assert find_target(SPEC, RowOptions(rows="thirds")) is THIRD
    assert find_target(EMPTY, RowOptions()) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--sort", "-exposed_seconds"),
            "it is known with --chip or --bandwidth.\n",
        ),
        (
            ("--sort", "name,measured_seconds", "--json"),
            "measured_seconds has no effect: no row has it; it is known from a profile.\n",
        ),
        (("--sort", "-exposed_seconds", "--chip", "h100"), ""),
        (("--sort", "-sent_bytes_per_step"), ""),
        (
            ("--where", "sent_bytes > 0 and exposed_seconds > 1us", "--by", "kind"),
            "no row has exposed_seconds; it is known with --chip or --bandwidth.\n",
        ),
        (("--where", "measured_seconds != null", "--json"), "it is known from a profile.\n"),
        (("--where", "exposed_seconds == null"), ""),
        (("--where", "sent_bytes < 0"), ""),
        (("--where", "exposed_seconds > 9s", "--chip", "h100"), ""),
    ],
)
def test_where_and_sort_by_what_no_row_tells_are_noted(options: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(collectives, [str(TRANSFORMER), *options])
    assert result.exit_code == 0
    assert result.stderr.endswith(said)
    assert bool(result.stderr) == bool(said)
