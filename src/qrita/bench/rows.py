"""The rows that are measured: fresh for every job, the same bits in every run on the same card and torch."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import torch
from torch import Tensor

from qrita.bench.jobs import Job
from qrita.testing import formats, real

OUTLIER, MASKED = 1e30, -1e9


class NoRowsError(ValueError):
    """The family has no such rows."""


def make(job: Job, device: torch.device | str, number: int) -> Tensor:
    """[rows, vocab], the input of that number: other rows than those of every other number.

    Raises:
        NoRowsError: the dtype cannot hold what the family needs.
    """
    if job.family == "real":
        return _real(job, device, number)
    stream = torch.Generator(device)
    stream.manual_seed(crc32(f"{job} {number}".encode()))
    normal = torch.randn((job.rows, job.vocab), generator=stream, device=device)
    made = _FAMILIES[job.family](normal)
    made = made.to(getattr(torch, job.dtype))
    if job.dtype == "float16" and bool(made.isinf().any()):
        raise NoRowsError(f"float16 cannot hold the numbers of the family {job.family!r}")
    return made


def _real(job: Job, device: torch.device | str, number: int) -> Tensor:
    """The rows that travel with the package, over and over; each input starts with another one."""
    found = [formats.tensor(real.scaled(bits, job.dtype, 1.0), job.dtype) for _, bits in real.rows()]
    some = torch.stack([row.reshape(-1) for row in found]).to(device)
    order = (torch.arange(job.rows, device=device) + number) % len(found)
    return some[order]


def _equal(normal: Tensor) -> Tensor:
    return normal.fill_(1.0)


def _two_values(normal: Tensor) -> Tensor:
    return (normal > 0).float()


def _outlier(normal: Tensor) -> Tensor:
    normal[:, normal.shape[1] // 3] = OUTLIER
    return normal


def _half_masked(normal: Tensor) -> Tensor:
    normal[:, ::2] = MASKED
    return normal


_FAMILIES: dict[str, Callable[[Tensor], Tensor]] = {
    "normal": lambda normal: normal,
    "equal": _equal,
    "two values": _two_values,
    "outlier": _outlier,
    "half masked": _half_masked,
}
