"""Out-of-memory messages: the cases of testdata/out_of_memory, and what each says.

A text is a message, or a log with some; `answer` holds what of the answer is no null.
--update-golden rewrites the latter.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
import tomllib
from pathlib import Path

import pytest
from _pytest.capture import CaptureResult
from accuracy.messages import MESSAGES as JUDGE
from accuracy.messages import list_misses
from each import for_each
from linear import assert_linear
from tables import TableCase, find_cases, hold_answer

from hlotool.analysis.memory.told_twice import contradict_message
from hlotool.cli import run
from hlotool.dump.find import resolve_inputs
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.errors import InputError
from hlotool.oom.message import parse_out_of_memory
from hlotool.oom.wordings import OutOfMemory, holds_message, parse_size
from hlotool.text import Source

ROOT = Path(__file__).parent.parent
MESSAGES = ROOT / "testdata" / "out_of_memory"
CASES = find_cases(MESSAGES)
MODULE = "HloModule m\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"
HEAD = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1024 bytes.\n"
LOAD = (
    "Error loading program 'jit_train_step': Attempting to reserve {0} at the bottom of memory. "
    "That was not possible. There are {1} free, 0B reserved, and {1} reservable.\n"
)


def show_beside(
    text: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *words: str,
) -> CaptureResult[str]:
    """Return what `buffers` says about a message beside dumps for TPU v5e."""
    monkeypatch.chdir(ROOT)
    log = folder / "log.txt"
    log.write_text(text, encoding="utf-8")
    assert run(["buffers", str(log), "--dump", "testdata/dumps/tpu_v5e", *words]) == 0
    return capsys.readouterr()


def write_text(case: TableCase, folder: Path) -> Path:
    path = folder / f"{case.name}.txt"
    path.write_text(case.text, encoding="utf-8")
    return path


def parse(text: str) -> OutOfMemory:
    return parse_out_of_memory(Source(text))


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["buffers", *words, "--json"]) == 0
    made: dict[str, object] = json.loads(capsys.readouterr().out)
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(
    case: TableCase,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_text(case, tmp_path)
    made = answer(capsys, str(path))
    assert made.pop("schema") == "hlotool/out-of-memory/v2"
    del made["hlotool_version"], made["input"], made["units"], made["next"]
    hold_answer(case, made, is_update=request.config.getoption("--update-golden"))


@pytest.mark.parametrize(
    ("text", "size_bytes", "slack_bytes"),
    [
        ("0B", 0, 0),
        ("4B", 4, 0),
        ("427182260224 bytes", 427182260224, 0),
        ("4,237,689,856 bytes", 4237689856, 0),
        ("63.80G", 68504728371, 5368709),
        ("12.50GiB", 13421772800, 5368709),
        ("2.00 MiB", 2097152, 5242),
        ("1.7K", 1740, 51),
        ("-2.55G", -2738041651, 5368709),
        ("3.47E", 4000637620985759006, 5764607523034234),
    ],
)
def test_sizes(text: str, size_bytes: int, slack_bytes: int) -> None:
    size = parse_size(text)
    assert (size.bytes, size.slack_bytes) == (size_bytes, slack_bytes)


def test_the_last_message_counts_and_the_others_are_counted() -> None:
    other = HEAD.replace("1024", "4096")
    found = parse(f"step 1\n{other}step 2\n{HEAD}{HEAD}step 3\n")
    assert found.requested is not None
    assert (found.requested.bytes, found.message_count) == (1024, 2)


def test_what_is_no_failure_is_no_message() -> None:
    line = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB with freed_by_count=0."
        " The caller indicates that this is not a failure, but this may mean less speed."
    )
    assert not holds_message(line)
    with pytest.raises(InputError, match="no out-of-memory message"):
        parse(line)


def test_a_log_with_a_module_is_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.txt"
    for text in (f"start\n{MODULE}{HEAD}", f"{HEAD}{MODULE}", f"{MODULE}{HEAD}"):
        log.write_text(text, encoding="utf-8")
        assert answer(capsys, str(log))["requested_bytes"] == 1024
        assert resolve_inputs(str(log)).inputs[0].name == "m"
    log.write_text(f"start\n{MODULE}", encoding="utf-8")
    assert resolve_inputs(str(log), also=(TextKind.OUT_OF_MEMORY,)).inputs[0].other is None
    stdin = io.TextIOWrapper(io.BytesIO(HEAD.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert answer(capsys, "-")["requested_bytes"] == 1024


def test_a_message_is_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(MESSAGES / "rocm.txt")
    assert run(["summary", path]) == 0
    assert "hlotool buffers" in capsys.readouterr().out
    assert run(["fusions", path]) == 3
    assert "hlotool buffers shows what it says" in capsys.readouterr().err
    for options in (["--at", "3"], ["--timeline"], ["--hbm", "1GiB"], ["--budget", "1 > 0"]):
        assert run(["buffers", path, *options]) == 2
        assert "--dump DIR" in capsys.readouterr().err
    assert run(["buffers", "testdata/hlo/cpu_train_step.txt", "--dump", "testdata/dumps"]) == 2


def test_the_program_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name that the message says, by op_names, and by what it lists."""
    monkeypatch.chdir(ROOT)
    folder = "testdata/dumps/tpu_v5e"
    made = answer(capsys, "testdata/out_of_memory/tpu_e1000.txt", "--dump", folder)
    assert made["schema"] == "hlotool/buffers/v2"
    fit = made["fit"]
    assert isinstance(fit, dict)
    # XLA says 31.50G, of which 15.75G are there: so do we.
    assert fit["allocated_bytes"] == 33822867456
    assert fit["limit_bytes"] == 16911433728
    assert fit["fits"] is False

    listed = (
        "Largest program allocations in hbm:\n\n  1. Size: 1.53M\n"
        "     Shape: f32[784,512]{1,0:T(8,128)}\n     XLA label: layers_0__0_.1 = f32[784,512]"
        "{1,0:T(8,128)} parameter(0)\n     Allocation type: HLO temp\n     =====\n"
    )
    log = tmp_path / "log.txt"
    head = "Ran out of memory in memory space hbm. Used 2.3M of 2.0M hbm.\n"
    log.write_text(head + listed, encoding="utf-8")
    answer(capsys, str(log), "--dump", folder)
    assert run(["buffers", str(log), "--dump", folder]) == 0
    shown = capsys.readouterr()
    assert "matches jit_train_step, found by 1 of 1 listed buffers" in shown.err
    assert "does not fit in 2.0 MiB" in shown.out


