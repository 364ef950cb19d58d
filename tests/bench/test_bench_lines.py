"""Lines that are fitted to times, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from bench_fakes import book, result

from qrita.bench import lines, text
from qrita.bench.jobs import Job
from qrita.bench.lines import Line, Scaling, fit

SIZES = [1e6, 2e6, 4e6, 1e9]


@pytest.mark.parametrize(("fixed", "speed"), [(5.0, 4e6), (0.0, 2e6), (100.0, 1e3), (1e-3, 1e9)])
def test_times_on_a_line_give_that_line(fixed: float, speed: float) -> None:
    found = fit(SIZES, [fixed + size / speed for size in SIZES])
    assert found is not None
    assert found.fixed == pytest.approx(fixed, abs=1e-6)
    assert found.speed == pytest.approx(speed)
    assert found.deviation < 1e-9
    assert found.sizes == 4


def test_small_and_large_sizes_count_alike() -> None:
    """Of absolute errors the largest size would leave the fixed time to chance."""
    micros = [5.0 + size / 4e6 for size in SIZES]
    found = fit(SIZES, [*micros[:3], micros[3] * 1.1])
    assert found is not None
    assert found.fixed == pytest.approx(5.0, rel=0.02)
    assert found.deviation < 0.1


def test_what_is_off_the_line_is_told() -> None:
    found = fit([1e6, 2e6, 3e6, 4e6, 5e6, 6e6], [1.0, 2.0, 3.0, 8.0, 5.0, 6.0])
    assert found is not None
    assert 0.3 < found.deviation < 0.6


@pytest.mark.parametrize(
    ("sizes", "micros"),
    [
        ([1e6, 2e6, 4e6], [1.0, 4.0, 16.0]),  # as steep as no line from 0 is
        ([1e6, 2e6, 4e6], [16.0, 4.0, 1.0]),
        ([1e6, 2e6, 4e6], [3.0, 3.0, 3.0]),
    ],
)
def test_no_line_is_below_zero_or_falls(sizes: list[float], micros: list[float]) -> None:
    found = fit(sizes, micros)
    assert found is not None
    assert found.fixed >= 0.0
    assert found.speed > 0.0
    expected = max(abs(found.micros(size) / took - 1.0) for size, took in zip(sizes, micros, strict=True))
    assert found.deviation == pytest.approx(expected)


def test_level_times() -> None:
    level = fit([1e6, 2e6, 4e6], [3.0, 3.0, 3.0])
    assert level is not None
    assert (level.micros(1e6), level.micros(4e6)) == (pytest.approx(3.0), pytest.approx(3.0))
    falling = fit([1e6, 2e6, 4e6], [4.0, 3.0, 2.0])
    assert falling is not None
    assert math.isinf(falling.speed)
    assert 2.0 < falling.fixed < 4.0


@pytest.mark.parametrize("sizes", [[], [1.0], [1.0, 2.0], [1.0, 2.0, 2.0]])
def test_two_sizes_are_no_line(sizes: list[float]) -> None:
    assert fit(sizes, [1.0] * len(sizes)) is None


def cost(job: Job, fixed: float, terabytes: float, passes: int) -> float:
    return fixed + job.bytes * passes / (terabytes * 1e6)


BY_ROWS = [Job(rows, 1000, k=5) for rows in (512, 1, 64)]
BY_VOCAB = [Job(1, vocab, p=0.9) for vocab in (1000, 4000, 16_000)]
BOOK = book(
    *(
        result(
            job,
            copy=cost(job, 1.0, 4.0, 2),
            read=cost(job, 2.0, 3.0, 1),
            mask=cost(job, 10.0, 2.0, 2),
            candidates=cost(job, 8.0, 1.0, 1),
        )
        for job in BY_ROWS
    ),
    *(result(job, mask=cost(job, 20.0, 0.5, 2)) for job in BY_VOCAB),
)


def test_lines_by_rows_and_by_vocabulary() -> None:
    mask, candidates, alone = lines.scalings(BOOK.results)
    assert (mask.first, mask.last, mask.along, mask.contender) == (BY_ROWS[1], BY_ROWS[0], "rows", "mask")
    for found, fixed, speed in ((mask.line, 10.0, 2e6), (candidates.line, 8.0, 1e6), (alone.line, 20.0, 0.5e6)):
        assert (found.fixed, found.speed) == (pytest.approx(fixed), pytest.approx(speed))
    for floor, fixed, speed in ((mask.floor, 1.0, 4e6), (candidates.floor, 2.0, 3e6)):
        assert floor is not None
        assert (floor.fixed, floor.speed) == (pytest.approx(fixed), pytest.approx(speed))
    assert (alone.first, alone.last, alone.along, alone.floor) == (BY_VOCAB[0], BY_VOCAB[2], "vocab", None)


@pytest.mark.parametrize("changed", [{"dtype": "bfloat16"}, {"family": "equal"}, {"k": 6}, {"p": 0.5}, {"vocab": 999}])
def test_only_equal_work_is_on_one_line(changed: dict[str, object]) -> None:
    jobs = [*BY_ROWS[:2], replace(BY_ROWS[2], **changed)]  # type: ignore[arg-type]
    assert [*lines.scalings(book(*(result(job, mask=1.0) for job in jobs)).results)] == []


def test_lines_in_words() -> None:
    line = ["fixed, us", "TB/s", "off by"]
    assert text.lines(BOOK) == [
        ["rows", "k, p", "work", *line, "floor", *line],
        ["1 to 512 x 1,000 float32 normal, 3 sizes", "k = 5", "mask", "10", "2", "0%", "copy", "1", "4", "0%"],
        ["1 to 512 x 1,000 float32 normal, 3 sizes", "k = 5", "candidates", "8", "1", "0%", "read", "2", "3", "0%"],
        ["1 x 1,000 to 16,000 float32 normal, 3 sizes", "p = 0.9", "mask", "20", "0.5", "0%", "copy", "-", "-", "-"],
    ]
    assert text.lines(book(result(BY_ROWS[0], mask=1.0))) == []
    level = Scaling(BY_ROWS[1], BY_ROWS[0], "rows", "mask", Line(3.0, math.inf, 0.123, 3), None)
    assert text._scaling(level)[3:6] == ["3", "level", "12%"]


def test_a_document_has_the_lines() -> None:
    said = text.document(BOOK, [])
    assert text.LINES in said
    assert "| 1 to 512 x 1,000 float32 normal, 3 sizes | k = 5 | mask | 10 | 2 | 0% | copy | 1 | 4 | 0% |" in said
    assert text.LINES not in text.document(book(result(BY_ROWS[0], mask=1.0)), [])
