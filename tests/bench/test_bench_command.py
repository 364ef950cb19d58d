"""`qrita bench`: what is asked for, what is said, what is written. A timer that knows the times stands in for a GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from bench_fakes import FakeTimer, saying

from qrita.bench import jobs, peers, plots, results, running, surroundings, targets, text
from qrita.bench.results import Book
from qrita.cli import bench

PART = ["--rows", "1,2", "--vocab", "60", "--dtype", "float32", "--family", "normal", "--case", "5:0.9,:0.9"]


says = saying("bench")


def test_without_a_gpu_there_is_nothing_to_measure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    said = says(capsys, "--quick", status=2)
    assert "qrita bench: error: nothing can be measured here: engine='triton': torch " in said
    assert re.search(r"install a CUDA or ROCm build of torch|sees no GPU", said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "cpu"], "argument --device: 'cpu': expected a GPU, such as cuda"),
        (["--device", "gpu"], "argument --device: 'gpu': expected cuda, or cuda:1"),
        (["--repeats", "0"], "argument --repeats: '0': expected a whole number of at least 1"),
        (["--seconds", "soon"], "argument --seconds: 'soon': expected a whole number"),
        (["--peer", "numpy"], "argument --peer: 'numpy': expected one of torch-sort, torch-topk, vllm, flashinfer"),
        (["--peer", "vllm", "--no-peers"], "--no-peers: expected no --peer beside it"),
        (["--quick", "--rows", "1"], "--quick: its jobs are those of the targets"),
        (["--rows", "one"], "argument --rows: 'one': expected whole numbers with commas between them"),
        (["--case", "50"], "argument --case: '50': expected K:P"),
        (["--case", ":"], "argument --case: ':': expected K:P"),
        (["--case", "5:x"], "argument --case: '5:x': expected K:P"),
        (["--dtype", "float64"], "job: dtype='float64': expected one of float32"),
        (["--rows", "0"], "job: rows=0: expected a whole number of at least 1"),
        (["--vocab", "60", "--family", "real"], "these parts of the grid have no job; expected --vocab 49152"),
        (["--case", "99:", "--vocab", "60"], "these parts of the grid have no job"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert said in says(capsys, *arguments, status=2)


def test_the_peers_of_the_help_are_those_there_are() -> None:
    assert bench.PEERS == peers.NAMES


@pytest.mark.usefixtures("timer")
def test_a_part_of_the_grid_and_then_the_rest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "book.json"
    first = [*PART[2:], "--rows", "1", "--json", str(file), "--peer", "torch-sort"]
    said = says(capsys, *first, status=0)
    assert "2 of 2 jobs on NVIDIA H200 (sm_90); contenders copy, read, fill, mask, candidates, torch-sort;" in said
    assert "   1 of 2  1 x 60 float32 normal, k = 5, p = 0.9: copy 10 us, mask 10 us = 1.00 x copy, candidates " in said
    assert "  candidates: not in 1 of 2 jobs: without k the list would be as long as the vocabulary" in said
    assert said.endswith("qrita bench: 2 jobs measured; NVIDIA H200 (sm_90)\n")
    said = says(capsys, *PART, "--json", str(file), "--peer", "torch-sort", status=0)
    assert "qrita bench: 2 of 4 jobs" in said
    book = Book.from_json(file.read_text(encoding="utf-8"))
    assert [job.rows for job in book.results] == [1, 1, 2, 2]
    assert (book.left, book.command.split()[0]) == (0, "qrita")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots without matplotlib: tests of plots are elsewhere."""

    def draw(book: Book, folder: Path) -> list[Path]:
        return [folder / f"{plots.slug(job)}.svg" for job in plots.curves(book, lambda result, name: 1.0)]

    monkeypatch.setattr(plots, "draw", draw)


@pytest.mark.usefixtures("timer", "drawn")
def test_all_that_can_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outputs = ["--markdown", str(tmp_path / "table.md"), "--plots", str(tmp_path / "plots")]
    said = says(capsys, *PART, *outputs, "--no-peers", status=0)
    assert "- `copy`: out.copy_(logits)" in (tmp_path / "table.md").read_text(encoding="utf-8")
    for asked in ("k5-p0.9", "p0.9"):
        assert f"wrote {tmp_path / 'plots' / f'60-float32-normal-{asked}.svg'}\n" in said


