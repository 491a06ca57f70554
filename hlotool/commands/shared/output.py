"""How an answer reaches the user: which rows, in which form, to which file.

A document becomes text, or the bytes of a form that is none, and that goes to stdout or to a file.
A file is whole, or stays as it was: what is written stands beside it until all of it is on the
disk, and then takes its place. What is no regular file, such as `/dev/stdout` or a pipe, is written
as it stands. A form is imported when it is written.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

import click
from msgspec.structs import replace

from hlotool import __version__
from hlotool.commands.shared.following import list_next, repeat_longer
from hlotool.commands.shared.messages import say, say_all
from hlotool.commands.shared.options import NO_PAGER, RowOptions, find_max_chars
from hlotool.dump.read import display_name
from hlotool.errors import HlotoolError, PlacedError, UsageError
from hlotool.table import Document, DocumentSpec, Field, RowList, Selection
from hlotool.table.cells import Look
from hlotool.table.curve import fit_encoding
from hlotool.table.expression.compile import compile_where, expect_row_words, find_fields
from hlotool.table.renamed import say_renamed
from hlotool.table.select import COUNT, SHARE, select_rows, sort_keys
from hlotool.table.words import settle_names, suggest
from hlotool.text import disarm_lines

if TYPE_CHECKING:
    from pathlib import Path

_NO_TEXT: Final = frozenset({"parquet", "pprof", "perfetto"})
OF_ROWS: Final = frozenset({"jsonl", "csv", "tsv"})
_LIST_WIDTH: Final = 60  # of scopes and lists in a pipe; what is grepped there is never cut
_OPEN_FILES: Final = ("/dev", "/proc")  # where links name what a process has open
# How meanings say what a figure comes from: "with --chip: estimated time of …".
_NEEDS: Final = re.compile(r"(with --[^:]+|from a profile):")


def print_document(document: Document, options: RowOptions) -> None:
    """Print an answer in the form the options ask for, to stdout or --output."""
    if options.output and document.input is not None:
        _refuse_to_overwrite(options.output, document)
    if options.where or options.sort:
        _say_unknown_fields(find_target(document.spec, options, document), document, options)
    if options.format in _NO_TEXT:
        write_bytes(_render_bytes(document, options), options.output)
        return
    write_text(render_document(document, options, make_look(options)), options.output)


def _render_bytes(document: Document, options: RowOptions) -> bytes:
    selection = _select_alone(document, options)
    if options.format == "parquet":
        from hlotool.export.parquet import render_parquet

        return render_parquet(document.spec, selection, __version__)
    from hlotool.export.profilers import expect_weights, make_stacks, render_pprof

    weights = expect_weights(selection, "--format pprof")
    made_by = f"hlotool {__version__}, {selection.row_list.name} of {document.spec.name}"
    return render_pprof(make_stacks(selection, weights), weights, made_by)


def render_document(document: Document, options: RowOptions, look: Look) -> Iterator[str]:
    """Return the text of an answer in the form the options ask for, piece by piece.

    What is wrong with the options is raised here; JSON and CSV of many rows are made as written.
    """
    target = find_target(document.spec, options, document)
    if options.format == "json":
        from hlotool.table.formats import render_json

        selected = [_select(document, rows, target, options) for rows in document.present()]
        is_one = options.chooses_rows or document.focus
        asked = [one for one in selected if one.row_list is target or not is_one]
        commands = list_next(document, asked)
        if options.max_chars is None:
            return render_json(document, selected, __version__, commands)
        from hlotool.table.short import render_short_json

        most = options.max_chars
        commands.insert(0, repeat_longer(most))
        wanted = asked[0] if is_one and asked else None
        short = render_short_json(document, selected, __version__, commands, most, asked=wanted)
        return iter((short,))
    if options.format in OF_ROWS:
        return render_rows(_select_alone(document, options), options.format)
    if options.format == "folded":
        from hlotool.export.profilers import expect_weights, make_stacks, render_folded

        selection = _select_alone(document, options)
        return render_folded(make_stacks(selection, expect_weights(selection, "--format folded")))
    return iter((_render_for_eyes(document, target, options, look),))


def _render_for_eyes(
    document: Document, target: RowList | None, options: RowOptions, look: Look
) -> str:
    """Return prose and tables: of a document that says ever less, the first that finds room."""

    def select(answer: Document, chosen: RowOptions) -> list[Selection]:
        shown = _shown(answer, target, chosen)
        return [_select(answer, rows, target, chosen, look.width) for rows in shown]

    # A number of rows changes no choice of lists.
    fitted = replace(options, limit=None) if document.limits_all else options
    selections = select(document, fitted)
    if options.format == "comment":
        from hlotool.table.comment import render_comment

        return render_comment(document, select(document, options), options.units)
    from hlotool.table.terminal import count_rows, render_markdown, render_tables

    def render(answer: Document, lists: Sequence[Selection]) -> str:
        if options.format == "markdown":
            return render_markdown(answer, lists, options.units)
        return render_tables(answer, lists, look)

    text, most_rows = render(document, selections), document.most_rows
    for answer in document.shorten(document) if document.shorten else ():
        is_whole = look.width is None and not document.is_brief
        if is_whole or count_rows(text, look.width) <= most_rows:
            break
        document, selections = answer, select(answer, fitted)
        text = render(document, selections)
    if options.limit is not None and document.limits_all:
        selections = select(document, options)
        text = render(document, selections)
    if options.max_chars is None:
        return text
    from hlotool.table.short import render_short_text

    more = repeat_longer(options.max_chars)
    return render_short_text(document, selections, render, more, options.max_chars)


def render_rows(selection: Selection, form: str) -> Iterator[str]:
    """Return the text of rows alone, a row a piece; but of JSON Lines the first is the header."""
    from hlotool.table.formats import render_csv, render_jsonl, render_tsv

    return {"jsonl": render_jsonl, "csv": render_csv, "tsv": render_tsv}[form](selection)


def _select_alone(document: Document, options: RowOptions) -> Selection:
    """Return the rows that a form of rows alone holds."""
    if (target := find_target(document.spec, options, document)) is None:
        raise UsageError(f"--format {options.format}: this answer has no rows.")
    return _select(document, target, target, options)


def settle_options(specs: Sequence[DocumentSpec], options: RowOptions) -> RowOptions:
    """Return row options with the names of fields, where they have headings or older names.

    Wrong ones are refused, before any dump is read. A command that can print several documents
    takes options that fit one of them. What is told is the mistake that stands furthest behind in
    them: that answer understands most.
    """
    if options.format in _NO_TEXT:
        _expect_form(options)
    errors = []
    for spec in specs:
        # Another option, `--missed` say, may choose a list that is not the default.
        is_open = not options.rows and any(rows.is_optional for rows in spec.row_lists)
        for target in spec.row_lists if is_open else (None,):
            try:
                rows = target or find_target(spec, options)
                settled, notes = options, list[str]()
                if rows is not None:
                    settled, notes = _settle_names(rows, options)
                    select_rows(rows, (), settled.query(rows.limit))
            except HlotoolError as error:
                errors.append(error)
            else:
                say_all(notes)
                return settled
    if errors:
        raise max(errors, key=lambda one: one.start if isinstance(one, PlacedError) else -1)
    return options


def _settle_names(rows: RowList, options: RowOptions) -> tuple[RowOptions, list[str]]:
    """Return the options with the names of fields, and a note of each older name they have."""
    fields = [*rows.fields, *((COUNT, SHARE) if options.by else ())]
    typed = {name: getattr(options, name) for name in ("where", "sort", "by", "columns")}
    settled = {
        name: settle_names(text, f"--{name}", fields) for name, text in typed.items() if text
    }
    notes = [say_renamed(*pair) for each in settled.values() for pair in each.renamed.items()]
    return replace(options, **{name: each.text for name, each in settled.items()}), notes


def _expect_form(options: RowOptions) -> None:
    """Raise UsageError where what is no text lacks a package, or a terminal would show it."""
    if options.format == "parquet":
        from hlotool.export.parquet import expect_parquet

        expect_parquet()
    if not options.output and _is_terminal():
        raise UsageError(f"--format {options.format} is binary: use -o FILE or a pipe.")


def find_target(
    spec: DocumentSpec, options: RowOptions, document: Document | None = None
) -> RowList | None:
    """Return the row list that the row options act on; raise UsageError if there is none."""
    if options.rows:
        target = spec.find_row_list(options.rows)
        names = [rows.name for rows in spec.row_lists]
        if target is None:
            hint = suggest(options.rows, names)
            raise UsageError(f"--rows: there is no row list {options.rows!r}; {hint}")
        if document is not None and target.name not in document.rows:
            raise refuse_list(target)
        return target
    if document is not None and document.focus:
        return spec.find_row_list(document.focus)
    present = spec.row_lists if document is None else document.present()
    if not present and options.chooses_rows:
        raise UsageError("This answer has no rows to filter, sort or group.")
    return present[0] if present else None


def refuse_list(target: RowList) -> UsageError:
    """Return the error for a list that no answer has, with what adds it."""
    adds = f"; {target.option} adds it" if target.option else ""
    return UsageError(f"--rows {target.name}: this answer has no such list{adds}.")


def _shown(document: Document, target: RowList | None, options: RowOptions) -> tuple[RowList, ...]:
    """Return the row lists that a table shows.

    They are the document's own choice; but whoever filters, sorts, groups or names a list
    wants to see that one alone.
    """
    if target is None:
        return ()
    if options.chooses_rows or not document.shown:
        return (target,)
    named = {rows.name: rows for rows in document.present()}
    return tuple(named[name] for name in document.shown if name in named)


def _select(
    document: Document,
    row_list: RowList,
    target: RowList | None,
    options: RowOptions,
    width: int | None = None,
) -> Selection:
    """Apply the row options to the list they act on; others keep their defaults.

    A number of rows holds for every list that is shown to eyes, where the document says so.
    """
    query = options.query(row_list.limit, width)
    if row_list is not target:
        limit = query.limit if document.limits_all and options.is_for_eyes else None
        own = {"where": "", "sort": "", "by": "", "columns": "", "keeps_below": False}
        query = replace(query, limit=limit, **own)
    rows = document.rows[row_list.name]
    if query.where:
        expect_row_words(query.where, row_list.fields, rows, document.find_words)
    return select_rows(row_list, rows, query)


def _say_unknown_fields(target: RowList | None, document: Document, options: RowOptions) -> None:
    """Say on stderr which fields no row tells by which rows are kept or sorted, and what would.

    For `--where` only if no row is left. Groups have no field that none of their rows tells: they
    are refused. What counts `once` in the place of a field is known by it, too.
    """
    rows = document.rows.get(target.name, ()) if target else ()
    if target is None or not rows:
        return

    def is_unknown(name: str) -> bool:
        read = target.field(name).getter()
        return all(read(row) is None for row in rows)

    if options.where:
        read = find_fields(options.where, target.fields)
        unknown = [field for field in read if is_unknown(field.name)]
        holds = compile_where(options.where, target.fields)
        if unknown and not any(holds(row) for row in rows):
            for field in unknown:
                say(f"--where keeps nothing: no row has {field.name}{_say_needs(field)}.")
    if options.sort and not options.by:
        for _, field in sort_keys(target, options.sort):
            if all(map(is_unknown, filter(None, (field.name, field.total_from)))):
                say(f"--sort {field.name} has no effect: no row has it{_say_needs(field)}.")


def _say_needs(field: Field) -> str:
    """Say what makes a field known, where its meaning does."""
    needs = _NEEDS.match(field.meaning)
    return f"; it is known {needs[1]}" if needs else ""


def make_look(options: RowOptions) -> Look:
    """Ask the terminal, the environment and the options how a table should look.

    No colour beats any, and any a terminal that cannot show it.
    """
    is_terminal = not options.output and _is_terminal()
    environment = os.environ
    has_color = is_terminal and environment.get("TERM") != "dumb"
    has_color = not options.output and (bool(environment.get("FORCE_COLOR")) or has_color)
    has_color = has_color and not environment.get("NO_COLOR")
    if options.color != "auto":
        has_color = options.color == "always"
    width = find_width() if is_terminal and not options.is_wide else None
    return Look(options.units, width, None if options.is_wide else _LIST_WIDTH, has_color)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def find_width() -> int | None:
    """Return the columns of the terminal that stdout is, None where it is none."""
    if not _is_terminal():
        return None
    import shutil  # it imports every compression there is

    return shutil.get_terminal_size().columns


def write_text(text: Iterable[str], output: str = "", *, has_commands: bool = False) -> None:
    """Write the pieces of a text to a file, else to stdout.

    A reader who has gone away (`| head`) is no error. No line of the text is a command to a CI
    system, unless it is said to hold some.
    """
    if not has_commands:
        text = map(disarm_lines, text)
    if (most := find_max_chars()) is not None:
        from hlotool.table.short import cut_text

        text = (cut_text("".join(text), most),)
    if output:
        write_file(output, text, "--output")
        _say_written(output)
        return
    if sys.stdout is None:  # started with stdout closed
        return
    pager = "" if has_commands else _find_pager()
    if pager:
        os.environ["PAGER"] = pager  # which click reads
        click.echo_via_pager(_drop_newline(text), color=True)
        return
    with _told_stdout():
        sys.stdout.writelines(fit_encoding(piece, sys.stdout.encoding) for piece in text)
        sys.stdout.flush()


def _drop_newline(text: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of a text without the end of its last line, which click adds."""
    held = ""
    for piece in text:
        yield held
        held = piece
    yield held.removesuffix("\n")


