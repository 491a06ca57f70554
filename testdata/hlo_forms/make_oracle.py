"""Ask XLA's own parser to read the forms, and freeze its answers in oracle.json.

    python testdata/hlo_forms/make_oracle.py        (needs jaxlib, pinned in pyproject.toml)

One row an instruction: opcode, positions of operands, positions of users, shape. Names are left
out, because XLA makes them unique in the module and invents some. Forms that XLA refuses,
which older or closed compilers print, have the first line of its reason instead.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent

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
    """Write oracle.json."""
    answers = {}
    for path in sorted(FOLDER.glob("*.txt")):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _CHILD], input=path.read_bytes(), capture_output=True, check=True
        )
        answers[path.stem] = json.loads(done.stdout)
    lines = ",\n".join(f'"{name}": {json.dumps(answer)}' for name, answer in answers.items())
    (FOLDER / "oracle.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
