"""Compile a program with dumps and times of its passes; run with the JAX of the dump.

    PYTHONPATH=testdata JAX_PYTHON -m make.timed cpu|gpu_h100|tpu_v5e [--plain]

Into testdata/passes/BACKEND.tar.xz go texts of passes, `metadata.textproto`, on cpu and gpu a
profile of the compilation, and how long JAX says that it took. `--plain`: without texts of passes.
"""

import json
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from make.catalogue import BACKENDS, HERE

KEPT = ("_optimizations.txt", ".metadata.textproto")


def compile_in(folder: Path, name: str, *, is_plain: bool) -> None:
    """Compile in a folder, and write what JAX says of it."""
    backend = next(one for one in BACKENDS if one.folder == name)
    wanted = ["--xla_dump_to=dump", "--xla_dump_hlo_as_text", "--xla_dump_module_metadata"]
    wanted += [] if is_plain else ["--xla_dump_hlo_pass_re=.*"]
    flags = " ".join((*wanted, *backend.flags))
    os.environ.update(backend.environment, JAX_PLATFORMS="cpu", XLA_FLAGS=flags)
    os.chdir(folder)
    import jax  # noqa: PLC0415  it reads the environment
    from jax._src import monitoring  # noqa: PLC0415  the same

    from make.compile import find_devices, load_lower  # noqa: PLC0415  the same

    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/")
    said: dict[str, float] = {}
    monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: said.update({event.rpartition("/")[2]: seconds})
    )
    devices = find_devices(backend.platform, backend.topology, backend.target)
    lowered: Any = load_lower(HERE / "programs/folded.py")(devices, "")
    if backend.platform == "tpu":  # whose profiler needs the hardware
        lowered.compile()
    else:
        with jax.profiler.trace("profile"):
            lowered.compile()
    Path("jax.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def pack(folder: Path, target: Path) -> None:
    """Keep what tells of passes."""
    for path in (folder / "dump").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not (path.name.endswith(KEPT) or "after_" in path.name or ".before_" in path.name):
            path.unlink()
    for path in (*folder.glob("dump/*buffer*"), *folder.glob("dump/*-*usage*")):
        path.unlink()
    for path in folder.rglob("*.xplane.pb"):
        shutil.copy(path, folder / "host.xplane.pb")
    shutil.rmtree(folder / "profile", ignore_errors=True)
    with tarfile.open(target, "w:xz") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, arcname=path.name)


if __name__ == "__main__":
    plain = "--plain" in sys.argv
    with tempfile.TemporaryDirectory() as scratch:
        compile_in(Path(scratch), sys.argv[1], is_plain=plain)
        ending = ".plain" if plain else ""
        pack(Path(scratch), HERE.parent / "passes" / f"{sys.argv[1]}{ending}.tar.xz")
