"""`qrita tune`: what is said, what is written. Times that follow from the plan stand in for a GPU."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from bench_fakes import MACHINE, saying, timed

from qrita import device as devices
from qrita import entries
from qrita.bench import gpu, running, surroundings, trying
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.bench.running import Machine
from qrita.bench.tuner import DIFFERENT
from qrita.device import Device
from qrita.entries import Provenance
from qrita.plan import Plan
from qrita.tuning import derived

CARD = Device("NVIDIA GeForce RTX 4090", "sm_89", wave=32, multiprocessors=128)
CAME = Provenance(CARD.name, 128, "580.1", "2.11.0", "3.6.0", "2026-11-30", "qrita tune", "unknown", "0123abcd", ())


@dataclass
class Fake:
    """What stands in for a card: how long a plan takes, and what happens at each measurement."""

    micros: Callable[[Plan], float | str] = lambda plan: 10.0
    before: Callable[[], None] = lambda: None

    def measure(self, job: Job, tried: Mapping[str, Plan]) -> Result | str:
        self.before()
        found = {name: self.micros(plan) for name, plan in tried.items()}
        times = {name: timed(took) for name, took in found.items() if not isinstance(took, str)}
        return Result(job, 4, "", times, {name: why for name, why in found.items() if isinstance(why, str)})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    @contextmanager
    def settled(device: torch.device) -> Iterator[Machine]:
        yield MACHINE

    def provenance(device: torch.device, command: str, compared: tuple[str, ...]) -> Provenance:
        return replace(CAME, command=command, compared=compared)

    fake = Fake()
    monkeypatch.setattr(surroundings, "gpu", lambda name: torch.device("cpu"))
    monkeypatch.setattr(surroundings, "provenance", provenance)
    monkeypatch.setattr(devices, "of", lambda device: CARD)
    monkeypatch.setattr(running, "settled", settled)
    monkeypatch.setattr(gpu, "GraphTimer", lambda: None)
    monkeypatch.setattr(trying, "measure_with", lambda timer, machine, repeats: fake.measure)
    return fake


says = saying("tune")


def test_without_a_gpu_there_is_nothing_to_measure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "qrita tune: error: nothing can be measured here: engine='triton': torch " in says(capsys, status=2)
    assert "argument --device: 'cpu': expected a GPU" in says(capsys, "--device", "cpu", status=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--figure", "tiles"], "argument --figure: 'tiles': expected some of tile, warps, "),
        (["--figure", ","], "argument --figure: ',': expected some of tile, warps, "),
        (["--seconds", "0"], "argument --seconds: '0': expected a whole number of at least 1"),
        (["--repeats", "many"], "argument --repeats: 'many': expected a whole number"),
        (["--json", "/no/such/entry.json"], "argument --json: '/no/such/entry.json': "),
    ],
)
@pytest.mark.usefixtures("fake")
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert said in says(capsys, *arguments, status=2)


def test_a_run_writes_an_entry(capsys: pytest.CaptureFixture[str], fake: Fake, tmp_path: Path) -> None:
    fake.micros = lambda plan: 10.0 * plan.settle_warps / plan.tile
    file = tmp_path / "sm_89.json"
    said = says(capsys, "--figure", "tile, settle_warps", "--json", str(file), status=0)
    assert (
        "qrita tune: 2 figures on NVIDIA GeForce RTX 4090 (sm_89), from figures derived from figures of sm_90, not "
    ) in said
    assert "  tile 4096 against 1024: kept, 0.250 x its time in 11 jobs, 0.250 to 0.250; measured again 0.250" in said
    assert f"wrote {file}; with it as {Path(entries.__file__).parent / 'tuned' / 'sm_89.json'} plans are made" in said
    assert said.endswith("qrita tune: 2 figures tried, 1 changed; NVIDIA GeForce RTX 4090 (sm_89)\n")
    entry = entries.parse(file.read_text(encoding="utf-8"), "sm_89")
    assert entry.figures == replace(derived(CARD), tile=4096)
    assert entry.origin == "measured on NVIDIA GeForce RTX 4090 (2026-11-30, Triton 3.6.0)"
    assert len(entry.provenance.compared) == 5
    assert [*tmp_path.iterdir()] == [file]

    said = says(capsys, "--figure", "warps", "--json", str(file), status=0)
    assert f"from figures of '{file}'" in said
    again = entries.parse(file.read_text(encoding="utf-8"))
    assert again.figures.tile == 4096
    assert again.provenance.compared[:5] == entry.provenance.compared
    assert len(again.provenance.compared) == 7


@pytest.mark.usefixtures("fake")
def test_all_figures_are_tried(capsys: pytest.CaptureFixture[str]) -> None:
    said = says(capsys, status=0)
    assert "qrita tune: 15 figures tried, 0 changed" in said
    assert "\nfigures:\n  Tuning(tile=1024, row_tile=512" in said
    assert "wrote" not in said


def test_plans_that_do_not_run_are_named(capsys: pytest.CaptureFixture[str], fake: Fake) -> None:
    fake.micros = lambda plan: "OutOfResources: shared memory" if plan.tile == 4096 else 10.0
    said = says(capsys, "--figure", "tile", status=0)
    assert "\nnot run:\n  tile 4096, in 11 jobs, first 1 x 128,256 float32 normal, k = 50, p = 0.9: OutOfRes" in said


def test_other_bits_are_a_failure(capsys: pytest.CaptureFixture[str], fake: Fake) -> None:
    fake.micros = lambda plan: f"RuntimeError: {DIFFERENT}" if plan.tile == 4096 else 10.0
    said = says(capsys, "--figure", "tile", status=1)
    assert "qrita tune: 1 figure tried, 0 changed, OTHER BITS FOUND: that is a bug; NVIDIA" in said


def test_figures_in_use_that_do_not_run_are_a_failure(capsys: pytest.CaptureFixture[str], fake: Fake) -> None:
    fake.micros = lambda plan: "CUDA error"
    assert "  tile, 1 x 128,256 float32 normal, k = 50, p = 0.9: CUDA error" in says(
        capsys, "--figure", "tile", status=1
    )


def test_ctrl_c_and_time_that_is_up_leave_a_report(
    capsys: pytest.CaptureFixture[str], fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def stop() -> None:
        done.append(1)
        if len(done) > 11:
            raise KeyboardInterrupt

    file = tmp_path / "entry.json"
    fake.before = stop
    options = ["--figure", "tile,warps,sample", "--json", str(file)]
    said = says(capsys, *options, status=130)
    assert "2 figures left; `--figure warps,sample` with the same --json goes on" in said
    assert "qrita tune, INTERRUPTED: 1 figure tried, 0 changed" in said
    assert len(json.loads(file.read_text(encoding="utf-8"))["provenance"]["compared"]) == 3
    fake.before = lambda: None
    monkeypatch.setattr(running, "deadline", lambda seconds: lambda: seconds == 5)
    said = says(capsys, *options, "--seconds", "5", status=1)
    assert "3 figures left; `--figure tile,warps,sample` with" in said
    assert "wrote" not in said


def test_a_file_that_a_run_cannot_go_on_from(
    capsys: pytest.CaptureFixture[str], fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "entry.json"

    def refused(text: str) -> str:
        file.write_text(text, encoding="utf-8")
        said = says(capsys, "--json", str(file), status=2)
        assert f"argument --json: '{file}': " in said
        assert file.read_text(encoding="utf-8") == text
        return said

    assert "not JSON" in refused("{")
    assert "expected an object with schema 1" in refused("{}")
    sm_90 = (Path(entries.__file__).parent / "tuned" / "sm_90.json").read_text(encoding="utf-8")
    assert "architecture='sm_90': expected sm_89" in refused(sm_90)
    made = entries.Entry("sm_89", derived(CARD), CAME)
    for name, value in (("torch", "2.12.0"), ("card", "NVIDIA L40S"), ("sources", "another")):
        other = replace(made, provenance=replace(CAME, **{name: value}))
        assert f"it was made with {name} '{value}', this is '{getattr(CAME, name)}'; name anoth" in refused(
            other.to_json()
        )
    figures = json.loads(made.to_json())
    figures["figures"]["warps"] = 3
    assert "figures: warps=3: expected a power of two" in refused(json.dumps(figures))


def test_a_corrupt_entry_of_the_package_is_told(
    capsys: pytest.CaptureFixture[str], fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "sm_89.json").write_text("[]", encoding="utf-8")
    monkeypatch.setattr(entries.resources, "files", lambda package: tmp_path)
    entries.in_force.cache_clear()
    assert "sm_89.json: expected an object with schema 1" in says(capsys, status=2)
    entries.in_force.cache_clear()


def test_provenance_is_what_the_machine_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_gpu", lambda index: CARD)
    came = surroundings.provenance(torch.device("cuda", 0), "qrita tune", ("a",))
    assert (came.card, came.multiprocessors, came.torch) == (CARD.name, 128, torch.__version__)
    assert (came.command, came.compared, came.sources) == ("qrita tune", ("a",), surroundings.sources())
    assert entries.parse(entries.Entry("sm_89", derived(CARD), came).to_json()).provenance == came
