"""The index tables between header and first computation.

Source: xla/hlo/ir/hlo_module.cc. Every table is its keyword and one numbered row a line.
"""

from __future__ import annotations

import re

from hlotool.ir.debug_info import DebugInfo, StackFrame
from hlotool.ir.values import SourceLocation
from hlotool.parse.scanner import Scanner
from hlotool.parse.strings import unquote

_TABLE = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)(?=\s)")
_NUMBER = re.compile(r"[0-9]{1,9}(?=\s)")
_FIELD = re.compile(r"([a-z_]++)=(-?[0-9]{1,19})")


def parse_tables(scanner: Scanner) -> DebugInfo:
    """Read the tables that are there, in any order.

    tables = { "FileNames" { number string } | "FunctionNames" { number string }
             | "FileLocations" { number fields } | "StackFrames" { number fields } }
    fields = "{" { name "=" integer [","] } "}"

    `parent_frame_id` is printed one too high (0 and 1 both mean: no parent).
    """
    strings: dict[str, dict[int, str]] = {"FileNames": {}, "FunctionNames": {}}
    rows: dict[str, dict[int, dict[str, int]]] = {"FileLocations": {}, "StackFrames": {}}
    scanner.skip_blanks()
    while match := scanner.accept_match(_TABLE):
        table = match[1]
        scanner.skip_blanks()
        while row := scanner.accept_match(_NUMBER):
            if table in strings:
                strings[table][int(row[0])] = unquote(scanner.expect_string(f"a row of {table}"))
            else:
                rows[table][int(row[0])] = _parse_fields(scanner, table)
            scanner.skip_blanks()
    return DebugInfo(
        {
            number: SourceLocation(
                strings["FileNames"].get(fields.get("file_name_id", 0), ""),
                fields.get("line", 0),
                fields.get("column", 0),
                fields.get("end_line", 0),
                fields.get("end_column", 0),
                strings["FunctionNames"].get(fields.get("function_name_id", 0), ""),
            )
            for number, fields in rows["FileLocations"].items()
        },
        {
            number: StackFrame(
                fields.get("file_location_id", 0), max(0, fields.get("parent_frame_id", 0) - 1)
            )
            for number, fields in rows["StackFrames"].items()
        },
    )


def _parse_fields(scanner: Scanner, table: str) -> dict[str, int]:
    """Read `{name=1 name=2}`."""
    scanner.expect("{", f"in a row of {table}")
    fields: dict[str, int] = {}
    while not scanner.accept_token("}"):
        start = scanner.pos
        scanner.skip_blanks()
        match = scanner.accept_match(_FIELD)
        if match is None:
            scanner.fail_expected(f"name=number or '}}' in a row of {table}")
        fields[match[1]] = int(match[2])
        scanner.accept_token(",")
        if scanner.pos == start:
            scanner.fail_expected(f"'}}' in a row of {table}")
    return fields
