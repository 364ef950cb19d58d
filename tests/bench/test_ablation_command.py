"""`qrita bench --ablation` and `--hits`: what is asked for, what is said, what is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from bench_fakes import FakeTimer, saying

from qrita import engines
from qrita.bench import surroundings
from qrita.bench.ablation.runs import JOB, RUNS
from qrita.bench.contenders import FLOORS, Contender
from qrita.bench.results import Book, Hits
from qrita.cli import bench_ablation

HITS = (Hits(JOB, 2048, 1000), Hits(JOB, None, 1024))


@pytest.fixture
def faked(timer: FakeTimer, monkeypatch: pytest.MonkeyPatch) -> FakeTimer:
    """Runs that copy, and hits that are known: kernels are tried elsewhere."""

    def contenders(peers: Sequence[Contender]) -> tuple[Contender, ...]:
        assert [peer.name for peer in peers] == ["torch-sort"]
        copy = FLOORS[0]
        return (copy, *(Contender(run.name, "ours", run.words, copy.takes, copy.bind) for run in RUNS))

    monkeypatch.setattr(bench_ablation, "contenders", contenders)
    monkeypatch.setattr(bench_ablation, "_counted", lambda device, rows: iter(HITS))
    return timer


says = saying("bench")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ablation", "--quick"], "--ablation: expected no --quick beside it"),
        (["--ablation", "--hits"], "--ablation: expected no --hits beside it"),
        (["--ablation", "--no-peers"], "--ablation: expected no --no-peers beside it"),
        (["--ablation", "--plots", "here"], "--ablation: expected no --plots beside it"),
        (["--ablation", "--case", "5:"], "--ablation: expected no --case beside it"),
        (["--hits", "--json", "here"], "--hits: expected no --json beside it"),
        (["--hits", "--device", "gpu"], "argument --device: 'gpu': expected cuda, or cuda:1"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert said in says(capsys, *arguments, status=2)


def test_all_runs_take_turns_in_one_job(capsys: pytest.CaptureFixture[str], faked: FakeTimer, tmp_path: Path) -> None:
    file, document = tmp_path / "book.json", tmp_path / "table.md"
    faked.micros = {"A": 10.0, "C": 9.0}
    said = says(capsys, "--ablation", "--json", str(file), "--markdown", str(document), status=0)
    assert faked.seen == [["copy", *(run.name for run in RUNS)]]
    assert re.search(r" NOT EXACT +1\.308 +1\.42 +9 \(9 to 9\) +0\.90$", said, re.MULTILINE)
    assert f"  {JOB}, room for 2,048: 1,000 of 1,024 rows hit\n" in said
    assert "1,000 of 1,024            1,024 of 1,024\n" in said
    book = Book.from_json(file.read_text(encoding="utf-8"))
    assert book.hits == HITS
    assert "- `D`: truncation miss, three pivots, duplicates off, fixed blocks, by bench, NOT EXACT\n" in (
        document.read_text(encoding="utf-8")
    )
    again = says(capsys, "--ablation", "--report-only", "--json", str(file), status=0)
    assert "1,000 of 1,024            1,024 of 1,024\n" in again


def test_a_run_without_a_time_fails(capsys: pytest.CaptureFixture[str], faked: FakeTimer) -> None:
    faked.failing = {"G": "NotAsMeantError: run G: 3 of 1024 rows hit; expected 0"}
    said = says(capsys, "--ablation", status=1)
    assert "  G: not in 1 of 1 job: NotAsMeantError: run G: 3 of 1024 rows hit; expected 0\n" in said


@pytest.mark.usefixtures("faked")
def test_what_could_not_be_counted_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_ablation, "_counted", lambda device, rows: iter([HITS[0], (JOB, "no memory")]))
    said = says(capsys, "--ablation", status=1)
    assert f"  {JOB}: NOT RUN: no memory\n" in said
    assert f"not run:\n  {JOB}: no memory\n" in said


@pytest.mark.usefixtures("faked")
def test_its_file_is_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A grid has the same job without its runs, and would put its result in their place."""
    file = str(tmp_path / "book.json")
    says(capsys, "--ablation", "--json", file, status=0)
    part = ["--rows", "1", "--vocab", "60", "--dtype", "float32", "--family", "normal", "--no-peers"]
    assert "it was made with versions" in says(capsys, *part, "--json", file, status=2)


@pytest.mark.usefixtures("faked")
def test_hits_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = tmp_path / "hits.md"
    said = says(capsys, "--hits", "--markdown", str(document), status=0)
    assert "hits with room for 2,048  hits with room for all\n" in said
    assert "| 1,000 of 1,024 | 1,024 of 1,024 |\n" in document.read_text(encoding="utf-8")


def test_hits_on_a_cpu_need_triton(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise RuntimeError(f"engine={name!r} needs Triton")

    monkeypatch.setattr(engines, "named", none)
    monkeypatch.setattr(surroundings, "gpu", lambda name: pytest.fail("asked for a GPU"))
    assert "engine='interpreter' needs Triton" in says(capsys, "--hits", "--device", "cpu", status=2)
