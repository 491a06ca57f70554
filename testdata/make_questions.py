"""Compile what stands in `questions`: for each question a problem, and a twin without the problem.

    python testdata/make_questions.py [--only NUMBER ...] --python PYTHON

PYTHON is the interpreter of an environment that holds the packages of `make/catalogue.py`. Each
`question.toml` says what to compile:

    program = "donation.py"     a file of make/programs/questions
    backend = "cpu"             a folder of make/catalogue.py
    problem = "as_float32"      the variant; for a pair a list of two, which become `a` and `b`
    twin = "same_dtype"         likewise
    flags = ["--xla_..."]       of all of them; a variant with flags of its own is a table:
                                {variant = "base", flags = ["--xla_..."]}
    libtpu_args = ["--xla_..."] the same of libtpu, which has its own flags
    keep = ["*thunk_sequence.txt"]  patterns of names; without it KEPT
    log = "compile.log"         keep what was written to stderr too, under this name
    log_lines = "Involuntary"   only its lines in which this pattern is found

A question with `text` (a message written from the compiler's format string) or `none` is left
alone: its files are written by hand.
"""

import argparse
import gzip
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from make.catalogue import BACKENDS, Backend, Dump
from make.children import DUMP_FOLDER, STDERR_FILE, compile_program

QUESTIONS = Path(__file__).resolve().parent / "questions"
KEPT = ("*after_optimizations.txt", "*after_optimizations-buffer-assignment.txt")
LARGE_BYTES = 8000  # a file of more is compressed


@dataclass(frozen=True)
class Compilation:
    """One side of a question, or of a pair."""

    target: Path
    dump: Dump
    backend: Backend
    keep: tuple[str, ...]
    log: str
    log_lines: str


def list_sides(folder: Path, name: str, value: Any) -> list[tuple[Path, Any]]:
    """Give the folder and the variant of each compilation of a problem or a twin."""
    if isinstance(value, list):
        return [(folder / name / side, one) for side, one in zip("ab", value, strict=True)]
    return [(folder / name, value)]


def list_compilations(folder: Path, question: dict[str, Any]) -> list[Compilation]:
    """Say what to compile for one question; nothing where no program is named."""
    if "program" not in question:
        return []
    (backend,) = (one for one in BACKENDS if one.folder == question["backend"])
    if "libtpu_args" in question:
        given = backend.environment.get("LIBTPU_INIT_ARGS", "")
        arguments = " ".join((given, *question["libtpu_args"])).strip()
        environment = {**backend.environment, "LIBTPU_INIT_ARGS": arguments}
        backend = replace(backend, environment=environment)
    found = []
    for name in ("problem", "twin"):
        for target, side in list_sides(folder, name, question[name]):
            own = side if isinstance(side, dict) else {"variant": side}
            dump = Dump(
                backend.folder,
                f"questions/{question['program'].removesuffix('.py')}",
                own["variant"],
                (*question.get("flags", ()), *own.get("flags", ())),
            )
            keep = tuple(question.get("keep", KEPT))
            log, lines = question.get("log", ""), question.get("log_lines", "")
            found.append(Compilation(target, dump, backend, keep, log, lines))
    return found


def write_kept(path: Path, data: bytes) -> None:
    """Write a file, compressed the same way every time where it is large."""
    if len(data) > LARGE_BYTES:
        path = path.with_name(f"{path.name}.gz")
        data = gzip.compress(data, compresslevel=9, mtime=0)
    path.write_bytes(data)


def run(compilation: Compilation, python: str) -> None:
    """Compile, and replace the folder by what is kept of the dump."""
    target = compilation.target
    with tempfile.TemporaryDirectory() as scratch:
        answer = compile_program(compilation.dump, compilation.backend, python, Path(scratch))
        for note in answer["notes"]:
            print(f"  {note}")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in sorted((Path(scratch) / DUMP_FOLDER).iterdir()):
            if any(fnmatch(path.name, pattern) for pattern in compilation.keep):
                write_kept(target / path.name, path.read_bytes())
        if compilation.log:
            stderr = (Path(scratch) / STDERR_FILE).read_text(encoding="utf-8")
            write_kept(target / compilation.log, choose_lines(stderr, compilation.log_lines))


def choose_lines(text: str, pattern: str) -> bytes:
    """Keep the lines in which the pattern is found."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if re.search(pattern, line)).encode()


def main() -> None:
    """Compile all questions, or the ones that are named."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", type=int, nargs="*", metavar="NUMBER")
    parser.add_argument("--python", required=True)
    arguments = parser.parse_args()
    for file in sorted(QUESTIONS.glob("*/question.toml")):
        question = tomllib.loads(file.read_text(encoding="utf-8"))
        if arguments.only and question["number"] not in arguments.only:
            continue
        for compilation in list_compilations(file.parent, question):
            print(compilation.target.relative_to(QUESTIONS), flush=True)
            run(compilation, arguments.python)


if __name__ == "__main__":
    main()
