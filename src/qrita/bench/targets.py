"""The table of targets, and whether results meet it. Pure: results in, verdicts out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from qrita.bench.jobs import ADVERSARIAL, DEPTHS, REAL_VOCAB, VOCABS, Job
from qrita.bench.results import Result
from qrita.bench.timing import Timed

State = Literal["met", "missed", "not judged"]
Kind = Literal["times", "faster", "microseconds", "memory"]

CARD = "H200"
"""The card that microseconds are targets for."""


@dataclass(frozen=True)
class Limit:
    """What a contender of a job has to keep.

    Attributes:
        job, contender: whose time it is about.
        kind: "times": at most `value` times the other's time. "faster": the other takes at least `value` times as long.
            "microseconds": at most so many. "memory": at most that share of the logits' bytes is allocated beside them.
        value: the limit.
        other: the contender that it is compared with, in the same job unless `of` names one.
        of: the job of the other.
    """

    job: Job
    contender: str
    kind: Kind
    value: float
    other: str = ""
    of: Job | None = None

    @property
    def words(self) -> str:
        """The limit, for a table."""
        other = self.other if self.of is None else f"{self.of.dtype} {self.of.family}"
        return {
            "times": f"at most {self.value:g} x {other}",
            "faster": f"at least {self.value:g} x faster than {other}",
            "microseconds": f"at most {self.value:g} us",
            "memory": f"at most {self.value:.0%} more memory",
        }[self.kind]


@dataclass(frozen=True)
class Verdict:
    """A limit, the figure that was reached, and what that means; why, where nothing can be said."""

    limit: Limit
    state: State
    figure: float | None
    reason: str = ""

    @property
    def words(self) -> str:
        """The figure, for a table."""
        if self.figure is None:
            return "-"
        unit = {"times": " x", "faster": " x", "microseconds": " us", "memory": ""}[self.limit.kind]
        return f"{self.figure:.1%}" if self.limit.kind == "memory" else f"{self.figure:.3g}{unit}"


def limits() -> Iterator[Limit]:
    """The table."""
    both, alone = Job(1024, 128_256, k=50, p=0.9), Job(1024, 128_256, p=0.9)
    real, real_alone = (Job(1024, REAL_VOCAB, family="real", k=k, p=0.9) for k in (50, None))
    yield Limit(both, "mask", "times", 1.30, "copy")
    yield Limit(both, "mask", "faster", 3.0, "vllm")
    yield Limit(real, "mask", "times", 1.30, "copy")
    yield Limit(both, "candidates", "times", 0.70, "copy")
    yield Limit(both, "candidates", "faster", 2.2, "flashinfer-top-k")
    yield Limit(alone, "mask", "times", 3.0, "copy")
    yield Limit(alone, "mask", "faster", 8.0, "vllm")
    yield Limit(alone, "mask", "faster", 2.5, "flashinfer-top-p-renorm")
    yield Limit(real_alone, "mask", "times", 2.6, "copy")
    yield Limit(real_alone, "mask", "faster", 1.8, "vllm")
    for rows, with_k, without in ((1, 11, 15), (8, 13, 18), (32, 18, 30)):
        few = Job(rows, 128_256, k=50, p=0.9)
        yield Limit(few, "mask", "microseconds", with_k)
        yield Limit(few, "mask", "faster", 7.0, "vllm")
        yield Limit(few, "mask", "faster", 2.0, "flashinfer-top-k-mask")
        yield Limit(Job(rows, 128_256, p=0.9), "mask", "microseconds", without)
    for full in (both, alone):
        half = Job(full.rows, full.vocab, "bfloat16", k=full.k, p=full.p)
        yield Limit(half, "mask", "times", 0.6, "mask", full)
    for vocab in VOCABS:
        for k in DEPTHS:
            job = Job(64, vocab, k=k)
            for other in ("vllm", "flashinfer-top-k-mask", "torch-sort"):
                yield Limit(job, "mask", "faster", 1.0, other)
            yield Limit(job, "candidates", "faster", 1.0, "flashinfer-top-k")
    for family in ADVERSARIAL:
        for full in (both, alone):
            bad = Job(full.rows, full.vocab, family=family, k=full.k, p=full.p)
            yield Limit(bad, "mask", "times", 4.0, "mask", full)
    for job, contender in ((both, "mask"), (both, "candidates"), (alone, "mask")):
        yield Limit(job, contender, "memory", 0.10)


def judge(limit: Limit, results: Mapping[Job, Result], card: str) -> Verdict:
    """Whether a limit is kept."""
    found = _time(limit.job, limit.contender, results)
    if isinstance(found, str):
        return Verdict(limit, "not judged", None, found)
    if limit.kind == "memory":
        if found.extra_bytes is None:
            return Verdict(limit, "not judged", None, "its memory was not measured")
        return _at_most(limit, found.extra_bytes / limit.job.bytes)
    if limit.kind == "microseconds":
        if CARD not in card:
            return Verdict(limit, "not judged", found.micros, f"microseconds are targets for an {CARD} only")
        return _at_most(limit, found.micros)
    other = _time(limit.of or limit.job, limit.other, results)
    if isinstance(other, str):
        return Verdict(limit, "not judged", None, other)
    if limit.kind == "times":
        return _at_most(limit, found.micros / other.micros)
    figure = other.micros / found.micros
    return Verdict(limit, "met" if figure >= limit.value else "missed", figure)


def _at_most(limit: Limit, figure: float) -> Verdict:
    return Verdict(limit, "met" if figure <= limit.value else "missed", figure)


def _time(job: Job, contender: str, results: Mapping[Job, Result]) -> Timed | str:
    """A time, or why there is none."""
    result = results.get(job)
    if result is None:
        return f"not run: {job}"
    return result.times.get(contender) or f"{contender}: {result.not_run.get(contender, 'it took no part')}"


def slower(results: Mapping[Job, Result], kinds: Mapping[str, str]) -> Iterator[tuple[Job, str, str, float]]:
    """Where a peer was faster: the job, our function, the peer, and how many times as long ours took."""
    for job, result in results.items():
        for name in result.times:
            ours = PEERS_OF.get(name, "mask")
            share = result.share(ours, name) if kinds.get(name) == "peer" else None
            if share is not None and share > 1.0:
                yield job, ours, name, share


PEERS_OF = {"torch-topk": "candidates", "flashinfer-top-k": "candidates"}
"""Peers that list candidates, which ours are compared with; all others are compared with our mask."""
