"""`hlotool check` as CI runs it: exit codes one by one, formats, baselines, summaries."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from test_render_ci import check_junit, check_sarif

from hlotool.cli import run

ROOT = Path(__file__).parents[1]
DUMPS = ROOT / "testdata" / "dumps"
STEP = DUMPS / "gpu_h100" / "mlp_train"
REMAT = DUMPS / "gpu_h100" / "mlp_train.remat"
TWICE = DUMPS / "gpu_h100" / "mlp_train.batch2x"
TEMP = '[[budget]]\nmetric = "buffers.temp_bytes"\n'


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty directory that no configuration is above."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


def budgets(text: str) -> None:
    Path("hlotool.toml").write_text(text, encoding="utf-8")


def check(*arguments: object) -> int:
    return run(["check", *map(str, arguments)])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TEMP + 'max = "1GiB"\n', 0),
        (TEMP + 'max = "1KiB"\n', 1),
        (TEMP + 'max = "1KiB"\nseverity = "warning"\n', 0),
        (TEMP + "max = \n", 2),
        (TEMP + 'maximum = "1KiB"\n', 2),
        (TEMP.replace("temp", "tmep") + "max = 1\n", 2),
        (TEMP + 'max = "1GiB"\nmodule = "eval"\n', 4),
        (TEMP + 'max = "1GiB"\nmodule = "eval"\nseverity = "warning"\n', 4),
        (TEMP + 'max_increase = "1%"\n', 4),
        (TEMP + 'max = "1KiB"\n' + TEMP + 'max = "1GiB"\nmodule = "eval"\n', 1),
        ('[[budget]]\nexpression = "collectives.max(message_bytes) < 1GiB"\n', 4),
        ('[[budget]]\nforbid = "collectives"\n', 0),
        ('[[budget]]\nrequire = "collectives"\n', 1),
    ],
)
def test_exit_codes(text: str, code: int) -> None:
    budgets(text)
    assert check(STEP) == code


SHARES = ROOT / "testdata" / "collectives" / "overlap_share.txt"


@pytest.mark.parametrize(
    "budget",
    [
        "collectives.exposed_seconds < 1",
        "collectives.transfer_seconds < 1",
        "collectives.max(exposed_seconds) < 1",
        "collectives.count(transfer_seconds > 1) == 0",
        "summary.findings.sum(estimated_seconds) < 1",
        "1 + fusions.sum(estimated_seconds) < 3",
    ],
)
def test_a_rule_on_seconds_needs_a_machine(budget: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(STEP, "--budget", budget) == 2
    assert "is an estimate for a machine; name it with --chip" in capsys.readouterr().err
    assert check(STEP, "--chip", "h100", "--budget", budget) != 2
    budgets('chip = "h100"\n')
    assert check(STEP, "--budget", budget) != 2
    assert run(["summary", str(STEP), "--budget", budget]) != 2
    budgets("")
    alone = check(STEP, "--bandwidth", "1GB/s", "--budget", budget)
    assert (alone == 2) == ("fusions" in budget)


def test_exposed_seconds_are_a_metric() -> None:
    """In overlap_share.txt, 0.235 + 1 + 1 + 2 s are exposed but for 5 + 139 + 144 + 432 us.

    Each also waits 5 us, which h100 states; of two, nobody knows what is exposed.
    """
    machine = ("--chip", "h100", "--bandwidth", "1GB/s")
    assert check(SHARES, *machine, "--budget", "collectives.exposed_seconds < 4.23431") == 0
    assert check(SHARES, *machine, "--budget", "collectives.exposed_seconds < 4.23430") == 1
    assert check(SHARES, *machine, "--budget", "collectives.exposed_seconds < 4234.31ms") == 0
    assert check(SHARES, *machine, "--budget", "collectives.exposed_seconds < 4234300us") == 1
    budgets(
        'chip = "h100"\n[[budget]]\nmetric = "collectives.exposed_seconds"\nmax = "4234.3 ms"\n'
    )
    assert check(SHARES, "--bandwidth", "1GB/s") == 1
    assert check(SHARES) == 0


def test_seconds_of_another_machine_are_no_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    text = '[[budget]]\nmetric = "collectives.exposed_seconds"\nmax_increase = "1%"\n'
    budgets(f'baseline = "before.json"\nchip = "h100"\n{text}')
    assert check(SHARES, "--update-baseline") == 0
    assert check(SHARES) == 0
    assert check(SHARES, "--chip", "b200") == 4
    assert "the baseline lacks collectives.exposed_seconds" in capsys.readouterr().out


def test_a_chip_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    budgets('chip = "h999"\n')
    assert run(["collectives", str(SHARES)]) == 2
    assert "chip 'h999' is unknown" in capsys.readouterr().err


def test_no_budget_is_no_success() -> None:
    assert check(STEP) == 4
    assert check(STEP, "--budget", "buffers.temp_bytes < 1GiB") == 0


def test_missing_input_is_3() -> None:
    budgets(TEMP + 'max = "1GiB"\n')
    assert check("nothing") == 3


def test_a_broken_module_is_3_and_an_error_of_its_budgets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(STEP, "dump/good")
    shutil.copytree(TWICE, "dump/bad")
    for text in Path("dump/bad").glob("*after_optimizations.txt"):
        text.write_text(text.read_text("utf-8").replace("fusion(", "fusion((", 1), "utf-8")
    budgets('[[budget]]\nforbid = "collectives"\n')
    assert check("dump", "--json") == 3
    made = json.loads(capsys.readouterr().out)
    assert sorted(rule["status"] for rule in made["rules"]) == ["error", "pass"]
    assert not made["ok"]
    budgets('[[budget]]\nforbid = "fusions"\n')
    assert check("dump") == 1  # an exceeded budget is what a run is about


def test_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    budgets('baseline = "base.json"\n' + TEMP + 'max_increase = "2%"\nmax_increase_abs = "1KiB"\n')
    assert check(STEP, "--update-baseline") == 0
    first = Path("base.json").read_text("utf-8")
    assert check(STEP, "--update-baseline") == 0
    assert Path("base.json").read_text("utf-8") == first
    assert str(ROOT) not in first
    assert check(STEP) == 0
    assert check(DUMPS / "gpu_h100" / "mlp_train.remat") == 1
    assert check(STEP, "--baseline", TWICE) == 1
    capsys.readouterr()
    assert run(["diff", "base.json", str(STEP), "--exit-code"]) == 0


def test_a_baseline_overwrites_nothing_else() -> None:
    Path("notes.json").write_text("{}", encoding="utf-8")
    assert check(STEP, "--update-baseline", "--baseline", "notes.json") == 2
    assert check(STEP, "--update-baseline", "--baseline", STEP) == 2
    assert Path("notes.json").read_text("utf-8") == "{}"


MORE_INPUT = '[[budget]]\nmetric = "buffers.argument_bytes"\nmax_increase = "0%"\n'
GROWTH = TEMP + 'max_increase = "0%"\n'


def copy_step(source: Path, folder: str, number: int, prefix: str = "") -> None:
    """Put a dump into a folder, under a number of XLA's."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for file in source.glob("module_*"):
        name = file.name.replace("module_0001", f"{prefix}module_{number:04}")
        shutil.copy(file, Path(folder) / name)


