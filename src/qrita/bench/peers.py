"""Peers: others' functions, as `qrita check --subject` loads them, and what they are asked for in a job.

Where a peer does a part of the work only (k alone, or a softmax left out), its `about` says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qrita.bench.contenders import Contender, Setting, calling
from qrita.bench.jobs import Job
from qrita.bench.timing import Bound
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.loading import SubjectError, load

NAMES = ("torch-sort", "torch-topk", "vllm", "flashinfer")
"""What can be asked for. The last one is four contenders."""


@dataclass(frozen=True)
class Peers:
    """The peers that are here, their versions, and why the others are not."""

    contenders: tuple[Contender, ...]
    versions: Mapping[str, str]
    missing: Mapping[str, str]


def find(wanted: Mapping[str, str | None]) -> Peers:
    """Load peers.

    Args:
        wanted: names of `NAMES`, each with the folder or file that it is in, or None where it is installed.
    """
    contenders: list[Contender] = []
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name, path in wanted.items():
        try:
            implementation = load(name, path)
            assert isinstance(implementation, Implementation)
            contenders += _MADE[name](implementation)
            versions |= implementation.versions
        except (SubjectError, ImportError) as error:
            reason = str(error).removeprefix(f"{name!r}: ").partition(". Install it")[0]
            missing[name] = f"{reason}; `--peer {name}=PATH` names where it is" if path is None else reason
    return Peers(tuple(contenders), versions, missing)


def _dtypes(implementation: Implementation, job: Job) -> str:
    return "" if job.dtype in implementation.contract.dtypes else f"it takes no {job.dtype} logits"


def _needs_k(job: Job) -> str:
    return "" if job.k is not None else "it has no top-p"


def _sort(peer: Implementation) -> list[Contender]:
    def call(setting: Setting, number: int) -> Tensor:
        assert peer.mask is not None
        return peer.mask(setting.input(number), setting.job.k, setting.job.p)

    return [Contender("torch-sort", "peer", peer.about, lambda job: _dtypes(peer, job), calling(call))]


def _topk(peer: Implementation) -> list[Contender]:
    def call(setting: Setting, number: int) -> object:
        assert peer.candidates is not None
        return peer.candidates(setting.input(number), setting.job.k, None)

    about = f"{peer.about}: candidates, k alone, whatever p is"
    return [Contender("torch-topk", "peer", about, _needs_k, calling(call))]


def _vllm(peer: Implementation) -> list[Contender]:
    """It may write to its input, so it has inputs of its own, which get their bits back before every replay."""

    def bind(setting: Setting) -> Bound:
        assert peer.mask is not None
        mask, own = peer.mask, [logits.clone() for logits in setting.inputs]
        k, p = _per_row(setting)

        def restore() -> None:
            for mine, logits in zip(own, setting.inputs, strict=True):
                mine.copy_(logits)

        return Bound(lambda number: mask(own[number % len(own)], k, p), len(own), restore)

    return [Contender("vllm", "peer", f"{peer.about}, which may work in place", lambda job: _dtypes(peer, job), bind)]


def _per_row(setting: Setting) -> tuple[Tensor | None, Tensor | None]:
    job, device = setting.job, setting.inputs[0].device
    k = None if job.k is None else torch.full((job.rows,), job.k, dtype=torch.int32, device=device)
    p = None if job.p is None else torch.full((job.rows,), job.p, dtype=torch.float32, device=device)
    return k, p


def _flashinfer(peer: Implementation) -> list[Contender]:
    """The whole of the mask, and its bare kernels."""
    sampling: Any = importlib.import_module("flashinfer.sampling")
    topk: Any = importlib.import_module("flashinfer.topk")

    def mask(setting: Setting, number: int) -> Tensor:
        assert peer.mask is not None
        return peer.mask(setting.input(number), setting.job.k, setting.job.p)

    def renorm(setting: Setting) -> Bound:
        made = [logits.float().softmax(dim=-1) for logits in setting.inputs]
        return Bound(lambda number: sampling.top_p_renorm_probs(made[number % len(made)], setting.job.p), len(made))

    def inside(job: Job) -> str:
        return "" if job.k is None or job.k < job.vocab else "it takes no k of the vocabulary or more"

    def whole(job: Job) -> str:
        return inside(job) if job.p is not None else "without p it is flashinfer-top-k-mask"

    return [
        Contender("flashinfer", "peer", peer.about, whole, calling(mask)),
        Contender(
            "flashinfer-top-k-mask",
            "peer",
            "flashinfer.sampling.top_k_mask_logits(logits, k): k alone, whatever p is",
            lambda job: _needs_k(job) or inside(job),
            calling(lambda setting, number: sampling.top_k_mask_logits(setting.input(number), setting.job.k)),
        ),
        Contender(
            "flashinfer-top-k",
            "peer",
            "flashinfer.topk.top_k(logits, k) as it is by default: candidates, k alone, whatever p is",
            _needs_k,
            calling(lambda setting, number: topk.top_k(setting.input(number), setting.job.k)),
        ),
        Contender(
            "flashinfer-top-p-renorm",
            "peer",
            "flashinfer.sampling.top_p_renorm_probs(probabilities, p): the softmax before it is not timed",
            lambda job: "" if job.k is None else "it has no top-k",
            renorm,
        ),
    ]


_MADE: dict[str, Callable[[Implementation], list[Contender]]] = {
    "torch-sort": _sort,
    "torch-topk": _topk,
    "vllm": _vllm,
    "flashinfer": _flashinfer,
}
