"""Merging lanes, the Markdown summary, and what the command exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import planted_lanes as planted
import pytest

from qrita.cli import main
from qrita.report import markdown, matrix
from qrita.report.merging import Merged, merge

ROOT = Path(__file__).parents[2]

MISMATCH = (
    "qrita.testing.properties.Mismatch: property 'cut' does not hold\nrule:    4 to 9\nreplay:  qrita replay '{}'"
)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Four lanes that passed, each in its way."""
    planted.lane(tmp_path / "cpu", [*planted.passes("cut", "mask"), ("tests/test_weight.py::test_a", "")])
    planted.lane(tmp_path / "interpreter", planted.passes("cut", "mask"), state="interpreted")
    planted.lane(tmp_path / "compile-gfx950", [("tests/compile/test_all.py::test_compiles", "")], state="compiled")
    planted.lane(tmp_path / "cuda-h200", planted.passes("cut", "mask"), **planted.H200)
    return tmp_path


def jobs(directory: Path, *lanes: str) -> str:
    file = directory / "jobs.json"
    file.write_text(json.dumps([{"lane": lane, "labels": ["x"]} for lane in lanes]), encoding="utf-8")
    return str(file)


def test_all_passed(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = reports / "new" / "summary.md"
    expected = jobs(reports, "cpu", "cuda-h200")
    assert main(["report", "merge", str(reports), "--expected", expected, "-o", str(output)]) == 0
    assert capsys.readouterr() == ("qrita: PASSED, 4 of 4 lanes passed\n", "")
    lines = output.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "## qrita: PASSED, 4 of 4 lanes passed"
    assert (
        "| cuda-h200 | ✓ passed | 2 | 0 | 0 | triton | hardware | NVIDIA H200 sm\\_90 | torch 2.11.0+cu130, "
        "triton 3.6.0, Python 3.12.3, driver 580.159.04, commit 0123456789ab | `ci/tox --installed cuda-h200` |"
    ) in lines
    assert "| `cut` | ○ not run | ✓ passed | ✓ passed | ≈ interpreted |" in lines


def test_a_lane_that_is_missing_is_not_run(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = reports / "summary.md"
    expected = jobs(reports, "cpu", "rocm-mi355x")
    assert main(["report", "merge", str(reports), "--expected", expected, "-o", str(output)]) == 1
    text = output.read_text(encoding="utf-8")
    assert "FAILED, 5 lanes: 4 passed, 1 did not run" in text
    assert "| rocm-mi355x | ○ not run | 0 | 0 | 0 |  |  |  |  |  |" in text
    assert "- **rocm-mi355x** not run: it was expected, and no report of it is there" in text
    assert "rocm-mi355x not run: it was expected" in capsys.readouterr().err


def test_every_way_not_to_pass(reports: Path) -> None:
    guard = "the environment 'cuda' promises an NVIDIA GPU, found none; run it on such a machine"
    planted.lane(reports / "cuda-h100", outcome="refused", reason=guard)
    planted.lane(reports / "rocm-mi300x", planted.passes("cut"), outcome="running")
    failing = [(planted.PROPERTIES.format("cut"), planted.failure(MISMATCH))]
    planted.lane(reports / "cuda-rtx4090", failing, outcome="failed", reason="pytest exited with 1")
    merged = merge([reports])
    assert not merged.good
    assert {lane.name: lane.state.word for lane in merged.lanes} == {
        "compile-gfx950": "compiled only",
        "cpu": "passed",
        "cuda-h100": "refused",
        "cuda-h200": "passed",
        "cuda-rtx4090": "failed",
        "interpreter": "interpreted",
        "rocm-mi300x": "killed",
    }
    words = ["not run", "passed", "refused", "passed", "failed", "interpreted", "passed"]
    assert [state.word for state in merged.states(planted.PROPERTIES.format("cut"))] == words
    assert merged.states(planted.PROPERTIES.format("mask"))[-1].word == "killed"
    text = markdown.summary(merged)
    assert f"- **cuda-h100** refused: {guard}" in text
    assert "- **rocm-mi300x** killed: it was started and never ended" in text
    assert "### 1 test failed" in text
    test = planted.PROPERTIES.format("cut")
    assert (
        f"- `{test}` failed on **cuda-rtx4090**; interpreted on interpreter; passed on cpu, cuda-h200, rocm-mi300x"
        in text
    )
    assert "  replay:  qrita replay '{}'\n  ```" in text


def test_rows_of_the_matrix(reports: Path) -> None:
    cases = [("tests/test_weight.py::test_a", ""), ("tests/test_weight.py::test_b", planted.skipped("too long"))]
    planted.lane(reports / "cpu-min", cases)
    merged = merge([reports])
    rows = {row.name: row for row in matrix.rows(merged)}
    assert list(rows) == ["cut", "mask", "tests/compile/test_all.py", "tests/test_weight.py"]
    assert [row.is_property for row in rows.values()] == [True, True, False, False]
    names = [lane.name for lane in merged.lanes]
    cell = rows["tests/test_weight.py"].cells[names.index("cpu-min")]
    assert (cell.state.word, cell.count, cell.total) == ("passed", 1, 2)


def test_one_bad_file_costs_nothing_else(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (reports / "cpu" / "lane.json").write_text('{"schema": 1', encoding="utf-8")
    (reports / "interpreter" / "results.xml").write_text("<testsuites>", encoding="utf-8")
    assert main(["report", "merge", str(reports), "-o", str(reports / "summary.md")]) == 1
    err = capsys.readouterr().err
    assert f"{reports / 'cpu' / 'lane.json'} is not JSON" in err
    assert f"{reports / 'interpreter' / 'results.xml'} is not JUnit XML" in err
    text = (reports / "summary.md").read_text(encoding="utf-8")
    assert "| cuda-h200 | ✓ passed |" in text
    assert "| cpu | **? unreadable** |" in text
    assert "### What could not be read" in text


def test_places_without_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    places = [str(tmp_path / name) for name in ("empty", "file", "absent")]
    expected = jobs(tmp_path, "cpu")
    assert main(["report", "merge", *places, "--expected", expected, "-o", str(tmp_path / "s.md")]) == 1
    err = capsys.readouterr().err
    assert f"{places[0]} holds no lane.json" in err
    assert f"{places[1]} is a file, expected the directory of a lane" in err
    assert f"{places[2]} does not exist" in err
    assert "cpu not run" in err


def test_a_failure_hides_what_passed_beside_it(reports: Path) -> None:
    cases = [(f"tests/test_a.py::test_{i}", "" if i else planted.failure("no")) for i in range(3)]
    planted.lane(reports / "cpu-min", cases, outcome="failed", reason="1")
    merged = merge([reports])
    (row,) = (row for row in matrix.rows(merged) if row.name == "tests/test_a.py")
    cell = row.cells[[lane.name for lane in merged.lanes].index("cpu-min")]
    assert (cell.state.word, cell.count, cell.total) == ("failed", 1, 3)
    assert "**✗ failed** (1 of 3)" in markdown.summary(merged)


def test_no_lane_is_no_pass(tmp_path: Path) -> None:
    assert not Merged(()).good
    (tmp_path / "empty").mkdir()
    assert main(["report", "merge", str(tmp_path / "empty"), "-o", str(tmp_path / "s.md")]) == 1
    assert "FAILED, no lane has reported" in (tmp_path / "s.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", '[{"name": "cpu"}]'])
def test_an_expectation_that_cannot_be_read(text: str, reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = reports / "jobs.json"
    file.write_text(text, encoding="utf-8")
    assert main(["report", "merge", str(reports), "--expected", str(file), "-o", str(reports / "s.md")]) == 1
    assert f"{file} " in capsys.readouterr().err
    assert "4 of 4 lanes passed" in (reports / "s.md").read_text(encoding="utf-8")


def test_a_lane_that_is_there_twice(reports: Path, tmp_path: Path) -> None:
    failing = [(planted.PROPERTIES.format("cut"), planted.failure(MISMATCH))]
    planted.lane(tmp_path / "again" / "cpu", failing, outcome="failed", reason="no")
    merged = merge([reports])
    assert not merged.good
    assert "is lane cpu once more" in merged.problems[0]
    assert merge([reports / "cpu", reports / "cpu"]).good  # the same directory, named twice


def test_a_long_report_stays_short(tmp_path: Path) -> None:
    cases = [(f"tests/test_a.py::test_{i}", planted.failure("x" * 10_000 + "\nline" * 100)) for i in range(500)]
    planted.lane(tmp_path / "cpu", cases, outcome="failed", reason="many")
    text = markdown.summary(merge([tmp_path]))
    assert len(text) < 20_000
    assert "- and 480 more tests" in text


def test_text_of_others_stays_text(tmp_path: Path) -> None:
    hostile = "</details><script>alert(1)</script> | a | `b` ```` **c** [d](e)"
    cases = [(f"tests/test_a.py::test_x[{hostile}]", planted.failure(f"{hostile}\n```\n# heading"))]
    planted.lane(tmp_path / "cpu", cases, outcome="failed", reason=hostile, card=hostile, command=hostile)
    text = markdown.summary(merge([tmp_path]))
    rows = [line for line in text.splitlines() if line.startswith("| cpu")]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 11
    outside = text.split("````````")[0]
    assert "\n# heading" not in text
    assert "\\<script\\>" in outside


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["report"], "the following arguments are required: ACTION"),
        (["report", "merge"], "the following arguments are required: DIR, -o/--output"),
        (["report", "merge", ".", "-o", "report.pdf"], "'report.pdf': expected a name that ends in .md, .html, .xml"),
        (["report", "merge", ".", "-o", "s.md", "--allow-missing"], "unknown argument '--allow-missing'"),
        (
            ["report", "merge", ".", "-o", "/dev/null/x/s.md"],
            "argument -o: '/dev/null/x/s.md' cannot be written: Not a",
        ),
    ],
)
def test_wrong_usage(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


def test_it_needs_nothing_but_python(reports: Path) -> None:
    """-S: no package that is installed can be imported, -I: nor one that the environment names."""
    script = str(ROOT / "ci" / "report.py")
    output = reports / "summary.md"
    done = subprocess.run(
        [sys.executable, "-I", "-S", script, "merge", str(reports), "-o", str(output)],
        cwd=reports,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "qrita: PASSED, 4 of 4 lanes passed\n", "")
    assert output.read_text(encoding="utf-8") == markdown.summary(merge([reports]))
