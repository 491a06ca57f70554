"""Compile the pairs of testdata/edits: programs as they are, and after an edit of their source.

    PYTHONPATH=testdata JAX_PYTHON -m make.edits --backend gpu_h100 [--half tune] [--only NAME]

A pair's entry in truths.toml says what to replace in make/programs/edits/PROGRAM.txt, which flags
are added, or which other jax compiles (`--other-jax PYTHON`). What is there is not made again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from make.catalogue import BACKENDS, HERE, Backend
from make.children import DUMP_FLAGS, DUMP_FOLDER

EDITS = HERE.parent / "edits"
HALVES = ("tune", "judge")
FINAL = ("after_optimizations.txt", "buffer-assignment.txt", "debug_options", "tpu_comp_env.txt")
BEFORE = "before_optimizations.txt"
Job = dict[str, Any]


def list_jobs(backend: str, halves: list[str], only: str) -> list[Job]:
    """List what is to be compiled, each once: its source, and the archives that are made of it."""
    jobs: dict[str, Job] = {}
    for half in halves:
        truths = tomllib.loads((EDITS / half / "truths.toml").read_text(encoding="utf-8"))
        for name, truth in truths.items():
            if truth["backend"] != backend or only not in name:
                continue
            kept = FINAL if truth.get("final_alone") else (*FINAL, BEFORE)
            for key, job in (("old", old_side(truth)), ("new", new_side(truth))):
                out = (EDITS / half / truth[key]).resolve()
                if not out.exists():
                    jobs.setdefault(json.dumps(job), {**job, "outs": {}})["outs"][str(out)] = kept
    return list(jobs.values())


def old_side(truth: Job) -> Job:
    """Give a program before its edit."""
    return {"program": truth["program"], "replace": truth.get("before", [])}


def new_side(truth: Job) -> Job:
    """Give a program after its edit."""
    if truth["new"].startswith("../"):  # the program as it is
        return {"program": truth["program"], "replace": []}
    old = old_side(truth)
    made: Job = {key: truth[key] for key in ("flags", "jax", "warm") if key in truth}
    return {**old, **made, "replace": [*old["replace"], *truth.get("replace", [])]}


def edit_source(job: Job) -> str:
    """Give the source of a program after the replacements."""
    path = HERE / "programs" / "edits" / f"{job['program']}.txt"
    source = path.read_text(encoding="utf-8")
    for old, new in job.get("replace", ()):
        if source.count(old) != 1:
            raise ValueError(f"{job['program']}: {source.count(old)} times {old!r}")
        source = source.replace(old, new)
    return source


def compile_jobs(jobs: list[Job], backend: Backend) -> None:
    """Compile one job after another in this process, whose flags are set."""
    import jax  # noqa: PLC0415 (the environment must be set before)
    from jax._src import source_info_util  # noqa: PLC0415

    from make import compile as one  # noqa: PLC0415

    for path in (__file__, "<frozen runpy>"):
        source_info_util.register_exclusion(path)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/site-packages/")
    devices = one.find_devices(backend.platform, backend.topology, backend.target)
    folder = Path(DUMP_FOLDER)
    for job in jobs:
        try:
            for source in [*job.get("warm", ()), None]:
                jax.clear_caches()
                text = edit_source({"program": source} if source else job)
                names: dict[str, Any] = {"__name__": "train"}
                code = compile(text, f"{one.SOURCE_FOLDER}/{job['program']}.py", "exec")
                exec(code, names)  # noqa: S102 (our own file)
                lowered = names["lower"](devices)
                shutil.rmtree(folder, ignore_errors=True)  # of others, and of what led here
                for program in lowered:
                    program.compile()
            for out, kept in job["outs"].items():
                pack(folder, Path(out), kept)
        except Exception as error:  # noqa: BLE001 (the next may do)
            print(
                f"FAILED {list(job['outs'])}: {type(error).__name__}: {str(error)[:600]}",
                flush=True,
            )


def pack(folder: Path, out: Path, kept: Sequence[str]) -> None:
    """Put what is kept of a dump into one archive."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        packed = Path(scratch) / "dump.tar"
        size = 0
        with tarfile.open(packed, mode="w") as archive:
            for path in sorted(folder.iterdir()):
                if path.name.endswith(tuple(kept)):
                    entry = tarfile.TarInfo(path.name)
                    entry.size = path.stat().st_size
                    size += entry.size
                    with path.open("rb") as file:
                        archive.addfile(entry, file)
        subprocess.run(["zstd", "-q", "-19", "-f", packed, "-o", out], check=True)  # noqa: S603, S607
    print(f"{out.name}: {size // 1024} kB, packed {out.stat().st_size // 1024} kB", flush=True)


def run_child(python: str, jobs: list[Job], backend: Backend) -> None:
    """Compile jobs of the same flags by one process in an empty folder."""
    flags = (*DUMP_FLAGS[:2], *backend.flags, *jobs[0].get("flags", ()))
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(  # noqa: S603 (our own module)
            [python, "-m", "make.edits", "--backend", backend.folder, "--jobs", json.dumps(jobs)],
            cwd=scratch,
            env={
                **os.environ,
                **backend.environment,
                "PYTHONPATH": str(HERE.parent),
                "XLA_FLAGS": " ".join(one for one in flags if "_tpu_" not in one),
                "LIBTPU_INIT_ARGS": " ".join(one for one in flags if "_tpu_" in one),
            },
            check=False,
        )


def main() -> None:
    """Compile what was asked for and is not there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--half", nargs="+", default=HALVES, choices=HALVES)
    parser.add_argument("--only", default="")
    parser.add_argument("--other-jax", default="")
    parser.add_argument("--jobs", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    backend = next(one for one in BACKENDS if one.folder == arguments.backend)
    if arguments.jobs:
        compile_jobs(arguments.jobs, backend)
        return
    together: dict[str, list[Job]] = {}
    for job in list_jobs(backend.folder, arguments.half, arguments.only):
        together.setdefault(json.dumps([job.get("flags"), job.get("jax")]), []).append(job)
    for jobs in together.values():
        python = arguments.other_jax if "jax" in jobs[0] else sys.executable
        if python:
            run_child(python, jobs, backend)


if __name__ == "__main__":
    main()
