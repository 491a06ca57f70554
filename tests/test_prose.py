"""Sentences are in docs/sentences.md, keep the rules of testdata/prose.toml, and rules catch."""

from __future__ import annotations

import sys

import pytest
from dump_files import ROOT
from prose import SENTENCES, Rule, check_text, find_faults, read_rules

sys.path.append(str(ROOT / "docs"))

from sentences import collect


def test_no_sentence_is_written_elsewhere() -> None:
    assert collect()[None] == [], "write it where sentences are: PLACES of docs/sentences.py"


def test_sentences_are_found() -> None:
    found = collect()
    assert all(found[heading] for heading in found if heading)
    assert sum(map(len, found.values())) > 2000


@pytest.mark.parametrize("rule", read_rules(), ids=lambda rule: rule.pattern)
def test_each_rule_catches_its_sentence(rule: Rule) -> None:
    assert any(advice.startswith(rule.why) for _, advice in check_text(rule.catches))
    assert not any(advice.startswith(rule.why) for _, advice in check_text(rule.better))


def test_long_sentences_are_caught() -> None:
    assert list(check_text("word " * 21))
    assert not list(check_text("word " * 20))


def test_sentences_keep_the_rules() -> None:
    assert list(find_faults(SENTENCES)) == [], "make prose"
