"""Measure derived lifetimes, estimated peaks and known origins; read every text.

    python tests/accuracy/run.py            print the tables
    python tests/accuracy/run.py --write    and put them into docs/accuracy.csv and origins.csv

Exits with 1 where less than 98 % of the values, or 80 % of the peaks, are as promised, less than
99 % of the memory at the peaks has a line, or a text is refused wrongly.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from accuracy.origins import TABLE as ORIGINS
from accuracy.origins import judge_origins, measure_origins, share_with_line, write_origins
from accuracy.texts import read_texts
from buffer_accuracy import HEADING, TABLE, Accuracy, measure, measured_dumps, row

LEAST_EQUAL = 0.98
LEAST_NEAR = 0.80
LEAST_WITH_LINE = 0.99
NEAR = 0.10


def summary(found: list[Accuracy]) -> tuple[float, float]:
    """Return the part of values derived alike, and of peaks estimated within a tenth."""
    values = sum(one.value_count for one in found)
    near = sum(abs(one.error) <= NEAR for one in found)
    return sum(one.equal_count for one in found) / values, near / len(found)


def table(found: list[Accuracy]) -> str:
    """Write the whole table."""
    return "".join(f"{line}\n" for line in (HEADING, *map(row, found)))


def verdict(found: list[Accuracy]) -> str:
    """Say what the table comes to."""
    equal, near = summary(found)
    worst = max((one.error for one in found), key=abs)
    worst_temp = max((one.temp_error for one in found), key=abs)
    return (
        f"{equal:.2%} of the values have the same start and the same end; {near:.0%} of the "
        f"estimates are within {NEAR:.0%}, the worst {worst:+.2%} off, of temp {worst_temp:+.2%}."
    )


def main() -> int:
    """Measure, print, and write where asked."""
    found = [measure(dump) for dump in measured_dumps()]
    text = table(found)
    print(f"{text}\n{verdict(found)}")  # noqa: T201
    if "--write" in sys.argv[1:]:
        TABLE.write_text(text, "utf-8")
    origins = measure_origins()
    print(f"{write_origins(origins)}\n{judge_origins(origins)}\n")  # noqa: T201
    if "--write" in sys.argv[1:]:
        ORIGINS.write_text(write_origins(origins), "utf-8")
    texts = read_texts()
    print(texts)  # noqa: T201
    equal, near = summary(found)
    is_read = not (texts.refused_wrongly or texts.read_wrongly)
    is_known = share_with_line(origins) >= LEAST_WITH_LINE
    return 0 if is_read and is_known and equal >= LEAST_EQUAL and near >= LEAST_NEAR else 1


if __name__ == "__main__":
    sys.exit(main())
