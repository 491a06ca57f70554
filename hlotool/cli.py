"""The program: its subcommands, and what becomes of an error.

Subcommands are imported when they are called: `hlotool --version` and `--help` load none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
from msgspec.structs import replace

from hlotool import __version__
from hlotool.commands import COMMANDS, load_command
from hlotool.commands.shared.messages import quote_command, say, say_error, write_error
from hlotool.errors import ErrorAnswer, HlotoolError

_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h; 1 would say that a budget is exceeded
_DEBUG = "HLOTOOL_DEBUG"  # set to anything, it shows where an internal error happened
_LONGEST = 200  # characters of an internal error that are shown
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_SUMMARY = "summary"  # what a PATH without a command asks for
_EXAMPLE = "hlotool summary dump/ --sort -peak_bytes"
_COMPLETION = "echo 'eval \"$(_HLOTOOL_COMPLETE=bash_source hlotool)\"' >> ~/.bashrc"


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
        return load_command(cmd_name) if cmd_name in COMMANDS else None

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
        """Print the example, and how a shell completes words."""
        with formatter.section("Example"):
            formatter.write_text(_EXAMPLE)
        with formatter.section("Completion in bash (in zsh: zsh_source and ~/.zshrc)"):
            formatter.write_text(_COMPLETION)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; a place of dumps instead of one is summarized.

        A command wins over a file of its name. `help COMMAND` is `COMMAND --help`.
        """
        first, *others = args
        if first == "help":
            args = [*others[:1], "--help"]
            if not others:
                click.echo(ctx.get_help())
                ctx.exit()
        elif first not in COMMANDS and _is_place(first):
            if others and not others[0].startswith("-") and _is_place(others[0]):
                ctx.fail(f"To compare two dumps, type: {quote_command('diff', *args)}")
            args = [_SUMMARY, *args]
        if args[0] not in COMMANDS:
            from hlotool.table.words import suggest  # noqa: PLC0415  only an error needs it

            ctx.fail(f"There is no command {args[0]!r}; {suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def _is_place(word: str) -> bool:
    """Say whether a word where a command should stand is the PATH of a dump.

    A bare word that is no file is a command that was mistyped.
    """
    return word == "-" or any(sign in word for sign in "/.") or os.path.exists(word)  # noqa: PTH110


@click.group(
    "hlotool",
    cls=LazyGroup,
    context_settings=_HELP,
    invoke_without_command=True,
    no_args_is_help=False,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Inspect XLA compiler dumps: memory, collectives, fusions, differences."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def run(args: list[str] | None = None) -> int:
    """Run the program and return its exit code; the one place where an error becomes a message.

    The message is on stderr. Where JSON was asked for, stdout has the error as a document.
    """
    try:
        code = cli.main(args=args, prog_name="hlotool", standalone_mode=False)
    except (HlotoolError, click.ClickException) as error:
        failed = say_error(error)
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except MemoryError:
        failed = _fail("not enough memory.")
    except OSError as error:  # a disk is full, say, and click was writing the help
        failed = _fail(f"{error.strerror or error}.")
    except Exception as error:  # noqa: BLE001  whatever it is, the user gets a sentence
        failed = _fail(*_report(error), exit_code=_INTERNAL_ERROR)
    else:
        return code if isinstance(code, int) else 0
    words = sys.argv[1:] if args is None else args
    if _asks_for_json(words):
        named = [each for each in words if each in COMMANDS][:1]
        write_error(replace(failed, next=(quote_command(*named, "--help"),)))
    return failed.exit_code


def _fail(*lines: str, exit_code: int = HlotoolError.exit_code) -> ErrorAnswer:
    """Say what went wrong; the first line is the sentence."""
    say(*lines)
    return ErrorAnswer(error=lines[0], exit_code=exit_code)


def _asks_for_json(args: Sequence[str]) -> bool:
    """Say whether the answer was to be JSON; a command line may be wrong in any place."""
    spelled = f" {' '.join(args)} ".replace(" --format=", " --format ")
    return " --json " in spelled or " --format json " in spelled


def _report(error: Exception) -> tuple[str, ...]:
    """Ask for a report of a bug in one line; its traceback stands below if that is asked for."""
    import traceback  # noqa: PLC0415  only a bug needs it

    what = " ".join("".join(traceback.format_exception_only(error)).split())[:_LONGEST]
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"  # noqa: PTH119  as short as can be
    asked = f"internal error, {what} ({where}): please report it, with the dump if possible"
    if not os.environ.get(_DEBUG):
        return (f"{asked}; {_DEBUG}=1 shows more.",)
    return (f"{asked}.", *"".join(traceback.format_exception(error)).splitlines())
