"""The HTML page, as text: what it says, what it asks for, and that others' text stays text."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import planted_faults as planted
import planted_lanes as lanes
import pytest

from qrita.cli import main
from qrita.report import record
from qrita.report.merging import Merged, merge
from qrita.report.page import page
from qrita.report.picture import BAR, picture
from qrita.report.record import Record
from qrita.report.states import STATES
from qrita.report.view import view

KINDS = [*planted.CASES, "hang"]


class Elements(HTMLParser):
    """Every element with its attributes, in order; checks that they are closed in order."""

    EMPTY = frozenset({"meta", "br", "use", "circle", "path", "rect", "line"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture
def merged(tmp_path: Path) -> Merged:
    """Lanes in every state, one of which has a record of every kind; two have tried one of its cases again."""
    names = ["cut", "mask", "candidates", "batch", "untouched"]
    failing = [(lanes.PROPERTIES.format(name), lanes.failure("it fails")) for name in names]
    loose = ("tests/test_other.py::test_x", lanes.failure("<b>assert</b> 1 == 2", "the traceback"))
    bad = lanes.lane(tmp_path / "cuda-h200", [*failing, loose], **{**lanes.H200, "outcome": "failed", "reason": "1"})
    for kind in KINDS:
        record.write(dataclasses.replace(planted.record(kind)), bad / "records")  # type: ignore[arg-type]
    again = f"tests/conformance/test_recorded.py::test_recorded[{record.id_of(planted.record('wrong set'))}]"
    lanes.lane(tmp_path / "cpu", [*lanes.passes(*names), (again, "")])
    lanes.lane(tmp_path / "interpreter", [*lanes.passes("cut"), (again, "")], state="interpreted")
    lanes.lane(tmp_path / "simulated", lanes.passes("cut"), state="simulated")
    lanes.lane(tmp_path / "compile", lanes.passes("cut"), state="compiled")
    lanes.lane(tmp_path / "cuda-h100", outcome="refused", reason="no GPU here")
    lanes.lane(tmp_path / "rocm-mi300x", outcome="running")
    promised = [(lanes.PROPERTIES.format("mask"), lanes.skipped("not promised: ties"))]
    lanes.lane(tmp_path / "peer", [*lanes.passes("cut"), *promised])
    (lanes.lane(tmp_path / "broken") / "lane.json").write_text("{", encoding="utf-8")
    jobs = tmp_path / "jobs.json"
    jobs.write_text('[{"lane": "rocm-mi355x"}]', encoding="utf-8")
    return merge([tmp_path], jobs)


def test_it_is_well_formed_and_asks_for_nothing(merged: Merged) -> None:
    text = page(merged)
    elements = Elements(text)
    assert elements.of("link") == elements.of("img") == elements.of("iframe") == []
    assert all("src" not in attributes for attributes in elements.of("script"))
    assert all(attributes["href"].startswith("#") for attributes in [*elements.of("a"), *elements.of("use")])
    assert "url(" not in text
    assert "@import" not in text
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in [*elements.of("a"), *elements.of("use")]:
        assert attributes["href"][1:] in ids, attributes


def test_every_state_is_shown_with_a_shape_of_its_own(merged: Merged) -> None:
    text = page(merged)
    shapes = {attributes["href"] for attributes in Elements(text).of("use")}
    assert shapes == {f"#{state.word.replace(' ', '-')}" for state in STATES}
    for state in STATES:
        assert f"</svg>{state.word}</span>" in text


def test_a_failing_cell_leads_to_its_failure(merged: Merged) -> None:
    elements = Elements(page(merged))
    links = {
        attributes["aria-label"]: attributes["href"] for attributes in elements.of("a") if "aria-label" in attributes
    }
    assert links["cut failed on cuda-h200: show it"].startswith("#cut-")
    assert links["tests/test_other.py failed on cuda-h200: show it"] == "#test-1"


def test_the_same_case_on_other_lanes(merged: Merged) -> None:
    name = record.id_of(planted.record("wrong set"))
    (failure,) = (found for found in view(merged).failures if found.id == name)
    said = {lane.name: (place.state.word, place.words) for place in failure.places for lane in place.lanes}
    assert said == {
        "broken": ("unreadable", "nothing is known"),
        "compile": ("not run", "this case was not tried; others of cut: compiled only"),
        "cpu": ("passed", "the same case, tried again"),
        "cuda-h100": ("refused", "nothing is known"),
        "cuda-h200": ("failed", "the same case fails"),
        "interpreter": ("interpreted", "the same case, tried again"),
        "peer": ("not run", "this case was not tried; others of cut: passed"),
        "rocm-mi300x": ("killed", "nothing is known"),
        "rocm-mi355x": ("not run", "this case was not tried"),
        "simulated": ("not run", "this case was not tried; others of cut: simulated"),
    }


def test_what_stands_in_a_record_stands_on_the_page(merged: Merged) -> None:
    class Text(HTMLParser):
        words = ""

        def handle_data(self, data: str) -> None:
            self.words += data

    shown = Text()
    shown.feed(page(merged))
    for kind in KINDS:
        found = planted.record(kind)  # type: ignore[arg-type]
        for words in (
            found.sentence,
            found.rule,
            found.commands.lane,
            found.commands.cpu,
            found.label,
            found.row.digest,
        ):
            assert words in shown.words


def test_text_of_others_stays_text(tmp_path: Path) -> None:
    hostile = "</script></style><script>alert(1)</script>\" onload='x' {{ 7 * 7 }} {% raw %}"
    found = planted.record("wrong set")
    hostile_record = dataclasses.replace(
        found,
        sentence=hostile,
        details=hostile,
        label=hostile,
        subject=dataclasses.replace(found.subject, name=hostile),
        commands=dataclasses.replace(found.commands, lane=hostile),
    )
    test = (f"tests/test_a.py::test_x[{hostile}]", lanes.failure(hostile, "a traceback"))
    lane = lanes.lane(tmp_path / "cpu", [test], outcome="failed", reason=hostile, card=hostile, command=hostile)
    record.write(hostile_record, lane / "records")
    text = page(merge([tmp_path]))
    assert len(Elements(text).of("script")) == 1
    assert "49" not in text.split("<main")[1].split('<svg class="picture"')[0].replace(found.row.digest, "")


def test_all_passed(tmp_path: Path) -> None:
    lanes.lane(tmp_path / "cpu", lanes.passes("cut"))
    text = page(merge([tmp_path]))
    Elements(text)
    assert "qrita: PASSED, 1 of 1 lane passed." in text
    assert 'id="failures"' not in text


def test_records_alone_are_shown(tmp_path: Path) -> None:
    record.write(planted.record("wrong set"), tmp_path / "mine" / "records")
    text = page(merge([tmp_path]))
    assert planted.record("wrong set").kind in text
    assert "lane.json cannot be read (No such file or directory)" in text


def test_nothing_at_all(tmp_path: Path) -> None:
    text = page(merge([tmp_path]))
    Elements(text)
    assert "FAILED, no lane has reported" in text
    assert "holds no lane.json" in text


def test_the_command_writes_all_three(merged: Merged, tmp_path: Path) -> None:
    outputs = [tmp_path / "out" / f"report{ending}" for ending in (".md", ".html", ".xml")]
    options = [option for output in outputs for option in ("-o", str(output))]
    assert main(["report", "merge", str(tmp_path), *options]) == 1
    assert outputs[1].read_text(encoding="utf-8").startswith("<!doctype html>")
    suites = ElementTree.parse(outputs[2]).getroot()
    assert {suite.get("name"): suite.get("errors") for suite in suites}["cuda-h100"] == "1"
    (bad,) = (suite for suite in suites if suite.get("name") == "cuda-h200")
    assert (bad.get("tests"), bad.get("failures"), bad.get("errors")) == ("6", "6", "0")
    assert planted.record("tie side").sentence.split(",")[0] in outputs[0].read_text(encoding="utf-8").replace("\\", "")


def test_without_jinja2_it_says_so(tmp_path: Path) -> None:
    lanes.lane(tmp_path / "cpu", lanes.passes("cut"))
    script = str(planted.TESTS.parent / "ci" / "report.py")
    outputs = ["-o", str(tmp_path / "s.md"), "-o", str(tmp_path / "r.html")]
    done = subprocess.run(
        [sys.executable, "-I", "-S", script, "merge", str(tmp_path / "cpu"), *outputs],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "r.html' needs jinja2: `python -m pip install jinja2`" in done.stderr
    assert (tmp_path / "s.md").is_file()


# --- the picture ------------------------------------------------------------------------------------------------


def lines(found: Record) -> list[tuple[str, str]]:
    return [
        (line.kind, line.text or f"{line.token.rank if line.token else ''}{' differs' if line.differs else ''}")
        for line in picture(found).lines
    ]


def test_picture_of_one_token_too_many() -> None:
    found = planted.record("wrong set")
    assert found.answer is not None
    shown = lines(found)
    right = shown.index(("rule", f"right cut: {found.oracle.count:,} kept, k = {found.row.k:,}"))
    assert shown[right - 1] == ("token", str(found.oracle.count))
    assert shown[right + 1] == ("token", f"{found.oracle.count + 1} differs")
    assert shown[right + 2] == ("rule", f"cut by k off by one: it says {found.answer.count:,} kept")


def test_picture_of_p() -> None:
    shown = lines(planted.record("p boundary"))
    assert any(kind == "rule" and text.startswith("right cut: ") and "reached" in text for kind, text in shown)


@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_a_picture_lie_below_each_other(kind: str) -> None:
    found = planted.record(kind)  # type: ignore[arg-type]
    drawn = picture(found)
    for above, below in zip(drawn.lines, drawn.lines[1:], strict=False):
        assert above.y + above.height == below.y
    assert all(0 <= line.bar <= BAR for line in drawn.lines)
    shown = sum(line.kind == "token" for line in drawn.lines)
    assert shown == len(found.around)
    tied = [token for token in found.around if token.tied]
    assert (drawn.tie is not None) == (len(tied) > 1)


def test_bars_of_extreme_logits() -> None:
    found = planted.record("wrong set")
    values = ("3.4e38", "-3.4e38", "inf", "0")
    around = tuple(dataclasses.replace(found.around[0], rank=i + 1, value=value) for i, value in enumerate(values))
    bars = [line.bar for line in picture(dataclasses.replace(found, around=around)).lines if line.kind == "token"]
    assert bars[0] == pytest.approx(BAR)
    assert bars[1] == pytest.approx(0.06 * BAR)
    assert bars[2] == BAR
    json.dumps(bars, allow_nan=False)
