"""Lists of candidates: from the cuts of all rows to their kept tokens, gathered and put into order."""

from __future__ import annotations

import torch
from torch import Tensor

from qrita import device as devices
from qrita import passing
from qrita import plan as plans
from qrita.kernels import emit, select
from qrita.plan import Plan
from qrita.records import Problem

NOWHERE = torch.iinfo(torch.int64).min
"""A place after that of every token."""

BLOCK, OTHERS = 64, 32
"""Slots that a program of the list kernel puts into order, and those that it counts them against at a time."""


def earlier(cuts: Tensor, others: Tensor) -> Tensor:
    """Of two cuts of every row, int32 [fields, rows], the one that comes first in the order."""
    key, index = select.CUT_KEY.value, select.CUT_INDEX.value
    first = (cuts[key] > others[key]) | ((cuts[key] == others[key]) & (cuts[index] <= others[index]))
    return torch.where(first, cuts, others)


def gathered(problem: Problem, plan: Plan, cuts: Tensor, slots: int) -> Tensor:
    """int64 [rows, slots], the places (`kernels.order`) of the tokens up to each row's cut, in no order.

    Past them NOWHERE, where the list is too long to order in a kernel; else nothing that may be read.
    """
    logits, rows = problem.logits, problem.rows
    listing = torch.empty((rows, slots), dtype=torch.int64, device=logits.device)
    if slots > plans.LIST_IN_KERNEL:
        listing.fill_(NOWHERE)
    held = torch.zeros((rows,), dtype=torch.int32, device=logits.device)
    emit.kept_kernel[(rows * plan.splits,)](
        *passing.strided(logits), cuts, held, listing, rows, problem.vocab, plan.splits, slots,
        **passing.shape(logits), **devices.of(logits.device).all_registers(plan.warps), TILE=plan.tile,
        num_warps=plan.warps,
    )  # fmt: skip
    return listing


def ordered(problem: Problem, plan: Plan, cuts: Tensor, listing: Tensor) -> tuple[Tensor, Tensor]:
    """Indices and logits [rows, slots] in order, of a listing in any; -1 and -inf past the tokens that are kept."""
    logits, (rows, slots) = problem.logits, listing.shape
    indices = torch.empty((rows, slots), dtype=torch.int32, device=logits.device)
    values = torch.empty((rows, slots), dtype=logits.dtype, device=logits.device)
    long = slots > plans.LIST_IN_KERNEL
    if long:
        listing = listing[:, : problem.vocab].sort(dim=1, descending=True).values
    blocks = -(-slots // BLOCK)
    emit.list_kernel[(rows * blocks,)](
        *passing.strided(logits), cuts, listing, listing.stride(0), indices,
        values.view(passing.WORDS[logits.dtype]), rows, problem.vocab, slots, blocks, int(long),
        **passing.shape(logits), BLOCK=BLOCK, OTHERS=OTHERS, num_warps=plan.warps,
    )  # fmt: skip
    return indices, values
