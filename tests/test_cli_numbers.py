"""Numbers that no figure has, wherever a user can write one: each gives a sentence, or counts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from hlotool.analysis.cost.chips import find_chip
from hlotool.check.config import read_config
from hlotool.cli import run
from hlotool.dump.saved import read_saved
from hlotool.errors import InputError, UsageError
from hlotool.text import Source

DUMP = "m.txt"
MODULE = """HloModule jit_train_step, is_scheduled=true, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

half {
  p = f32[64,64]{1,0} parameter(0)
  ROOT n = f32[64,64]{1,0} negate(p)
}

ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  q = f32[64,64]{1,0} fusion(p), kind=kLoop, calls=half
  d = f32[64,64]{1,0} dot(q, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64]{1,0} all-reduce(d), channel_id=1, replica_groups={{0,1,2,3}}, to_apply=add
}
"""
MANY = "9" * 5000
LARGE = "9" * 4000
HUGE = "9" * 299  # the largest that is read
DEEP = "[" * 100_000
FORMS = ("table", "json")
ALL = (MANY, LARGE, HUGE, "1e400", "1e308", "1e300", "inf", "nan", "-1", "0", "1e-300")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(DUMP).write_text(MODULE, encoding="utf-8")


def expect_answer_or_sentence(capsys: pytest.CaptureFixture[str], *args: str) -> int:
    """Run the program; whatever it says is no internal error."""
    code = run(list(args))
    shown = capsys.readouterr()
    assert code in {0, 1, 2, 3, 4}, shown.err
    assert "NaN" not in shown.out
    assert "Infinity" not in shown.out
    assert "set_int_max_str_digits" not in shown.err
    return code


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1e308 * 1.5 >= 10%", 2),
        ("1e308TiB >= 10%", 2),
        (f"{MANY} >= 10%", 2),
        (f"{HUGE} >= 10%", 0),
        (f"{HUGE} * {HUGE} >= 10%", 1),  # unknown, and so not kept
        ("1e299 * 1e299 >= 10%", 1),
        ("cost.flops_per_step / 1e-300 >= 0", 1),
        (f"cost.flops_per_step <= {HUGE}", 0),
        ("buffers.estimated.peak_bytes <= 1e299", 0),
        ("0 / 0 >= 10%", 1),
    ],
)
def test_budgets(expression: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    for form in FORMS:
        args = ("check", DUMP, "--budget", expression, "--format", form)
        assert expect_answer_or_sentence(capsys, *args) == code


@pytest.mark.parametrize("number", [*ALL, "1e308GiB", f"{HUGE}GiB", DEEP, "[[budget]]"])
def test_configurations(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no limit is refused; what is one is judged, all of them per step."""
    path, accepted = Path("hlotool.toml"), ""
    for key in ("max", "min", "max_increase", "max_increase_abs"):
        for written in (number, f"'{number}'"):
            text = f"[[budget]]\nmetric = 'cost.flops_per_step'\n{key} = {written}\n"
            path.write_text(text, encoding="utf-8")
            with suppress(UsageError):
                read_config(str(path))
                accepted += text
    if accepted:
        path.write_text(accepted, encoding="utf-8")
    expect_answer_or_sentence(capsys, "check", DUMP, "--baseline", DUMP)


@pytest.mark.parametrize("number", ["inf", "nan"])
def test_a_limit_is_a_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"[[budget]]\nmetric = 'cost.flops_per_step'\nmax = {number}\n"
    Path("hlotool.toml").write_text(text, encoding="utf-8")
    assert run(["check", DUMP]) == 2
    message = f"hlotool: hlotool.toml:1: max must be a number, not {number}.\n"
    assert capsys.readouterr().err == message


CHIP_KEYS = (
    "hbm_bytes",
    "hbm_bytes_per_second",
    "flops_per_second",
    "link_bytes_per_second",
    "link_latency_seconds",
    "vmem_bytes_per_second",
    "devices_per_chip",
)


def write_chip(key: str, number: str) -> tuple[str, ...]:
    """Write a file of a chip with one figure given; return the options that name it."""
    figures = {"hbm_bytes": "1", "hbm_bytes_per_second": "1", "flops_per_second": "1"}
    figures |= {"link_bytes_per_second": "1", key: number}
    lines = [f"{name} = {value}\n" for name, value in figures.items()]
    Path("chips.toml").write_text("[mine]\n" + "".join(lines), encoding="utf-8")
    return "--chip", "mine", "--chip-file", "chips.toml"


@pytest.mark.parametrize("number", [*ALL, "1e29", "1e-29", "true", "'x'", DEEP])
def test_chip_files(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no figure of a chip is refused; with what is one there is an answer."""
    for key in CHIP_KEYS:
        options = write_chip(key, number)
        try:
            find_chip("mine", "chips.toml")
        except UsageError:
            continue
        for command in ("fusions", "collectives"):
            for form in FORMS:
                args = (command, DUMP, *options, "--format", form)
                assert expect_answer_or_sentence(capsys, *args) == 0, key


def test_a_refused_chip_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for number in ("nan", MANY, DEEP):
        assert expect_answer_or_sentence(capsys, "fusions", DUMP, *write_chip("hbm_bytes", number))


@pytest.mark.parametrize(
    "number", [*ALL, "Infinity", "-Infinity", "NaN", "-5", "1.5", '"x"', "null", DEEP]
)
def test_saved_documents(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no figure is refused; with what is one there is an answer."""
    cost = f'"cost": {{"flops_per_step": {number}, "total_flops_per_step": {number}}}'
    module = f'"module": {{"name": "jit_train_step", "instruction_count": {number}}}'
    summary = f'{{"schema": "hlotool/summary/v2", {module}, {cost}}}'
    baseline = f'{{"schema": "hlotool/baseline/v2", "modules": {{"jit_train_step": {{{cost}}}}}}}'
    budget = "[[budget]]\nmetric = 'cost.flops_per_step'\nmax_increase = '2%'\n"
    Path("hlotool.toml").write_text(budget, encoding="utf-8")
    for document in (summary, baseline):
        try:
            read_saved(Source(document, "saved.json"))
        except InputError:
            continue
        Path("saved.json").write_text(document, encoding="utf-8")
        for form in FORMS:
            options = ("--format", form)
            expect_answer_or_sentence(capsys, "diff", "saved.json", DUMP, *options)
            expect_answer_or_sentence(capsys, "check", DUMP, "--baseline", "saved.json", *options)


@pytest.mark.parametrize("number", [MANY, "NaN", DEEP])
def test_a_refused_document_is_a_sentence(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = f'{{"schema": "hlotool/summary/v2", "cost": {{"flops_per_step": {number}}}}}'
    Path("saved.json").write_text(document, encoding="utf-8")
    assert expect_answer_or_sentence(capsys, "diff", "saved.json", DUMP) == 3


@pytest.mark.parametrize("number", [*ALL, "1e99"])
def test_options(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    expect_answer_or_sentence(capsys, "fusions", DUMP, "--where", f"flops >= {number}")
    expect_answer_or_sentence(capsys, "summary", DUMP, "-n", number)
    link = ("collectives", DUMP, "--bandwidth")
    for unit in ("GB/s", "B/s"):
        expect_answer_or_sentence(capsys, *link, f"{number}{unit}", "--json")
        expect_answer_or_sentence(capsys, *link, "1B/s", "--latency", f"{number}s")
