"""Make one dump: compile in a child process, keep XLA's files, write the oracles beside them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make.catalogue import HERE, Backend, Dump
from make.proto import read_buffer_assignment, read_instructions, read_module
from make.wire import Message

# A relative name: XLA writes it into debug_options, and it must say nothing of this machine.
DUMP_FOLDER = "xla_dump"
DUMP_FLAGS = (
    f"--xla_dump_to={DUMP_FOLDER}",
    "--xla_dump_hlo_as_text",
    "--xla_dump_hlo_as_proto",
)
KEPT = re.compile(
    r"(?:before_optimizations|after_optimizations|after_optimizations-[\w-]+"
    r"|after_spmd_partitioner|thunk_sequence)\.txt$|debug_options$"
)
FINAL = re.compile(r"after_optimizations\.txt$")
FIRST = re.compile(r"before_optimizations\.txt$")


def run_child(module: str, *arguments: str, cwd: Path, flags: str, **environment: str) -> Any:
    """Run a module of this package and give the JSON on its last line."""
    settings = {**os.environ, **environment, "XLA_FLAGS": flags, "PYTHONPATH": str(HERE.parent)}
    child = subprocess.run(  # noqa: S603 (our own interpreter and modules)
        [sys.executable, "-m", module, *arguments],
        cwd=cwd,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise SystemExit(f"{child.stderr}\n{module} {arguments} failed")
    return json.loads(child.stdout.splitlines()[-1])


def read_as_xla(text: Path) -> dict[str, Any]:
    """Let XLA's parser read a text; in a process of its own, which it may abort."""
    child = subprocess.run(
        [sys.executable, "-m", "make.oracle"],
        env={**os.environ, "PYTHONPATH": str(HERE.parent), "JAX_PLATFORMS": "cpu"},
        stdin=text.open(),
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        return {"error": f"XLA's parser ended the process with status {child.returncode}"}
    reading: dict[str, Any] = json.loads(child.stdout)
    return reading


def write_json(path: Path, document: dict[str, Any] | list[Any]) -> None:
    """Write compact JSON with one line for each entry of the outermost level."""
    if isinstance(document, dict):
        entries = [f"{json.dumps(key)}: {dump_compact(document[key])}" for key in document]
        text = "{\n" + ",\n".join(entries) + "\n}\n"
    else:
        text = "[\n" + ",\n".join(map(dump_compact, document)) + "\n]\n"
    path.write_text(text, encoding="utf-8")


def dump_compact(value: object) -> str:
    """Give JSON without blanks after commas."""
    return json.dumps(value, separators=(",", ":"), sort_keys=isinstance(value, dict))


def find_one(folder: Path, pattern: re.Pattern[str]) -> Path:
    """Find the one file of a dump whose name ends so."""
    (found,) = [path for path in sorted(folder.iterdir()) if pattern.search(path.name)]
    return found


def write_oracles(source: Path, target: Path, facts: dict[str, Any]) -> None:
    """Write what XLA knows of a dump: from its parser, its protobuf and its executable."""
    proto = Message(find_one(source, re.compile(r"after_optimizations\.hlo\.pb$")).read_bytes())
    (module,), assignments = proto.messages(1), proto.messages(3)
    oracle = {
        **facts,
        "dump_files": sorted(path.name for path in target.iterdir()),
        "from_proto": read_module(module),
        "buffer_assignment": read_buffer_assignment(assignments[0]) if assignments else None,
    }
    for key, pattern in (("after_optimizations", FINAL), ("before_optimizations", FIRST)):
        if not any(pattern.search(path.name) for path in target.iterdir()):
            continue
        text = find_one(target, pattern)
        reading = read_as_xla(text)
        if "error" in reading:
            oracle[key] = {"error": reading["error"], "file": text.name}
            write_json(target / "oracle_proto_instructions.json", read_instructions(module))
            continue
        oracle[key] = {**reading["module"], "file": text.name}
        write_json(target / f"oracle_{key}_instructions.json", reading["instructions"])
    write_json(target / "oracle.json", oracle)


def make_dump(dump: Dump, backend: Backend, out: Path) -> None:
    """Compile one program and put its dump below `out`, replacing what was there."""
    flags = " ".join((*DUMP_FLAGS, *backend.flags, *dump.flags))
    target = out / "dumps" / backend.folder / dump.name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    program = HERE / "programs" / f"{dump.program}.py"
    with tempfile.TemporaryDirectory() as scratch:
        answer = run_child(
            "make.compile",
            *(str(program), dump.variant, backend.platform, backend.topology, backend.target),
            cwd=Path(scratch),
            flags=flags,
            **backend.environment,
        )
        source = Path(scratch) / DUMP_FOLDER
        for path in sorted(source.iterdir()):
            if KEPT.search(path.name) and not any(part in path.name for part in dump.leave_out):
                shutil.copyfile(path, target / path.name)
        facts = {
            "platform": backend.folder,
            "program": dump.program,
            "variant": dump.variant or "base",
            "topology": [backend.platform, backend.topology] if backend.topology else None,
            "jax": backend.packages[0][1],
            "jaxlib": backend.packages[1][1],
            "plugins": dict(backend.packages[2:]),
            "xla_flags": flags,
            **answer,
        }
        write_oracles(source, target, facts)
    if dump.copy_as:
        (out / "hlo").mkdir(exist_ok=True)
        shutil.copyfile(find_one(target, FINAL), out / "hlo" / dump.copy_as)
