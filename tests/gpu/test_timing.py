"""The timer of `qrita bench` on a GPU: graphs, what cannot be one, inputs that are written to, and memory."""

from __future__ import annotations

from pathlib import Path

import torch

from qrita.bench.gpu import GraphTimer
from qrita.bench.timing import Bound, Timed
from qrita.cli import main


def test_what_is_timed_and_what_is_not() -> None:
    logits = [torch.randn(64, 32_000, device="cuda") for _ in range(4)]
    own = [some.clone() for some in logits]
    out = torch.empty_like(logits[0])

    def restore() -> None:
        for mine, given in zip(own, logits, strict=True):
            mine.copy_(given)

    def marks(number: int) -> torch.Tensor:
        assert number < len(own), "two calls share an input that they write to"
        return own[number].fill_(1.0)

    def fails(number: int) -> torch.Tensor:
        raise ValueError("first\nsecond")

    found = GraphTimer().time(
        {
            "copy": Bound(lambda number: out.copy_(logits[number % 4]), 4),
            "twice": Bound(lambda number: logits[number % 4] + logits[number % 4].exp(), 4),
            "writes": Bound(marks, 4, restore),
            "synchronises": Bound(lambda number: float(logits[number % 4].sum()), 4),
            "fails": Bound(fails, 4),
        },
        repeats=5,
    )
    assert found.pop("fails") == "ValueError: first"
    times = {name: timed for name, timed in found.items() if isinstance(timed, Timed)}
    assert [*times] == ["copy", "twice", "writes", "synchronises"]
    assert [name for name, timed in times.items() if not timed.graph] == ["synchronises"]
    for timed in times.values():
        assert 0.0 < timed.low <= timed.micros <= timed.high
        assert timed.repeats == 5
    assert times["copy"].extra_bytes == 0
    assert times["twice"].extra_bytes == 2 * out.nbytes
    assert times["writes"].calls == 4
    assert bool((own[0] == 1.0).all())
    assert not bool((logits[0] == 1.0).all())


def test_a_part_of_the_grid(tmp_path: Path) -> None:
    file = tmp_path / "book.json"
    part = ["--rows", "1,4", "--vocab", "32000", "--dtype", "float32", "--family", "normal", "--case", "50:0.9,:0.9"]
    assert main(["bench", *part, "--repeats", "3", "--peer", "torch-sort", "--json", str(file)]) == 0
    assert file.stat().st_size > 1000
