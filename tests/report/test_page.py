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
from qrita.report import elsewhere, order, record, runs, verdict
from qrita.report.merging import Merged, merge
from qrita.report.page import page
from qrita.report.picture import BAR, picture
from qrita.report.record import Form, Record, Reruns
from qrita.report.states import STATES
from qrita.report.view import view
from qrita.testing.properties import PROPERTIES

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
        "cpu": ("passed", "the same case, tried again; that is torch, and says nothing of triton"),
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


# --- several failures of one fault --------------------------------------------------------------------------------


def of(name: str, form: str = "mask", row: str = "") -> Record:
    """A record of a property, one of whose forms is wrong where the row is answered alone."""
    found = planted.record("wrong set")
    forms = tuple(Form(known.name, "wrong" if known.name == form else "right") for known in found.forms)
    built = dataclasses.replace(found.row, digest=row or found.row.digest)
    test = lanes.PROPERTIES.format(name)
    case = {**(found.case or {}), "seed": 7} if row else found.case
    return dataclasses.replace(found, property=name, test=test, forms=forms, row=built, case=case)


def written(directory: Path, *records: Record, **said: object) -> Merged:
    failing = [(found.test, lanes.failure("it fails")) for found in records]
    lane = lanes.lane(directory / "cpu", failing, outcome="failed", reason="pytest ended with status 1", **said)
    for found in records:
        record.write(found, lane / "records")
    return merge([directory])


def test_one_fault_is_one_card(tmp_path: Path) -> None:
    merged = written(tmp_path, *(of(name) for name in ("batch", "mask_value", "mask", "threads")))
    (fault,) = view(merged).faults
    assert [fault.first.record.property, *(other.record.property for other in fault.others)] == [
        "mask",
        "mask_value",
        "batch",
        "threads",
    ]
    assert fault.words == "cut and candidates are right, the mask is not"
    elements = Elements(page(merged))
    assert [attributes["id"] for attributes in elements.of("article")] == [fault.first.id]
    folded = [attributes for attributes in elements.of("details") if attributes.get("class") == "same"]
    assert [attributes["id"] for attributes in folded] == [other.id for other in fault.others]
    assert all("open" not in attributes for attributes in folded)
    links = {attributes["href"][1:] for attributes in elements.of("a") if "aria-label" in attributes}
    assert links == {fault.first.id, *(other.id for other in fault.others)}
    said = "All 4 recorded failures: where the row is answered alone, cut and candidates are right, the mask is not."
    assert said in page(merged)


def test_other_rows_and_other_verdicts_are_other_faults(tmp_path: Path) -> None:
    """So are rows that are answered rightly alone: that joins nothing."""
    records = of("mask"), of("out", row="another"), of("cut", "cut"), of("batch", ""), of("threads", "")
    faults = view(written(tmp_path, *records)).faults
    assert [fault.first.record.property for fault in faults] == ["cut", "mask", "batch", "out", "threads"]
    assert not any(fault.others for fault in faults)


def test_properties_are_in_the_order_in_which_they_are_declared() -> None:
    assert list(PROPERTIES) == list(order.PROPERTIES)
    assert sorted(["zebra", "mask_value", "threads", "mask", "ant"], key=order.place) == [
        "mask",
        "mask_value",
        "threads",
        "ant",
        "zebra",
    ]


def test_the_row_of_the_picture_is_named_where_the_difference_is_in_another() -> None:
    found = of("stride")
    mine = json.dumps(found.case)
    other = json.dumps({**(found.case or {}), "seed": 99, "planted": [[0, "0x7f800000"]]})
    for text, says in (
        (
            f"contiguous: mask: row 0 of 3 ({other}): token 0 (logit 1)",
            "another row that was asked for with it: row 0 of 3, counted from 0.",
        ),
        (f"contiguous: mask: row 2 of 3 ({mine}): token 0 (logit 1)", ""),
        ("contiguous: mask: row 2 of 3 (four logits): token 0", ""),
        ("row 2 of 3 ({): token 0", ""),
        ("token 0 (logit 1)", ""),
    ):
        words = elsewhere.words(dataclasses.replace(found, found=text))
        assert words.endswith(says), text
        assert bool(words) == bool(says), text


@pytest.mark.parametrize(
    ("reruns", "says"),
    [
        (Reruns(5, 5, 1), "5 of 5 runs failed, all in the same way<"),
        (Reruns(1, 1, 1), "1 of 1 run failed<"),
        (Reruns(5, 5, 3), "5 of 5 runs failed, in 3 different ways<"),
        (Reruns(5, 2, 3), "2 of 5 runs failed, with 3 different outcomes, passing among them<"),
        (Reruns(5, 0, 1), "none of 5 runs failed<"),
        (Reruns(0, 0, 0), "<dt>Tried again</dt><dd>no<"),
    ],
)
def test_what_came_of_trying_again(reruns: Reruns, says: str, tmp_path: Path) -> None:
    assert says in page(written(tmp_path, dataclasses.replace(of("mask"), reruns=reruns)))