def _find_pager() -> str:
    """Return the command line of the pager; '' where the answer goes to stdout as it is."""
    context = click.get_current_context(silent=True)
    is_watched = _is_terminal() and sys.stdin is not None and sys.stdin.isatty()
    if context is None or context.meta.get(NO_PAGER) or not is_watched:
        return ""
    environment = os.environ
    pager = environment.get("HLOTOOL_PAGER", environment.get("PAGER", "less -FRX")).strip()
    return "" if pager == "cat" else pager


def write_bytes(data: bytes, output: str = "") -> None:
    """Write bytes to a file, else to stdout; as `write_text` does."""
    if output:
        write_data(output, (data,), "--output")
        _say_written(output)
    elif sys.stdout is not None:
        with _told_stdout():
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _say_written(path: str) -> None:
    """Say on a terminal what was written, once for all pages of a folder."""
    if sys.stderr is not None and sys.stderr.isatty():
        say(f"wrote {display_name(path)}")


@contextmanager
def _told_stdout() -> Iterator[None]:
    """Say what is wrong with stdout; that nobody reads it any longer is nothing wrong."""
    try:
        yield
    except OSError as error:
        # What is still buffered goes nowhere, so that the exit stays quiet.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        if not isinstance(error, BrokenPipeError):
            raise HlotoolError(f"cannot write the answer: {error.strerror}.") from error


