"""What is measured: rows of a shape, and a k and a p. `quick` lists the jobs of the targets, `grid` all others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from qrita.testing.formats import DTYPES, WIDTH

ADVERSARIAL = ("equal", "two values", "outlier", "half masked")
FAMILIES = ("normal", "real", *ADVERSARIAL)
"""Kinds of rows: `qrita.bench.rows` makes them."""

REAL_VOCAB = 49_152
"""That of the real rows."""

VOCABS = (32_000, 128_256, 151_936, 201_088, 262_208)
BATCHES = tuple(1 << exponent for exponent in range(13))
CASES: tuple[tuple[int | None, float | None], ...] = (
    (50, 0.9),
    (None, 0.9),
    (50, None),
    (1, None),
    (1000, None),
    (20_000, None),
)
DEPTHS = (1, 50, 1000, 20_000)
"""The k of the targets that compare with every peer."""


class JobError(ValueError):
    """There is no such job. Names the field, its value and what was expected."""


@dataclass(frozen=True)
class Job:
    """One measurement: the rows, and what is asked of them.

    Attributes:
        rows, vocab, dtype: of the logits.
        family: one of `FAMILIES`.
        k, p: numbers for every row; None is off.
    """

    rows: int
    vocab: int
    dtype: str = "float32"
    family: str = "normal"
    k: int | None = None
    p: float | None = None

    def __post_init__(self) -> None:
        for field, value, options in (("dtype", self.dtype, DTYPES), ("family", self.family, FAMILIES)):
            if value not in options:
                raise JobError(f"job: {field}={value!r}: expected one of {', '.join(options)}")
        for field, number in (("rows", self.rows), ("vocab", self.vocab)):
            if type(number) is not int or number < 1:
                raise JobError(f"job: {field}={number!r}: expected a whole number of at least 1")
        if self.family == "real" and self.vocab != REAL_VOCAB:
            raise JobError(f"job: vocab={self.vocab}: expected {REAL_VOCAB}, which real rows have")
        if self.k is None and self.p is None:
            raise JobError("job: k=None, p=None: expected one of them")

    @property
    def bytes(self) -> int:
        """Of the logits."""
        return self.rows * self.vocab * WIDTH[self.dtype] // 8

    @property
    def asked(self) -> str:
        """k and p, in words."""
        return ", ".join(f"{name} = {value:g}" for name, value in (("k", self.k), ("p", self.p)) if value is not None)

    @property
    def shape(self) -> str:
        """The rows, in words."""
        return f"{self.rows:,} x {self.vocab:,} {self.dtype} {self.family}"

    def __str__(self) -> str:
        return f"{self.shape}, {self.asked}"

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Job:
        """The job of a JSON object.

        Raises:
            JobError: it is none.
        """
        try:
            return cls(**given)
        except TypeError as error:
            raise JobError(f"job: {error}") from None


def quick() -> tuple[Job, ...]:
    """The jobs that the table of targets needs, the largest rows first."""
    many = [(50, 0.9), (None, 0.9)]
    jobs = [Job(1024, 128_256, k=k, p=p) for k, p in many]
    jobs += [Job(1024, 128_256, "bfloat16", k=k, p=p) for k, p in many]
    jobs += [Job(1024, REAL_VOCAB, family="real", k=k, p=p) for k, p in many]
    jobs += [Job(rows, 128_256, k=k, p=p) for rows in (1, 8, 32) for k, p in many]
    jobs += [Job(1024, 128_256, family=family, k=k, p=p) for family in ADVERSARIAL for k, p in many]
    jobs += [Job(64, vocab, k=k) for vocab in VOCABS for k in DEPTHS]
    return tuple(jobs)


def grid(
    batches: Iterable[int] = BATCHES,
    vocabs: Iterable[int] = (*VOCABS, REAL_VOCAB),
    dtypes: Iterable[str] = DTYPES,
    families: Iterable[str] = FAMILIES,
    cases: Iterable[tuple[int | None, float | None]] = CASES,
) -> Iterator[Job]:
    """Every combination, those of normal float32 rows first. Real rows have one vocabulary, which no others have."""
    for family, dtype, vocab in itertools.product(families, dtypes, vocabs):
        if (family == "real") == (vocab == REAL_VOCAB):
            for (k, p), rows in itertools.product(cases, batches):
                if k is None or k < vocab:
                    yield Job(rows, vocab, dtype, family, k, p)
