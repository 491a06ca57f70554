"""Take the pictures of README.md and docs/report.md.

Pages of dumps of testdata as Chromium paints them, and screens of a terminal as SVG.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hlotool.cli import run

ROOT: Final = Path(__file__).parent.parent
DUMPS: Final = ROOT / "testdata" / "dumps" / "gpu_h100"
FOLDER: Final = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1000, 900
PATIENCE_SECONDS: Final = 60
DRAWN: Final = "return document.documentElement.dataset.ready !== undefined"
# Of each picture what the page is about, and what stands at its top.
PICTURES: Final = {
    "report": (("transformer_train",), "#program"),
    "report-pair": (("mlp_train", "mlp_train.batch2x"), "#program"),
}
# Of each screen the command that is typed; both fit 80 columns.
SCREENS: Final = {
    "buffers": "hlotool buffers testdata/advice/gpu_h100.scanned --hbm 160MiB -n 3",
    "diff": "hlotool diff testdata/dumps/gpu_h100/mlp_train"
    " testdata/dumps/gpu_h100/mlp_train.remat",
}
COLUMNS: Final = 80
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 14
BACKGROUND, FOREGROUND, DIM = "#16181d", "#d8dbe2", "#868c98"
COLOURS: Final = {31: "#f2777a", 32: "#99cc99", 33: "#ffcc66", 34: "#6699cc", 36: "#66cccc"}
_ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def run_on_terminal(command: str) -> str:
    """Run a command whose output is a terminal of 80 columns, and return what it shows."""
    ours, theirs = os.openpty()
    program = f"{shlex.quote(sys.executable)} -m hlotool {command.removeprefix('hlotool ')}"
    words = shlex.split(f"{program} --color always --no-pager")
    environment = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=theirs):  # noqa: S603  ours
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 1 << 16):
                shown += part
        except OSError:  # the end, as Linux says it
            os.close(ours)
    return shown.decode("utf-8").replace("\r\n", "\n")


def draw_screen(command: str) -> str:
    """Draw what a terminal shows of a command as SVG."""
    typed = " \\\n    ".join(textwrap.wrap(f"$ {command}", COLUMNS - 2)).splitlines()
    lines = [*(f"\x1b[1m{line}\x1b[0m" for line in typed), *run_on_terminal(command).splitlines()]
    width = COLUMNS * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * CELL_HEIGHT + 2 * MARGIN
    style = f'font-family="Menlo, Consolas, monospace" font-size="14" fill="{FOREGROUND}"'
    texts = [
        f'<text x="{MARGIN + at * CELL_WIDTH:.1f}" y="{MARGIN + (row + 0.75) * CELL_HEIGHT:.1f}"'
        f' textLength="{len(text) * CELL_WIDTH:.1f}"{look}>{html.escape(text)}</text>'
        for row, line in enumerate(lines)
        for at, text, look in _cut_line(line)
    ]
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} xml:space="preserve" {style}>',
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _cut_line(line: str) -> Iterator[tuple[int, str, str]]:
    """Yield the words of a line that look alike, each with its column and its look."""
    at, look = 0, ""
    for place, part in enumerate(_ESCAPE.split(line)):
        if place % 2:
            codes = [int(code) for code in part.split(";") if code]
            colour = next((COLOURS[code] for code in codes if code in COLOURS), None)
            fill = DIM if 2 in codes else colour  # noqa: PLR2004  the codes of a terminal
            look = ' font-weight="bold"' * (1 in codes) + (f' fill="{fill}"' if fill else "")
            continue
        for word in re.finditer(r"\S+(?: \S+)*", part):
            yield at + word.start(), word[0], look
        at += len(part)


def open_browser() -> Any:
    """Start Chromium by its own driver."""
    from selenium import webdriver  # noqa: PLC0415  of the tests' extra

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    size = f"--window-size={WIDTH},{HEIGHT}"
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size):
        options.add_argument(each)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def take_picture(browser: Any, page: Path, top: str, picture: Path) -> None:
    """Open a page, wait for its charts, and keep what the window shows below `top`."""
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415  see above

    browser.get(page.as_uri())
    WebDriverWait(browser, PATIENCE_SECONDS).until(lambda one: one.execute_script(DRAWN))
    browser.execute_script(f"document.querySelector('{top}').scrollIntoView()")
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 500))")
    browser.save_screenshot(str(picture))


def make_pictures(folder: Path = FOLDER) -> None:
    """Write all pictures into a folder."""
    for name, command in SCREENS.items():
        (folder / f"{name}.svg").write_text(draw_screen(command), encoding="utf-8")
    browser = open_browser()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for name, (dumps, top) in PICTURES.items():
                page = Path(scratch) / f"{name}.html"
                paths = [str((DUMPS / dump).relative_to(ROOT)) for dump in dumps]
                run(["report", *paths, "-o", str(page), "--chip", "h100"])
                take_picture(browser, page, top, folder / f"{name}.png")
    finally:
        browser.quit()


if __name__ == "__main__":
    make_pictures()
