"""Figures are tried one after the other: what a change has to do to stay. Times come from functions of the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest
import torch
from bench_fakes import MACHINE, FakeTimer, timed

from qrita.bench import text, trying, tuner
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.bench.tuner import DIFFERENT, FIELDS, IN_USE, Step
from qrita.cli import tune
from qrita.device import Device
from qrita.plan import Plan
from qrita.records import Problem
from qrita.torch_engine import TorchEngine
from qrita.tuning import LIMITS, Tuning, derived

H200 = Device("NVIDIA H200", "sm_90", wave=32, multiprocessors=132)
START = derived(H200)
MANY, ALONE = Job(1024, 128_256, k=50, p=0.9), Job(1024, 128_256, p=0.9)


@dataclass
class Card:
    """Measures by a function of the job and the plan; a string is why there is no time.

    Attributes:
        micros: that function.
        asked: the job and the names of every measurement.
    """

    micros: Callable[[Job, Plan], float | str]
    asked: list[tuple[Job, list[str]]] = field(default_factory=list)

    def __call__(self, job: Job, tried: Mapping[str, Plan]) -> Result | str:
        self.asked.append((job, [*tried]))
        found = {name: self.micros(job, plan) for name, plan in tried.items()}
        times = {name: timed(took) for name, took in found.items() if not isinstance(took, str)}
        return Result(job, 4, "", times, {name: why for name, why in found.items() if isinstance(why, str)})


def tried(card: Card, *fields: str, jobs: tuple[Job, ...] = (MANY, ALONE)) -> list[Step]:
    return [*tuner.steps(fields, START, H200, card, jobs=jobs)]


def test_the_figures_of_the_help_are_those_there_are() -> None:
    assert tuple(FIELDS) == tune.FIGURES
    assert {*FIELDS} == {*LIMITS}


def test_every_value_is_within_the_limits_and_has_a_job() -> None:
    """A value that no job has another plan for would never be compared."""
    card = Card(lambda job, plan: 10.0)
    for step in tuner.steps([*FIELDS], START, H200, card):
        assert {trial.value for trial in step.trials} == {*FIELDS[step.field]} - {step.before}
        for trial in step.trials:
            assert trial.shares, (step.field, trial.value)
            assert step.verdict(trial) == "not faster"
            assert step.figures == START


def test_a_change_that_wins_twice_stays_and_the_next_starts_from_it() -> None:
    card = Card(lambda job, plan: 10.0 * (1024 / plan.tile) ** 0.5 * plan.warps)
    tile, warps = tried(card, "tile", "warps")
    assert (tile.before, tile.figures.tile, tile.kept) == (1024, 4096, True)
    assert [tile.verdict(trial) for trial in tile.trials] == ["slower", "another is faster", "kept"]
    assert (warps.before, warps.figures) == (4, replace(START, tile=4096, warps=2))
    assert card.asked[:3] == [
        (MANY, [IN_USE, "tile 512", "tile 2048", "tile 4096"]),
        (ALONE, [IN_USE, "tile 512", "tile 2048", "tile 4096"]),
        (MANY, [IN_USE, "tile 4096"]),
    ]


@pytest.mark.parametrize(
    ("many", "alone", "verdict"),
    [
        (0.99, 0.99, "not faster"),  # by less than noise
        (0.97, 1.0, "kept"),
        (0.97, 1.019, "kept"),
        (0.9, 1.03, "slower"),  # where it loses more than noise, nothing makes up for it
        (1.01, 1.01, "not faster"),
    ],
)
def test_what_wins(many: float, alone: float, verdict: str) -> None:
    def micros(job: Job, plan: Plan) -> float:
        return 10.0 * ((many if job.k else alone) if plan.settle_warps == 2 else 1.0 if plan.settle_warps == 1 else 2.0)

    (step,) = tried(Card(micros), "settle_warps")
    assert [step.verdict(trial) for trial in step.trials] == [verdict, "slower"]
    assert step.figures.settle_warps == (2 if verdict == "kept" else 1)


def test_a_win_by_chance_does_not_stay() -> None:
    took = iter([10.0, 9.0, 10.0, 10.0, 10.0, 9.0])
    (step,) = tried(Card(lambda job, plan: next(took)), "row_programs", jobs=(MANY,))
    assert [step.verdict(trial) for trial in step.trials] == ["won once, not twice", "not faster"]
    assert step.figures == START
    assert next(iter(text.compared(step))) == (
        "row_programs 1 against 2: won once, not twice, 0.900 x its time in 1 job, 0.900 to 0.900; measured again 1.000"
    )


def test_jobs_that_a_figure_does_not_touch_are_not_measured() -> None:
    card = Card(lambda job, plan: 10.0)
    tried(card, "many_rows_splits")
    assert {job for job, _ in card.asked} == {ALONE}


def test_what_fails_is_named_and_left_out() -> None:
    def micros(job: Job, plan: Plan) -> float | str:
        if plan.tile == 4096 and job.k:
            return "OutOfResources: out of resource: shared memory"
        return f"RuntimeError: {DIFFERENT}, in 1 of 1,024 rows" if plan.tile == 2048 else 10.0 * plan.tile

    (step,) = tried(Card(micros), "tile")
    assert [step.verdict(trial) for trial in step.trials] == ["kept", "OTHER BITS", "NOT RUN"]
    assert [*text.left_out(step)] == [
        f"tile 2048, in 2 jobs, first {MANY}: RuntimeError: {DIFFERENT}, in 1 of 1,024 rows",
        f"tile 4096, in 1 job, first {MANY}: OutOfResources: out of resource: shared memory",
    ]
    assert not step.failed


def test_a_job_without_a_time_to_beat_is_named() -> None:
    (step,) = tried(Card(lambda job, plan: "out of memory" if job.k else 10.0 * plan.tile), "tile")
    assert step.failed == {MANY: "out of memory"}
    assert step.figures.tile == 512
    assert [*text.left_out(step)] == [f"tile, {MANY}: out of memory"]
    (step,) = tried(Card(lambda job, plan: "out of memory"), "tile")
    assert [step.verdict(trial) for trial in step.trials] == ["not compared"] * 3


def test_a_winner_that_fails_the_second_time_does_not_stay() -> None:
    seen: list[str] = []

    def micros(job: Job, plan: Plan) -> float | str:
        seen.append(str(plan.tile))
        if seen.count("512") > 1 and plan.tile == 512:
            return "CUDA error"
        return 10.0 * plan.tile

    (step,) = tried(Card(micros), "tile", jobs=(MANY,))
    assert (step.figures, step.verdict(step.trials[0])) == (START, "won once, not twice")
    assert [*text.left_out(step)] == [f"tile 512, in 1 job, first {MANY}: CUDA error"]


@pytest.mark.parametrize(("measurements", "done"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1)])
def test_a_figure_that_time_cuts_short_is_not_decided(measurements: int, done: int) -> None:
    """Two jobs, and as many for the winner, which wins at once."""
    card = Card(lambda job, plan: 10.0 * plan.tile)
    steps = tuner.steps(
        ["tile", "warps"], START, H200, card, lambda: len(card.asked) >= measurements, jobs=(MANY, ALONE)
    )
    assert len([*steps]) == done


def test_a_table_of_what_was_tried() -> None:
    (step,) = tried(Card(lambda job, plan: 10.0 * (plan.tile if job.k else 512)), "tile")
    assert [*text.tried(step)][:3] == [
        ["tile", "1024", "in use", "1", "", ""],
        ["tile", "512", "kept", "0.707", f"0.500 {MANY}", f"1.000 {ALONE}"],
        ["tile", "2048", "slower", "1.414", f"1.000 {ALONE}", f"2.000 {MANY}"],
    ]
    assert [*text.tried(step)][-1][:4] == ["tile", "512 again", "kept", "0.707"]
    assert all(len(row) == len(text.TRIED) for row in text.tried(step))


# --- plans as contenders ----------------------------------------------------------------------------------------

SMALL = Job(3, 200, k=5, p=0.9)


@dataclass(frozen=True)
class Planned(TorchEngine):
    """The torch engine, which is as right or as wrong as its plan says."""

    tile: int = 0

    def mask(self, problem: Problem, mask_value: float, out: torch.Tensor) -> None:
        if self.tile == 4096:
            raise RuntimeError("it does not compile\nat all")
        if self.tile == 2048:
            return  # nothing is written
        super().mask(problem, mask_value, out)
        if self.tile == 512:
            out[1, 7] = -0.0 if out[1, 7] == 0 else 3.0


def plan_of(figures: Tuning) -> Plan:
    from qrita import plan as plans

    return plans.choose(Problem(torch.empty((3, 200), device="meta"), 5, 0.9), H200, figures)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_only_equal_bits_are_timed(dtype: str) -> None:
    timer = FakeTimer({"row_tile 512": 8.0})
    measure = trying.measure_with(timer, MACHINE, 5, lambda plan: Planned(tile=plan.tile))
    plans = {f"tile {tile}": plan_of(replace(START, tile=tile)) for tile in (512, 2048, 4096)}
    plans["row_tile 512"] = plan_of(replace(START, row_tile=512))
    found = measure(replace(SMALL, dtype=dtype), {IN_USE: plan_of(START), **plans})
    assert isinstance(found, Result)
    assert timer.seen == [[IN_USE, "row_tile 512"]]
    assert found.share("row_tile 512", IN_USE) == 0.8
    assert found.not_run == {
        "tile 512": f"RuntimeError: {DIFFERENT}, in 1 of 3 rows of input 0",
        "tile 2048": f"RuntimeError: {DIFFERENT}, in 3 of 3 rows of input 0",
        "tile 4096": "RuntimeError: it does not compile",
    }


def test_a_job_that_does_not_fit_says_so() -> None:
    measure = trying.measure_with(FakeTimer(), replace(MACHINE, free=lambda: 1), 5, lambda plan: TorchEngine())
    assert measure(SMALL, {IN_USE: plan_of(START)}) == "it needs 38.4 kB of memory, 1 B are free"
