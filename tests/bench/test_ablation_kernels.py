"""The kernels of the ablation: exact runs give the oracle's cuts and masks, the others what their labels say."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import Tensor

from qrita import arguments, device, reference
from qrita.bench.ablation import contenders
from qrita.bench.ablation.runs import RUNS, Run, plan_of
from qrita.bench.jobs import REAL_VOCAB, Job
from qrita.plan import Plan
from qrita.records import Problem
from qrita.testing import formats
from qrita.testing.recipes import fp32
from qrita.testing.subjects import Subject

KERNELS = [run for run in RUNS if run.by != "torch"]
EXACT = [run for run in KERNELS if run.exact]
INEXACT = [run for run in KERNELS if not run.exact]
NAMED = {run.name: run for run in RUNS}
VOCAB = 6000


@pytest.fixture
def launching(subject: Subject) -> ModuleType:
    """Imported after the engine has said whether Triton compiles or interprets."""
    from qrita.bench.ablation import launching

    return launching


@pytest.fixture
def hits(subject: Subject) -> ModuleType:
    from qrita.bench.ablation import hits

    return hits


def normal(rows: int = 2, vocab: int = VOCAB, dtype: torch.dtype = torch.float32) -> Tensor:
    stream = torch.Generator().manual_seed(rows * vocab)
    return torch.randn((rows, vocab), generator=stream).to(dtype)


def tied() -> Tensor:
    """Quarters: some 20 tokens for each value near the cut."""
    return (normal() * 4).round() / 4


def all_equal() -> Tensor:
    return torch.ones((1, VOCAB))


BATCHES = {
    "normal": normal(),
    "bfloat16, not aligned": normal(vocab=VOCAB - 1, dtype=torch.bfloat16),
    "tied": tied(),
    "all equal": all_equal(),
}


def problem_of(subject: Subject, logits: Tensor, k: int = 50, p: float | None = 0.9) -> tuple[Problem, Tensor]:
    """A problem on the engine's device, and an output."""
    there = subject.put(logits)
    return arguments.problem(there, k, p), torch.empty_like(there)


def answers(logits: Tensor, k: int, p: float | None) -> list[reference.Row]:
    name = str(logits.dtype).removeprefix("torch.")
    p = None if p is None else fp32(p)
    return [reference.row(reference.widen(raw, name), k, p) for raw in formats.raw(logits)]


def planned(run: Run, problem: Problem) -> Plan:
    """The plan of a run; one that sorts has a quarter of the room, because the interpreter sorts for seconds."""
    plan = plan_of(run, problem, device.of(problem.logits.device))
    return replace(plan, hold=512) if (run.search, run.truncation) == ("sort", "hit") else plan


def kept(out: Tensor) -> list[list[bool]]:
    found: list[list[bool]] = (out.float() > -float("inf")).tolist()
    return found


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("run", EXACT, ids=lambda run: run.name)
def test_exact_runs_give_the_oracle_s_masks(subject: Subject, launching: ModuleType, run: Run, batch: str) -> None:
    logits = BATCHES[batch]
    problem, out = problem_of(subject, logits)
    launching.mask(run, planned(run, problem), problem, out)
    assert kept(out) == [reference.kept(answer).tolist() for answer in answers(logits, 50, 0.9)]


COMBINED = [
    (search, truncation)
    for search in ("three pivots", "one pivot", "sort")
    for truncation in ("hit", "miss", "none")
    if (search, truncation) != ("sort", "none")  # no run sorts whole rows but torch's
]


@pytest.mark.parametrize(("search", "truncation"), COMBINED)
@pytest.mark.parametrize("p", [0.9, 1e-6, 0.9999999, None])
def test_with_duplicates_every_search_gives_the_oracle_s_cuts(
    subject: Subject, launching: ModuleType, search: str, truncation: str, p: float | None
) -> None:
    """So what the inexact runs share with these is right."""
    run = replace(NAMED["C"], search=search, truncation=truncation, duplicates=True)
    logits = tied()
    problem, out = problem_of(subject, logits, p=p)
    found = launching.cuts(run, planned(run, problem), problem, out)
    expected = answers(logits, 50, p)
    assert found.key.tolist() == [answer.cut.key for answer in expected]
    assert found.index.tolist() == [answer.cut.index for answer in expected]
    assert found.count.tolist() == [answer.cut.count for answer in expected]
    if p is not None:  # masks do not need them without p
        assert found.mass.tolist() == [answer.cut.mass for answer in expected]
        assert found.total.tolist() == [answer.cut.total for answer in expected]
    assert kept(out) == [reference.kept(answer).tolist() for answer in expected]


