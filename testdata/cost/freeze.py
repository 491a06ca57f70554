"""Write into each case what XLA says it costs: `// xla: flops, transcendentals, bytes accessed`.

    PYTHONPATH=tests python testdata/cost/freeze.py [CASE ...]

Needs jaxlib. A custom call counts -1 in each figure, as XLA has it.
"""

import sys
from pathlib import Path

from jaxlib import _hlo, _jax, xla_client
from tables import TableCase, find_cases, rewrite

HERE = Path(__file__).resolve().parent
KEYS = ("flops", "transcendentals", "bytes accessed")
MARK = "// xla: "


def freeze(case: TableCase) -> None:
    """Replace the last line of a case by XLA's figures."""
    text = case.text.split(MARK)[0].rstrip()
    module = _hlo.hlo_module_from_text(text)
    costs = _jax.hlo_module_cost_analysis(xla_client.make_cpu_client(), module)
    figures = ", ".join(f"{costs.get(key, 0.0):.10g}" for key in KEYS)
    rewrite(case, f"{text}\n{MARK}{figures}\n")


if __name__ == "__main__":
    for one in find_cases(HERE):
        if one.name in sys.argv[1:] or not sys.argv[1:]:
            freeze(one)
