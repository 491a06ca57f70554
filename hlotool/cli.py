"""The program: its subcommands, how it starts and ends, and what becomes of an error.

Subcommands are imported when they are called: `hlotool --version` and `--help` load none.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from hlotool import __version__
from hlotool.commands import COMMANDS
from hlotool.commands.shared.say import say
from hlotool.errors import HlotoolError, UsageError

_NEW_OBJECTS = 100_000  # made between two runs of the collector; an answer is mostly not garbage
_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_EXAMPLE = "hlotool summary dump/ --sort -peak_bytes"


class LazyGroup(click.Group):
    """Knows its subcommands by name and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names in the order of the documentation."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command's module, which holds a click command of its own name."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"hlotool.commands.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands with their one line, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002  click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Print the example."""
        with formatter.section("Example"):
            formatter.write_text(_EXAMPLE)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, or say which were near."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from hlotool.query.names import suggest  # noqa: PLC0415  only an error needs it

            ctx.fail(f"There is no command {args[0]!r}; {suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(
    "hlotool",
    cls=LazyGroup,
    context_settings=_HELP,
    invoke_without_command=True,
    no_args_is_help=False,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Read what the XLA compiler wrote down: memory, collectives, fusions, differences."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def main(args: list[str] | None = None) -> NoReturn:
    """Run the program and end the process.

    The process ends without taking apart what it has read, which takes as long as a tenth
    of the work; unless a debugger, a profiler or a coverage run wants to have the last word.
    """
    gc.set_threshold(_NEW_OBJECTS, 2, 2)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name of any bytes can be printed anywhere
            stream.reconfigure(errors="backslashreplace")
    code = run(args)
    if sys.gettrace() or sys.getprofile() or not _flush():
        sys.exit(code)
    os._exit(code)


def run(args: list[str] | None = None) -> int:
    """Run the program and return its exit code; the one place where an error becomes a message."""
    try:
        code = cli.main(args=args, prog_name="hlotool", standalone_mode=False)
    except HlotoolError as error:
        say(*str(error).split("\n"))
        return error.exit_code
    except click.ClickException as error:
        say(*_describe(error))
        return UsageError.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    return code if isinstance(code, int) else 0


def _describe(error: click.ClickException) -> tuple[str, ...]:
    """Say in lines what click found wrong, and where help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = () if context is None else (f"Try '{context.command_path} --help'.",)
    return error.format_message(), *hint


def _flush() -> bool:
    """Write out what is still buffered; False leaves errors to Python's own end."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True
