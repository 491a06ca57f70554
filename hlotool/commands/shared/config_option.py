"""`--config`: which configuration a command reads."""

from __future__ import annotations

from typing import Any, Final

import click

from hlotool.check.config import Config, find_config, read_config

config_option: Final = click.option(
    "--config",
    metavar="FILE",
    default="",
    help="Use this file instead of the hlotool.toml here or above.",
)


def take_config(values: dict[str, Any]) -> Config:
    """Take the value of the option out of all, and read that file, or the nearest one."""
    path = values.pop("config")
    return read_config(path) if path else find_config()
