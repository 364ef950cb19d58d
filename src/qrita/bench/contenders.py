"""What takes part in a job: the floors that memory sets, and our own functions. Peers are in `qrita.bench.peers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

import qrita
from qrita.bench.jobs import Job
from qrita.bench.timing import Bound

Kind = Literal["floor", "ours", "peer", "ablation"]


@dataclass(frozen=True)
class Setting:
    """A job with its inputs on a device.

    Attributes:
        inputs: the rows, several times, each time others.
        outs: as many outputs as calls may take turns to write.
    """

    job: Job
    inputs: tuple[Tensor, ...]
    outs: tuple[Tensor, ...]

    def input(self, number: int) -> Tensor:
        """The rows of a call."""
        return self.inputs[number % len(self.inputs)]

    def out(self, number: int) -> Tensor:
        """Where a call writes."""
        return self.outs[number % len(self.outs)]


@dataclass(frozen=True)
class Contender:
    """Something that is timed.

    Attributes:
        name: short; results know it by that.
        kind: "floor", "ours", "peer", or "ablation", which is ours with a part exchanged.
        about: what is called, in words.
        takes: why it has no part in a job; "" where it has.
        bind: makes it ready for a setting.
    """

    name: str
    kind: Kind
    about: str
    takes: Callable[[Job], str]
    bind: Callable[[Setting], Bound]


def calling(call: Callable[[Setting, int], object]) -> Callable[[Setting], Bound]:
    """The `bind` of what needs nothing prepared."""
    return lambda setting: Bound(lambda number: call(setting, number), len(setting.inputs))


def always(job: Job) -> str:
    """It has a part in every job."""
    return ""


def _copy(setting: Setting, number: int) -> Tensor:
    return setting.out(number).copy_(setting.input(number))


def _fill(setting: Setting, number: int) -> Tensor:
    return setting.out(number).fill_(-float("inf"))


def _read(setting: Setting, number: int) -> Tensor:
    return torch.amax(setting.input(number))


def _mask(setting: Setting, number: int) -> Tensor:
    job = setting.job
    return qrita.top_k_top_p(setting.input(number), job.k, job.p, out=setting.out(number))


def _candidates(setting: Setting, number: int) -> object:
    job = setting.job
    return qrita.candidates(setting.input(number), job.k, job.p)


FLOORS = (
    Contender("copy", "floor", "out.copy_(logits): every logit read and written once", always, calling(_copy)),
    Contender("read", "floor", "torch.amax(logits): every logit read once", always, calling(_read)),
    Contender("fill", "floor", "out.fill_(-inf): every logit written once", always, calling(_fill)),
)
OURS = (
    Contender("mask", "ours", "qrita.top_k_top_p(logits, k, p, out=out)", always, calling(_mask)),
    Contender(
        "candidates",
        "ours",
        "qrita.candidates(logits, k, p)",
        lambda job: "" if job.k is not None else "without k the list would be as long as the vocabulary",
        calling(_candidates),
    ),
)
