"""Pages in a real browser: Debian's Chromium, driven through its own driver.

Skipped where either is not installed.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from parsed import load
from report_pages import NEW, OLD, SMALL, write_hostile, write_large, write_page, write_pair

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_SECONDS = 60
pytestmark = [
    pytest.mark.hard,
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]
DRAWN = "return document.documentElement.dataset.charts === 'drawn'"
ROWS = "[...document.querySelectorAll('#fusions tbody tr')]"
# How many shapes a chart has, so that an empty one is told from a drawn one.
MARKS = "return document.querySelectorAll('#{} .main-svg path').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser once for all pages."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def visit(browser: Any, page: Path) -> None:
    """Open a page, and wait until its charts are drawn; nothing went wrong meanwhile."""
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415  may be missing

    browser.get(page.as_uri())
    WebDriverWait(browser, PATIENCE_SECONDS).until(lambda one: one.execute_script(DRAWN))
    assert browser.get_log("browser") == []


def test_a_small_program(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    for chart in ("memory", "address", "tree", "clock", "roof", "axes"):
        assert browser.execute_script(MARKS.format(f"{chart}-chart")) > 3, chart
    browser.execute_script("document.querySelector('#fusions').open = true")
    link = browser.find_element("css selector", "#fusions a.name")
    name = link.get_attribute("data-name")
    browser.execute_script("arguments[0].click()", link)
    assert browser.find_element("css selector", "#panel h2").text == name
    browser.find_element("id", "close").click()
    assert not browser.find_element("id", "panel").is_displayed()


AT_POINT = """
const [allocation, step, byte] = arguments;
const get = (id) => document.getElementById(id);
get("allocation").value = allocation;
get("allocation").dispatchEvent(new Event("change"));
const chart = get("address-chart"), box = chart.getBoundingClientRect();
const { xaxis, yaxis } = chart._fullLayout;
const clientX = box.left + xaxis._offset + xaxis.d2p(step + 0.5);
const clientY = box.top + yaxis._offset + yaxis.d2p(byte);
const at = { bubbles: true, clientX, clientY };
chart.dispatchEvent(new MouseEvent("mousemove", at));
if (get("panel").open) get("panel").close();
chart.dispatchEvent(new MouseEvent("click", at));
const opened = get("panel").open ? document.querySelector("#panel h2").textContent : null;
return [get("address-tip").textContent.split(": ")[0], opened];
"""


def test_the_address_map_names_what_is_under_the_pointer(browser: Any, tmp_path: Path) -> None:
    """Of 100 points, each names a value that `buffers --at` has at that step and byte."""
    visit(browser, write_page(tmp_path, SMALL))
    memory = load(SMALL).program.memory
    assert memory
    assert memory.map.live_ranges
    chance, named = random.Random(34), 0  # noqa: S311  no secret
    for _ in range(100):
        allocation = chance.choice([one for one in memory.map.placed(0) if one.size_bytes])
        step, byte = (
            chance.randrange(memory.map.live_ranges.end),
            (chance.random()) * allocation.size_bytes,
        )
        wanted = {
            str(value.name)
            for home, value, _ in memory.map.live_at(step, 0)
            if home is allocation and value.offset <= byte < value.offset + value.size_bytes
        }
        said, opened = browser.execute_script(AT_POINT, allocation.number, step, byte)
        assert said in (wanted or {" "}), (allocation.number, step, byte)
        assert opened is None or said.startswith(opened)
        named += bool(wanted)
    assert named > 20
    browser.execute_script("document.getElementById('panel').close()")


def test_no_button_uploads_a_chart(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL))
    titles = [
        one.get_attribute("data-title")
        for one in browser.find_elements("css selector", ".modebar-btn")
    ]
    assert titles
    assert not [title for title in titles if title and ("hare" in title or "loud" in title)]


def test_two_programs(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_pair(tmp_path, OLD, NEW, "--chip", "h100"))
    tops = []
    for number in (0, 1):
        assert browser.execute_script(MARKS.format(f"memory-chart-{number}")) > 3
        ticks = browser.find_elements("css selector", f"#memory-chart-{number} .ytick text")
        tops.append([one.text for one in ticks])
    assert tops[0] == tops[1]  # one scale
    link = browser.find_element("css selector", "#new a.name")
    browser.execute_script("arguments[0].click()", link)
    name = link.get_attribute("data-name")
    assert browser.find_element("css selector", "#panel h2").text == f"{name} (new)"
    browser.find_element("id", "close").click()
    headings = [one.text for one in browser.find_elements("css selector", ".instant h3")]
    browser.find_element("id", "memory-chart-1").send_keys("\ue012")  # left
    after = [one.text for one in browser.find_elements("css selector", ".instant h3")]
    assert after[0] == headings[0]
    assert after[1] != headings[1]


def test_sorting_and_searching(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL))
    browser.execute_script("document.querySelector('#fusions').open = true")
    column = f"return {ROWS}.map(row => +row.cells[{{}}].dataset.v)"
    heads = [
        one.text.split()[0] if one.text else ""
        for one in browser.find_elements("css selector", "#fusions th")
    ]
    place = next(index for index, text in enumerate(heads) if text.startswith("flops/step"))
    button = browser.find_elements("css selector", "#fusions th button")[place]
    for is_rising in (False, True):
        browser.execute_script("arguments[0].click()", button)
        values = browser.execute_script(column.format(place))
        assert values == sorted(values, reverse=not is_rising)
    search = browser.find_element("css selector", "#fusions input")
    search.send_keys("attention gemm")
    shown = f"return {ROWS}.filter(row => !row.hidden).map(row => row.textContent)"
    found = browser.execute_script(shown)
    assert found
    assert all("attention" in text and "gemm" in text for text in found)


def test_an_instant_is_frozen_by_keys(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL))
    heading = browser.find_element("css selector", "#instant h3")
    before = heading.text
    browser.find_element("id", "memory-chart").send_keys("\ue012")  # left
    assert browser.find_element("css selector", "#instant h3").text != before


def test_a_large_program_is_painted_before_charts(browser: Any, tmp_path: Path) -> None:
    page = write_page(tmp_path, write_large(tmp_path))
    assert page.stat().st_size < 8 << 20
    visit(browser, page)
    painted = browser.execute_script(
        "return performance.getEntriesByType('paint').map(e => e.startTime)"
    )
    drawn = browser.execute_script("return performance.getEntriesByName('charts')[0].startTime")
    assert painted
    assert min(painted) < drawn
    assert len(browser.find_elements("css selector", "#buffers tbody tr")) > 1000


def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, write_hostile(tmp_path)))
    assert browser.title == "hostile"
    for link in browser.find_elements("css selector", "a.name")[:8]:
        browser.execute_script("arguments[0].click()", link)
    assert browser.title == "hostile"
    assert browser.execute_script("return document.images.length") == 0
    assert browser.get_log("browser") == []


BOXES = (
    "return [...document.querySelectorAll('.chart')].map((each) => "
    "[each.querySelector('.main-svg').getBoundingClientRect(), each.getBoundingClientRect()]"
    ".map((box) => [box.left, box.top, box.right, box.bottom]))"
)


def test_two_programs_on_paper(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_pair(tmp_path, OLD, NEW))
    on_screen = browser.execute_script(BOXES)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        printed = browser.execute_script(BOXES)
        assert len(printed) == 2
        for drawn, place in printed:
            assert drawn[2] - drawn[0] <= 720
            assert drawn[3] - drawn[1] <= place[3] - place[1] + 1
        assert printed[0][1][3] <= printed[1][1][1], "one below the other"
        is_shown = "return document.querySelector('{}').checkVisibility()"
        assert not browser.execute_script(is_shown.format("nav"))
        assert not browser.execute_script(is_shown.format(".acts"))
        assert browser.execute_script(is_shown.format("#verdict"))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert [box[0][2] for box in browser.execute_script(BOXES)] == pytest.approx(
        [box[0][2] for box in on_screen], abs=20
    )


def test_names_in_the_verdict_are_links(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_pair(tmp_path, OLD, NEW))
    link = browser.find_element("css selector", "#verdict a.name")
    browser.execute_script("arguments[0].click()", link)
    shown = browser.find_element("css selector", "#panel h2").text
    assert shown.startswith(f"{link.get_attribute('data-name')} (")
