"""What the configuration here or above says of custom calls, for every command."""

from __future__ import annotations

from hlotool.check.config import Config, find_config
from hlotool.program.call_rules import CallRule


def read_call_rules(config: Config | None = None) -> tuple[CallRule, ...]:
    """Return the rules of a configuration; of the one here or above where none is given."""
    config = find_config() if config is None else config
    if not config.custom_calls:
        return ()
    from hlotool.check.written_calls import compile_call_costs  # noqa: PLC0415  brings pyparsing

    return compile_call_costs(config)
