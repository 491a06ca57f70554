"""Take the pictures of docs/report.md: pages of dumps of testdata, as Chromium paints them."""

from __future__ import annotations

import shutil
import tempfile
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
