"""Forty one-line faults: does `make test` find them?

`make faults` puts one fault after another into a copy of the tree, runs the tests there until one
fails, and tells which: two faults at a time, each in a copy of its own, the tests that are called
like its topic before all others. A fault is a text that stands once in hlotool/, in whichever file,
and what is put in its place; blanks and line ends between its words may be any. `--only 3,17` tries
some faults, `--list` none. Without faults all tests must pass, which is tried first where all are.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
COPIED: Final = (
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "action.yml",
    "docs", "hlotool", "pyproject.toml", "testdata", "tests",
)  # fmt: skip
PYTEST: Final = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
FOUND: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
LIMIT_SECONDS: Final = 2_400
NO_TESTS: Final = 4  # what pytest ends with where a file is not there
AT_ONCE: Final = 2


@dataclass(frozen=True)
class Fault:
    """What is wrong, the text it is put into, and what takes its place.

    The words of its topic are those of the names of tests that are likely to find it.
    """

    topic: str
    text: str
    wrong: str

    def places(self, source: str) -> list[re.Match[str]]:
        """Return where the text stands in a file."""
        words = (re.escape(word) for word in self.text.split())
        return list(re.finditer(r"\s+".join(words), source))


FAULTS: Final = (
    Fault("shape parse", "-(-pending // entry) * entry", "pending // entry * entry"),
    Fault("shape parse", "count * layout.element_bits + 7", "count * layout.element_bits"),
    Fault(
        "groups",
        "(groups.count_devices(reshape),), reshape, perm)",
        "(groups.count_devices(reshape),), reshape)",
    ),
    Fault("shardings", "AxisRef(name, pre_size, size)", "AxisRef(name, size, pre_size)"),
    Fault("parse inference", "pad.interior * max(size - 1, 0)", "pad.interior * size"),
    Fault("parse inference", "known = before + size", "known = max(before, size)"),
    Fault(
        "parse inference",
        "tuple(order.index(number) for number in layout.minor_to_major)",
        "tuple(layout.minor_to_major)",
    ),
    Fault(
        "buffers",
        "if offset + size > allocation.size_bytes",
        "if offset > allocation.size_bytes",
    ),
    Fault(
        "estimate donation",
        '"reusable" if key in donated else "fixed"',
        '"fixed" if key in donated else "reusable"',
    ),
    Fault(
        "live ranges buffers",
        "LiveRange(second.start, first.end)",
        "LiveRange(second.start, second.end)",
    ),
    Fault(
        "holdings timeline",
        "found.start <= position <= found.end",
        "found.start <= position < found.end",
    ),
    Fault("relief gains memory", "free_bytes=saved - excess", "free_bytes=saved"),
    Fault("estimate", "not buffer.leaves, visited", "buffer.leaves, visited"),
    Fault("estimate", "there.start > found.end", "there.start >= found.end"),
    Fault("collectives sent bytes", "(times * (size - 1), size)", "(times * size, size)"),
    Fault("collectives sent bytes", "return int(size > 1), 1", "return 1, 1"),
    Fault(
        "collectives overlap",
        "taking[-1] if taking else opening",
        "taking[0] if taking else opening",
    ),
    Fault("cost", "getattr(self, name) * count for name", "getattr(self, name) for name"),
    Fault("cost", "_join(parts, max, is_upper", "_join(parts, sum, is_upper"),
    Fault("cost", "* (lhs.dims[labels.lhs_batch] // batch_groups)", "* lhs.dims[labels.lhs_batch]"),
    Fault("cost", "max(0, -(offset // step))", "max(0, -offset // step)"),
    Fault("fusions", "moved[key] += size * runs", "moved[key] += size"),
    Fault("fusions", "* (len(repeats) - 1)", "* len(repeats)"),
    Fault(
        "call rules", "sum(one.known for one in all_parts)", "max(one.known for one in all_parts)"
    ),
    Fault("executions", "(depth + 1, call.caller) if is_loop", "(depth, call.caller) if is_loop"),
    Fault(
        "diff changes",
        "len(found) * len(others) > _MOST_COMPARED",
        "len(found) * len(others) > 0",
    ),
    Fault(
        "diff changes",
        "return mapped == [one for one in there",
        "return [] == [one for one in there",
    ),
    Fault(
        "diff causes",
        "return sum(pair.delta_bytes for pair in pairs)",
        "return -sum(pair.delta_bytes for pair in pairs)",
    ),
    Fault("diff causes", "(old.size_bytes or 0) * before", "(old.size_bytes or 0) * now"),
    Fault("check", "baseline + max(share, self.max_increase_abs or 0)", "baseline + share"),
    Fault(
        "check",
        "return self.left is None or self.left >= 0",
        "return self.left is None or self.left > 0",
    ),
    Fault(
        "query where",
        "is_found(str(item)) for item in items) is is_wanted",
        "is_found(str(item)) for item in items)",
    ),
    Fault("query select", "(measure.value or 0) / self.whole.value", "(measure.value or 0) * 1.0"),
    Fault("render units", '"−" if value < 0 else', '"−" if value <= 0 else'),
    Fault("inputs", "name.suffix != own.suffix", "name.suffix == own.suffix"),
    Fault("protos", "index % _ANNOTATED_EVERY == 0", "index % _ANNOTATED_EVERY == 1"),
    Fault("profiles", "max(counts[owners[op]], count)", "counts[owners[op]] + count"),
    Fault(
        "out of memory",
        "Fraction(scale, 2 * 10 ** len(decimals))",
        "Fraction(scale, 10 ** len(decimals))",
    ),
    Fault("out of memory", "last, count = message, count + 1", "last, count = message, count"),
    Fault(
        "check",
        "settings.stage if settings.stage and",
        "settings.stage if not settings.stage and",
    ),
)


def find_place(fault: Fault, package: Path) -> tuple[Path, re.Match[str]]:
    """Return the one file and place of a fault's text; raise ValueError if there is no such."""
    found = [
        (path, match)
        for path in sorted(package.rglob("*.py"))
        for match in fault.places(path.read_text(encoding="utf-8"))
    ]
    if len(found) != 1:
        raise ValueError(f"{fault.text!r} stands {len(found)} times in {package.name}/, not once")
    return found[0]