def _refuse_to_overwrite(output: str, document: Document) -> None:
    """Raise UsageError if --output names one of the files the answer was made from."""
    if (paths := document.input) is None:
        return
    for path in (paths.path, paths.module_path, paths.buffers_path, paths.live_range_path):
        try:
            is_same = path is not None and os.path.samefile(path, output)  # noqa: PTH121
        except (OSError, ValueError):
            continue
        if is_same:
            raise UsageError(f"--output {output} is the input itself; it was not overwritten.")


def write_file(path: str, text: Iterable[str], option: str) -> None:
    """Write the text of a file; otherwise as `write_data`."""
    write_data(path, (piece.encode("utf-8", "backslashreplace") for piece in text), option)


def write_data(path: str, data: Iterable[bytes], option: str) -> None:
    """Write a file whole; raise UsageError, with the option's name, and leave it as it was."""
    with _told(path, option):
        if (target := _find_target(path)) is None:
            _write_directly(path, data, "wb")
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        _replace(target, data)


def add_to_file(path: str, text: str, option: str, accept: Callable[[bytes], object]) -> None:
    """Add text to the end of a file, whole or not at all; a missing file is made.

    `accept` looks at what the file holds, and raises what it finds wrong. Of several processes
    each waits until the one before it is done. Raises UsageError, with the option's name.
    """
    data = text.encode("utf-8", "backslashreplace")
    with _told(path, option):
        if (target := _find_target(path)) is None:
            _write_directly(path, (data,), "ab")
            return
        with _open_alone(target) as file:
            old = file.read()
            accept(old)
            _replace(target, (old, b"\n" * (old[-1:] not in {b"", b"\n"}), data))


