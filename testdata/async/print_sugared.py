"""Ask XLA to print the modules of this folder with async sugar: NAME.sugared.txt of NAME.txt.

    python testdata/async/print_sugared.py        (needs jaxlib, pinned in pyproject.toml)

XLA's open parser refuses operands that are bound late; late.sugared.txt is written by hand,
after what libtpu prints in dumps/tpu_v6e/pipeline.gather.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
BY_HAND = "late"

# In a process of its own: some texts abort XLA.
_CHILD = """
import sys
from jaxlib import _hlo
print(_hlo.hlo_module_from_text(sys.stdin.read()).to_string(_hlo.HloPrintOptions()))
"""


def main() -> None:
    """Write the sugared texts."""
    for path in sorted(FOLDER.glob("*.txt")):
        if path.stem == BY_HAND or path.stem.endswith(".sugared"):
            continue
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _CHILD], input=path.read_bytes(), capture_output=True, check=True
        )
        text = re.sub(r"\n{3,}", "\n\n", done.stdout.decode().strip())
        path.with_suffix(".sugared.txt").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
