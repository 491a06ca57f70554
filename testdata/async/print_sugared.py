"""Ask XLA to print the modules of this folder with async sugar: NAME.sugared of NAME.

    PYTHONPATH=tests python testdata/async/print_sugared.py  (needs jaxlib)

XLA's open parser refuses operands that are bound late; late.sugared is written by hand,
after what libtpu prints in dumps/tpu_v6e/pipeline.gather.
"""

import re
import subprocess
import sys
from pathlib import Path

from tables import find_cases, rewrite

FOLDER = Path(__file__).resolve().parent
BY_HAND = "late"

# In a process of its own: some texts abort XLA.
_CHILD = """
import sys
from jaxlib import _hlo
print(_hlo.hlo_module_from_text(sys.stdin.read()).to_string(_hlo.HloPrintOptions()))
"""


def main() -> None:
    """Write the sugared texts."""
    cases = {case.name: case for case in find_cases(FOLDER)}
    for name, case in cases.items():
        if name == BY_HAND or name.endswith(".sugared"):
            continue
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _CHILD],
            input=case.text.encode(),
            capture_output=True,
            check=True,
        )
        text = re.sub(r"\n{3,}", "\n\n", done.stdout.decode().strip())
        rewrite(cases[f"{name}.sugared"], f"{text}\n")


if __name__ == "__main__":
    main()