@pytest.mark.parametrize("run", INEXACT, ids=lambda run: run.name)
def test_without_duplicates_all_equals_of_the_cut_are_kept(subject: Subject, launching: ModuleType, run: Run) -> None:
    logits = tied()
    problem, out = problem_of(subject, logits)
    launching.mask(run, planned(run, problem), problem, out)
    expected = answers(logits, 50, 0.9)
    assert kept(out) == [(answer.keys >= answer.cut.key).tolist() for answer in expected]
    assert kept(out) != [reference.kept(answer).tolist() for answer in expected]


@pytest.mark.parametrize("run", INEXACT, ids=lambda run: run.name)
def test_where_the_cut_has_no_equals_they_are_right_by_chance(
    subject: Subject, launching: ModuleType, run: Run
) -> None:
    """So their times are those of the same cuts."""
    logits = normal()
    problem, out = problem_of(subject, logits)
    launching.mask(run, planned(run, problem), problem, out)
    assert kept(out) == [reference.kept(answer).tolist() for answer in answers(logits, 50, 0.9)]


@pytest.mark.parametrize("run", [run for run in KERNELS if run.truncation in ("hit", "miss")], ids=lambda run: run.name)
def test_runs_hit_and_miss_as_they_are_called(subject: Subject, launching: ModuleType, run: Run) -> None:
    problem, _ = problem_of(subject, normal())
    missed = launching.states(problem, planned(run, problem)) == launching.select.MISSED.value
    assert missed.tolist() == [run.truncation == "miss"] * 2
    contenders.look(run, planned(run, problem), problem)


def test_a_run_that_is_not_what_it_is_called_gets_no_time(subject: Subject) -> None:
    hit, _ = problem_of(subject, normal())
    miss, _ = problem_of(subject, all_equal())
    plan = planned(NAMED["D"], hit)
    with pytest.raises(contenders.NotAsMeantError, match="run A: 0 of 1 rows hit; expected 1"):
        contenders.look(NAMED["A"], planned(NAMED["A"], miss), miss)
    with pytest.raises(contenders.NotAsMeantError, match="run D: 2 of 2 rows hit; expected 0"):
        contenders.look(NAMED["D"], replace(plan, hold=2048), hit)


def test_a_run_that_claims_to_be_exact_is_held_to_it(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "exact", True)
    problem, _ = problem_of(subject, tied())
    with pytest.raises(contenders.NotAsMeantError, match="run C: 2 of 2 masks are not the package's"):
        contenders.look(NAMED["C"], planned(NAMED["C"], problem), problem)


def test_what_the_bench_has_no_kernels_for(subject: Subject, launching: ModuleType) -> None:
    problem, out = problem_of(subject, normal())
    plan = planned(NAMED["E"], problem)
    with pytest.raises(ValueError, match="run A: k=None: expected a whole number"):
        launching.cuts(NAMED["A"], plan, replace(problem, k=None), out)
    with pytest.raises(ValueError, match="run I: truncation='none': the bench has no kernels for"):
        launching.cuts(NAMED["I"], plan, problem, out)
    with pytest.raises(ValueError, match="run C: truncation='groups': the bench has no kernels for"):
        launching.cuts(NAMED["C"], replace(plan, truncation="groups"), problem, out)


@pytest.mark.parametrize(("k", "p"), [(1, None), (None, 0.9)])
def test_hits_are_counted(subject: Subject, hits: ModuleType, k: int | None, p: float | None) -> None:
    """A row that is settled with little room is settled with more."""
    job = Job(1, REAL_VOCAB, "bfloat16", "real", k, p)
    there = subject.put(torch.zeros(1)).device
    rooms = (2048, 8192 if k else 2048, None)  # without k, more room moves the threshold
    counted = [hits.count(job, there, room) for room in rooms]
    assert [each.room for each in counted] == [*rooms]
    rates = [each.hits for each in counted]
    assert rates == sorted(rates)
    assert rates[-1] == 1


def test_a_threshold_is_low_enough_for_k_tokens_or_for_p(subject: Subject, hits: ModuleType) -> None:
    logits = torch.tensor([[0.0, -1.0, -2.0, -30.0]])
    found, _ = problem_of(subject, logits, k=2)
    floors = torch.tensor([-1.0]).view(torch.int32)
    floors = subject.put(floors ^ ((floors >> 31) & 0x7FFFFFFF))
    rates = {
        (k, p): hits.low_enough(found, floors, Job(1, 4, k=k, p=p)).tolist()
        for k, p in ((2, None), (3, None), (None, 0.9), (None, 0.91))
    }
    assert rates == {(2, None): [True], (3, None): [False], (None, 0.9): [True], (None, 0.91): [False]}
