"""MLIR programs as the HLO that XLA makes of them: StableHLO and MHLO, as text or as bytes.

The converter is native code in jaxlib, and private there. It runs in a process of its own, which
it may end; this file is that process as well (`python -m hlotool.dump.mlir`): MLIR in, HLO out.

The HLO has no device counts, so those of the MLIR come with it. Where MLIR says of no place in a
program, the converter names the line of the MLIR; that is nobody's program, and left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from typing import Any, Final

from hlotool.dump.text_kind import MLIR_BYTECODE
from hlotool.errors import InputError, MissingPackageError
from hlotool.text import DeviceCounts, Source

_SECONDS: Final = 120.0  # of the converter; a program of a million lines takes less
_COUNT: Final = r"mhlo\.num_%s = (\d{1,9}) : i32"
_NO_PLACE: Final = re.compile(r' ?source_file="-"(?: source_\w+=\d+)*')
_NO_METADATA: Final = ", metadata={}"
_LONGEST: Final = 300  # characters of what the converter says


def convert_mlir(data: bytes, name: str) -> Source:
    """Return the HLO of an MLIR program; raise InputError where the converter finds none.

    Raises MissingPackageError without jaxlib.
    """
    if find_spec("jaxlib") is None:
        raise MissingPackageError(
            f"{name}: this is MLIR, the program before XLA compiled it, and its HLO needs one more "
            "package: pip install 'hlotool[mlir]'."
        )
    # -P: no module of the folder that the user stands in is taken for one of these.
    command = [sys.executable, "-P", "-m", "hlotool.dump.mlir"]
    try:
        done = subprocess.run(  # noqa: S603  this file
            command, input=data, capture_output=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{name}: XLA's converter takes more than two minutes.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:_LONGEST]
        raise InputError(
            f"{name}: XLA's converter cannot convert this MLIR to HLO: {said or 'it aborted'}."
        )
    text = _NO_PLACE.sub("", done.stdout.decode("utf-8", "replace")).replace(_NO_METADATA, "")
    head = data[: 1 << 20].decode("utf-8", "replace")
    found = [re.search(_COUNT % one, head) for one in ("replicas", "partitions")]
    if data.startswith(MLIR_BYTECODE):
        return Source(text, name, counts=DeviceCounts(None, None))
    return Source(text, name, counts=DeviceCounts(*(int(one[1]) if one else 1 for one in found)))


def main() -> None:
    """Read MLIR from standard input, and write its HLO."""
    from jaxlib import _jax  # noqa: PLC0415  in this process alone

    data = sys.stdin.buffer.read()
    program: Any = data if data.startswith(MLIR_BYTECODE) else data.decode("utf-8")
    try:
        made = _jax.mlir.mlir_module_to_xla_computation(
            program, use_tuple_args=False, return_tuple=False
        )
    except (RuntimeError, TypeError, ValueError) as error:
        sys.exit(str(error).partition("\n")[0])
    sys.stdout.write(made.get_hlo_module().to_string())


if __name__ == "__main__":
    main()
