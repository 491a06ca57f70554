"""What all tests share: their options, the shards of what is long, and how Hypothesis runs."""

from __future__ import annotations

import signal
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from types import FrameType
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

_MUTANTS: Final = 10_000  # of `make hard`; `make mutants` tries 300,000

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("hlotool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hlotool")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden, --mutants and --shard."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite testdata/golden with what hlotool prints now; look at the diff",
    )
    parser.addoption(
        "--mutants",
        type=int,
        default=_MUTANTS,
        metavar="COUNT",
        help="how many injured dumps the hard tests try; what became of them is told in a table",
    )
    parser.addoption(
        "--shard",
        default="1/1",
        metavar="K/N",
        help="run the K-th of N parts of the tests, chosen by their names",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other shards: a test is in the same one on every machine."""
    number, _, count = config.getoption("--shard").partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise pytest.UsageError("--shard: expected K/N, a part K from 1 to N")
    chosen = [one for one in items if _shard_of(one.nodeid, int(count)) == int(number)]
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[one for one in items if one not in kept])
        items[:] = chosen


def _shard_of(name: str, count: int) -> int:
    return zlib.crc32(name.encode()) % count + 1


@pytest.fixture
def children_hear_signals() -> Iterator[None]:
    """Let what a test starts hear Ctrl-C and the end of a terminal, however we were started.

    Behind `nohup`, and in the background of a script, both are ignored, and a child inherits that;
    what is caught here is heard there. Here they stay ignored.
    """
    with ExitStack() as put_back:
        for name in ("SIGINT", "SIGHUP"):
            number = getattr(signal, name, None)  # not all systems have both
            if number is not None and signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, _ignore)
                put_back.callback(signal.signal, number, signal.SIG_IGN)
        yield


def _ignore(_number: int, _frame: FrameType | None) -> None:
    return


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what became of the mutants, by kind, where there were any."""
    del config
    found: dict[str, Counter[str]] = {}
    for report in [one for each in terminalreporter.stats.values() for one in each]:
        for name, value in getattr(report, "user_properties", ()):
            if name == "mutants" and report.when == "call":
                found.setdefault(value[0], Counter()).update(value[1])
    if not found:
        return
    total = sum(found.values(), Counter[str]())
    outcomes = sorted(total, key=lambda one: -total[one])
    terminalreporter.write_line(f"| {' | '.join(['mutants', *outcomes])} |")
    terminalreporter.write_line("|---" + "|---:" * len(outcomes) + "|")
    for kind, counts in [*found.items(), ("all", total)]:
        figures = [f"{counts[one]:,}" for one in outcomes]
        terminalreporter.write_line(f"| {' | '.join([kind, *figures])} |")
