"""Plots of results: time against the batch, and in units of a copy; a figure for each k, p, dtype and kind of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qrita.bench import lines
from qrita.bench.jobs import Job
from qrita.bench.lines import Scaling
from qrita.bench.results import Book, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETTINGS = {"svg.hashsalt": "qrita", "svg.fonttype": "none", "font.size": 9.0, "axes.grid": True, "grid.alpha": 0.3}


class PlotError(RuntimeError):
    """Nothing can be drawn: says why and what to do."""


@dataclass(frozen=True)
class Curve:
    """A contender's values by batch."""

    name: str
    kind: str
    batches: tuple[int, ...]
    values: tuple[float, ...]


def curves(book: Book, value: Callable[[Result, str], float | None]) -> dict[Job, list[Curve]]:
    """The curves of each figure: its job is one with one row, the batches of the curves are those that were measured.

    Figures with a single batch are left out.
    """
    by_figure: dict[Job, list[Result]] = {}
    for job, result in book.results.items():
        one = Job(1, job.vocab, job.dtype, job.family, job.k, job.p)
        by_figure.setdefault(one, []).append(result)
    figures = {}
    for one, results in by_figure.items():
        ordered = sorted(results, key=lambda result: result.job.rows)
        if len(ordered) > 1:
            made = (_curve(name, kind, ordered, value) for name, kind in book.kinds.items())
            figures[one] = [curve for curve in made if curve.batches]
    return figures


def _curve(name: str, kind: str, results: Iterable[Result], value: Callable[[Result, str], float | None]) -> Curve:
    points = [(result.job.rows, found) for result in results if (found := value(result, name)) is not None]
    return Curve(name, kind, tuple(rows for rows, _ in points), tuple(found for _, found in points))


def _micros(result: Result, name: str) -> float | None:
    timed = result.times.get(name)
    return timed.micros if timed else None


def _share(result: Result, name: str) -> float | None:
    return result.share(name, "copy")


def draw(book: Book, folder: Path) -> list[Path]:
    """Write an SVG and a PNG of each figure; returns the files.

    Raises:
        PlotError: matplotlib is missing, or there is nothing to draw.
    """
    times, shares = curves(book, _micros), curves(book, _share)
    if not times:
        raise PlotError("no rows were measured with more than one batch; expected two batches with equal k, p and rows")
    plt = _pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with plt.rc_context(SETTINGS):
        for job, some in times.items():
            figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
            _panel(left, some, "microseconds a call")
            _fitted(left, some, job, lines.scalings(book.results))
            _panel(right, shares[job], "times a copy of the logits")
            figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7)
            figure.suptitle(f"{job.vocab:,} tokens, {job.dtype}, {job.family} rows, {job.asked}: {book.here.card}")
            for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                files.append(folder / f"{slug(job)}.{suffix}")
                figure.savefig(files[-1], dpi=130, metadata=metadata)
            plt.close(figure)
    return files


def slug(job: Job) -> str:
    """The name of a figure's files."""
    asked = "-".join(f"{name}{value:g}" for name, value in (("k", job.k), ("p", job.p)) if value is not None)
    return f"{job.vocab}-{job.dtype}-{job.family.replace(' ', '-')}-{asked}"


_LINES: Mapping[str, Mapping[str, Any]] = {
    "floor": {"linestyle": ":", "linewidth": 1.2},
    "ours": {"linestyle": "-", "linewidth": 2.2, "marker": "o", "markersize": 3},
    "peer": {"linestyle": "--", "linewidth": 1.2, "marker": ".", "markersize": 4},
}


def _panel(axes: Axes, some: Iterable[Curve], label: str) -> None:
    for curve in some:
        axes.plot(curve.batches, curve.values, label=curve.name, **_LINES[curve.kind])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel(label)


def _fitted(axes: Axes, some: Iterable[Curve], one: Job, scalings: Iterable[Scaling]) -> None:
    """The line of each of ours by rows, thin and black, over its curve."""
    batches = {curve.name: curve.batches for curve in some}
    for found in scalings:
        if found.along == "rows" and replace(found.first, rows=1) == one and found.contender in batches:
            sizes = [rows * one.bytes * lines.PASSES[found.contender] for rows in batches[found.contender]]
            fitted = [found.line.micros(size) for size in sizes]
            axes.plot(batches[found.contender], fitted, color="black", linewidth=0.6, alpha=0.6, zorder=3)


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise PlotError(f"plots need matplotlib ({error}); `pip install '.[bench]'` in a clone brings it") from None
    mpl.use("agg")
    import matplotlib.pyplot as plt

    return plt
