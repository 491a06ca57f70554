"""Compile `make/programs/sharded.py` in every variant, for tests/test_diff_arrays.py.

    python testdata/diff/make_sharded.py gpu_h100|tpu_v5e

Kept of each are the texts before and after optimization. testdata/README.md has the packages.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from make.catalogue import BACKENDS, Dump  # noqa: E402  it stands beside this folder
from make.children import DUMP_FOLDER, compile_program  # noqa: E402

VARIANTS = ("base", "mesh", "spec", "constraint")
KEPT = ("before_optimizations.txt", "after_optimizations.txt")


def main() -> None:
    """Compile each in an empty folder, and keep its texts."""
    (backend,) = [one for one in BACKENDS if one.folder == sys.argv[1]]
    for variant in VARIANTS:
        target = HERE / "sharded" / f"{backend.folder}.{variant}"
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            dump = Dump(backend.folder, "sharded", variant)
            compile_program(dump, backend, sys.executable, Path(scratch))
            for path in sorted(Path(scratch, DUMP_FOLDER).glob("*.jit_train_step.*.txt")):
                if path.name.endswith(KEPT):
                    packed = gzip.compress(path.read_bytes(), compresslevel=9, mtime=0)
                    (target / f"{path.name}.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