@contextmanager
def _told(path: str, option: str) -> Iterator[None]:
    """Put what the system says of a file into a sentence."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{option} {display_name(path)}: {error.strerror}.") from error
    except ValueError as error:  # a path that no system has
        raise UsageError(f"{option} {display_name(path)}: {error}.") from error


def _find_target(path: str) -> Path | None:
    """Return the regular file that a path leads to, or will; None where it is another thing.

    `/dev/stdout` is none even where it leads to a file: others write to that, too.
    """
    from pathlib import Path  # few answers go to a file

    place = Path(path)
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(place.stat().st_mode):
            return None
    while place.is_symlink():
        folder = place.parent.resolve()
        if any(folder.is_relative_to(each) for each in _OPEN_FILES):
            return None
        place = folder / place.readlink()
    return place.resolve()


def _write_directly(path: str, data: Iterable[bytes], mode: str) -> None:
    with open(path, mode) as file:  # noqa: PTH123  the mode is no literal
        file.writelines(data)


def _replace(target: Path, data: Iterable[bytes]) -> None:
    """Write beside a file and rename; an old file's permissions stay."""
    beside = target.with_name(f".hlotool-{os.urandom(6).hex()}.tmp")
    try:
        with beside.open("xb") as file:
            file.writelines(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def _open_alone(target: Path) -> Iterator[BinaryIO]:
    """Open a file that no other process has so opened; it may be replaced meanwhile."""
    import fcntl  # only histories need it

    while True:
        is_new = not target.exists()
        with open(os.open(target, os.O_RDWR | os.O_CREAT, 0o666), "rb") as file:  # noqa: PTH123
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_open_at(target, file):
                continue
            try:
                yield file
            except BaseException:
                if is_new and _is_open_at(target, file):
                    target.unlink()
                raise
            return


def _is_open_at(target: Path, file: BinaryIO) -> bool:
    """Whether a path still leads to a file that was opened there."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), target.stat())
    except FileNotFoundError:
        return False
