"""Times, results, and the file that holds them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from bench_fakes import HERE, book, result, timed

from qrita.bench import results
from qrita.bench.jobs import Job
from qrita.bench.results import Book, BookError
from qrita.bench.timing import Timed, calls_for

ONE, TWO = Job(1, 100, k=5), Job(2, 100, k=5)


def test_a_time_is_the_median_and_its_spread() -> None:
    found = Timed.of([9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0, 100.0], calls=4, graph=True)
    assert (found.micros, found.low, found.high, found.repeats) == (5.0, 1.0, 9.0, 11)
    alone = Timed.of([3.0], calls=1, graph=False)
    assert (alone.micros, alone.low, alone.high) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    ("micros", "inputs", "writes", "calls"),
    [(0.0, 20, False, 40), (1.4, 20, False, 40), (100.0, 4, False, 20), (1e5, 4, False, 2), (1.4, 20, True, 20)],
)
def test_calls_to_a_graph(micros: float, inputs: int, writes: bool, calls: int) -> None:
    assert calls_for(micros, inputs, writes) == calls


def test_a_book_is_the_same_after_json() -> None:
    before = book(
        result(ONE, {"vllm": "it takes no such logits"}, copy=1.0, mask=2.5),
        result(TWO, copy=1.5),
        peers={"vllm": "0.33"},
        missing={"flashinfer": "No module named 'flashinfer'"},
        skipped={Job(9, 9, k=1): "no room"},
        left=7,
    )
    assert Book.from_json(before.to_json()) == before


@pytest.mark.parametrize("text", ["[]", "{", "{}", '{"format": 2}', '{"format": 1, "results": [{}], "skipped": []}'])
def test_a_file_that_is_no_book(text: str) -> None:
    with pytest.raises(BookError, match="not what `qrita bench --json` writes"):
        Book.from_json(text)


def test_a_run_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    file = tmp_path / "book.json"
    assert results.read(file, book()) == book()
    results.write(file, book(result(ONE, {"vllm": "why"}, copy=1.0, mask=2.0)))
    found = results.read(file, book(command="another"))
    assert [*found.results] == [ONE]
    assert found.command == "another"
    assert found.to_do([ONE, TWO], ["copy", "mask", "vllm"]) == [TWO]
    assert found.to_do([ONE, TWO], ["copy", "mask", "vllm", "torch-sort"]) == [ONE, TWO]
    assert found.without(TWO, "no room").to_do([ONE, TWO], ["copy"]) == []
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    "changed", [{"card": "NVIDIA H100 (sm_90)"}, {"versions": {"qrita": "0.2.0"}}, {"repeats": 6}, {"device": "cuda:1"}]
)
def test_results_of_another_machine_are_not_gone_on_with(tmp_path: Path, changed: dict[str, object]) -> None:
    file = tmp_path / "book.json"
    results.write(file, dataclasses.replace(book(), here=dataclasses.replace(HERE, **changed)))  # type: ignore[arg-type]
    (name,) = changed
    with pytest.raises(BookError, match=f"it was made with {name} .*, this is .*; name another file or remove it"):
        results.read(file, book())


def test_a_share_needs_both_times() -> None:
    some = result(ONE, copy=2.0, mask=5.0)
    assert some.share("mask", "copy") == 2.5
    assert some.share("mask", "fill") is None
    assert some.share("fill", "copy") is None
    assert timed(1.0).extra_bytes == 0
