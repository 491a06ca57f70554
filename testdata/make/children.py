"""Start the parts that load a compiler: each runs in a process of its own, and may abort it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from make.catalogue import HERE, Backend, Dump

# A relative name: XLA writes it into debug_options, and it must say nothing of this machine.
DUMP_FOLDER = "xla_dump"
STDERR_FILE = "stderr.txt"  # beside it: warnings, and the message of a failure
DUMP_FLAGS = (
    f"--xla_dump_to={DUMP_FOLDER}",
    "--xla_dump_hlo_as_text",
    "--xla_dump_hlo_as_proto",
)


def list_flags(dump: Dump, backend: Backend) -> str:
    """Give the XLA_FLAGS of a compilation."""
    return " ".join((*DUMP_FLAGS, *backend.flags, *dump.flags))


def compile_program(dump: Dump, backend: Backend, python: str, scratch: Path) -> dict[str, Any]:
    """Compile in an empty folder, and give what the compiler says of the result.

    The dump is in `scratch / DUMP_FOLDER` afterwards, what was written to stderr in STDERR_FILE.
    """
    program = str(HERE / "programs" / f"{dump.program}.py")
    where = (backend.platform, backend.topology, backend.target)
    child = subprocess.run(  # noqa: S603 (our own module, with the interpreter asked for)
        [python, "-m", "make.compile", program, dump.variant, *where],
        cwd=scratch,
        env={
            **os.environ,
            **backend.environment,
            "PYTHONPATH": str(HERE.parent),
            "XLA_FLAGS": list_flags(dump, backend),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise SystemExit(f"{child.stderr}\n{dump.folder}/{dump.name} was not compiled")
    (scratch / STDERR_FILE).write_text(child.stderr, encoding="utf-8")
    answer: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return answer


def ask_xla(question: str, text: str) -> dict[str, Any]:
    """Let XLA's own code look at a text: `read` or `print`, see oracle.py."""
    child = subprocess.run(  # noqa: S603 (our own module)
        [sys.executable, "-m", "make.oracle", question],
        env={**os.environ, "PYTHONPATH": str(HERE.parent), "JAX_PLATFORMS": "cpu"},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        return {"error": f"XLA's parser ended the process with status {child.returncode}"}
    answer: dict[str, Any] = json.loads(child.stdout)
    return answer
