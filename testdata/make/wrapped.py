"""Keep protos of asynchronous operations beside the text and the assignment that XLA dumps of them.

    PYTHONPATH=testdata python -m make.wrapped BACKEND… [--python JAX_PYTHON]

BACKEND is a folder of testdata/dumps. testdata/protos/wrapped/BACKEND.tar.zst has, for each program
of programs/wrapped.py, NAME.hlo.pb, NAME.txt and NAME-buffer-assignment.txt.
"""

import argparse
import io
import re
import sys
import tarfile
import tempfile
from pathlib import Path

import zstandard

from make.catalogue import BACKENDS, HERE, Dump
from make.children import DUMP_FOLDER, compile_program

WRAPPED = HERE.parent / "protos" / "wrapped"
KEPT = re.compile(
    r"module_\d+\.jit_(?P<name>\w+)\..*after_optimizations"
    r"(?P<end>\.txt|\.hlo\.pb|-buffer-assignment\.txt)$"
)


def main() -> None:
    """Compile all programs for some backends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backend", nargs="+")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    WRAPPED.mkdir(exist_ok=True)
    for backend in (one for one in BACKENDS if one.folder in arguments.backend):
        packed = io.BytesIO()
        with tempfile.TemporaryDirectory() as scratch:
            dump = Dump(backend.folder, "wrapped")
            compile_program(dump, backend, arguments.python, Path(scratch))
            with tarfile.open(fileobj=packed, mode="w") as archive:
                for path in sorted((Path(scratch) / DUMP_FOLDER).iterdir()):
                    if match := KEPT.fullmatch(path.name):
                        entry = tarfile.TarInfo(f"{match['name']}{match['end']}")
                        entry.size = path.stat().st_size
                        archive.addfile(entry, io.BytesIO(path.read_bytes()))
        (WRAPPED / f"{backend.folder}.tar.zst").write_bytes(
            zstandard.compress(packed.getvalue(), 19)
        )


if __name__ == "__main__":
    main()
