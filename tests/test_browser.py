"""Pages in a real browser: Debian's Chromium, driven through its own driver.

Skipped where either is not installed.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA
from parsed import load
from report_pages import NEW, OLD, SMALL, write_hostile, write_large, write_page, write_pair

from hlotool.analysis.memory.memory_map import list_holdings
from hlotool.analysis.memory.rows import all_rows
from hlotool.table import Unit
from hlotool.table.units import format_value

AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parent.parent / "node_modules/axe-core"))
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_SECONDS = 60
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]
DRAWN = "return document.documentElement.dataset.ready !== undefined"
ROWS = "[...document.querySelectorAll('#fusions tbody tr')]"
# How many colours a canvas has, so that an empty one is told from a drawn one.
# It reads a copy: who reads a canvas of a page itself is warned of the cost.
COLOURS = """
const drawn = document.querySelector(arguments[0]), canvas = document.createElement("canvas");
Object.assign(canvas, { width: drawn.width, height: drawn.height });
const pen = canvas.getContext("2d", { willReadFrequently: true });
pen.drawImage(drawn, 0, 0);
const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
return new Set(new Uint32Array(data.buffer)).size;
"""
CANVASES = (".strip", ".stack canvas", "#tree-chart", "#roof-chart")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Start the browser once for all pages."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(each)
    # Of more than 200 selections in ten seconds, as no hand makes them, the console warns.
    options.add_argument("--disable-ipc-flooding-protection")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Return the browser; whatever a test does in it, the console has nothing to say."""
    chromium.get("about:blank")
    chromium.get_log("browser")  # of a test that failed before
    yield chromium
    assert chromium.get_log("browser") == []


def visit(browser: Any, page: Path) -> None:
    """Open a page, and wait until its charts are drawn."""
    browser.get("about:blank")
    browser.get(page.as_uri())
    wait(browser)


def wait(browser: Any) -> None:
    """Wait until all is drawn."""
    from selenium.webdriver.support.wait import WebDriverWait  # noqa: PLC0415  may be missing

    WebDriverWait(browser, PATIENCE_SECONDS).until(lambda one: one.execute_script(DRAWN))


def test_charts_are_drawn(browser: Any, tmp_path: Path) -> None:
    """The one of these tests that `make test` runs."""
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    for canvas in CANVASES:
        assert browser.execute_script(COLOURS, canvas) > 3, canvas


