"""Which engine answers a call. This is the only place that chooses."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from qrita.records import Candidates, Cuts, Problem


class Engine(Protocol):
    """An implementation of the semantics. Engines are given checked problems with rows and vocab of at least 1."""

    @property
    def name(self) -> str:
        """Short and stable: what `qrita check` prints and the tests select by."""

    def cuts(self, problem: Problem) -> Cuts:
        """The cut of every row, on the logits' device."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        """Write the masked logits into `out`, [rows, vocab], which is the logits' own view or disjoint from them."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        """The kept tokens in order, the first `max_candidates` of each row listed."""


def choose(problem: Problem) -> Engine:
    """The engine for a problem when the caller named none: by the device that holds the logits."""
    from qrita.torch_engine import TorchEngine

    if problem.logits.device.type == "cpu":
        return TorchEngine()
    raise NotImplementedError(
        f"logits on device {str(problem.logits.device)!r}: this version of qrita has an engine for CPU tensors only; "
        "move the logits with .cpu()"
    )
