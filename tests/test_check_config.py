"""Configuration files: where they are found, what they say, and every refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import TableCase, find_cases

from hlotool.check.config import (
    Budget,
    Config,
    TableLines,
    find_config,
    read_config,
)
from hlotool.check.rule import compile_call_costs, compile_rule
from hlotool.errors import QueryError, UsageError

BAD = find_cases(Path(__file__).parents[1] / "testdata" / "check" / "bad.cases")
BUDGET = """
[[budget]]
metric = "buffers.temp_bytes"
max = "8GiB"
max_increase_abs = 1024
"""
READ = Budget(
    name="buffers.temp_bytes",
    metric="buffers.temp_bytes",
    max="8GiB",
    max_increase_abs=1024,
    lines=TableLines(2, {"metric": 3, "max": 4, "max_increase_abs": 5}),
)


def test_there_are_refusals() -> None:
    assert len(BAD) > 10


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_refusals_name_the_line(case: TableCase, tmp_path: Path) -> None:
    copy = tmp_path / "bad.toml"
    copy.write_text(case.text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_config(str(copy))
    message = case.text.splitlines()[0].removeprefix("# ")
    assert str(caught.value).removeprefix(f"{tmp_path}/") == message
    assert caught.value.exit_code == 2


def test_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(UsageError, match="byte 5 is not UTF-8"):
        find_config(str(tmp_path))


def test_a_number_without_end(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_text(f"{BUDGET}min = {'9' * 5000}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"hlotool\.toml: a number in it is too large\.$"):
        find_config(str(tmp_path))


def test_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool.hlotool = 3", encoding="utf-8")
    with pytest.raises(UsageError, match=r"\[tool.hlotool\] must be a table"):
        find_config(str(tmp_path))


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_text(BUDGET * 2, encoding="utf-8")
    names = [one.name for one in find_config(str(tmp_path)).budgets]
    assert names == ["buffers.temp_bytes", "buffers.temp_bytes (2)"]


def test_a_budget(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_text(BUDGET, encoding="utf-8")
    found = find_config(str(tmp_path))
    assert found.budgets == (READ,)


def test_hlotool_toml_wins_over_pyproject(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_text('baseline = "a.json"', encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.hlotool]\n", encoding="utf-8")
    found = find_config(str(tmp_path))
    assert found.path == str(tmp_path / "hlotool.toml")
    assert found.baseline_path == str(tmp_path / "a.json")


def test_pyproject(tmp_path: Path) -> None:
    text = BUDGET.replace("[[budget]]", "[[tool.hlotool.budget]]")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert find_config(str(tmp_path)).budgets == (READ,)


def test_directories_above_are_searched_up_to_the_repository(tmp_path: Path) -> None:
    (tmp_path / "hlotool.toml").write_text(BUDGET, encoding="utf-8")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert find_config(str(below)).budgets == (READ,)
    (tmp_path / "a" / ".git").mkdir()
    assert find_config(str(below)) == Config()


def test_a_named_file_must_speak_of_hlotool(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"it has no \[tool.hlotool\] table"):
        read_config(str(tmp_path / "pyproject.toml"))


def test_arrays_without_end(tmp_path: Path) -> None:
    path = tmp_path / "hlotool.toml"
    path.write_text(f"a = {'[' * 100_000}")
    with pytest.raises(UsageError, match="the tables are nested too deeply"):
        read_config(str(path))


def test_mistakes_are_placed_at_their_keys(tmp_path: Path) -> None:
    text = """chip = "h100"
[[budget]]
message = '''
max = 1
[[budget]]
'''
  "metric" = "buffers.temp_byte"
max = "1 GB"
[[budget]] # the second
metric = "buffers.temp_bytes"

max="1 Gib"
[[custom_call]]
target = "x"
# bytes = 3
flops = "one"
"""
    path = tmp_path / "hlotool.toml"
    path.write_text(text, encoding="utf-8")
    found = read_config(str(path))
    first, second = found.budgets
    assert (first.lines.line, second.lines.line) == (2, 9)
    with pytest.raises(QueryError, match=r"^x\.toml:7: metric: there is no metric"):
        compile_rule(first, "x.toml")
    with pytest.raises(QueryError, match=r"^x\.toml:12: max: expected"):
        compile_rule(second, "x.toml")
    with pytest.raises(QueryError, match=r"hlotool\.toml:16: flops: "):
        compile_call_costs(found)


def test_keys_of_pyproject_are_found_in_their_table(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[project]\nstage = 1\n[tool.hlotool]\nstage = 2\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"pyproject\.toml:4: stage"):
        read_config(str(path))
