"""Programs that pages are made of: a small one, a large one, and one with hostile names."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any, Final

from dump_files import TESTDATA

import hlotool
from hlotool.cli import run

PAGE: Final = Path(hlotool.__file__).parent / "page"
SMALL: Final = TESTDATA / "dumps" / "gpu_h100" / "transformer_train"
OLD: Final = TESTDATA / "dumps" / "gpu_h100" / "mlp_train"
NEW: Final = OLD.with_name("mlp_train.batch2x")
HOSTILE_NAMES: Final = (
    "</script><script>document.title='run'</script>",
    '\\" onmouseover=\\"document.title=1',
    "<img src=x onerror=document.title=2>",
    "\u202eright to left",
    "{{ title }}",
    "long " * 2_000,
    "'; document.title = 3; '",
)


def write_page(folder: Path, dump: Path, *options: str) -> Path:
    """Write the page of a dump, and return its path."""
    page = folder / f"{dump.name}.html"
    assert run(["report", str(dump), "-o", str(page), *options]) == 0
    return page


def read_data(page: Path) -> Any:
    """Return what the charts of a page are drawn from."""
    found = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(gzip.decompress(b64decode(found[1])))


def write_pair(folder: Path, old: Path | str, new: Path | str, *options: str) -> Path:
    """Write the page of two dumps, and return its path."""
    page = folder / "pair.html"
    assert run(["report", str(old), str(new), "-o", str(page), *options]) == 0
    return page


def write_large(folder: Path) -> Path:
    """Write a program of 10,000 instructions, 2,000 of whose values are live at once."""
    made = [
        f"  %made.{n} = f32[{64 + n % 50},1024]{{1,0}} broadcast(%p.{n % 7}), dimensions={{}}, "
        f'metadata={{op_name="jit(step)/layer_{n % 40}/part_{n % 9}/broadcast"}}'
        for n in range(2_000)
    ]
    used = [
        line
        for n in range(2_000)
        for line in (
            f"  %abs.{n} = f32[{64 + n % 50},1024]{{1,0}} abs(%made.{n})",
            f"  %exp.{n} = f32[{64 + n % 50},1024]{{1,0}} exponential(%abs.{n})",
            f"  %neg.{n} = f32[{64 + n % 50},1024]{{1,0}} negate(%exp.{n})",
            f"  %one.{n} = f32[1,1]{{1,0}} slice(%neg.{n}), slice={{[0:1], [0:1]}}",
        )
    ]
    parameters = [f"  %p.{n} = f32[] parameter({n})" for n in range(7)]
    held = ", ".join(f"%one.{n}" for n in range(2_000))
    result = ", ".join(["f32[1,1]{1,0}"] * 2_000)
    head = "HloModule large, is_scheduled=true\n\nENTRY %main (" + ", ".join(
        f"p.{n}: f32[]" for n in range(7)
    )
    lines = [f"{head}) -> ({result}) {{", *parameters, *made, *used]
    return _write(folder, "large", [*lines, f"  ROOT %out = ({result}) tuple({held})", "}"])


def write_hostile(folder: Path) -> Path:
    """Write a program whose scopes, parameters and source files are named to do harm."""
    lines = [
        "HloModule hostile, is_scheduled=true",
        "",
        "ENTRY %main (p: f32[512,512]) -> f32[512,512] {",
        f'  %p = f32[512,512]{{1,0}} parameter(0), metadata={{op_name="{HOSTILE_NAMES[0]}"}}',
    ]
    before = "p"
    for number, name in enumerate(HOSTILE_NAMES):
        lines.append(
            f"  %dot.{number} = f32[512,512]{{1,0}} dot(%{before}, %{before}), "
            f"lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, metadata={{"
            f'op_name="jit(step)/{name}/dot_general" source_file="{name}.py" source_line=7}}'
        )
        before = f"dot.{number}"
    return _write(
        folder, "hostile", [*lines, f"  ROOT %out = f32[512,512]{{1,0}} copy(%{before})", "}"]
    )


def _write(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / f"{name}.txt"
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path
