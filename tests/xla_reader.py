"""What jaxlib's own parser reads in a text: in a process of its own, as some texts abort it.

jaxlib is what `make bench` installs; without it `find_reader` finds nothing.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
_PYTHON: Final = ROOT / ".bench" / "bin" / "python"
# Reads a text a line, as JSON, and answers with a line: rows of opcode and operands for each
# computation, XLA's own print, which tells shapes, and its flops; or null where it is refused.
_CHILD: Final = r"""
import json, sys
from jaxlib import _hlo, _jax, xla_client
client = xla_client.make_cpu_client()
for line in sys.stdin:
    answer = None
    try:
        module = _hlo.hlo_module_from_text(json.loads(line))
        text = module.to_string()
        flops = _jax.hlo_module_cost_analysis(client, module).get("flops")
        computations = []
        for computation in module.computations():
            instructions = list(computation.instructions())
            place = {one.name: number for number, one in enumerate(instructions)}
            computations.append([
                [one.opcode.name, [place[operand.name] for operand in one.operands()]]
                for one in instructions
            ])
        answer = {"computations": computations, "text": text, "flops": flops}
    except Exception:
        pass
    print(json.dumps(answer), flush=True)
"""


class XlaReader:
    """A process that reads texts, and another one after each text that ended it."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None

    def read(self, text: str) -> dict[str, Any] | None:
        """Return what XLA reads, None where it refuses the text, or aborts."""
        child = self._child
        if child is None:
            child = self._child = subprocess.Popen(
                [str(_PYTHON), "-c", _CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{json.dumps(text)}\n")
        child.stdin.flush()
        answer = child.stdout.readline()
        if not answer:  # it was aborted
            self.close()
            return None
        found: dict[str, Any] | None = json.loads(answer)
        return found

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None


def find_reader() -> XlaReader | None:
    """Return a reader that reads, None where jaxlib is not there."""
    if not _PYTHON.exists():
        return None
    reader = XlaReader()
    if reader.read("HloModule m\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n") is None:
        reader.close()
        return None
    return reader
