"""What the command line, and the configuration, say that no dump tells."""

from __future__ import annotations

from typing import Any

from hlotool.check.config import Config
from hlotool.commands.shared.machine_options import take_machine
from hlotool.program.assumptions import Assumptions
from hlotool.program.call_rules import CallRule


def read_assumptions(values: dict[str, Any], config: Config) -> Assumptions:
    """Take the options that name a machine out of all; the rest is what the configuration says."""
    return Assumptions(_read_call_rules(config), take_machine(values, config))


def _read_call_rules(config: Config) -> tuple[CallRule, ...]:
    if not config.custom_calls:
        return ()
    from hlotool.check.written_calls import compile_call_costs  # noqa: PLC0415  brings pyparsing

    return compile_call_costs(config)