def split_tests(copy: Path, topic: str) -> tuple[list[str], list[str]]:
    """List the files of tests that have words of a topic, those with most first, and the others."""
    words = set(topic.split())
    near: dict[str, int] = {}
    others = []
    for path in sorted((copy / "tests").glob("test_*.py")):
        if count := len(words.intersection(path.stem.split("_"))):
            near[f"tests/{path.name}"] = -count
        elif path.name != "test_faults.py":  # it would find each of them
            others.append(f"tests/{path.name}")
    return sorted(near, key=near.__getitem__), others


def run_tests(copy: Path, topic: str = "") -> str:
    """Run the tests of a copy until one fails; return its name, '' if none does."""
    parts = split_tests(copy, topic)
    return next(filter(None, (run_files(copy, files) for files in parts if files)), "")


def run_files(copy: Path, files: list[str]) -> str:
    """Run the tests of some files until one fails; return its name, '' if none does."""
    try:
        done = subprocess.run(
            (*PYTEST, *files),
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"(no end in {LIMIT_SECONDS} seconds)"
    if done.returncode == NO_TESTS:
        raise ValueError(f"pytest was asked wrongly: {done.stderr}")
    named = FOUND.search(done.stdout)
    return named[1] if named else f"(exit {done.returncode})" if done.returncode else ""


def try_fault(fault: Fault, copy: Path) -> str:
    """Put a fault into a copy of the tree; return the test that finds it, '' if none does."""
    path, match = find_place(fault, copy / "hlotool")
    whole = path.read_text(encoding="utf-8")
    path.write_text(f"{whole[: match.start()]}{fault.wrong}{whole[match.end() :]}", "utf-8")
    try:
        return run_tests(copy, fault.topic)
    finally:
        path.write_text(whole, "utf-8")


def copy_tree(copy: Path) -> None:
    """Copy what the tests need, and link what stands beside the repository."""
    copy.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
            shutil.copytree(source, copy / name, symlinks=True, ignore=ignored)
        elif source.exists():
            shutil.copy(source, copy / name)
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (copy.parent / "shared").symlink_to(shared)


def main(numbers: Iterable[int], *, is_trusted: bool) -> int:
    """Try faults; return 1 where one was not found, 2 where a test fails without any."""
    missed = 0
    copies: SimpleQueue[Path] = SimpleQueue()

    def try_number(number: int) -> str:
        copy = copies.get()
        try:
            return try_fault(FAULTS[number - 1], copy)
        finally:
            copies.put(copy)

    with TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(AT_ONCE):
            copy = Path(folder, str(number), "repository")
            copy_tree(copy)
            copies.put(copy)
        if not is_trusted and (failed := run_tests(copy)):
            say(f"without a fault {failed} fails")
            return 2
        tried = list(numbers)
        for number, found in zip(tried, pool.map(try_number, tried), strict=True):
            fault = FAULTS[number - 1]
            missed += not found
            by = f"found by {found}" if found else "NOT FOUND"
            say(f"{number:2} {fault.topic}: {fault.text} → {fault.wrong}: {by}")
    say(f"{missed} not found")
    return int(missed > 0)


def say(line: str) -> None:
    """Print a line at once: a run takes long."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def list_places() -> None:
    """Print where each fault would stand."""
    for number, fault in enumerate(FAULTS, 1):
        path, match = find_place(fault, ROOT / "hlotool")
        line = path.read_text(encoding="utf-8").count("\n", 0, match.start()) + 1
        say(f"{number:2} {fault.topic}: {path.relative_to(ROOT)}:{line}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Put faults into a copy, and run its tests.")
    parser.add_argument("--only", metavar="N,N", default="", help="the numbers of those to try")
    parser.add_argument("--list", action="store_true", help="only print where they would stand")
    options = parser.parse_args()
    if options.list:
        list_places()
    else:
        some = [int(one) for one in options.only.split(",") if one]
        sys.exit(main(some or range(1, len(FAULTS) + 1), is_trusted=bool(some)))
