"""Generated docs are up to date, and nothing is wrong with the declarations they are made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from declarations import find_mistakes
from fake_command import DOCUMENT
from sample_rows import SAMPLES

from hlotool.commands.shared.command import all_documents
from hlotool.table import DocumentSpec
from hlotool.table.schema import make_schema

ROOT = Path(__file__).parent.parent
SPECS = [*all_documents(), DOCUMENT, DocumentSpec("samples", "samples", row_lists=(SAMPLES,))]


def test_there_are_documents() -> None:
    assert all_documents()


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "docs/make_docs.py", "--check"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_declarations_hold_no_mistake(spec: DocumentSpec) -> None:
    assert find_mistakes(spec) == []


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_schemas_are_schemas(spec: DocumentSpec) -> None:
    jsonschema.Draft202012Validator.check_schema(make_schema(spec))