@pytest.mark.hard
def test_a_small_program(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    assert len(browser.find_elements("css selector", "#axes tr")) > 3
    assert len(browser.find_elements("css selector", "#steps li")) > 10
    browser.execute_script("document.querySelector('#fusions').open = true")
    link = browser.find_element("css selector", "#fusions a.name")
    name = link.get_attribute("data-name")
    browser.execute_script("arguments[0].click()", link)
    assert browser.find_element("css selector", "#panel h2").text == name
    assert f"sel=instruction%3A{name}" in browser.current_url
    # A name in the panel opens, Back goes back, and a link that was mailed shows the same.
    within = browser.find_element("css selector", "#panel-body section a.name")
    other = within.get_attribute("data-name")
    browser.execute_script("arguments[0].click()", within)
    assert browser.find_element("css selector", "#panel h2").text == other
    mailed = browser.current_url
    browser.back()
    assert browser.find_element("css selector", "#panel h2").text == name
    browser.get("about:blank")
    browser.get(mailed)
    wait(browser)
    assert browser.find_element("css selector", "#panel h2").text == other
    browser.find_element("id", "close").click()
    assert not browser.find_element("id", "panel").is_displayed()


# Points at a lane: moves there, clicks, and returns what the tip says and what is selected.
POINT = """
const [title, across, down] = arguments;
const { lanes: [lanes] } = window.hlotool;
const lane = lanes.lanes.find((each) => each.title.startsWith(title));
const box = lanes.over.getBoundingClientRect();
const clientX = box.left + lanes.left + Math.floor(across * lanes.plotWidth) + 0.5;
const clientY = box.top + lane.top + down * lane.height;
const at = { bubbles: true, clientX, clientY, pointerId: 1, pointerType: "touch" };
for (const kind of ["pointermove", "pointerdown", "pointerup"]) {
  lanes.over.dispatchEvent(new PointerEvent(kind, at));
}
const scale = (lane.space?.allocated ?? 0) / lane.height;
const byte = (lane.top + lane.height - (clientY - box.top)) * scale;
const said = [...lanes.tip.children].map((each) => each.textContent);
return [said, document.querySelector("#panel h2").textContent, byte];
"""


def point(browser: Any, title: str, chance: random.Random) -> tuple[int, list[str], str, float]:
    """Point at a random place of a lane; return the step, what is said and opened, and the byte."""
    said, opened, byte = browser.execute_script(POINT, title, chance.random(), chance.random())
    step = re.match(r"step ([\d,]+)", said[0])
    return int(step[1].replace(",", "")) if step else -1, said, opened, byte


@pytest.mark.hard
def test_each_lane_names_what_the_commands_name(browser: Any, tmp_path: Path) -> None:
    """Of 200 random points of each lane, the tip and the panel say what the analyses say."""
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    program = load(SMALL).program
    memory = program.memory
    assert memory
    assert memory.map.live_ranges
    sequence, chance = memory.map.live_ranges.sequence, random.Random(34)  # noqa: S311  no secret
    curve = memory.map.curve(0)
    assert curve
    rows = {row.name: row for row in program.collectives.rows}
    bases, base = [], 0
    for home in memory.map.placed(0):
        bases.append((base, home))
        base += home.size_bytes
    for _ in range(200):
        step, said, opened, _ = point(browser, "Memory", chance)
        step = len(sequence) if step < 0 else step
        assert said[1] == f"{format_value(curve.at(step), Unit.BYTES)} in use"
        for line, held in zip(said[2:], list_holdings(memory.map, step, 0), strict=False):
            assert line.split()[2] == held.value.name
        assert step == len(sequence) or opened == sequence[step]
        step, said, opened, byte = point(browser, "Addresses", chance)
        step = len(sequence) if step < 0 else step
        below, home = next(each for each in reversed(bases) if each[0] <= byte)
        there = {
            str(value.name)
            for each, value, _ in memory.map.live_at(step, 0)
            if each is home and value.offset <= byte - below < value.offset + value.size_bytes
        }
        assert said[1] in there if there else said[1].startswith("nothing"), (step, byte)
        assert not there or opened in there
        step, said, opened, _ = point(browser, "Sent over 8@1", chance)
        if said[1] != "nothing is sent":
            assert opened in rows
            assert rows[opened].kind in said[1]
            start, end = (sequence.index(name) for name in (opened, rows[opened].members[-1]))
            assert start <= step <= end
        step, said, opened, _ = point(browser, "Work", chance)
        if said[1] != "no work":
            (subject,) = program.show((sequence[step],)).subjects
            assert opened == subject.name
            # Figures of a page have three digits where a table has four.
            assert f"{subject.flops_per_step:.3g}" in said[2] or subject.flops_per_step >= 1000
        step, said, opened, _ = point(browser, "Program", chance)
        assert len(said) == 1 or said[1]


@pytest.mark.hard
def test_a_range_has_its_sums(browser: Any, tmp_path: Path) -> None:
    """A range over the whole program has the figures of the program."""
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    program = load(SMALL).program
    found = browser.execute_script(
        "const { model } = window.hlotool.lanes[0];"
        "location.hash = `sel=range:0-${model.steps}`; return model.sum(0, model.steps)"
    )
    assert found["flops"] == program.cost.total_flops_per_step
    assert found["traffic_bytes"] == program.cost.traffic_bytes_per_step
    text = browser.find_element("id", "panel-body").text
    assert format_value(program.cost.traffic_bytes_per_step, Unit.BYTES) in text


@pytest.mark.hard
def test_the_time_axis_and_zoom(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    drawn = browser.execute_script(COLOURS, ".stack canvas")
    choose = "const one = document.getElementById(arguments[0]); one.value = arguments[1];"
    for name, value in (("x-axis", "time"), ("grouping", "scope"), ("measure", "flops")):
        browser.execute_script(f"{choose} one.dispatchEvent(new Event('change'))", name, value)
    assert browser.execute_script(COLOURS, ".stack canvas") > drawn / 2
    assert {"x=time", "group=scope", "measure=flops"} <= set(
        browser.current_url.split("#")[1].split("&")
    )
    browser.execute_script(
        "const { lanes: [lanes] } = window.hlotool; lanes.zoom(0.2, lanes.axis.last / 3)"
    )
    assert "v=" in browser.current_url
    assert browser.execute_script("return window.hlotool.lanes[0].range")[0] > 0


@pytest.mark.hard
def test_keys_move_and_open(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL))
    canvas = browser.find_element("css selector", ".stack canvas")
    canvas.send_keys("\ue011\ue014\ue014")  # home, right, right
    said = browser.find_element("css selector", ".said").text
    assert said.startswith("step 2: ")
    canvas.send_keys("\ue007")  # enter
    assert browser.find_element("css selector", "#panel h2").text in said
    browser.find_element("css selector", "body").send_keys("/")
    browser.switch_to.active_element.send_keys("attention")
    found = browser.find_elements("css selector", "#palette li")
    assert found
    browser.switch_to.active_element.send_keys("\ue007")
    assert "attention" in browser.find_element("css selector", "#panel h2").text


@pytest.mark.hard
def test_a_condition_finds_what_the_command_finds(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL))
    rows = all_rows(load(SMALL).program.expect_memory(), None)
    wanted = [row.value for row in rows if row.size_bytes > 100 << 20]
    browser.find_element("css selector", "body").send_keys("/")
    palette = browser.switch_to.active_element
    palette.send_keys("size_bytes > 100MiB")
    said = browser.find_element("css selector", "#palette p")
    assert said.text == f"holds for {len(wanted)}"
    links = browser.find_elements("css selector", "#palette a.name")
    assert sorted(link.get_attribute("data-name") for link in links) == sorted(wanted)
    palette.send_keys(" and size_bytes > 2ms")
    assert "s needs a field of seconds" in said.text