def test_other_ways_that_are_no_other_are_left_out(tmp_path: Path) -> None:
    found = of("mask")
    on_gpu = dataclasses.replace(found, subject=dataclasses.replace(found.subject, device="cuda"))
    same = dataclasses.replace(found, commands=dataclasses.replace(found.commands, lane=found.commands.cpu))
    for number, (shown, cpu, vendor) in enumerate(((found, True, False), (on_gpu, True, True), (same, False, False))):
        text = page(written(tmp_path / str(number), shown))
        assert ("On any machine without a GPU:" in text) == cpu
        assert ("On a GPU of the other vendor:" in text) == vendor


def test_options_of_commands_stay_whole(tmp_path: Path) -> None:
    text = page(written(tmp_path, of("mask")))
    assert '<span class="whole">--property=</span>' in text
    assert '<span class="whole">--recorded=</span>' in text


# --- the verdict --------------------------------------------------------------------------------------------------


def test_a_partial_run_says_so_and_what_it_left_out(tmp_path: Path) -> None:
    lanes.lane(tmp_path / "cpu", lanes.passes("cut"), command="ci/tox -e cpu -- -k 'test_property and cut'")
    skips = [(lanes.PROPERTIES.format("threads"), lanes.skipped("one thread here"))]
    lanes.lane(tmp_path / "cuda", [*lanes.passes("cut", "mask"), *skips], command="ci/tox -e cuda -- -n 4")
    lanes.lane(tmp_path / "interpreter", lanes.passes("cut"))
    merged = merge([tmp_path])
    cells = {row.name: [cell.why for cell in row.cells] for row in view(merged).properties}
    left_out, unknown = "left out by -k 'test_property and cut'", "no reason is recorded"
    assert cells == {
        "cut": ["", "", ""],
        "mask": [left_out, "", unknown],
        "threads": [left_out, "one thread here", unknown],
    }
    assert "<li>Partial run on cpu: -k &#39;test_property and cut&#39;.</li>" in page(merged)
    assert page(merged).count('class="partial"') == 1


def test_lanes_of_different_commits_and_implementations(tmp_path: Path) -> None:
    lanes.lane(tmp_path / "cpu", lanes.passes("cut"), commit="a" * 40)
    lanes.lane(tmp_path / "cpu-min", lanes.passes("cut"), commit="a" * 40)
    assert "different commits" not in page(merge([tmp_path]))
    lanes.lane(tmp_path / "cuda", lanes.passes("cut"), commit="b" * 40 + "+")
    lanes.lane(tmp_path / "peer", lanes.passes("cut"), commit=None, command="ci/tox -e peer -- --engine=sim-gfx942")
    merged = merge([tmp_path])
    said = f"lanes are of different commits: cpu, cpu-min of {'a' * 12}; cuda of {'b' * 12} with changes; "
    assert verdict.commits(merged).startswith(said)
    assert said[1:] in page(merged)
    assert [runs.implementation(lane) for lane in merged.lanes] == ["torch", "torch", "triton", "triton, simulated"]


def test_the_verdict_counts_every_way_not_to_pass(merged: Merged) -> None:
    assert verdict.headline(merged) == (
        "qrita: FAILED, 10 lanes: 5 passed, 1 failed, 1 never ended, 1 could not run, 1 did not run, 1 cannot be read"
    )
    bad = next(lane for lane in merged.lanes if lane.name == "cuda-h200")
    assert verdict.reason(bad) == "1; 5 of 5 properties failed"
    assert "<b>cuda-h200</b> failed: 1; 5 of 5 properties failed." in page(merged)


def test_refused_does_not_look_like_failed(merged: Merged) -> None:
    text = page(merged)
    assert 'class="state bad"><svg aria-hidden="true"><use href="#failed"/>' in text
    assert 'class="state idle"><svg aria-hidden="true"><use href="#refused"/>' in text


def test_the_legend_has_what_is_on_the_page(tmp_path: Path) -> None:
    lanes.lane(tmp_path / "cpu", lanes.passes("cut"))
    shapes = [attributes["href"] for attributes in Elements(page(merge([tmp_path]))).of("use")]
    assert set(shapes) == {"#passed"}


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


def test_bars_that_compare_nothing_are_left_out() -> None:
    found = planted.record("wrong set")
    for values, bars in ((("1.5",), False), (("2", "2"), False), (("2", "1"), True)):
        around = tuple(dataclasses.replace(found.around[0], rank=i + 1, value=value) for i, value in enumerate(values))
        assert picture(dataclasses.replace(found, around=around)).bars == bars


def test_bars_of_extreme_logits() -> None:
    found = planted.record("wrong set")
    values = ("3.4e38", "-3.4e38", "inf", "0")
    around = tuple(dataclasses.replace(found.around[0], rank=i + 1, value=value) for i, value in enumerate(values))
    bars = [line.bar for line in picture(dataclasses.replace(found, around=around)).lines if line.kind == "token"]
    assert bars[0] == pytest.approx(BAR)
    assert bars[1] == pytest.approx(0.06 * BAR)
    assert bars[2] == BAR
    json.dumps(bars, allow_nan=False)
