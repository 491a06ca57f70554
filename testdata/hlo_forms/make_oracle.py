"""Ask XLA's own parser to read the forms, and freeze its answers in `xla` of each.

    PYTHONPATH=tests python testdata/hlo_forms/make_oracle.py  (needs jaxlib)

One row an instruction: opcode, positions of operands, positions of users, shape. Names are left
out, because XLA makes them unique in the module and invents some. Forms that XLA refuses,
which older or closed compilers print, have the first line of its reason instead.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tables import find_cases, rewrite

FOLDER = Path(__file__).resolve().parent

# In a process of its own: some texts abort XLA.
_CHILD = r"""
import json, re, sys
from jaxlib import _hlo
try:
    module = _hlo.hlo_module_from_text(sys.stdin.read())
except Exception as error:
    reasons = [line for line in str(error).splitlines() if "error:" in line]
    print(json.dumps({"refused": reasons[0].partition("error: ")[2]}))
    raise SystemExit
computations = []
for computation in module.computations():
    instructions = list(computation.instructions())
    place = {one.name: number for number, one in enumerate(instructions)}
    computations.append([
        [
            one.opcode.name,
            [place[operand.name] for operand in one.operands()],
            [place[user.name] for user in one.users()],
            re.match(r"\S+ = (.*?) [a-z][a-z0-9-]*\(", one.to_string().removeprefix("ROOT "))[1],
        ]
        for one in instructions
    ])
print(json.dumps({"computations": computations}))
"""


def main() -> None:
    """Write XLA's reading into the tables."""
    for case in find_cases(FOLDER):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _CHILD],
            input=case.text.encode(),
            capture_output=True,
            check=True,
        )
        rewrite(case, xla=_format(json.loads(done.stdout)))


def _format(answer: dict[str, Any]) -> str:
    """Write a line for each computation."""
    if "computations" not in answer:
        return f"{json.dumps(answer)}\n"
    lines = ",\n".join(map(json.dumps, answer["computations"]))
    return f'{{"computations": [\n{lines}\n]}}\n'


if __name__ == "__main__":
    main()