@pytest.mark.parametrize(
    "case",
    [
        # Their temporaries are 336 KiB, 32 MiB and 116 MiB of 2.3, 50 and 216 MiB.
        ("2.3M", "1.0M", "mlp_train", "2.28 MiB, available 1.00 MiB: only its temporaries, 336"),
        ("33M", "10M", "offload", "50.08 MiB, available 10.00 MiB: it does not fit"),
        (
            "51M",
            "50M",
            "offload",
            "50.08 MiB, available 50.00 MiB: only its temporaries, 32.08 MiB, fit",
        ),
        ("218M", "300M", "scan_train", "216.54 MiB, available 300.00 MiB: it fits"),
    ],
)
def test_the_size_chooses_among_programs_of_a_name(
    case: tuple[str, str, str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requested, available, chosen, verdict = case
    shown = show_beside(LOAD.format(requested, available), tmp_path, capsys, monkeypatch)
    assert f"by its name and by its size, in {chosen} #0." in shown.err
    assert f"the program needs {verdict}" in shown.out
    assert "from different compilations" not in shown.out


def test_a_program_far_too_small_is_not_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = show_beside(LOAD.format("6.74G", "147.64M"), tmp_path, capsys, monkeypatch)
    assert "No program needs the requested size; the nearest is jit_train" in shown.err
    assert "by its size, in scan_train #0." in shown.err
    said = (
        "the dump needs 216.54 MiB at most, the message asks for 6.74 GiB: they are from different"
    )
    assert said in shown.out
    # A limit of vmem is none of the memory that a program has.
    vmem = "Ran out of memory in memory space vmem. Used 9G of 1M vmem.\n"
    shown = show_beside(vmem, tmp_path, capsys, monkeypatch, "--module", "multiply")
    assert "fit" not in shown.out.partition("Memory spaces")[0]


def test_a_message_without_a_name_takes_the_only_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = show_beside(HEAD, tmp_path, capsys, monkeypatch, "--module", "multiply")
    assert "The message names no program; the dump has only jit_multiply" in shown.err
    log = str(tmp_path / "log.txt")
    for words, count in (((), 9), (("--module", "train_step"), 3)):
        assert run(["buffers", log, "--dump", "testdata/dumps/tpu_v5e", *words]) == 3
        said = f"the message names no program, and the dump has {count}; choose one with --module: "
        assert said in capsys.readouterr().err
    entry = "  1. Size: 1.53M\n     Shape: f32[7,7]{1,0}\n     ====\n"
    listed = f"{HEAD}Largest program allocations in hbm:\n{entry}"
    shown = show_beside(listed, tmp_path, capsys, monkeypatch, "--module", "multiply")
    assert "its list does not match; the dump has only jit_multiply" in shown.err
    (tmp_path / "log.txt").write_text(LOAD.replace("train_step", "other").format("1G", "1M"))
    assert run(["buffers", log, "--dump", "testdata/dumps/tpu_v5e"]) == 3
    assert (
        "no program here matches the message, which is called jit_other" in capsys.readouterr().err
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cut_and_damaged_messages_have_answers(case: TableCase) -> None:
    """As far as they go: nothing but an answer, or that there is no message."""
    text = case.text
    chance = random.Random(17)  # noqa: S311
    damaged = [text[:end] for end in range(0, len(text), max(len(text) // 60, 1))]
    damaged += [text[begin:] for begin in range(0, len(text), max(len(text) // 60, 1))]
    for _ in range(100):
        place, other = chance.randrange(len(text)), chance.randrange(len(text))
        damaged.append(
            text[:place] + text[other : other + 20] + text[place + chance.randrange(9) :]
        )
    for each in damaged:
        if detect_kind(each).kind is TextKind.OUT_OF_MEMORY:
            assert parse(each).message_count >= 1


@pytest.mark.hard
@pytest.mark.parametrize(
    "unit",
    [
        HEAD,
        "  1. Size: 1.00G\n",
        "Allocation (size=",
        "OOM when allocating tensor with shape[1,",
        "Ran out of memory in memory space hbm while allocating on stack for %a.",
        "Ran out of memory on HBM, (",
        "Total hbm usage >= 1G:\n a  b  c  d\n",
        'XLA label: Operator: op_name="\\"',
        "9,999",
        "Attempting to reserve 1.00G at the bottom of memory. ",
    ],
)
def test_time_is_linear(unit: str) -> None:
    assert_linear(lambda count: parse(f"{HEAD}{unit * count}"), 500_000 // len(unit))


def test_the_first_line_adds_up_in_its_digits(capsys: pytest.CaptureFixture[str]) -> None:
    for name, said in (
        ("tpu_e1000", "31.50 GiB asked, 15.75 GiB there, 15.75 GiB too much"),
        ("tpu_compile", "63.80 GiB asked, 30.75 GiB there, 33.05 GiB too much"),
    ):
        assert run(["buffers", str(MESSAGES / f"{name}.txt")]) == 0
        assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, ["dump the program", "export XLA_FLAGS", "hlotool buffers /tmp/dump"]),
        (
            "OOM when allocating tensor with shape[64,9] and type float by allocator GPU_0_bfc",
            ["jit_compile=True", "export XLA_FLAGS", "hlotool buffers /tmp/dump"],
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.", ["not tried"]),
    ],
    ids=["xla", "tensorflow", "pytorch"],
)
def test_the_answer_ends_with_what_to_type(
    text: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    assert run(["buffers", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()[-len(said) :]
    assert all(one in line for one, line in zip(said, lines, strict=True))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tpu_2019", ("fusion.213.remat4", "symbols/softmax/MatMul", "f32[1024,8201]")),
        ("tensorflow", ("SecondStage/cell_12/AvgPool_1", "f32[64,2016,9,9]")),
        ("tensorflow_shape", ("Sum_1", "[1024,1024]")),
        ("tensorflow_node", ("encoder/layer_3/mlp/Gather", "s64[8,128,3072]")),
    ],
)
def test_a_row_says_who_it_is(
    name: str,
    shown: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (case,) = (case for case in CASES if case.name == name)
    assert run(["buffers", str(write_text(case, tmp_path))]) == 0
    printed = capsys.readouterr().out
    assert [word for word in shown if word not in printed] == []


@for_each(CASES)
def test_no_message_contradicts_itself(case: TableCase) -> None:
    assert contradict_message(parse(case.text)) == ()


@pytest.mark.parametrize(
    ("name", "written", "instead", "phrase"),
    [
        (
            "tpu_compile",
            "reserved          1.25G",
            "reserved          1.35G",
            "'Total hbm usage' is 69",
        ),
        (
            "tpu_compile",
            "HLO temp         63.79G",
            "HLO temp         64.79G",
            "'Program hbm requirement'",
        ),
        (
            "tpu_compile",
            "requirement 63.80G",
            "requirement 63.90G",
            "the program takes 68,504,728,371",
        ),
        (
            "tpu_compile",
            "global            1.14M",
            "scoped            1.14M",
            "'scoped' of 'Program",
        ),
        (
            "tpu_compile",
            "1. Size: 2.00G",
            "1. Size: 3.00G",
            "is not 2,147,483,648 and 0 of padding",
        ),
        (
            "tpu_compile",
            "capacity by 33.05G",
            "capacity by 33.15G",
            "bytes are not 35,594,541,465 more",
        ),
        (
            "tpu_compile",
            "Size: 124.00M",
            "Size: 134.00M",
            "is not 128,450,560 and 1,572,864 of padding",
        ),
        (
            "tpu_compile",
            "f32[32,4096,4096]",
            "f32[33,4096,4096]",
            "{1,2,0:T(8,128)}, which takes 2,2",
        ),
        (
            "gpu_bfc",
            "allocation:  475.37MiB",
            "allocation:  495.37GiB",
            "'parameter allocation' is 53",
        ),
        ("torch_xla", "6,532,939,776", "6,732,939,776", "'HBM capacity' is 8,589,934,592 bytes"),
    ],
)
def test_sums_of_a_message_are_held_together(
    name: str, written: str, instead: str, phrase: str
) -> None:
    text = (MESSAGES / f"{name}.txt").read_text(encoding="utf-8")
    assert written in text
    found = contradict_message(parse(text.replace(written, instead)))
    assert any(phrase in each for each in found), found


def test_a_part_without_a_size_is_unknown() -> None:
    text = (MESSAGES / "tpu_compile.txt").read_text(encoding="utf-8")
    parts = parse(text.replace("scoped            4.56M", "scoped            4.56odd")).parts
    assert [one.size_bytes for one in parts if one.name == "scoped"] == [None]
    assert "HLO temp" in {one.name for one in parts}


@pytest.mark.parametrize("name", ["tpu_compile", "gpu_bfc"])
def test_an_entry_that_is_missing_is_told(name: str) -> None:
    """The numbers of the others tell, but of the last."""
    case = next(one for one in CASES if one.name == name)
    assert parse(case.text).has_end
    entries = re.split(r"(?=^.*(?:\d+\. Size: |Buffer \d+:))", case.text, flags=re.MULTILINE)
    assert len(entries) > 3
    for dropped in range(1, len(entries) - 1):
        text = "".join(entries[:dropped] + entries[dropped + 1 :])
        assert not parse(text).has_end


def test_nothing_false_is_read_of_messages_of_others() -> None:
    """Two of 40, wrapped inside a word and a number, are known in part."""
    entries = tomllib.loads(JUDGE.read_text("utf-8"))["message"]
    misses = {entry["name"]: list(list_misses(entry)) for entry in entries}
    missed = {name: found for name, found in misses.items() if found}
    assert missed.keys() == {"tpu_wrapped_80_hard", "pytorch_old_wrapped_60_hard"}
    assert all(": None, not " in each for found in missed.values() for each in found)
