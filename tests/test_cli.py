"""The program: help, exit codes, errors, terminals, pipes, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import fake_command
import jsonschema
import pytest

from hlotool import __version__
from hlotool.cli import run
from hlotool.commands import COMMANDS
from hlotool.errors import HlotoolError, InputError, NothingCheckedError, UsageError

ROOT = Path(__file__).parent.parent
Shown = tuple[int, str, str]
Program = Callable[..., Shown]


@pytest.fixture
def hlotool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Return a function that runs the program, with `planets` among its commands."""
    monkeypatch.setitem(COMMANDS, "planets", "List the planets.")
    monkeypatch.setitem(sys.modules, "hlotool.commands.planets", fake_command)

    def program(*args: str) -> Shown:
        code = run(list(args))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return program


def test_version(hlotool: Program) -> None:
    assert hlotool("--version") == (0, f"hlotool {__version__}\n", "")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_every_command(hlotool: Program, option: str) -> None:
    code, out, err = hlotool(option)
    assert (code, err) == (0, "")
    for name, meaning in COMMANDS.items():
        assert f"  {name} " in out
        assert meaning in out
    assert "Example:\n  hlotool summary " in out


def test_no_arguments_are_wrong_usage(hlotool: Program) -> None:
    code, out, err = hlotool()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: hlotool ")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_a_command(hlotool: Program, option: str) -> None:
    code, out, err = hlotool("planets", option)
    assert (code, err) == (0, "")
    assert "  hlotool planets sky.txt --by kind\n" in out
    assert "hlotool fields planets lists the fields of rows.\n" in out
    for name in ("--json", "--where", "--sort", "--limit", "--rows", "--by", "--columns"):
        assert name in out
    for name in ("--wide", "--units", "--output", "--color", "--format"):
        assert name in out
    assert out.index("--kind") < out.index("--json")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["plantes"], "hlotool: There is no command 'plantes'; did you mean planets or passes?\n"),
        (["planets"], "hlotool: Missing argument 'PATH'.\n"),
        (["planets", "x", "--colums", "a"], "hlotool: No such option"),
        (["planets", "x", "-n", "-1"], "hlotool: Invalid value for '-n' / '--limit'"),
        (["planets", "x", "--format", "xml"], "hlotool: Invalid value for '--format'"),
        (["planets", "x", "--units", "TB"], "hlotool: Invalid value for '--units'"),
        (
            ["planets", "x", "--json", "--format", "csv"],
            "hlotool: --json and --format csv exclude each other.\n",
        ),
        (
            ["planets", "x", "--rows", "plantes"],
            "hlotool: --rows: there is no row list 'plantes'; did you mean planets?\n",
        ),
        (["planets", "x", "--where", "siz > 1"], "hlotool: --where: there is no field 'siz'"),
        (["planets", "x", "--sort", "siz"], "hlotool: --sort: there is no field 'siz'"),
    ],
)
def test_wrong_usage(hlotool: Program, args: list[str], message: str) -> None:
    code, out, err = hlotool(*args)
    assert (code, bool(out)) == (2, "--json" in args)
    assert err.startswith(message)


