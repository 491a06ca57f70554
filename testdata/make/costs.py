"""XLA's cost of each instruction alone: the module's total is one sum, and hides what is wrong.

Every instruction of an executed computation is put into a module of its own, with parameters of
the operands' shapes and the computations it calls, and XLA's cost analysis is asked about that.
"""

import re
from typing import Any

from jaxlib import _hlo, _jax, xla_client

COST_KEYS = ("flops", "transcendentals", "bytes accessed", "optimal_seconds")
ROW_KEYS = COST_KEYS[:3]
NOTHING: list[float | None] = [None] * len(ROW_KEYS)
COMPUTATION = re.compile(r"^(?:ENTRY )?%(?P<name>[\w.-]+) \(.*?^\}.*?$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^  (?:ROOT )?%(?P<name>[\w.-]+) = (?P<rest>.*)$", re.MULTILINE)
NAME = re.compile(r"%([\w.-]+)")
ORDER = re.compile(r", control-predecessors=\{[^}]*\}")
# Computations that belong to their caller and are never run on their own.
EMBEDDED = re.compile(r" (?!call\()[\w-]+\([^\n]*?to_apply=%([\w.-]+)|kind=k\w+, calls=%([\w.-]+)")


def analyse(module: Any) -> dict[str, float]:
    """XLA's HloCostAnalysis, with the CPU's idea of sizes."""
    client = xla_client.make_cpu_client()
    properties = _jax.hlo_module_cost_analysis(client, module)
    return {key: properties[key] for key in COST_KEYS if key in properties}


def split_shape(rest: str) -> str:
    """Give the shape at the beginning of `shape opcode(operands)`, which may be a tuple."""
    depth = 0
    for position, character in enumerate(rest):
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == " " and depth == 0:
            return rest[:position]
    raise ValueError(rest)


class Extractor:
    """The parts of one printed module, to be put together again in small pieces."""

    def __init__(self, module: Any) -> None:
        options = _hlo.HloPrintOptions()
        options.print_metadata = False
        options.print_backend_config = False
        options.print_large_constants = False
        text = ORDER.sub("", module.to_string(options))
        self.computations = {m["name"]: m[0] for m in COMPUTATION.finditer(text)}
        self.embedded = {name for pair in EMBEDDED.findall(text) for name in pair if name}

    def list_callees(self, text: str) -> list[str]:
        """List the computations a text refers to, directly or not, callees first."""
        found: dict[str, None] = {}

        def visit(part: str) -> None:
            for name in NAME.findall(part):
                if name in self.computations and name not in found:
                    body = self.computations[name]
                    visit(body[body.index("{") :])
                    found[name] = None

        visit(text)
        return list(found)

    def isolate(self, rest: str, operands: dict[str, str]) -> str:
        """Write a module of one instruction."""
        callees = [
            self.computations[name].removeprefix("ENTRY ") for name in self.list_callees(rest)
        ]
        parameters = [
            f"  %{name} = {shape} parameter({number})"
            for number, (name, shape) in enumerate(operands.items())
        ]
        body = "\n".join([*parameters, f"  ROOT %alone = {rest}"])
        return "\n\n".join(["HloModule alone", *callees, f"ENTRY %main {{\n{body}\n}}\n"])


def measure(text: str) -> list[float] | None:
    """Cost of a module of one instruction; nothing where XLA refuses it."""
    try:
        properties = analyse(_hlo.hlo_module_from_text(text))
    except _jax.JaxRuntimeError:
        return None
    return [properties.get(key, 0.0) for key in ROW_KEYS]


def list_costs(module: Any) -> list[dict[str, Any]]:
    """List [name, flops, transcendentals, bytes accessed]; an instruction left out costs nothing.

    `null` in place of the figures: XLA does not take that instruction apart from the others.
    """
    extractor = Extractor(module)
    result = []
    for computation in module.computations():
        if computation.name in extractor.embedded or computation.name not in extractor.computations:
            continue  # the second: printed as part of an async instruction
        shapes = {}
        rows: list[list[Any]] = []
        instructions = {one.name: one for one in computation.instructions()}
        for match in LINE.finditer(extractor.computations[computation.name]):
            name, rest = match["name"], match["rest"]
            shapes[name] = split_shape(rest)
            if " parameter(" in rest or " constant(" in rest:
                continue
            operands = {one.name: shapes[one.name] for one in instructions[name].operands()}
            cost = measure(extractor.isolate(rest, operands))
            if cost is None or any(cost):
                rows.append([name, *(cost or NOTHING)])
        result.append({"computation": computation.name, "instructions": rows})
    return result
