"""What XLA itself makes of an HLO text; run as a child process, since some texts abort it.

    PYTHONPATH=testdata python -m make.oracle read < module.txt > reading.json
    PYTHONPATH=testdata python -m make.oracle print < module.txt > styles.json

`read` gives what the module holds, every instruction with opcode, operands and users, and XLA's
cost of the module and of each instruction; `print` the module in every style of XLA's printer.
Either gives `error` where XLA's parser refuses the text.
"""

import json
import re
import sys
from collections import Counter
from typing import Any

from jaxlib import _hlo, _jax

from make.costs import analyse, list_costs
from make.proto import find_entry_name

# Text that a compiler prints and this jaxlib's parser refuses; taken out before it reads.
REFUSED = {
    ", order=TOTAL": re.compile(r", order=TOTAL\b"),
    "topk is_stable": re.compile(r"(?<=[ ]topk\()(?P<kept>[^\n]*?), is_stable=(?:true|false)"),
}
MAKERS = {
    "short_parsable": _hlo.HloPrintOptions.short_parsable,
    "canonical": _hlo.HloPrintOptions.canonical,
    "fingerprint": _hlo.HloPrintOptions.fingerprint,
}
OFF = {
    "no_percent": "print_percent",
    "no_metadata": "print_metadata",
    "no_backend_config": "print_backend_config",
    "no_ids": "print_ids",
    "no_program_shape": "print_program_shape",
    "no_layout": "include_layout_in_shapes",
    "no_result_shape": "print_result_shape",
    "no_operand_names": "print_operand_names",
    "no_extra_attributes": "print_extra_attributes",
}
STYLES: dict[str, dict[str, Any]] = {
    "default": {},
    **{style: {} for style in MAKERS},
    **{style: {name: False} for style, name in OFF.items()},
    "operand_shapes": {"print_operand_shape": True},
    "large_constants": {"print_large_constants": True},
    "compact_operands": {"print_operand_shape": True, "compact_operands": True},
    "indented": {"indent_amount": 2},
    "bare": dict.fromkeys(OFF.values(), False)
    | {"print_operand_names": True}
    | {"print_result_shape": True, "print_ids": True},
    "everything": {"print_operand_shape": True, "print_large_constants": True},
}
Module = Any  # jaxlib's classes have no types of their own


def parse(text: str) -> tuple[Module, dict[str, int]]:
    """Give XLA's module, and what had to be taken out of the text for its parser."""
    stripped = {}
    for name, pattern in REFUSED.items():
        text, count = pattern.subn(lambda match: match.groupdict().get("kept", ""), text)
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
    """XLA's cost analysis of the whole module; nothing where it refuses."""
    try:
        return analyse(module)
    except _jax.JaxRuntimeError:
        return None


def print_styles(text: str) -> dict[str, str]:
    """Print a module in every style."""
    module, _ = parse(text)
    printed = {}
    for style, settings in STYLES.items():
        maker = MAKERS.get(style, _hlo.HloPrintOptions)
        options = maker()
        for name, value in settings.items():
            setattr(options, name, value)
        printed[style] = module.to_string(options)
    return printed


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
        "costs": list_costs(module),
    }


if __name__ == "__main__":
    answer = {"read": read, "print": print_styles}[sys.argv[1]](sys.stdin.read())
    print(json.dumps(answer))