@pytest.mark.parametrize("asked", [["--json"], ["--format", "json"], ["--format=json"]])
@pytest.mark.parametrize(
    ("args", "code", "error", "hint"),
    [
        ("plantes", 2, "There is no command 'plantes'", "Try 'hlotool --help'."),
        ("planets x --colums", 2, "No such option", "Try 'hlotool planets --help'."),
        ("planets x --where siz>1", 2, "--where: there is no field 'siz' (column 1)",
         "did you mean size_bytes?"),
        ("planets x --rows plantes", 2, "--rows: there is no row list", None),
        ("summary no.such", 3, "no.such: there is no such file or directory.", None),
    ],
)  # fmt: skip
def test_an_error_is_json_where_json_was_asked_for(  # noqa: PLR0917  what pytest gives
    hlotool: Program,
    args: str,
    asked: list[str],
    code: int,
    error: str,
    hint: str | None,
) -> None:
    exit_code, out, err = hlotool(*args.split(), *asked)
    made = json.loads(out)
    schema = json.loads((ROOT / "docs" / "schema" / "error.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(made)
    assert made["error"].startswith(error)
    assert made == {
        "schema": "hlotool/error/v1",
        "hlotool_version": __version__,
        "error": made["error"],
        "hint": hint,
        "exit_code": code,
        "next": made["next"],
    }
    assert made["next"][0] in {f"hlotool {args.split(maxsplit=1)[0]} --help", "hlotool --help"}
    assert exit_code == code
    assert err.startswith(f"hlotool: {error}")
    assert hlotool(*args.split())[:2] == (code, "")


def test_a_bug_is_json_too(hlotool: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_command, "find_planets", lambda: 1 / 0)
    code, out, _ = hlotool("planets", "x", "--json")
    made = json.loads(out)
    assert (code, made["exit_code"]) == (70, 70)
    assert made["error"].startswith("internal error, ZeroDivisionError")


def test_row_options_are_checked_before_any_work(
    hlotool: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_command, "find_planets", pytest.fail)
    assert hlotool("planets", "x", "--where", "name > 3")[0] == 2


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("sky.txt: no such file."), 3, "hlotool: sky.txt: no such file.\n"),
        (UsageError("Both."), 2, "hlotool: Both.\n"),
        (NothingCheckedError("No module."), 4, "hlotool: No module.\n"),
        (HlotoolError("Other."), 3, "hlotool: Other.\n"),
        (KeyboardInterrupt(), 130, "\n"),  # ends the line of ^C
        (click.Abort(), 130, ""),
        (MemoryError(), 3, "hlotool: not enough memory.\n"),
    ],
)
def test_errors_become_messages(
    hlotool: Program,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(fake_command, "find_planets", fail)
    assert hlotool("planets", "x") == (code, "", message)


def test_a_bug_asks_for_a_report(hlotool: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_command, "find_planets", lambda: 1 / 0)
    code, out, err = hlotool("planets", "x")
    assert (code, out) == (70, "")
    assert err.startswith("hlotool: internal error, ZeroDivisionError: division by zero (test_cli")
    assert err.endswith(
        "please report it, with the dump if possible; HLOTOOL_DEBUG=1 shows more.\n"
    )
    assert err.count("\n") == 1


def test_a_bug_shows_its_traceback(hlotool: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_command, "find_planets", lambda: 1 / 0)
    monkeypatch.setenv("HLOTOOL_DEBUG", "1")
    code, _, err = hlotool("planets", "x")
    assert code == 70
    assert "Traceback (most recent call last):\n" in err


def test_a_command_chooses_its_exit_code(hlotool: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave() -> None:
        click.get_current_context().exit(1)

    monkeypatch.setattr(fake_command, "find_planets", leave)
    assert hlotool("planets", "x")[0] == 1


def test_every_option_reaches_the_rows(hlotool: Program) -> None:
    args = ["planets", "x", "--where", "size_bytes > 3MiB", "--sort", "name", "-n", "2"]
    code, out, err = hlotool(*args, "--columns", "name,moon_count", "--units", "MiB")
    assert (code, err) == (0, "")
    assert out == (
        "4 planets hold 159.00 MiB\n"
        "\n"
        "name     moons\n"
        "-------  -----\n"
        "jupiter     95\n"
        "mercury      0\n"
        "… and 1 more (12.00 MiB)\n"
        "TOTAL       95\n"
    )
    code, out, _ = hlotool(*args, "--json")
    made = json.loads(out)
    assert (code, made["rows_total"], made["rows_omitted"]) == (0, 3, 1)
    assert [row["name"] for row in made["planets"]] == ["jupiter", "mercury"]


def test_tables_show_twenty_rows(hlotool: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [fake_command.Planet(f"p{index:02}", "gas", index, 0) for index in range(30)]
    monkeypatch.setattr(fake_command, "find_planets", lambda: many)
    for form in ("table", "markdown"):
        assert "… and 10 smaller (45 B)" in hlotool("planets", "x", "--format", form)[1]
        assert "…" not in hlotool("planets", "x", "--format", form, "-n", "0")[1]
    assert len(hlotool("planets", "x", "--format", "csv")[1].splitlines()) == 31
    assert len(hlotool("planets", "x", "--format", "jsonl")[1].splitlines()) == 30
    assert len(hlotool("planets", "x", "--format", "jsonl", "-n", "3")[1].splitlines()) == 3
    assert "rows_total" not in json.loads(hlotool("planets", "x", "--json")[1])


def test_output(hlotool: Program, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    args = ["planets", "x", "--format", "csv", "-n", "1"]
    assert hlotool(*args, "--output", str(target)) == (0, "", "")
    assert target.read_text(encoding="utf-8") == hlotool(*args)[1]


def test_output_that_cannot_be_written(hlotool: Program, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "out.csv"
    code, out, err = hlotool("planets", "x", "--output", str(missing))
    assert (code, out, err) == (2, "", f"hlotool: --output {missing}: No such file or directory.\n")


def test_output_never_replaces_the_input(hlotool: Program, tmp_path: Path) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_text("HloModule", encoding="utf-8")
    link = tmp_path / "link.txt"
    link.symlink_to(dump)
    code, _, err = hlotool("planets", str(dump), "--output", str(link))
    assert (code, err) == (
        2,
        f"hlotool: --output {link} is the input itself; it was not overwritten.\n",
    )
    assert dump.read_text(encoding="utf-8") == "HloModule"


# -- a real process, a real terminal

SCRIPT = """
import sys
sys.path.insert(0, "tests")
import fake_command
import hlotool.start
from hlotool.commands import COMMANDS
COMMANDS["planets"] = "List the planets."
sys.modules["hlotool.commands.planets"] = fake_command
many = [fake_command.Planet("a_rather_long_name_%05d" % i, "gas", i, 0) for i in range(9999)]
fake_command.find_planets = lambda: many
hlotool.start.main()
"""


def environment(**extra: str) -> dict[str, str]:
    clean = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    return clean | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "HLOTOOL_PAGER": "cat"} | extra


def in_process(
    *args: str, into: str = "", terminal: int | None = None, **extra: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program, its output into a shell's pipe or to a terminal."""
    command = [sys.executable, "-c", SCRIPT, *args]
    if into:
        command = ["/bin/sh", "-c", f'"$@" {into}', "sh", *command]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment(**extra),
        stdin=terminal,
        stdout=subprocess.PIPE if terminal is None else terminal,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )


def on_terminal(*args: str, columns: int = 40, **extra: str) -> str:
    """Run the program on a terminal of some width and return what it shows."""
    fcntl = pytest.importorskip("fcntl")
    pty = pytest.importorskip("pty")
    struct = pytest.importorskip("struct")
    termios = pytest.importorskip("termios")
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    done = in_process(*args, terminal=terminal, **extra)
    os.close(terminal)
    shown = os.read(main, 1 << 16)
    os.close(main)
    assert done.returncode == 0, done.stderr.decode()
    return shown.decode().replace("\r\n", "\n")


def test_python_m_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hlotool", "--version"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout.decode()) == (0, f"hlotool {__version__}\n")


@pytest.mark.parametrize("form", ["table", "json", "csv", "jsonl", "markdown"])
def test_a_closed_pipe_ends_quietly(form: str) -> None:
    done = in_process("planets", "x", "-n", "0", "--format", form, into="| head -n 2")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == 2


def test_a_closed_stdout_ends_quietly() -> None:
    done = in_process("planets", "x", into=">&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_an_error() -> None:
    done = in_process("planets", "x", into="> /dev/full")
    assert done.returncode == 3
    assert done.stderr == b"hlotool: cannot write the answer: No space left on device.\n"


@pytest.mark.parametrize(
    ("args", "into", "code"),
    [
        (("planets", "x"), "2>&-", 0),
        (("planets", "x", "-n", "-1"), "2>&-", 2),
        (("planets", "x", "-n", "-1"), ">&- 2>&- <&-", 2),
        ((), ">&- 2>&- <&-", 2),
        (("--help",), ">&-", 0),
        (("summary", "-"), ">/dev/null 2>&- <&-", 3),
        (("plants",), "2>/dev/full", 2),
    ],
)
def test_closed_streams(args: tuple[str, ...], into: str, code: int) -> None:
    done = in_process(*args, into=into)
    assert (done.returncode, done.stderr) == (code, b"")


def test_a_closed_stdin_is_no_input() -> None:
    done = in_process("summary", "-", into="<&-")
    assert (done.returncode, done.stderr) == (3, b"hlotool: <stdin>: standard input is closed.\n")


INTERRUPTED = """
import os, signal, sys, threading, time
import hlotool.start

def wait(*args):
    time.sleep(60)

# Ctrl-C while the program is imported, and while it works.
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            wait()

sys.meta_path.insert(0, Slow())
threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
hlotool.start.main(["--help"] if sys.argv[1] != "hlotool.commands.summary" else ["summary", "x"])
"""


@pytest.mark.usefixtures("children_hear_signals")
@pytest.mark.parametrize("where", ["hlotool.cli", "click", "hlotool.commands.summary"])
def test_an_interrupt_ends_quietly_wherever_it_comes(where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, where],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"")


def test_a_deleted_directory(tmp_path: Path) -> None:
    dump = ROOT / "testdata" / "hlo" / "gpu_train_step.txt"
    script = "import os; os.rmdir(os.getcwd()); import hlotool.start; hlotool.start.main()"
    for args, code in (
        (("summary", str(dump)), 0),
        (("check", str(dump), "--budget", "cost.flops_per_step < 1", "--format", "github"), 1),
        (("summary", "."), 3),
        (("diff", "x", "y"), 3),
    ):
        gone = tmp_path / "gone"
        gone.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", script, *args],
            cwd=gone,
            env=environment(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert b"Traceback" not in done.stderr


def test_an_ascii_stdout_takes_any_name() -> None:
    done = in_process("planets", "x", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert done.returncode == 0
    assert b"\\u2026 and 9979 smaller" in done.stdout.replace(b",", b"")


def test_a_terminal_breaks_and_colours() -> None:
    shown = on_terminal("planets", "x", "-n", "1", columns=30)
    assert shown == (
        "9,999 planets hold 47.7 MiB\n"
        "\n"
        "\x1b[1mname   kind      size\x1b[0m\n"
        "-----  ----  --------\n"
        "a_rather_long_name_09998\n"
        "       gas    9.8 KiB\n"
        "\x1b[2m… and 9,998 smaller (47.7 MiB)\x1b[0m\n"
        "\x1b[1mTOTAL        47.7 MiB\x1b[0m\n"
    )


@pytest.mark.parametrize(
    ("args", "extra"),
    [
        (("--color", "never"), {}),
        ((), {"NO_COLOR": "1", "FORCE_COLOR": "1"}),
        ((), {"NO_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
    ],
)
def test_colour_can_be_refused(args: tuple[str, ...], extra: dict[str, str]) -> None:
    shown = on_terminal("planets", "x", "-n", "1", *args, columns=30, **extra)
    assert "\x1b" not in shown
    assert "\na_rather_long_name_09998\n" in shown


def test_wide_cuts_nothing() -> None:
    shown = on_terminal("planets", "x", "-n", "1", "-w", "--color", "never", columns=20)
    assert "a_rather_long_name_09998  gas    9.8 KiB      0\n" in shown


def test_a_pipe_cuts_and_colours_nothing() -> None:
    done = in_process("planets", "x", "-n", "1", COLUMNS="20")
    assert b"a_rather_long_name_09998  gas" in done.stdout
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    done = in_process(_HLOTOOL_COMPLETE=f"{shell}_source")
    if b"Bash version" in done.stderr or b"bash" in done.stderr.lower():
        pytest.skip("no bash to ask for its version")
    assert b"_HLOTOOL_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("extra", "args", "shown"),
    [
        ({"HLOTOOL_PAGER": "tr a-z A-Z", "PAGER": "cat"}, (), "9,999 PLANETS HOLD 47.7 MIB\n"),
        ({"HLOTOOL_PAGER": "tr a-z A-Z"}, ("--no-pager",), "9,999 planets hold 47.7 MiB\n"),
        ({"HLOTOOL_PAGER": ""}, (), "9,999 planets hold 47.7 MiB\n"),
        ({"HLOTOOL_PAGER": "head -n 1"}, ("-n", "0"), "9,999 planets hold 47.7 MiB\n"),
    ],
)
def test_a_terminal_has_a_pager(extra: dict[str, str], args: tuple[str, ...], shown: str) -> None:
    told = on_terminal("planets", "x", *args, "--color", "never", columns=40, **extra)
    assert told.startswith(shown)
    assert ("\n" not in told.removeprefix(shown)) is (extra["HLOTOOL_PAGER"] == "head -n 1")
