"""What rules say of custom calls, and the census of them; the first lines of a case say both.

Lines with `//|` are an hlotool.toml. Each line with `//=` holds figures of one row of the census,
in its order; the one with `"cost"` holds those of the whole module.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA
from msgspec.json import encode
from tables import TableCase, find_cases, read_case

from hlotool.api import load
from hlotool.check.config import read_config
from hlotool.check.rule import compile_call_costs
from hlotool.cli import run
from hlotool.commands import COMMANDS as COMMAND_NAMES
from hlotool.errors import HlotoolError, QueryError, UsageError
from hlotool.program.program import Program

CASES = find_cases(TESTDATA / "custom_calls")
KERNEL = """
[[custom_call]]
target = "kernel"
"""
# What a rule says, and where and why it is refused.
REFUSED = {
    'flops = "operand0_byte"': (
        "hlotool.toml:4: flops: there is no field 'operand0_byte' (column 1)\n"
        "  |\n1 | operand0_byte\n  | ^^^^^^^^^^^^^\n"
    ),
    'bytes = "2 * (operand_bytes"': "hlotool.toml:4: bytes: ",
    'flops = "operand0_dim8"': "hlotool.toml:4: flops: there is no field 'operand0_dim8'",
    'flops = "result16_bytes"': "hlotool.toml:4: flops: there is no field 'result16_bytes'",
    'flops = "operand_bytes > 3"': "hlotool.toml:4: flops: expected a number (column 1)",
    'flops = "fusions.count()"': "hlotool.toml:4: flops: count() does not work on rows",
}
# The same for keys, which are read before any expression.
MISFITS = {
    KERNEL: "hlotool.toml:2: a custom_call needs flops, bytes or both.",
    f"{KERNEL}flops = true": "hlotool.toml:4: flops: expected `int | float | str`, got `bool`.",
    f"{KERNEL}flop = 3": (
        "hlotool.toml:4: there is no key 'flop' of a custom_call; did you mean flops?"
    ),
    "\n\n[[custom_call]]\nflops = 1": ("hlotool.toml:3: a custom_call needs a target."),
    "custom_call = [1]": (
        "hlotool.toml: custom calls are written as [[custom_call]], each a table of its own."
    ),
}


def read(case: TableCase, folder: Path) -> tuple[Program, list[dict[str, Any]]]:
    lines = case.text.splitlines()
    config = folder / "hlotool.toml"
    config.write_text("\n".join(one[4:] for one in lines if one.startswith("//|")), "utf-8")
    expected = [json.loads(one[4:]) for one in lines if one.startswith("//= ")]
    assert expected
    return load(case.text, config=config).program, expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_census(case: TableCase, tmp_path: Path) -> None:
    program, expected = read(case, tmp_path)
    found: list[dict[str, Any]] = [json.loads(encode(row)) for row in program.custom_calls]
    rows = [one for one in expected if "cost" not in one]
    known = [{key: row[key] for key in wanted} for row, wanted in zip(found, rows, strict=False)]
    assert known == rows
    assert len(found) == len(rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_module_adds_them_up(case: TableCase, tmp_path: Path) -> None:
    program, expected = read(case, tmp_path)
    for one in expected:
        if one.pop("cost", False):
            assert {key: getattr(program.cost, key) for key in one} == one
    hidden = sum(row.known_flops_per_step for row in program.custom_calls)
    assert hidden == program.cost.custom_call_flops_per_step


def write(folder: Path, text: str) -> str:
    path = folder / "hlotool.toml"
    path.write_text(text, "utf-8")
    return str(path)


def refuse(text: str, folder: Path) -> HlotoolError:
    with pytest.raises(HlotoolError) as caught:
        compile_call_costs(read_config(write(folder, text)))
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(("said", "message"), REFUSED.items(), ids=REFUSED)
def test_a_wrong_expression_has_a_caret(said: str, message: str, tmp_path: Path) -> None:
    error = refuse(f"{KERNEL}{said}", tmp_path)
    assert isinstance(error, QueryError)
    shown = str(error).removeprefix(f"{tmp_path}/")
    assert shown.startswith(message)
    assert "^" in shown.splitlines()[3]


@pytest.mark.parametrize(("text", "message"), MISFITS.items())
def test_a_key_that_does_not_fit(text: str, message: str, tmp_path: Path) -> None:
    error = refuse(text, tmp_path)
    assert isinstance(error, UsageError)
    assert str(error).removeprefix(f"{tmp_path}/") == message


def test_a_target_that_is_no_pattern(tmp_path: Path) -> None:
    error = refuse('[[custom_call]]\ntarget = "("\nflops = 1', tmp_path)
    assert str(error).startswith(
        f"{tmp_path}/hlotool.toml:2: target '(' is not a regular expression: missing )"
    )


def test_python_looks_for_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, f"{KERNEL}flops = 1")
    monkeypatch.chdir(tmp_path)
    text = read_case(TESTDATA / "custom_calls/calls.cases/rules").text
    assert load(text).summary().cost.custom_call_flops_per_step == 0
    found = load(text, config="hlotool.toml").summary().cost
    assert found.custom_call_flops_per_step == 4


RULES = """
[[custom_call]]
target = "kernel"
flops = "operand0_bytes"
"""
MODULE = """HloModule {name}, is_scheduled=true
ENTRY main {{
  a = f32[{size}] parameter(0)
  ROOT c = f32[{size}] custom-call(a), custom_call_target="kernel"
}}
"""
# A command about the folder `few` or the file `one` of it, and where in its JSON the flops of a
# call stand that reads 40 bytes. `many` has the same modules, whose calls read 80 bytes.
COMMANDS = {
    "summary one": ("cost", "custom_call_flops_per_step"),
    "summary few": ("modules", 0, "total_flops_per_step"),
    "fusions one": ("custom_calls", 0, "flops_per_step"),
    "check one --budget cost.total_flops_per_step>=0": ("rules", 0, "actual"),
    "diff one many/a.txt --rows metrics": ("metrics", "cost.total_flops_per_step", "delta"),
    "diff few many": ("modules", 0, "delta_flops"),
}


@pytest.mark.parametrize("config", ["hlotool.toml", "named.toml"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_them(
    command: str,
    config: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, size in (("few", 10), ("many", 20)):
        Path(folder).mkdir()
        for name in ("a", "b"):
            Path(folder, f"{name}.txt").write_text(MODULE.format(name=name, size=size), "utf-8")
    found = []
    named = [] if config == "hlotool.toml" else ["--config", config]
    for rules in ("", RULES):
        Path("hlotool.toml").write_text("", "utf-8")
        Path(config).write_text(rules, "utf-8")
        assert run([*command.replace(" one", " few/a.txt").split(), "--json", *named]) == 0
        value = json.loads(capsys.readouterr().out)
        for step in COMMANDS[command]:
            if "." in str(step):
                value = {one["metric"]: one for one in value}
            value = value[step]
        found.append(value)
    assert found in ([0, 40], [None, 40])


def test_a_budget_of_another_command_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(MODULE.format(name="a", size=10), "utf-8")
    command = ["fusions", "a.txt", "--budget", "fusions.custom_calls.sum(flops_per_step) == 40"]
    assert run(command) != 0
    write(tmp_path, RULES)
    assert run(command) == 0


# What no chip, and no rule, changes anything of takes none.
@pytest.mark.parametrize(
    "command", sorted({*COMMAND_NAMES} - {"explain", "fields", "mcp", "passes", "schema"})
)
def test_every_command_takes_a_configuration_by_name(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "named.toml"
    config.write_text('chip = "abacus"', "utf-8")
    text = tmp_path / "a.txt"
    text.write_text(MODULE.format(name="a", size=10), "utf-8")
    others = {
        "diff": [str(text)],
        "fit": [str(text)],
        "show": ["x"],
        "report": ["-o", str(tmp_path / "page.html")],
    }
    asked = [command, str(text), *others.get(command, ())]
    assert run([*asked, "--config", str(config)]) == 2
    assert "abacus" in capsys.readouterr().err


def test_a_broken_configuration_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, RULES.replace("operand0_bytes", "operand0"))
    for command in (["summary", "a.txt"], ["diff", "a.txt", "b.txt"]):
        assert run(command) == 2
        assert "hlotool.toml:4: flops: there is no field" in capsys.readouterr().err
