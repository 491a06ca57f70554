"""Make one dump: keep XLA's files under their names, write the oracles beside them."""

import gzip
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from make.catalogue import Backend, Dump
from make.children import DUMP_FOLDER, ask_xla, compile_program, list_flags
from make.proto import read_buffer_assignment, read_instructions, read_module
from make.wire import Message

KEPT = re.compile(
    r"(?:before_optimizations|after_optimizations|after_optimizations-[\w-]+"
    r"|after_spmd_partitioner|thunk_sequence|oom_intermediate_module)\.txt$|debug_options$"
)
FINAL = re.compile(r"after_optimizations\.txt$")
FIRST = re.compile(r"before_optimizations\.txt$")


def write_json(path: Path, document: dict[str, Any] | list[Any]) -> None:
    """Write compact JSON with one line for each entry of the outermost level."""
    if isinstance(document, dict):
        entries = [f"{json.dumps(key)}: {dump_compact(document[key])}" for key in document]
        text = "{\n" + ",\n".join(entries) + "\n}\n"
    else:
        text = "[\n" + ",\n".join(map(dump_compact, document)) + "\n]\n"
    path.write_text(text, encoding="utf-8")


def dump_compact(value: object) -> str:
    """Give JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def find_texts(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """List the files of a folder whose name ends so."""
    return [path for path in sorted(folder.iterdir()) if pattern.search(path.name)]


def write_oracles(program: Path, target: Path, facts: dict[str, Any]) -> None:
    """Write what XLA knows of a dump: from its parser, its protobuf and its executable."""
    proto = Message(program.read_bytes())
    (module,), assignments = proto.messages(1), proto.messages(3)
    oracle = {
        **facts,
        "dump_files": sorted(path.name for path in target.iterdir()),
        "from_proto": read_module(module),
        "buffer_assignment": read_buffer_assignment(assignments[0]) if assignments else None,
    }
    for key, pattern in (("after_optimizations", FINAL), ("before_optimizations", FIRST)):
        for text in find_texts(target, pattern):
            reading = ask_xla("read", text.read_text(encoding="utf-8"))
            if "error" in reading:
                oracle[key] = {"error": reading["error"], "file": text.name}
                continue
            oracle[key] = {**reading["module"], "file": text.name}
            write_json(target / f"oracle_{key}_instructions.json", reading["instructions"])
            write_json(target / f"oracle_{key}_costs.json", reading["costs"])
    if "error" in oracle["after_optimizations"]:
        write_json(target / "oracle_proto_instructions.json", read_instructions(module))
    write_json(target / "oracle.json", oracle)


def list_facts(dump: Dump, backend: Backend) -> dict[str, Any]:
    """Say what was compiled, with what, for what."""
    return {
        "platform": backend.folder,
        "program": dump.program,
        "variant": dump.variant or "base",
        "topology": [backend.platform, backend.topology] if backend.topology else None,
        "jax": backend.packages[0][1],
        "jaxlib": backend.packages[1][1],
        "plugins": dict(backend.packages[2:]),
        "xla_flags": list_flags(dump, backend),
    }


def make_printed(dump: Dump, text: str, out: Path) -> None:
    """Print a module in every style, and see how XLA reads each."""
    target = out / "printed"
    target.mkdir(parents=True, exist_ok=True)
    oracle = {}
    for style, printed in ask_xla("print", text).items():
        name = f"{dump.folder}.{dump.name}.{style}"
        (target / f"{name}.txt").write_text(printed, encoding="utf-8")
        reading = ask_xla("read", printed)
        row = {"bytes": len(printed.encode()), "reparsed": "error" not in reading}
        if "error" in reading:
            row["error"] = reading["error"][:300]
        else:
            keys = ("instructions", "computations", "entry")
            row.update({key: reading["module"][key] for key in keys})
        oracle[name] = row
    write_json(target / "oracle.json", oracle)


def pack(folder: Path) -> None:
    """Compress every file of a folder, the same way every time."""
    for path in sorted(folder.iterdir()):
        packed = gzip.compress(path.read_bytes(), compresslevel=9, mtime=0)
        path.with_name(f"{path.name}.gz").write_bytes(packed)
        path.unlink()


def make_dump(dump: Dump, backend: Backend, python: str, out: Path) -> None:
    """Compile one program and put its dump below `out`, replacing what was there."""
    with tempfile.TemporaryDirectory() as scratch:
        answer = compile_program(dump, backend, python, Path(scratch))
        source = Path(scratch) / DUMP_FOLDER
        for path in sorted(source.iterdir()):
            if any(part in path.name for part in dump.leave_out):
                path.unlink()
        final = find_texts(source, FINAL)[0]
        if dump.printed:
            make_printed(dump, final.read_text(encoding="utf-8"), out)
            return
        target = out / ("packed" if dump.packed else "dumps") / backend.folder / dump.name
        if dump.whole:
            target = out / "folders" / dump.whole
        shutil.rmtree(target, ignore_errors=True)
        if dump.whole:
            shutil.copytree(source, target)
            return
        target.mkdir(parents=True)
        for path in find_texts(source, KEPT):
            shutil.copyfile(path, target / path.name)
        facts = {**list_facts(dump, backend), **answer}
        write_oracles(final.with_suffix(".hlo.pb"), target, facts)
    if dump.packed:
        pack(target)
    if dump.alone_as:
        link = out / "hlo" / dump.alone_as
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(Path("..") / target.relative_to(out) / final.name)
