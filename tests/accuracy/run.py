"""Measure live ranges, estimated peaks, known origins, pairs and verdicts; read every text.

    python tests/accuracy/step.py            print the tables
    python tests/accuracy/step.py --write    and put them into docs/*.csv and docs/accuracy.md

Exits with 1 where less than 98 % of the values, 80 % of the peaks, or 80 % of the allocated sizes
above 1 MiB on a backend are as promised, less than 99 % of the memory at the peaks has a line, or
a text is refused wrongly.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from accuracy.origins import TABLE as ORIGINS
from accuracy.origins import judge_origins, measure_origins, share_with_line, write_origins
from accuracy.page import PAGE, write_page
from accuracy.pairing import TABLE as PAIRING
from accuracy.pairing import judge_pairing, measure_edits, write_pairing
from accuracy.texts import read_texts
from accuracy.traffic import compare_with_paper
from accuracy.true_edits import TABLE as TRUE_EDITS
from accuracy.true_edits import judge_true_edits, measure_true_edits, write_true_edits
from buffer_accuracy import HEADING, TABLE, Accuracy, measure, measured_dumps, row

LEAST_EQUAL = 0.98
LEAST_NEAR = 0.80
LEAST_WITH_LINE = 0.99
NEAR = 0.10
NEAR_ALLOCATED = 0.03
LARGE_BYTES = 1 << 20


def summary(found: list[Accuracy]) -> tuple[float, float]:
    """Return the part of values derived alike, and of peaks estimated within a tenth."""
    values = sum(one.value_count for one in found)
    near = sum(abs(one.error) <= NEAR for one in found)
    return sum(one.equal_count for one in found) / values, near / len(found)


def allocated(found: list[Accuracy]) -> dict[str, float]:
    """Return, by backend, the part of large allocated sizes that are estimated near enough."""
    large = [one for one in found if one.allocated_bytes > LARGE_BYTES]
    parts = {}
    for backend in sorted({one.backend for one in large}):
        errors = [abs(one.allocated_error) for one in large if one.backend == backend]
        parts[backend] = sum(error <= NEAR_ALLOCATED for error in errors) / len(errors)
    return parts


def table(found: list[Accuracy]) -> str:
    """Write the whole table."""
    return "".join(f"{line}\n" for line in (HEADING, *map(row, found)))


def verdict(found: list[Accuracy]) -> str:
    """Say what the table comes to."""
    equal, near = summary(found)
    worst = max((one.error for one in found), key=abs)
    worst_temp = max((one.temp_error for one in found), key=abs)
    worst_allocated = max((one.allocated_error for one in found), key=abs)
    exact = sum(one.allocated_bytes == one.estimated_allocated_bytes for one in found)
    parts = ", ".join(f"{part:.0%} on {backend}" for backend, part in allocated(found).items())
    return (
        f"{equal:.2%} of the values have the same start and the same end; {near:.0%} of the "
        f"estimates are within {NEAR:.0%}, the worst {worst:+.2%} off, of temp {worst_temp:+.2%}.\n"
        f"Allocated sizes above 1 MiB are within {NEAR_ALLOCATED:.0%}: {parts}; the worst of all "
        f"{worst_allocated:+.2%} off, {exact} of {len(found)} exact."
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
    pairing = list(measure_edits())
    print(f"{write_pairing(pairing)}\n{judge_pairing(pairing)}\n")  # noqa: T201
    if "--write" in sys.argv[1:]:
        PAIRING.write_text(write_pairing(pairing), "utf-8")
    true_edits = list(measure_true_edits())
    print(f"{judge_true_edits(true_edits)}\n")  # noqa: T201
    if "--write" in sys.argv[1:]:
        TRUE_EDITS.write_text(write_true_edits(true_edits), "utf-8")
        PAGE.write_text(write_page(PAGE.read_text("utf-8")), "utf-8")
    texts = read_texts()
    print(texts, *compare_with_paper(), sep="\n")  # noqa: T201
    equal, near = summary(found)
    is_read = not (texts.refused_wrongly or texts.read_wrongly)
    is_near = near >= LEAST_NEAR and min(allocated(found).values()) >= LEAST_NEAR
    is_known = share_with_line(origins) >= LEAST_WITH_LINE
    return 0 if is_read and is_known and is_near and equal >= LEAST_EQUAL else 1


if __name__ == "__main__":
    sys.exit(main())