@pytest.mark.hard
def test_two_programs(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_pair(tmp_path, OLD, NEW, "--chip", "h100"))
    assert len(browser.find_elements("css selector", ".lanes")) == 2
    tops = "return window.hlotool.lanes.map((each) => each.most)"
    assert len(set(browser.execute_script(tops))) == 1  # one scale
    assert browser.execute_script(COLOURS, ".stack canvas") > 3
    link = browser.find_element("css selector", "#new a.name")
    browser.execute_script("arguments[0].click()", link)
    name = link.get_attribute("data-name")
    assert browser.find_element("css selector", "#panel h2").text == name
    assert browser.find_element("css selector", "#panel .kind").text == "instruction of new"


@pytest.mark.hard
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

    natural = "return new Intl.Collator('en', { numeric: true }).compare(...arguments)"
    browser.execute_script("arguments[0].click()", button.find_element("xpath", "../../th/button"))
    names = browser.execute_script(f"return {ROWS}.map(row => row.cells[0].textContent)")
    assert any(re.search(r"\.\d\d", name) for name in names)
    for pair in itertools.pairwise(names):
        assert browser.execute_script(natural, *pair) <= 0


WIDTHS = (1440, 1024, 390)


def resize(browser: Any, width: int, scheme: str = "light") -> None:
    """Change the size of the page and its colours; scheme "" and width 0 are those of before."""
    command = (
        "Emulation.setDeviceMetricsOverride" if width else "Emulation.clearDeviceMetricsOverride"
    )
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd(command, size if width else {})
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def write_several(folder: Path) -> list[Path]:
    """Write a page of one program, one that does not fit, one of two, and one of a message."""
    advice, message = TESTDATA / "advice/gpu_h100.scanned", TESTDATA / "out_of_memory/gpu_bfc.txt"
    return [
        write_page(folder, SMALL, "--chip", "h100"),
        write_page(folder, advice, "--hbm", "160MiB"),
        write_pair(folder, OLD, NEW),
        write_page(folder, message),
    ]


@pytest.mark.hard
def test_nothing_is_cut_at_the_edge(browser: Any, tmp_path: Path) -> None:
    """No page is wider than its window: wide tables scroll in boxes of their own."""
    try:
        for page in write_several(tmp_path):
            for width in WIDTHS:
                resize(browser, width)
                visit(browser, page)
                wide = browser.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, (page.name, width)
    finally:
        resize(browser, 0)


@pytest.mark.hard
@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: npm install --no-save axe-core")
def test_axe_finds_nothing(browser: Any, tmp_path: Path) -> None:
    """With a panel open, in light and dark, wide and narrow."""
    script = (AXE / "axe.min.js").read_text("utf-8")
    browser.set_script_timeout(5 * PATIENCE_SECONDS)
    told = "axe.run().then((found) => arguments[0](found.violations.map((one) => one.id)))"
    try:
        for page in write_several(tmp_path):
            for width, scheme in itertools.product((WIDTHS[0], WIDTHS[-1]), ("light", "dark")):
                resize(browser, width, scheme)
                visit(browser, page)
                browser.execute_script("document.querySelector('main a.name')?.click()")
                browser.execute_script(script)
                found = browser.execute_async_script(told)
                assert found == [], (page.name, width, scheme)
    finally:
        resize(browser, 0)


@pytest.mark.hard
def test_a_large_program_is_quick(browser: Any, tmp_path: Path) -> None:
    page = write_page(tmp_path, write_large(tmp_path))
    assert page.stat().st_size < 8 << 20
    visit(browser, page)
    assert browser.execute_script(COLOURS, ".stack canvas") > 3
    assert len(browser.find_elements("css selector", "#buffers tbody tr")) > 1000


@pytest.mark.hard
def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, write_hostile(tmp_path)))
    assert browser.title == "hostile"
    for link in browser.find_elements("css selector", "a.name")[:8]:
        browser.execute_script("arguments[0].click()", link)
    assert browser.title == "hostile"
    assert browser.execute_script("return document.images.length") == 0


@pytest.mark.hard
def test_on_paper(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_pair(tmp_path, OLD, NEW))
    width = "return [...document.querySelectorAll('.stack canvas')].map((each) => each.clientWidth)"
    on_screen = browser.execute_script(width)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        assert max(browser.execute_script(width)) <= 720
        is_shown = "return document.querySelector('{}').checkVisibility()"
        assert not browser.execute_script(is_shown.format("nav"))
        assert not browser.execute_script(is_shown.format(".acts"))
        assert browser.execute_script(is_shown.format("#verdict"))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(width) == on_screen


@pytest.mark.hard
def test_names_in_the_verdict_are_links(browser: Any, tmp_path: Path) -> None:
    visit(browser, write_page(tmp_path, SMALL, "--chip", "h100"))
    link = browser.find_element("css selector", "#verdict a.name")
    browser.execute_script("arguments[0].click()", link)
    shown = browser.find_element("css selector", "#panel h2").text
    assert shown == link.get_attribute("data-name")
