"""The command line as click reads it: which subcommand, and what it says of mistakes.

Subcommands are imported when they are called: `hlotool --version` and `--help` load none.
"""

from __future__ import annotations

from importlib import import_module

import click

from hlotool import __version__
from hlotool.commands import COMMANDS
from hlotool.errors import UsageError

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


def run_group(arguments: list[str] | None = None) -> int:
    """Let click read a command line and call what it names; return the exit code.

    Raises what the commands raise, and UsageError for what click refuses.
    """
    try:
        code = cli.main(args=arguments, prog_name="hlotool", standalone_mode=False)
    except click.ClickException as error:
        raise _describe(error) from error
    except click.Abort as error:
        raise KeyboardInterrupt from error
    return code if isinstance(code, int) else 0


def _describe(error: click.ClickException) -> UsageError:
    """Turn a mistake that click found into an error of ours."""
    message = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        message += f"\nTry '{context.command_path} --help'."
    return UsageError(message)
