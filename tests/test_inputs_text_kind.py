"""Small texts of each kind, in testdata/inputs/kinds; the name of a case says which."""

from __future__ import annotations

import pytest
from dump_files import ODD, SHARED, TESTDATA, needs_shared
from hypothesis import given
from hypothesis import strategies as st
from input_cases import KINDS
from tables import TableCase

from hlotool.dump.text_kind import TextKind, detect_kind


@pytest.mark.parametrize("case", KINDS.values(), ids=KINDS)
def test_kind_is_told_from_content(case: TableCase) -> None:
    text = case.text
    expected = TextKind[case.name.split(".")[0]]
    assert detect_kind(text).kind is expected
    assert detect_kind("\n \n" + text).kind is expected
    assert detect_kind("// comment\n" + text).kind is expected


def test_every_kind_has_a_text() -> None:
    assert {name.split(".")[0] for name in KINDS} == {kind.name for kind in TextKind}


def test_begin_is_where_the_first_word_stands() -> None:
    text = "/* a */\n// b\n HloModule m"
    assert text[detect_kind(text).begin :] == "HloModule m"
    assert not detect_kind(text).has_preamble
    log = "some log\n  HloModule m\n"
    assert log[detect_kind(log).begin :] == "HloModule m\n"
    assert detect_kind(log).has_preamble


@given(st.text(alphabet=st.sampled_from(list('HloMdue%={}()[]"/*\n .,:axROTEN-_;#@!<>0123456789'))))
def test_any_text_has_an_answer(text: str) -> None:
    detection = detect_kind(text)
    assert 0 <= detection.begin <= len(text)


@pytest.mark.hard
@pytest.mark.parametrize(
    "text",
    [
        "/*" * 200_000,
        "a " * 200_000,
        "(" * 200_000,
        "%a(" * 100_000,
        "{ " * 200_000,
        "x:" * 200_000,
    ],
    ids=["comments", "words", "parentheses", "signatures", "braces", "fields"],
)
def test_adversarial_texts_take_linear_time(text: str) -> None:
    """Quadratic behaviour would not end here within the hour."""
    assert detect_kind(text).kind is not TextKind.DOCUMENT


REAL = [
    ("*_optimizations.txt", TextKind.MODULE),
    ("*.before_*.txt", TextKind.MODULE),
    ("*.styles.*.txt", TextKind.MODULE),
    ("*-buffer-assignment.txt", TextKind.ALLOCATIONS),
    ("*_jax_*/*/*-buffer-assignment.txt", TextKind.BUFFERS),  # older compilers: all in one file
    ("*-buffer-assignment-values.txt", TextKind.VALUES),
    ("*-live-range.txt", TextKind.LIVE_RANGE),
    ("*-memory-usage-report.txt", TextKind.MEMORY_REPORT),
    ("*.debug_options", TextKind.DEBUG_OPTIONS),
    ("*.ll", TextKind.LLVM_IR),
    ("*thunk_sequence*.txt", TextKind.THUNKS),
    ("*.pbtxt", TextKind.PROTO_TEXT),
    ("oracle*.json", TextKind.JSON),
    pytest.param("*.mlir", TextKind.MLIR, marks=needs_shared),
    pytest.param("*.flagfile", TextKind.FLAGS, marks=needs_shared),
]


@pytest.mark.parametrize(("pattern", "kind"), REAL)
def test_kinds_of_real_dumps(pattern: str, kind: TextKind) -> None:
    roots = [TESTDATA / "dumps", TESTDATA / "folders", TESTDATA / "printed", SHARED / "dumps"]
    found = [path for root in roots for path in root.rglob(pattern) if ODD not in path.parents]
    if kind is TextKind.ALLOCATIONS:
        found = [path for path in found if "_jax_" not in str(path)]
    assert found
    for path in found:
        assert detect_kind(path.read_text(encoding="utf-8")).kind is kind, path