def update(*arguments: object) -> list[str]:
    """Write base.json, and return the modules it then holds."""
    assert check(*arguments, "--update-baseline", "--baseline", "base.json") == 0
    return list(json.loads(Path("base.json").read_text("utf-8"))["modules"])


def test_modules_of_one_name_are_found_by_folder_arguments_and_content(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """XLA's numbers, which change whenever something is compiled before, tell nothing."""
    budgets('baseline = "base.json"\n' + GROWTH)
    copy_step(STEP, "dump", 1)
    copy_step(TWICE, "dump", 7)
    copy_step(STEP, "dump/eval", 7)
    assert update("dump") == [
        "eval/jit_train_step",
        "jit_train_step (images 128×784)",
        "jit_train_step (images 256×784)",
    ]
    assert check("dump") == 0
    assert check("dump", "--module", "#7") == 0
    assert check("dump", "--module", "jit_train_step (images 256×784)") == 0
    assert run(["diff", "base.json", "dump", "--exit-code"]) == 0
    shutil.rmtree("dump")
    copy_step(TWICE, "dump", 1)
    copy_step(STEP, "dump", 9)
    capsys.readouterr()
    assert check("dump", "--json") == 0
    said = capsys.readouterr()
    assert [rule["place"] for rule in json.loads(said.out)["rules"]] == ["#1", "#9"]
    assert "only in the baseline: eval/jit_train_step." in said.err


def test_a_module_that_is_given_something_else_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    budgets('baseline = "base.json"\n' + MORE_INPUT)
    copy_step(STEP, "dump", 1)
    update("dump")
    shutil.rmtree("dump")
    copy_step(TWICE, "dump", 2)
    assert check("dump") == 1
    assert "now given images f32[128,784] → images f32[256,784], labels" in capsys.readouterr().out


def test_modules_that_might_be_either_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """Of one name, folder and arguments; as long as one stays the same, it is found by content."""
    budgets('baseline = "base.json"\n' + GROWTH)
    copy_step(STEP, "dump", 1)
    copy_step(REMAT, "dump", 2)
    capsys.readouterr()
    assert update("dump") == ["jit_train_step #1", "jit_train_step #2"]
    assert "these differ only in content" in capsys.readouterr().err
    shutil.rmtree("dump")
    copy_step(REMAT, "dump", 1)
    copy_step(STEP, "dump", 2)
    assert check("dump") == 0
    for text in Path("dump").glob("*after_optimizations.txt"):
        text.write_text(text.read_text("utf-8").replace("constant(0)", "constant(3)", 1), "utf-8")
    assert check("dump") == 4
    assert "the baseline has several modules 'jit_train_step #1'; it holds " in (
        capsys.readouterr().out
    )


def test_a_baseline_of_before_is_found_by_name_and_folder() -> None:
    """It names modules `NAME @ PLACE`, where XLA's number is part of the place."""
    budgets('baseline = "base.json"\n' + GROWTH)
    copy_step(STEP, "dump", 1)
    copy_step(TWICE, "dump/eval", 7)
    update("dump")
    written = json.loads(Path("base.json").read_text("utf-8"))
    older = {
        "jit_train_step": "jit_train_step @ #1",
        "eval/jit_train_step": "jit_train_step @ eval #7",
    }
    for now, before in older.items():
        written["modules"][before] = written["modules"].pop(now)
        del written["modules"][before]["identity"]
    Path("base.json").write_text(json.dumps(written), encoding="utf-8")
    shutil.rmtree("dump")
    copy_step(STEP, "dump", 3)
    copy_step(TWICE, "dump/eval", 4)
    assert check("dump") == 0


def test_another_module_is_no_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    budgets('baseline = "base.json"\n' + GROWTH)
    update(STEP)
    assert check(DUMPS / "gpu_h100" / "pipeline") == 4
    assert "the baseline lacks 'jit_stage'; it has jit_train_step" in (capsys.readouterr().out)


def test_one_module_is_updated_beside_the_others() -> None:
    budgets("")
    copy_step(STEP, "dump", 1)
    copy_step(DUMPS / "gpu_h100" / "pipeline", "dump", 2)
    assert update("dump") == ["jit_stage", "jit_train_step"]
    old = json.loads(Path("base.json").read_text("utf-8"))
    old["modules"]["jit_stage"] = {"later": {"figure": 3}}
    Path("base.json").write_text(json.dumps(old), encoding="utf-8")
    for file in Path("dump").glob("module_0001*"):
        file.unlink()
    copy_step(TWICE, "dump", 1)
    assert update("dump", "--module", "train") == ["jit_stage", "jit_train_step"]
    new = json.loads(Path("base.json").read_text("utf-8"))
    assert new["modules"]["jit_stage"] == old["modules"]["jit_stage"]
    assert new["modules"]["jit_train_step"] != old["modules"]["jit_train_step"]
    assert update("dump", "--module", "stage") == ["jit_stage", "jit_train_step"]
    budgets('module = "stage"\n')
    assert update("dump") == ["jit_stage", "jit_train_step"]
    budgets("")
    shutil.rmtree("dump")
    copy_step(STEP, "dump", 1)
    assert update("dump") == ["jit_train_step"]


def test_the_command_that_writes_a_baseline_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """What is said can be pasted, and the next check finds a baseline."""
    budgets('baseline = "base.json"\n' + TEMP + 'max = "1GiB"\nmax_increase = "2%"\n')
    folder = "a dump"
    copy_step(STEP, folder, 1)
    typed = ("--module", "jit|train step", "--chip", "h100")
    assert check(folder, *typed, "--json", "--budget", "1 < 2") == 3
    said = capsys.readouterr().err.strip().rpartition("this writes it: ")[2]
    assert shlex.split(said) == ["hlotool", "check", folder, *typed, "--update-baseline"]
    assert run(shlex.split(said)[1:]) == 0
    assert check(folder, *typed) == 0
    budgets(GROWTH)
    capsys.readouterr()
    assert check(folder) == 4
    said = capsys.readouterr().err.strip().rpartition("this writes one: ")[2]
    assert run(shlex.split(said)[1:]) == 0
    assert check(folder, "--baseline", "hlotool-baseline.json") == 0


def test_limits_hold_though_the_baseline_is_not_there() -> None:
    budgets('baseline = "base.json"\n' + TEMP + 'max = "1KiB"\nmax_increase = "2%"\n')
    assert check(STEP) == 1
    assert check(STEP, "--config", "hlotool.toml", "--baseline", "no.json") == 1


def test_an_empty_file_may_become_a_baseline() -> None:
    budgets("")
    Path("base.json").touch()
    assert update(STEP) == ["jit_train_step"]


def test_a_history(capsys: pytest.CaptureFixture[str]) -> None:
    budgets(TEMP + 'max = "4100KiB"\n')
    line = ("--history", "a.jsonl", "--time", "5")
    assert check(STEP, *line, "--commit", "one") == 0
    assert check(DUMPS / "gpu_h100" / "mlp_train.remat", *line, "--commit", "two") == 1
    budgets("")
    assert check(STEP, "--history", "a.jsonl") == 4  # recorded, and nothing was checked
    lines = [json.loads(each) for each in Path("a.jsonl").read_text("utf-8").splitlines()]
    assert [(each["time"], each["commit"]) for each in lines] == [
        ("1970-01-01T00:00:05Z", "one"),
        ("1970-01-01T00:00:05Z", "two"),
        (None, None),
    ]
    capsys.readouterr()
    assert check("--trend", "--history", "a.jsonl", "--json", "--module", "step") == 0
    made = json.loads(capsys.readouterr().out)
    (row,) = [row for row in made["trends"] if row["metric"] == "buffers.temp_bytes"]
    assert (row["first"], row["since_line"], row["last_change"]) == (
        row["last"],
        3,
        -row["values"][1] + row["first"],
    )


def test_a_history_holds_every_module_that_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    copy_step(STEP, "dump", 1)
    copy_step(DUMPS / "gpu_h100" / "pipeline", "dump", 2)
    budgets(TEMP + 'max = "1GiB"\nmodule = "train"\n')
    assert check("dump", "--history", "a") == 0
    for text in Path("dump").glob("module_0002*after_optimizations.txt"):
        text.write_text(text.read_text("utf-8").replace("(", "((", 1), "utf-8")
    assert check("dump", "--history", "a") == 3
    lines = [json.loads(each) for each in Path("a").read_text("utf-8").splitlines()]
    assert [each["module"] for each in lines] == ["jit_train_step", "jit_stage", "jit_train_step"]
    assert "added 1 line to a" in capsys.readouterr().err


def test_a_history_is_added_to_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    budgets(TEMP + 'max = "1GiB"\n')
    Path("a").write_text("{}\n", encoding="utf-8")
    assert check(STEP, "--history", "a") == 3
    assert "a:1: hlotool check --history did not write" in capsys.readouterr().err
    assert Path("a").read_text("utf-8") == "{}\n"


def test_formats_hold_every_budget(capsys: pytest.CaptureFixture[str]) -> None:
    budgets(TEMP + 'max = "1KiB"\n\n[[budget]]\nforbid = "collectives"\n\n' + TEMP
            + 'max = "1GiB"\nmodule = "eval"\n')  # fmt: skip
    assert check(STEP, "--format", "junit") == 1
    root = check_junit(capsys.readouterr().out, 3)
    assert (root.attrib["failures"], root.attrib["errors"]) == ("1", "1")
    assert check(STEP, "--format", "sarif") == 1
    run_made = check_sarif(capsys.readouterr().out, 3)
    results = run_made["results"]
    assert isinstance(results, list)
    assert all("locations" in result for result in results)
    assert check(STEP, "--format", "github") == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "hlotool:"]
    assert "file=hlotool.toml,line=8" in lines[1]


