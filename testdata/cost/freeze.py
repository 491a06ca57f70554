"""Write into each case what XLA says it costs: `// xla: flops, transcendentals, bytes accessed`.

    python testdata/cost/freeze.py [CASE.txt ...]

Needs jaxlib. A custom call counts -1 in each figure, as XLA has it.
"""

import sys
from pathlib import Path

from jaxlib import _hlo, _jax, xla_client

HERE = Path(__file__).resolve().parent
KEYS = ("flops", "transcendentals", "bytes accessed")
MARK = "// xla: "


def freeze(path: Path) -> None:
    """Replace the last line of a case by XLA's figures."""
    text = path.read_text(encoding="utf-8").split(MARK)[0].rstrip()
    module = _hlo.hlo_module_from_text(text)
    costs = _jax.hlo_module_cost_analysis(xla_client.make_cpu_client(), module)
    figures = ", ".join(f"{costs.get(key, 0.0):.10g}" for key in KEYS)
    path.write_text(f"{text}\n{MARK}{figures}\n", encoding="utf-8")


if __name__ == "__main__":
    for case in map(Path, sys.argv[1:] or sorted(map(str, HERE.glob("*.txt")))):
        freeze(case)
