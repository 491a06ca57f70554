"""The facts of testdata/advice name programs that are there, and say of each what became of it."""

import io
import tarfile

import pytest
import zstandard
from accuracy.facts import ASIDE, FRESH, JUDGE, SEALED, TUNE, UNSEEN, find_archive, read_facts


def list_members(half: str, backend: str) -> set[str]:
    """List PROGRAM/VARIANT of an archive."""
    data = find_archive(half, backend).read_bytes()
    whole = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(io.BytesIO(data))
    with tarfile.open(fileobj=io.BytesIO(whole.read())) as archive:
        return {name.rpartition("/")[0] for name in archive.getnames()}


@pytest.mark.parametrize("half", [TUNE, JUDGE, FRESH, UNSEEN, ASIDE, SEALED])
def test_every_program_that_facts_name_is_in_the_archive(half: str) -> None:
    facts = read_facts(half)
    named: dict[str, set[str]] = {}
    for one in facts.remedy:
        named.setdefault(one.backend, set()).update(
            {one.base} if one.error else {one.base, one.member}
        )
    for flaw in facts.flaw:
        named.setdefault(flaw.backend, set()).update({flaw.flaw, flaw.mended})
    for quiet in facts.quiet:
        named.setdefault(quiet.backend, set()).add(quiet.member)
    assert named
    for backend, members in named.items():
        assert members <= list_members(half, backend)


@pytest.mark.parametrize("half", [TUNE, JUDGE, FRESH, UNSEEN, ASIDE, SEALED])
def test_limits_are_below_what_programs_take_and_some_remedy_fits(half: str) -> None:
    limits = read_facts(half).over_limit
    assert len({one.program for one in limits}) >= 10
    for one in limits:
        assert one.allocated > one.limit
        assert one.best_first[0] in one.fits
        assert list(one.gains) == sorted(one.gains, reverse=True)
