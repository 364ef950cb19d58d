"""Plots: which curves are drawn, and that files come of them."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench_fakes import book, result

from qrita.bench import plots
from qrita.bench.jobs import Job
from qrita.bench.plots import PlotError

ONE, EIGHT = (Job(rows, 128_256, k=50, p=0.9) for rows in (1, 8))
BOOK = book(
    result(EIGHT, copy=4.0, mask=40.0, vllm=100.0),
    result(ONE, copy=2.0, mask=30.0),
    result(Job(8, 128_256, family="two values", k=50, p=0.9), copy=4.0, mask=40.0),
)


def test_curves_are_sorted_and_a_single_batch_is_none() -> None:
    found = plots.curves(BOOK, lambda result, name: result.share(name, "copy"))
    assert [*found] == [ONE]
    values = {curve.name: (curve.kind, curve.batches, curve.values) for curve in found[ONE]}
    assert values == {
        "copy": ("floor", (1, 8), (1.0, 1.0)),
        "mask": ("ours", (1, 8), (15.0, 10.0)),
        "vllm": ("peer", (8,), (25.0,)),
    }


def test_files(tmp_path: Path) -> None:
    files = plots.draw(BOOK, tmp_path / "new")
    assert [file.name for file in files] == ["128256-float32-normal-k50-p0.9.svg", "128256-float32-normal-k50-p0.9.png"]
    svg, png = (file.read_bytes() for file in files)
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    for text in (
        b"128,256 tokens, float32, normal rows, k = 50, p = 0.9: NVIDIA H200 (sm_90)",
        b"vllm",
        b"times a copy",
    ):
        assert text in svg
    assert png.startswith(b"\x89PNG")
    plots.draw(BOOK, tmp_path / "again")
    assert (tmp_path / "again" / files[0].name).read_bytes() == svg


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match="no rows were measured with more than one batch"):
        plots.draw(book(result(ONE, copy=1.0)), tmp_path)


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"plots need matplotlib .*; `pip install '\.\[bench\]'` in a clone brings it"):
        plots.draw(BOOK, tmp_path)


def test_fitted_lines_are_drawn(tmp_path: Path) -> None:
    """A line of each of ours with three batches, and no name of its own in the legend."""
    some = book(*(result(Job(rows, 1000, k=5), mask=10.0 + rows) for rows in (1, 8, 64)))
    two = book(*(result(Job(rows, 1000, k=5), mask=10.0 + rows) for rows in (1, 8)))
    drawn = [plots.draw(each, tmp_path / str(number))[0].read_bytes() for number, each in enumerate((some, two))]
    assert [svg.count(b"stroke: #000000; stroke-opacity: 0.6; stroke-width: 0.6") for svg in drawn] == [1, 0]
    assert drawn[0].count(b">mask<") == drawn[1].count(b">mask<")
