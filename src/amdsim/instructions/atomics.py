"""Atomic updates, as functions on an array: one update after the other, in a given order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.arrays import Array

_SIGNED = {4: np.int32, 8: np.int64}

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "umax": np.maximum,
    "umin": np.minimum,
    "smax": np.maximum,
    "smin": np.minimum,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "swap": lambda old, new: new,
    "inc": lambda old, new: np.where(old >= new, 0, old + 1).astype(old.dtype),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1).astype(old.dtype),
}


def update(name: str, cells: Array, places: Array, values: Array, expected: Array | None = None) -> Array:
    """Update `cells` at `places`, in their order; what was there before each.

    `expected`: the update happens only where this is there ("cmpswap").
    """
    if expected is not None:
        return _one_by_one(lambda old, new, i: new if old == expected[i] else old, cells, places, values)
    view = cells.view(_SIGNED[cells.dtype.itemsize]) if name in ("smax", "smin") else cells
    values = values.view(view.dtype)
    function = FUNCTIONS[name]
    if len(np.unique(places)) == len(places):
        before = view[places]
        view[places] = function(before, values)
        return before.view(cells.dtype)
    if name == "add":
        return _sums(view, places, values)
    return _one_by_one(lambda old, new, _: function(old, new), view, places, values).view(cells.dtype)


def _sums(cells: Array, places: Array, values: Array) -> Array:
    """Sums can be made at once, since they wrap around: of equal places, each sees the sum of those before it."""
    order = np.argsort(places, kind="stable")
    sorted_places, sorted_values = places[order], values[order]
    running = np.cumsum(sorted_values, dtype=values.dtype)
    before = running - sorted_values
    first = np.concatenate([[True], sorted_places[1:] != sorted_places[:-1]])
    starts = np.flatnonzero(first)
    base = before[starts][np.cumsum(first) - 1]
    result = np.empty_like(values)
    result[order] = cells[sorted_places] + (before - base)
    last = np.append(starts[1:], len(places)) - 1
    cells[sorted_places[last]] += running[last] - base[last]
    return result


def _one_by_one(function: Callable[[Any, Any, int], Any], cells: Array, places: Array, values: Array) -> Array:
    before = np.empty_like(values)
    for i, (place, value) in enumerate(zip(places, values, strict=True)):
        before[i] = cells[place]
        cells[place] = function(before[i], value, i)
    return before