def test_annotations_find_the_file_in_the_repository(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets(TEMP + 'max = "1KiB"\n')
    Path("src").mkdir()
    Path("src/mlp_train.py").touch()
    Path("mlp_train.py").touch()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert check(STEP, "--format", "github") == 1
    assert ",file=mlp_train.py,line=" in capsys.readouterr().out


def test_the_step_summary_is_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets(TEMP + 'max = "1GiB"\n')
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n", encoding="utf-8")
    assert check(STEP) == 0
    assert Path("summary.md").read_text("utf-8") == "before\n"
    assert check(STEP, "--format", "github") == 0
    assert Path("summary.md").read_text("utf-8").startswith("before\nbudgets: 1 pass\n\n| status")


def test_the_configuration_may_choose_module_and_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budgets('module = "search"\n[[budget]]\nforbid = "collectives"\n')
    assert check(DUMPS / "cpu", "--json") == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    assert [rule["module"] for rule in rules] == ["jit_search"]
    budgets('stage = "soon"\n[[budget]]\nforbid = "collectives"\n')
    assert check(DUMPS / "cpu") == 2


def test_this_projects_own_dumps_keep_their_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    config = ROOT / "testdata" / "check" / "self.toml"
    assert check(DUMPS, "--config", config, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["rules"]) > 50


def test_a_message_of_several_lines_stands_on_several(capsys: pytest.CaptureFixture[str]) -> None:
    message = r"Ask memory:\n\n\u001b[31mred\t::error::x\n::error::y\n##[group]\n"
    budgets(f'{TEMP}max = 0\nmessage = "{message}"\n')
    assert check(STEP) == 1
    below = capsys.readouterr().out.split("jit_train_step")[1].splitlines()[1:]
    assert below == [
        "    beyond max 0",
        "    Ask memory:",
        "",
        r"    \x1b[31mred\t::error::x",
        r"    \x3a:error::y",
        r"    \x23#[group]",
        "",
        "gemm_fusion_dot.2 f32[8,128,512]: 2.0 MiB (mlp_train.py:17)",
        "loop_pad_fusion.1 f32[800,512]: 1.6 MiB (for mlp_train.py:17)",
        "layers_0__0_.1 f32[784,512]: 1.5 MiB (layers[0][0])",
    ]
    assert check(STEP, "--json") == 1
    (row,) = json.loads(capsys.readouterr().out)["rules"]
    assert row["message"].splitlines()[1:] == [
        "",
        "\x1b[31mred\t::error::x",
        "::error::y",
        "##[group]",
    ]
    for form, line_break in (("github", "%0A"), ("junit", "&#10;"), ("sarif", r"\n")):
        assert check(STEP, "--format", form) == 1
        assert f"Ask memory:{line_break}{line_break}" in capsys.readouterr().out
    assert check(STEP, "--format", "markdown") == 1
    assert r"Ask memory:\\n" in capsys.readouterr().out


def test_typed_budgets_are_the_only_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Unless the file is typed, too: one that lies above may be of another project."""
    budgets(TEMP + 'max = "1KiB"\n')
    typed = STEP, "--budget", "buffers.peak_bytes < 1GiB"
    assert check(*typed) == 0
    assert "--budget replaces the budgets of hlotool.toml" in capsys.readouterr().err
    assert check(*typed, "--config", "hlotool.toml") == 1
    assert capsys.readouterr().out.startswith("budgets: 1 exceeded, 1 pass")


@pytest.mark.parametrize(
    ("limit", "options", "said"),
    [
        (
            'max = "1MiB"',
            (),
            ["gemm_fusion_dot.4 f32[8,128,512]: 2.0 MiB (mlp_train.py:17)", "--hbm 1MiB"],
        ),
        ('max = "1.5MiB"', (), ["gemm_fusion_dot.4 f32[8,128,512]: 2.0", "--hbm 1536KiB"]),
        (
            'max_increase = "1%"',
            ("--baseline", STEP),
            ["recomputes values (mlp_train.py:17)", "gemm_fusion_dot.4 f32[8,128,512]: 0 B → 2.0"],
        ),
        (
            'max_increase = "1%"',
            ("--baseline", "figures.json"),
            [
                "a side lacks the text before optimizations",
                "temp memory: ",
                "gemm_fusion_dot.4 f32[8,128,512]: 2.0",
            ],
        ),
    ],
)
def test_what_is_behind_a_failure_is_said_with_a_command_that_runs(
    limit: str,
    options: tuple[object, ...],
    said: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    budgets(f"{TEMP}{limit}\n")
    assert check(STEP, "--update-baseline", "--baseline", "figures.json") == 0
    assert check(REMAT, *options) == 1
    below = capsys.readouterr().out.partition("\n\nstatus")[2].partition("\n\n")[2].splitlines()
    assert len(below) <= 4
    for words in said:
        assert any(words in line for line in below)
    typed = shlex.split(below[-1].partition(": hlotool ")[2])
    assert run(typed) == 0
    assert typed[0] in {"diff", "buffers"}
