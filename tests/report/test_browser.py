"""The HTML page in a browser: `pytest -m browser tests/report`, with Debian's chromium and chromium-driver.

QRITA_SCREENSHOTS names a folder to leave pictures of the page in, for people to look at.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import planted_faults as planted
import planted_lanes as lanes
import pytest

from qrita.report import record
from qrita.report.merging import merge
from qrita.report.page import page

pytestmark = pytest.mark.browser

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = (1280, 900), (360, 740)
KINDS = [*planted.CASES, "hang"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not found: on Debian, `apt-get install chromium chromium-driver`")
    try:
        from selenium import webdriver
    except ImportError:
        pytest.fail("selenium is not installed here: `python -m pip install selenium`")
    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"]
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(found["chromedriver"]))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of lanes in every state, with a record of every kind of failure."""
    root = tmp_path_factory.mktemp("reports")
    names = ["cut", "mask", "candidates", "batch", "untouched"]
    more = ["mask_value", "one_answer", "spelling", "stride", "widening", "repetition", "nested_in_k", "nested_in_p"]
    failing = [(lanes.PROPERTIES.format(name), lanes.failure("it fails")) for name in names]
    loose = ("tests/test_other.py::test_x", lanes.failure("assert 1 == 2", "a traceback\n" * 40))
    said = {**lanes.H200, "outcome": "failed", "reason": "pytest ended with status 1"}
    bad = lanes.lane(root / "cuda-h200", [*failing, *lanes.passes(*more), loose], **said)
    for kind in KINDS:
        record.write(planted.record(kind), bad / "records")  # type: ignore[arg-type]
    again = f"tests/conformance/test_recorded.py::test_recorded[{record.id_of(planted.record('wrong set'))}]"
    lanes.lane(root / "cpu", [*lanes.passes(*names, *more), (again, ""), ("tests/test_other.py::test_x", "")])
    lanes.lane(root / "interpreter", [*lanes.passes(*names, *more), (again, "")], state="interpreted")
    lanes.lane(root / "sim-gfx950", lanes.passes("cut", "mask"), state="simulated")
    lanes.lane(root / "compile", [("tests/compile/test_all.py::test_x", "")], state="compiled")
    sentence = "target 'cuda-h100' promises an NVIDIA H100, but torch sees no GPU; run `ci/tox -e cpu` here"
    lanes.lane(root / "cuda-h100", outcome="refused", reason=sentence, command="ci/tox --target cuda-h100")
    lanes.lane(root / "rocm-mi300x", lanes.passes("cut"), outcome="running", command="ci/tox --target rocm-mi300x")
    promised = [(lanes.PROPERTIES.format("mask"), lanes.skipped("not promised: ties"))]
    lanes.lane(root / "peer", [*lanes.passes("cut"), *promised])
    (lanes.lane(root / "broken") / "lane.json").write_text("{", encoding="utf-8")
    (root / "jobs.json").write_text('[{"lane": "rocm-mi355x"}]', encoding="utf-8")
    written = root / "report.html"
    written.write_text(page(merge([root], root / "jobs.json")), encoding="utf-8")
    return written


def show(browser: Any, file: Path, size: tuple[int, int] = DESKTOP, scheme: str = "light", hash_: str = "") -> None:
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get("about:blank")
    browser.get(f"{file.as_uri()}{hash_}")


def background(browser: Any) -> str:
    return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))


def test_it_asks_the_network_for_nothing_and_has_no_errors(browser: Any, file: Path) -> None:
    browser.get_log("browser")
    browser.get_log("performance")
    show(browser, file)
    assert browser.get_log("browser") == []
    requests = [
        entry["message"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert all(file.as_uri() in request or "about:blank" in request for request in requests)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("size", [DESKTOP, PHONE, (320, 600)])
def test_nothing_is_wider_than_the_page(browser: Any, file: Path, size: tuple[int, int]) -> None:
    """Wide tables scroll inside their frames; also with everything unfolded."""
    show(browser, file, size)
    for unfold in ("", "document.querySelectorAll('details').forEach(folded => { folded.open = true; });"):
        browser.execute_script(unfold)
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), size


def test_text_is_large_enough_on_a_phone(browser: Any, file: Path) -> None:
    show(browser, file, PHONE)
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('main p, main td, main th, main dd, main summary, main pre')]"
        ".map(element => parseFloat(getComputedStyle(element).fontSize))"
    )
    assert min(sizes) >= 13
    drawn = browser.execute_script(
        """
        const size = picture => parseFloat(getComputedStyle(picture.querySelector('g text')).fontSize);
        return [...document.querySelectorAll('svg.picture')]
          .map(picture => size(picture) * picture.getBoundingClientRect().width / 380);
        """
    )
    assert len(drawn) == len(KINDS)
    assert min(drawn) >= 9


def test_on_a_phone_results_and_counts_come_first(browser: Any, file: Path) -> None:
    """Without scrolling sideways the lane table shows what came of a lane, and how many tests passed and failed."""
    show(browser, file, PHONE)
    heads = browser.find_elements("css selector", "table.lanes thead th")
    assert [head.text for head in heads[:4]] == ["Lane", "Result", "Passed", "Failed"]
    assert heads[3].rect["x"] + heads[3].rect["width"] <= PHONE[0]


