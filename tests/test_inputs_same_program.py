"""Header lines of two module texts: can they be one program?"""

from __future__ import annotations

import pytest

from hlotool.dump.groups import may_be_same_program
from hlotool.dump.modules import ModuleHead, read_module_head

SIGNATURE = "HloModule f, entry_computation_layout={%s}, num_partitions=%d"


@pytest.mark.parametrize(
    ("before", "after", "partitions", "fits"),
    [
        ("(f32[8]{0})->f32[8]{0}", "(f32[8]{0:T(128)})->f32[8]{0:T(128)S(1)}", 1, True),
        ("(f32[8], /*index=1*/s32[])->()", "(f32[8],s32[])->()", 1, True),
        ("((f32[8]), s32[])->f32[]", "((f32[8]{0}),s32[])->f32[]", 1, True),
        ("(f32[8])->f32[8]", "(f32[4])->f32[4]", 1, False),
        ("(f32[8])->f32[8]", "(f32[4])->f32[4]", 2, True),
        ("(f32[8])->f32[8]", "(f32[1])->f32[1]", 4, False),
        ("(f32[9])->f32[9]", "(f32[3])->f32[3]", 4, True),
        ("(f32[9])->f32[9]", "(f32[5])->f32[5]", 2, True),
        ("(f32[8])->f32[8]", "(f32[16])->f32[16]", 8, False),
        ("(f32[8])->f32[8]", "(bf16[8])->f32[8]", 1, False),
        ("(f32[8])->f32[8]", "(f32[8,1])->f32[8]", 8, False),
        ("(f32[8])->f32[8]", "(f32[8], f32[8])->f32[8]", 1, False),
        ("(f32[<=8])->f32[]", "(f32[<=8])->f32[]", 1, True),
        ("(f32[8])->f32[8]", "(f32[0])->f32[0]", 8, False),
    ],
)
def test_signatures_that_fit(before: str, after: str, partitions: int, fits: bool) -> None:
    heads = [read_module_head(SIGNATURE % (text, partitions)) for text in (before, after)]
    assert may_be_same_program(*heads) is fits


def test_what_a_head_does_not_say_fits_anything() -> None:
    known = read_module_head(SIGNATURE % ("(f32[8])->f32[8]", 2))
    assert may_be_same_program(ModuleHead(), known)
    assert may_be_same_program(known, ModuleHead())
    assert not may_be_same_program(known, ModuleHead(name="other"))
    assert not may_be_same_program(known, read_module_head(SIGNATURE % ("(f32[8])->f32[8]", 4)))
