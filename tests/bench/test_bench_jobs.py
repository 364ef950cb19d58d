"""The jobs and their rows."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from qrita.bench import jobs, rows
from qrita.bench.jobs import Job, JobError
from qrita.bench.rows import NoRowsError
from qrita.testing import formats, real


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dtype": "float64"}, "job: dtype='float64': expected one of float32, "),
        ({"family": "flat"}, "job: family='flat': expected one of normal, real, "),
        ({"rows": 0}, "job: rows=0: expected a whole number of at least 1"),
        ({"vocab": 2.0}, "job: vocab=2.0: expected a whole number"),
        ({"family": "real"}, "job: vocab=8: expected 49152, which real rows have"),
        ({"k": None}, "job: k=None, p=None: expected one of them"),
        ({"kk": 1}, "job: "),
    ],
)
def test_a_job_that_is_none(given: dict[str, object], says: str) -> None:
    with pytest.raises(JobError) as error:
        Job.from_dict({"rows": 2, "vocab": 8, "k": 1, **given})
    assert str(error.value).startswith(says)


def test_a_job_travels_as_json() -> None:
    job = Job(8, 128_256, "bfloat16", "two values", 50, 0.9)
    assert Job.from_dict(json.loads(json.dumps(dataclasses.asdict(job)))) == job
    assert str(job) == "8 x 128,256 bfloat16 two values, k = 50, p = 0.9"
    assert job.bytes == 8 * 128_256 * 2


def test_the_grid_has_every_combination_once() -> None:
    every = [*jobs.grid()]
    assert len(set(every)) == len(every)
    normal = [job for job in every if (job.family, job.dtype, job.vocab) == ("normal", "float32", 128_256)]
    assert {job.rows for job in normal} == set(jobs.BATCHES)
    assert {(job.k, job.p) for job in normal} == set(jobs.CASES)
    assert {job.vocab for job in every if job.family != "real"} == set(jobs.VOCABS)
    assert {job.family for job in every} == set(jobs.FAMILIES)
    assert every[0].family == "normal"


def test_the_grid_is_as_large_as_the_document_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    words = "13 batches from 1 to 4,096, five vocabularies, six pairs of k and p, three dtypes, rows of six kinds"
    assert words in " ".join(text.split())
    sizes = (jobs.BATCHES, jobs.VOCABS, jobs.CASES, formats.DTYPES, jobs.FAMILIES)
    assert [len(each) for each in sizes] == [13, 5, 6, 3, 6]
    assert (jobs.BATCHES[0], jobs.BATCHES[-1]) == (1, 4096)


def test_a_part_of_the_grid() -> None:
    some = [*jobs.grid(batches=(3,), vocabs=(500, jobs.REAL_VOCAB), dtypes=("float16",), cases=((600, None), (7, 0.5)))]
    assert Job(3, 500, "float16", "normal", 7, 0.5) in some
    assert Job(3, jobs.REAL_VOCAB, "float16", "real", 600) in some
    assert not [job for job in some if job.vocab == 500 and job.k == 600]  # top-k would be off


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("family", jobs.FAMILIES)
def test_rows(family: str, dtype: str) -> None:
    job = Job(5, jobs.REAL_VOCAB if family == "real" else 300, dtype, family, k=5)
    first, second, again = (rows.make(job, "cpu", number) for number in (0, 1, 0))
    assert (tuple(first.shape), first.dtype) == ((5, job.vocab), getattr(torch, dtype))
    assert first.is_contiguous()
    assert torch.equal(first, again)
    assert torch.equal(first, second) == (family == "equal")


def test_what_the_families_are() -> None:
    def made(family: str) -> torch.Tensor:
        return rows.make(Job(4, 900, family=family, k=5), "cpu", 0)

    normal = made("normal")
    assert abs(float(normal.mean())) < 0.1
    assert abs(float(normal.std()) - 1.0) < 0.1
    assert made("equal").unique().numel() == 1
    assert made("two values").unique().numel() == 2
    assert (made("outlier") > 1e29).sum(dim=1).tolist() == [1] * 4
    assert (made("half masked") == rows.MASKED).sum(dim=1).tolist() == [450] * 4


def test_real_rows_are_those_of_the_package() -> None:
    bits = np.stack([row for _, row in real.rows()])
    made = formats.raw(rows.make(Job(10, jobs.REAL_VOCAB, "bfloat16", "real", k=5), "cpu", 3))
    assert np.array_equal(made, bits[(np.arange(10) + 3) % len(bits)])


@pytest.mark.parametrize("family", ["outlier", "half masked"])
def test_rows_that_float16_cannot_hold(family: str) -> None:
    with pytest.raises(NoRowsError, match=f"float16 cannot hold the numbers of the family '{family}'"):
        rows.make(Job(2, 30, "float16", family, k=5), "cpu", 0)
