"""The table of targets, and what is said of results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from bench_fakes import HERE, KINDS, book, result, timed

from qrita.bench import jobs, targets, text
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.bench.targets import Limit
from qrita.bench.timing import Timed

LIMITS = [*targets.limits()]
ALL = {*("copy", "read", "fill", "mask", "candidates", "vllm", "torch-sort", "torch-topk", "flashinfer")} | {
    *("flashinfer-top-k", "flashinfer-top-k-mask", "flashinfer-top-p-renorm")
}
CARD = HERE.card


def measured(limit: Limit, factor: float) -> dict[Job, Result]:
    """Results in which this limit is just kept (1), kept with room (less) or missed (more)."""
    other = timed(1000.0)
    mine, memory = 1000.0 * factor, 0
    if limit.kind == "times":
        mine *= limit.value
    elif limit.kind == "faster":
        mine /= limit.value
    elif limit.kind == "microseconds":
        mine = limit.value * factor
    else:
        memory = int(limit.job.bytes * limit.value * factor)
    found: dict[Job, Result] = {}
    for job, contender, time in (
        (limit.of or limit.job, limit.other, other),
        (limit.job, limit.contender, timed(mine, memory)),
    ):
        before: Mapping[str, Timed] = found[job].times if job in found else {}
        found[job] = Result(job, 4, "", {**before, contender: time})
    return found


def test_every_limit_is_about_a_quick_job_and_a_contender() -> None:
    quick = set(jobs.quick())
    assert len(quick) == len(jobs.quick())
    assert {limit.job for limit in LIMITS} | {limit.of for limit in LIMITS if limit.of} == quick
    assert {limit.contender for limit in LIMITS} | {limit.other for limit in LIMITS} - {""} <= ALL
    assert {limit.kind for limit in LIMITS} == {"times", "faster", "microseconds", "memory"}


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.contender}, {limit.job}: {limit.words}")
def test_a_limit_is_met_and_missed(limit: Limit) -> None:
    assert targets.judge(limit, measured(limit, 0.99), CARD).state == "met"
    assert targets.judge(limit, measured(limit, 1.01), CARD).state == "missed"


@pytest.mark.parametrize("limit", LIMITS[:12:3], ids=lambda limit: limit.words)
def test_what_did_not_run_is_not_judged(limit: Limit) -> None:
    assert targets.judge(limit, {}, CARD).reason == f"not run: {limit.job}"
    alone = result(limit.job, {"vllm": "it is not here", "copy": "out of memory"}, mask=1.0, candidates=1.0)
    verdict = targets.judge(limit, {limit.job: alone}, CARD)
    assert (verdict.state, verdict.figure, verdict.words) == ("not judged", None, "-")
    assert verdict.reason in ("vllm: it is not here", "copy: out of memory", "flashinfer-top-k: it took no part")


def test_microseconds_are_for_one_card() -> None:
    limit = next(limit for limit in LIMITS if limit.kind == "microseconds")
    verdict = targets.judge(limit, measured(limit, 0.5), "AMD Instinct MI355X (gfx950)")
    assert (verdict.state, verdict.reason) == ("not judged", "microseconds are targets for an H200 only")
    assert verdict.figure == limit.value / 2


def test_memory_that_was_not_measured_is_not_judged() -> None:
    limit = next(limit for limit in LIMITS if limit.kind == "memory")
    some = Result(limit.job, 4, "", {limit.contender: dataclasses.replace(timed(1.0), extra_bytes=None)})
    assert targets.judge(limit, {limit.job: some}, CARD).reason == "its memory was not measured"


def test_a_faster_peer_is_named_against_what_it_does() -> None:
    job = Job(1, 100, k=5)
    some = result(job, copy=1.0, mask=4.0, candidates=3.0, vllm=2.0, torch_topk=1.5)
    found = list(targets.slower({job: some}, KINDS))
    assert found == [(job, "mask", "vllm", 2.0), (job, "candidates", "torch-topk", 2.0)]
    assert [*text.where_slower(book(some))] == [
        "mask, 1 x 100 float32 normal, k = 5: 2.00 x the time of vllm",
        "candidates, 1 x 100 float32 normal, k = 5: 2.00 x the time of torch-topk",
    ]


def test_a_figure_in_words() -> None:
    words = {}
    for limit in LIMITS:
        words.setdefault(limit.kind, targets.judge(limit, measured(limit, 0.5), CARD).words)
    assert words == {"times": "0.65 x", "faster": "6 x", "microseconds": "5.5 us", "memory": "5.0%"}


@pytest.mark.parametrize(
    ("micros", "words"), [(1.434, "1.43"), (18.24, "18.2"), (99.94, "99.9"), (436.6, "437"), (14160.2, "14,160")]
)
def test_digits_that_mean_something(micros: float, words: str) -> None:
    assert text.time(micros) == words


def test_a_document_says_what_ran_and_what_did_not() -> None:
    job = Job(1, 100, k=5)
    some = dataclasses.replace(
        result(job, {"vllm": "it takes no such logits"}, copy=1.0, mask=4.0),
        times={"copy": timed(1.0), "mask": timed(4.0, graph=False)},
    )
    whole = book(some, missing={"flashinfer": "no such module"}, skipped={Job(9, 9, k=1): "no room"}, left=3)
    found = text.document(whole, [targets.judge(LIMITS[0], whole.results, CARD)])
    for line in (
        "NVIDIA H200 (sm_90), 2026-11-30; qrita 0.1.0, torch 2.11.0. `qrita bench`",
        "Targets: 0 met, 0 missed, 1 not judged.",
        "| rows | k, p | copy | mask |",
        "| 1 x 100 float32 normal | k = 5 | 1 (0.9 to 1.1) | 4 (3.6 to 4.4), launched one by one |",
        "- `mask`: about mask",
        "- 1 x 100 float32 normal: 4 inputs take turns",
        "- flashinfer: not here: no such module",
        "- vllm: not in 1 of 1 job: it takes no such logits",
        "- 9 x 9 float32 normal, k = 1: no room",
        "- 3 jobs left when the run ended; a grid with the same --json goes on with them",
    ):
        assert line in found.splitlines(), line
    assert "| not judged | mask, k = 50, p = 0.9 | 1,024 x 128,256 float32 normal | at most 1.3 x copy |" in found


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert [*text.aligned([["a", "b"], ["long", "c"]])] == ["a     b", "long  c"]
    assert [*text.markdown([["a", "b"], ["x|y", "c"]])] == ["| a | b |", "|---|---|", "| x\\|y | c |"]
