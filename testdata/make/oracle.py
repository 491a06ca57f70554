"""What XLA itself reads in an HLO text; run as a child process, since some texts abort it.

    PYTHONPATH=testdata python -m make.oracle < module.txt > reading.json

One JSON document: what the module holds, XLA's cost analysis of it, and every instruction with
its opcode, operands and users; or `error` where XLA's parser refuses the text.
"""

import json
import re
import sys
from collections import Counter
from typing import Any

from jaxlib import _hlo, _jax, xla_client

from make.proto import find_entry_name

# Text that a compiler prints and this jaxlib's parser refuses; taken out before it reads.
REFUSED = {", order=TOTAL": re.compile(r", order=TOTAL\b")}
COST_KEYS = ("flops", "transcendentals", "bytes accessed", "optimal_seconds")
Module = Any  # jaxlib's classes have no types of their own


def parse(text: str) -> tuple[Module, dict[str, int]]:
    """Give XLA's module, and what had to be taken out of the text for its parser."""
    stripped = {}
    for name, pattern in REFUSED.items():
        text, count = pattern.subn("", text)
        if count:
            stripped[name] = count
    return _hlo.hlo_module_from_text(text), stripped


def list_instructions(module: Module) -> list[dict[str, Any]]:
    """List name, opcode, operands and users of every instruction, by computation."""
    return [
        {
            "computation": computation.name,
            "instructions": [
                [
                    instruction.name,
                    instruction.opcode.name,
                    [operand.name for operand in instruction.operands()],
                    [user.name for user in instruction.users()],
                ]
                for instruction in computation.instructions()
            ],
        }
        for computation in module.computations()
    ]


def analyse_cost(module: Module) -> dict[str, float] | None:
    """XLA's HloCostAnalysis with the CPU's idea of sizes; nothing where it refuses."""
    try:
        properties = _jax.hlo_module_cost_analysis(xla_client.make_cpu_client(), module)
    except _jax.JaxRuntimeError:
        return None
    return {key: properties[key] for key in COST_KEYS if key in properties}


def read(text: str) -> dict[str, Any]:
    """Read one text as XLA does."""
    try:
        module, stripped = parse(text)
    except _jax.JaxRuntimeError as error:
        return {"error": str(error)}
    computations = list_instructions(module)
    opcodes = Counter(row[1] for one in computations for row in one["instructions"])
    entry = find_entry_name(module.as_serialized_hlo_module_proto())
    parameters = [
        row
        for one in computations
        if one["computation"] == entry
        for row in one["instructions"]
        if row[1] == "kParameter"
    ]
    return {
        "module": {
            "stripped_before_parsing": stripped,
            "module_name": module.name,
            "computations": len(computations),
            "instructions": opcodes.total(),
            "opcodes": dict(sorted(opcodes.items())),
            "entry": entry,
            "entry_parameters": len(parameters),
            "cost_analysis": analyse_cost(module),
            "per_computation": [
                [one["computation"], len(one["instructions"])] for one in computations
            ],
        },
        "instructions": computations,
    }


if __name__ == "__main__":
    print(json.dumps(read(sys.stdin.read())))