@pytest.mark.usefixtures("timer")
def test_what_cannot_be_written_is_told_after_the_results(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise plots.PlotError("plots need matplotlib")

    monkeypatch.setattr(plots, "draw", refuse)
    said = says(capsys, *PART, "--plots", str(tmp_path), "--no-peers", status=1)
    assert "qrita bench: plots need matplotlib\n" in said
    assert "4 jobs measured" in said


def test_a_file_that_is_no_book_is_told_first(
    capsys: pytest.CaptureFixture[str], timer: FakeTimer, tmp_path: Path
) -> None:
    file = tmp_path / "notes.json"
    file.write_text("{}", encoding="utf-8")
    said = says(capsys, *PART, "--json", str(file), status=2)
    assert f"argument --json: '{file}': not what `qrita bench --json` writes" in said
    assert timer.seen == []
    assert file.read_text(encoding="utf-8") == "{}"


@pytest.mark.usefixtures("timer")
def test_peers_that_are_not_here_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    said = says(capsys, *PART, "--peer", "vllm=/no/such", status=0)
    assert "  NOT HERE: vllm: path='/no/such': there is no such file or folder" in said
    assert "not run:\n  vllm: not here: path='/no/such'" in said


@pytest.mark.parametrize(
    ("copy", "too_slow"),
    [(1000.0, {"mask"}), (1.0, {"mask", "copy"})],  # bfloat16 takes as long as float32; and that as long as a copy
)
def test_quick_judges_every_target(
    capsys: pytest.CaptureFixture[str], timer: FakeTimer, copy: float, too_slow: set[str]
) -> None:
    timer.micros = {"copy": copy}
    out = says(capsys, "--quick", "--no-peers", status=1)
    assert len(timer.seen) == len(jobs.quick())
    found = re.search(r"qrita bench: (\d+) met, (\d+) missed, (\d+) not judged; NVIDIA H200", out)
    assert found
    met, missed, rest = map(int, found.groups())
    every = [*targets.limits()]
    assert met + missed + rest == len(every)
    assert len(re.findall(r"^(?:met|missed|not judged) ", out, re.MULTILINE)) == len(every)
    assert missed == len([limit for limit in every if limit.other in too_slow and limit.value < 4])
    assert re.search(
        r"^not judged  mask, k = 50, p = 0.9 .* at least 3 x faster than vllm +- \(vllm: ", out, re.MULTILINE
    )


def test_quick_passes_where_every_target_is_met(
    capsys: pytest.CaptureFixture[str], timer: FakeTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [limit for limit in targets.limits() if limit.other == "copy"]
    monkeypatch.setattr(targets, "limits", lambda: iter(some))
    timer.micros = {"copy": 1000.0}
    assert f": {len(some)} met, 0 missed, 0 not judged;" in says(capsys, "--quick", "--no-peers", status=0)


def test_quick_measures_anew(capsys: pytest.CaptureFixture[str], timer: FakeTimer, tmp_path: Path) -> None:
    file = ["--json", str(tmp_path / "book.json"), "--no-peers"]
    says(capsys, "--quick", *file, status=1)
    says(capsys, "--quick", *file, status=1)
    assert len(timer.seen) == 2 * len(jobs.quick())


@pytest.mark.usefixtures("timer")
def test_time_that_is_up_and_ctrl_c(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured is kept, and what was not is counted."""
    measure: Callable[..., object] = running.measure
    done: list[object] = []

    def once(*args: object) -> object:
        if done:
            raise KeyboardInterrupt
        done.append(args)
        return measure(*args)

    file = tmp_path / "book.json"
    with monkeypatch.context() as patched:
        patched.setattr(running, "measure", once)
        said = says(capsys, *PART, "--json", str(file), "--no-peers", status=130)
    assert "  3 jobs left when the run ended; a grid with the same --json goes on with them" in said
    assert "qrita bench, INTERRUPTED: 1 job measured" in said
    assert json.loads(file.read_text(encoding="utf-8"))["left"] == 3
    monkeypatch.setattr(running, "deadline", lambda seconds: lambda: seconds == 5)
    assert "3 jobs left when the run ended" in says(
        capsys, *PART, "--json", str(file), "--no-peers", "--seconds", "5", status=1
    )
    assert "qrita bench: 3 of 4 jobs" in says(capsys, *PART, "--json", str(file), "--no-peers", status=0)


@pytest.mark.usefixtures("timer")
def test_lines_are_in_every_report_of_enough_sizes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = ["--json", str(tmp_path / "book.json"), "--no-peers"]
    assert text.LINES not in says(capsys, *PART, *file, status=0)
    for said in (
        says(capsys, *PART[2:], "--rows", "1,2,4", *file, status=0),
        says(capsys, "--report-only", *file[:2], "--markdown", str(tmp_path / "table.md"), status=0),
    ):
        assert text.LINES in said
        assert re.search(r"^  1 to 4 x 60 float32 normal, 3 sizes  p = 0\.9 +mask +10 ", said, re.MULTILINE)
    assert text.LINES in (tmp_path / "table.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("timer", "drawn")
def test_a_report_of_a_file_needs_no_gpu(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "book.json"
    says(capsys, *PART, "--json", str(file), "--no-peers", status=0)
    before = file.read_bytes()
    monkeypatch.setattr(surroundings, "gpu", lambda name: pytest.fail("asked for a GPU"))
    said = says(capsys, "--report-only", "--json", str(file), "--plots", str(tmp_path / "plots"), status=0)
    assert f"wrote {tmp_path / 'plots' / '60-float32-normal-p0.9.svg'}\n" in said
    assert said.endswith("qrita bench: 4 jobs measured; NVIDIA H200 (sm_90)\n")
    assert file.read_bytes() == before
    assert "not judged" in says(capsys, "--report-only", "--quick", "--json", str(file), status=1)
    assert "--report-only: expected --json FILE beside it" in says(capsys, "--report-only", status=2)
    none = str(tmp_path / "none.json")
    assert f"argument --json: '{none}': " in says(capsys, "--report-only", "--json", none, status=2)


def test_a_digest_of_the_sources_tells_kernels_apart(tmp_path: Path) -> None:
    for name in ("api.py", "kernels/cut.py", "bench/jobs.py", "cli/check.py", "tuned/sm_90.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1", encoding="utf-8")
    digests = [surroundings.sources(tmp_path)]
    for name in ("bench/jobs.py", "cli/check.py", "kernels/cut.py", "api.py", "tuned/sm_90.json"):
        (tmp_path / name).write_text("2", encoding="utf-8")
        digests.append(surroundings.sources(tmp_path))
    assert digests[0] == digests[1] == digests[2]
    assert len({*digests}) == 4
    assert results.FORMAT == 1
