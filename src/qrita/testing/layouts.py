"""Ways to lay rows out in memory. Each gives the memory and the view of it that holds the rows, on a device.

What surrounds the rows is filled with the greatest finite logit, which would be kept if it were read, and shows if it
is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from qrita.testing import formats
from qrita.testing.formats import INFINITY, Raw

Place = Callable[[int, int], tuple[int, Callable[[Tensor], Tensor]]]
"""(rows, vocab) -> how many elements of memory, and the view [rows, vocab] of a flat tensor of them."""


@dataclass(frozen=True)
class Layout:
    """A name, and where the rows lie."""

    name: str
    place: Place

    def empty(self, rows: int, vocab: int, dtype: str) -> tuple[Tensor, Tensor]:
        """Memory filled with the greatest finite logit, on the CPU, and the view of it."""
        count, view = self.place(rows, vocab)
        base = formats.tensor(np.full(count, formats.patterns(INFINITY[dtype] - 1, dtype)), dtype)
        return base, view(base)

    def hold(self, rows: Raw, dtype: str) -> Tensor:
        """Flat memory on the CPU in which the rows lie; `view` finds them in it, also after it has moved."""
        base, view = self.empty(len(rows), rows.shape[1], dtype)
        view.copy_(formats.tensor(rows, dtype))
        return base

    def view(self, base: Tensor, rows: int, vocab: int) -> Tensor:
        """The rows [rows, vocab] in memory made by `hold`."""
        return self.place(rows, vocab)[1](base)


def _contiguous(rows: int, vocab: int) -> tuple[int, Callable[[Tensor], Tensor]]:
    return rows * vocab, lambda base: base.view(rows, vocab)


def _padded(rows: int, vocab: int) -> tuple[int, Callable[[Tensor], Tensor]]:
    """`padded[:, :vocab]`, as a vocabulary padded to a round number leaves it."""
    return rows * (vocab + 7), lambda base: base.view(rows, vocab + 7)[:, :vocab]


def _columns(rows: int, vocab: int) -> tuple[int, Callable[[Tensor], Tensor]]:
    """Every other column."""
    return rows * 2 * vocab, lambda base: base.view(rows, 2 * vocab)[:, ::2]


def _transposed(rows: int, vocab: int) -> tuple[int, Callable[[Tensor], Tensor]]:
    return rows * vocab, lambda base: base.view(vocab, rows).T


def _misaligned(rows: int, vocab: int) -> tuple[int, Callable[[Tensor], Tensor]]:
    """One element into the memory: no wider alignment than the element's own."""
    return rows * vocab + 3, lambda base: base[1 : 1 + rows * vocab].view(rows, vocab)


def _spaced(rows: int, vocab: int) -> tuple[int, Callable[[Tensor], Tensor]]:
    """Every other row."""
    return rows * 2 * vocab, lambda base: base.view(rows, 2, vocab)[:, 1]


LAYOUTS = (
    Layout("contiguous", _contiguous),
    Layout("padded[:, :V]", _padded),
    Layout("columns[:, ::2]", _columns),
    Layout("transposed", _transposed),
    Layout("one element into the memory", _misaligned),
    Layout("every other row", _spaced),
)
"""Rows that do not share memory: usable in place."""
