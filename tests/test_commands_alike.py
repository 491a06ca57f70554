"""Of many errors those that say the same are one line."""

from __future__ import annotations

import pytest

from hlotool.commands.shared.messages import fold_alike

KIND = "d/{}.txt:{}:7: there is no computation '{}'"
ALIKE = [KIND.format(name, number, name) for number, name in enumerate("abcd")]
OTHERS = ["d/x.txt: the file is empty", "no place", "d/y.txt:3: bad", "d/z.txt:3: worse"]


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([], []),
        (ALIKE[:3], ALIKE[:3]),
        (
            ALIKE,
            ["4 files, first d/a.txt:0:7: there is no computation 'a'", "4 errors; see"],
        ),
        (
            [OTHERS[0], *ALIKE, *OTHERS[1:]],
            [
                "4 files, first d/a.txt:0:7: there is no computation 'a'",
                *OTHERS[:2],
                "… and 2 more of 8 errors; see",
            ],
        ),
        (OTHERS, [*OTHERS[:3], "… and 1 more of 4 errors; see"]),
        (
            [f"{error}\n  |\n{number} | line" for number, error in enumerate(ALIKE)],
            ["4 files, first d/a.txt:0:7: there is no computation 'a'", "4 errors; see"],
        ),
        (["no place"] * 4, ["no place", "4 errors; see"]),
    ],
)
def test_alike_errors_are_one_line(errors: list[str], told: list[str]) -> None:
    assert fold_alike(errors, "see") == told