def test_on_a_phone_messages_wrap_and_options_do_not(browser: Any, file: Path) -> None:
    show(browser, file, PHONE)
    browser.execute_script("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    wide, broken, options = browser.execute_script(
        """
        const wide = [...document.querySelectorAll('pre.message')].filter(pre => pre.scrollWidth > pre.clientWidth);
        const options = [...document.querySelectorAll('.command .whole')];
        return [wide.length, options.filter(option => option.getClientRects().length > 1).length, options.length];
        """
    )
    assert (wide, broken) == (0, 0)
    assert options > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(browser: Any, file: Path, scheme: str) -> None:
    """Every text stands out from its background, 4.5 to 1 or more (WCAG AA)."""
    show(browser, file, scheme=scheme)
    worst = browser.execute_script(
        """
        const channel = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        const numbers = color => color.match(/[\\d.]+/g).map(Number);
        const luminance = color => {
          const [red, green, blue] = numbers(color).map(value => channel(value / 255));
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        const behind = element => {
          for (let at = element; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (numbers(color)[3] !== 0) return color;
          }
          return 'rgb(255, 255, 255)';
        };
        document.querySelectorAll('details').forEach(folded => { folded.open = true; });
        let worst = [99, ''];
        for (const element of document.querySelectorAll('body *')) {
          const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
          if (!own || element.closest('svg, script, style')) continue;
          const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
          const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (contrast < worst[0]) worst = [contrast, element.outerHTML.slice(0, 200)];
        }
        return worst;
        """
    )
    assert worst[0] >= 4.5, worst


def test_light_and_dark(browser: Any, file: Path) -> None:
    """The system decides; the button changes it, and says what it will do."""
    show(browser, file, scheme="light")
    light = background(browser)
    show(browser, file, scheme="dark")
    dark = background(browser)
    assert light != dark
    button = browser.find_element("id", "theme")
    assert button.text == "Light page"
    button.click()
    assert (background(browser), button.text) == (light, "Dark page")
    button.click()
    assert (background(browser), button.text) == (dark, "Light page")


def test_by_keyboard(browser: Any, file: Path) -> None:
    """Tab reaches everything that does something, in order, and shows where it is; Enter works."""
    from selenium.webdriver.common.keys import Keys

    show(browser, file)
    met = []
    for _ in range(12):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        met.append(active.get_attribute("id") or active.get_attribute("aria-label") or active.text)
        if len(met) > 1:
            outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
            assert outline not in ("none", ""), met
    assert met[:2] == ["Skip to the report", "theme"]
    assert "Lanes" in met
    assert "Every property on every lane" in met
    link = browser.find_element("css selector", "a[aria-label^='cut failed on cuda-h200']")
    link.send_keys(Keys.ENTER)
    assert browser.execute_script("return location.hash").startswith("#cut-")
    shown = browser.execute_script(
        "const box = document.querySelector('article:target').getBoundingClientRect(); return [box.top, innerHeight]"
    )
    assert 0 <= shown[0] < shown[1]


def test_tables_have_headers_on_both_sides(browser: Any, file: Path) -> None:
    show(browser, file)
    for table in browser.find_elements("tag name", "table"):
        heads = table.find_elements("css selector", "thead th[scope=col]")
        for row in table.find_elements("css selector", "tbody tr"):
            assert len(row.find_elements("css selector", "th[scope=row]")) == 1
            assert len(row.find_elements("xpath", "./*")) == len(heads)


def test_copy(browser: Any, file: Path) -> None:
    """The button says what it did; where there is no clipboard, the command is selected."""
    show(browser, file)
    button = browser.find_element("css selector", "article .command button")
    command = browser.find_element("css selector", "article .command pre").text
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    for _ in range(50):
        said = browser.find_element("id", "said").get_attribute("textContent")
        if said:
            break
    assert said in ("Command copied", "Command selected: copy it now")
    assert button.text in ("Copied", "Selected")
    assert "--property=" in command


def test_a_link_into_what_is_folded_unfolds_it(browser: Any, file: Path) -> None:
    show(browser, file)
    folded = browser.find_element("xpath", "//summary[contains(., 'All other tests')]/..")
    browser.execute_script("arguments[0].querySelector('tbody tr').id = 'inside'; location.hash = '#inside'", folded)
    for _ in range(50):
        if folded.get_attribute("open"):
            break
    assert folded.get_attribute("open")


def test_a_failure_folded_into_that_of_a_more_basic_property_is_reached_by_its_id(browser: Any, tmp_path: Path) -> None:
    found = planted.record("wrong set")
    lane = lanes.lane(tmp_path / "cpu", outcome="failed", reason="pytest ended with status 1")
    others = [dataclasses.replace(found, property=name) for name in ("batch", "mask_value")]
    for each in (found, *others):
        record.write(each, lane / "records")
    written = tmp_path / "report.html"
    written.write_text(page(merge([tmp_path])), encoding="utf-8")
    for each in others:
        show(browser, written, hash_=f"#{record.id_of(each)}")
        unfolded = browser.find_elements("css selector", "details.same[open]")
        assert [folded.get_attribute("id") for folded in unfolded] == [record.id_of(each)]
    assert len(browser.find_elements("css selector", "article details.same")) == len(others)


def test_without_scripts_everything_is_there(browser: Any, file: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, file)
        assert len(browser.find_elements("tag name", "article")) == len(KINDS) + 1
        assert not browser.find_element("id", "theme").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_picture_can_be_taken(browser: Any, file: Path, size: tuple[int, int], scheme: str, tmp_path: Path) -> None:
    show(browser, file, size, scheme)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    folder = Path(os.environ.get("QRITA_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    for number, top in enumerate(range(0, height, 1800)):
        clip = {"x": 0, "y": top, "width": size[0], "height": min(1800, height - top), "scale": 1}
        taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        name = f"{'phone' if size == PHONE else 'desktop'}-{scheme}-{number:02}.png"
        (folder / name).write_bytes(base64.b64decode(taken["data"]))
    assert (folder / name).stat().st_size > 1000
