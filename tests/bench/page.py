"""The page of `hlotool report`: what making it costs beside a summary, its size, and its speed.

Where Chromium, its driver and selenium are, the page is opened, and zoomed by twenty turns of the
wheel: Chromium itself says how long its main thread worked.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.measure import Comparison, process_seconds, take_turns

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
READY = "return document.documentElement.dataset.ready !== undefined"
DRAWN = "return performance.getEntriesByName('charts')[0].startTime"
ZOOM = """
const done = arguments[0], times = [], over = document.querySelector(".over");
const box = over.getBoundingClientRect();
(async () => {
  for (let turn = 0; turn < 20; turn += 1) {
    const start = performance.now();
    over.dispatchEvent(new WheelEvent("wheel", {
      bubbles: true, cancelable: true, ctrlKey: true, deltaY: turn < 10 ? -100 : 100,
      clientX: box.left + box.width / 2, clientY: box.top + 100,
    }));
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
    times.push(performance.now() - start);
  }
  done(times.sort((a, b) => a - b)[10]);
})();
"""


def measure_page(path: Path, rounds: int) -> Iterator[object]:
    """Yield the cost of a page beside a summary, and how it opens."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        start = [sys.executable, "-m", "hlotool"]
        made, summary = take_turns(
            rounds,
            partial(process_seconds, [*start, "report", str(path), "-o", str(page)]),
            partial(process_seconds, [*start, "summary", str(path)]),
        )
        yield Comparison("hlotool report, beside summary", made, summary, "ms", 3)
        size, text = page.stat().st_size, path.stat().st_size
        yield f"page of {size / 1e6:.2f} MB, {size / text:.2f} of the text"
        if CHROMIUM and DRIVER and importlib.util.find_spec("selenium"):
            yield open_page(page)


def open_page(page: Path) -> str:
    """Open a page; say when its charts are drawn, how a zoom step and its memory do."""
    from selenium import webdriver  # noqa: PLC0415  of the tests' extra
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415  the same

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1440,1000"):
        options.add_argument(each)
    browser: Any = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=DRIVER)
    )
    try:
        browser.execute_cdp_cmd("Performance.enable", {})
        browser.get(page.as_uri())
        WebDriverWait(browser, 60).until(lambda one: one.execute_script(READY))
        drawn = browser.execute_script(DRAWN)
        told = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        worked = {one["name"]: one["value"] for one in told}
        zoom = browser.execute_async_script(ZOOM)
        told = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        heap = next(one["value"] for one in told if one["name"] == "JSHeapUsedSize")
    finally:
        browser.quit()
    return (
        f"charts after {drawn:.0f} ms (limit 1,000 for 3,000 instructions, 2,000 for 65,000), main "
        f"thread {1000 * worked['TaskDuration']:.0f} ms; a zoom step {zoom:.0f} ms (limit 100); "
        f"heap {heap / 1e6:.0f} MB (limit 150)"
    )
