"""The plain-torch engine: the semantics in vectorised eager torch, for CPU tensors, without Triton.

A row goes through order (ordered keys), select (its cut) and emit (mask or candidates). Every step is an integer
operation or a single fp32 operation rounded to nearest even, so the bits are those of every other engine. It runs
outside torch.compile, which may fuse a multiply with an add (the public functions see to that).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeVar

import torch
from torch import Tensor

from qrita import rounding
from qrita.records import NO_KEY, Candidates, Cuts, Problem

_BLOCK = 1 << 22
"""Logits worked on at a time: bounds the temporaries to about 150 MB, whatever the batch."""

_INELIGIBLE = -(2**31)
"""The signed key of NaN and -inf. The next one up, that of the lowest finite logit, is far above it."""

_INDEX_BITS = 0x7FFFFFFF

_Record = TypeVar("_Record", Cuts, Candidates)


# --- order ------------------------------------------------------------------------------------------------------


def widened_bits(logits: Tensor) -> Tensor:
    """int32, the fp32 bit patterns of the logits widened exactly; a bf16 value is the upper half of an fp32 one."""
    if logits.dtype is torch.float32:
        return logits.view(torch.int32)
    if logits.dtype is torch.bfloat16:
        return logits.view(torch.int16).int() << 16
    return logits.float().view(torch.int32)


def signed_keys(bits: Tensor) -> Tensor:
    """int32 keys that sort as the logits do: the unsigned ordered key of the semantics minus 2**31.

    A pattern with the sign bit clear is its own key; one with the sign bit set counts downwards, so its other 31
    bits flip. That would leave -0.0 (0x80000000) at -1, just below +0.0 at 0: it is mapped to 0.

        bits   0xff7fffff ... 0x80000001  0x80000000 0x00000000  0x00000001 ... 0x7f800000
        logit  -max           -tiny       -0.0       +0.0        +tiny          +inf
        key    0x80800000 ... 0xfffffffe  0          0           0x00000001 ... 0x7f800000
    """
    magnitude = bits & 0x7FFFFFFF
    keys = torch.where(bits < 0, -magnitude - 1, bits)
    keys = torch.where(magnitude == 0, 0, keys)
    ineligible = (magnitude > 0x7F800000) | (bits == -0x800000)  # NaN, or -inf (0xff800000)
    return torch.where(ineligible, _INELIGIBLE, keys)


def _value(keys: Tensor) -> Tensor:
    """fp32, the logit of a signed key (+0.0 for both zeros)."""
    return torch.where(keys < 0, (-keys - 1) | _INELIGIBLE, keys).view(torch.float32)


# --- weight -----------------------------------------------------------------------------------------------------


def weight_fraction(steps: Tensor) -> Tensor:
    """int64, y * 2**24 for a distance of int32 `steps` of 2**-23 binades: the table that rule 9 gives a checksum of."""
    f = (steps & 0x7FFFFF).float() * 2.0**-23
    q = f * float.fromhex("-0x1.ef66d2p-11")
    q = q + float.fromhex("0x1.2da7d6p-7")
    q = q * f
    q = q - float.fromhex("0x1.c4fef8p-5")
    q = q * f
    q = q + float.fromhex("0x1.ebe392p-3")
    q = q * f
    q = q - float.fromhex("0x1.62e3bcp-1")
    q = q * f
    q = q + 1.0
    return (q * 2.0**24).long()


def weight(d: Tensor) -> Tensor:
    """int64, W(d) of semantics rule 9 for fp32 `d` <= 0: 2**40 * exp(d) to 2.5e-6."""
    steps = (d.clamp(min=-28.0) * -12102203.0).int()
    return (weight_fraction(steps) << 16) >> (steps >> 23)


def _ranks(count: int, device: torch.device) -> Tensor:
    """int64, 0 .. count - 1; the device is named because the caller may have set another default."""
    return torch.arange(count, device=device)


# --- select -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Order:
    """The first tokens of each row in the order, [rows, depth], and what the row's cut is made from.

    `rank` is the cut as a rank: tokens 0 .. rank - 1 are kept.
    """

    keys: Tensor
    index: Tensor
    rank: Tensor
    mass: Tensor
    total: Tensor


def _top_k(problem: Problem) -> Tensor:
    """int64 [rows], the effective k: 1 .. vocab."""
    vocab = problem.vocab
    if problem.k is None or isinstance(problem.k, int):
        return torch.full((problem.rows,), problem.k or vocab, dtype=torch.int64, device=problem.logits.device)
    k = problem.k.long()
    return torch.where((k <= 0) | (k >= vocab), vocab, k)


def _top_p(problem: Problem) -> Tensor:
    """fp32 [rows], p rounded once; 1 where top-p is off."""
    if problem.p is None or isinstance(problem.p, float):
        value = 1.0 if problem.p is None else problem.p
        return torch.full((problem.rows,), value, dtype=torch.float32, device=problem.logits.device)
    p = problem.p.float()
    return torch.where(p < 1.0, p, 1.0)  # NaN is not below 1


def _target(p: Tensor, total: Tensor) -> Tensor:
    """int64, ceil(p * total) for fp32 0 < p < 1, exactly (semantics rule 8; no overflow for total <= 2**62)."""
    bits = p.view(torch.int32).long()
    exponent = bits >> 23
    mantissa = (bits & 0x7FFFFF) | ((exponent > 0).long() << 23)
    shift = (126 - exponent.clamp(min=1)).clamp(max=63)
    low = mantissa * (total & 0xFFFFFF)
    scaled = mantissa * (total >> 24) + (low >> 24) + ((low & 0xFFFFFF) != 0)
    return -((-scaled) >> shift)


def _select(logits: Tensor, k: Tensor, p: Tensor) -> _Order:
    """Order the first max(k) tokens of each row and find how many of them stay."""
    vocab, depth = logits.shape[1], int(k.max())
    keys = signed_keys(widened_bits(logits)).long()
    # One sortable integer a token, all distinct: the key above, the index counted downwards below it.
    composite = (keys << 32) | (_INDEX_BITS - _ranks(vocab, logits.device))
    if depth * 8 < vocab:
        ordered = composite.topk(depth, dim=1).values
    else:
        ordered = composite.sort(dim=1, descending=True).values[:, :depth]
    keys, index = (ordered >> 32).int(), _INDEX_BITS - (ordered & _INDEX_BITS).int()

    survives = (keys != _INELIGIBLE) & (_ranks(depth, logits.device) < k[:, None])
    value = _value(keys)
    d = torch.where(keys == keys[:, :1], 0.0, value - value[:, :1])
    weights = torch.where(survives, weight(d), 0)
    prefix = weights.cumsum(dim=1)
    total = prefix[:, -1].clone()  # a view would keep the whole of prefix alive

    survivors = survives.sum(dim=1)
    nucleus = (prefix - weights < _target(p, total)[:, None]).logical_and_(survives).sum(dim=1)
    nucleus = torch.where(p > 0.0, nucleus, survivors.clamp(max=1))
    rank = torch.where(p < 1.0, nucleus, survivors)
    mass = torch.where(rank > 0, prefix.gather(1, (rank - 1).clamp(min=0)[:, None])[:, 0], 0)
    return _Order(keys, index, rank, mass, total)


def _cuts(order: _Order) -> Cuts:
    last = (order.rank - 1).clamp(min=0)[:, None]
    keeps = order.rank > 0
    return Cuts(
        key=torch.where(keeps, order.keys.gather(1, last)[:, 0].long() + 2**31, NO_KEY),
        index=torch.where(keeps, order.index.gather(1, last)[:, 0], -1),
        count=order.rank.int(),
        mass=order.mass,
        total=order.total,
    )


# --- emit -------------------------------------------------------------------------------------------------------


def _emit_mask(logits: Tensor, cuts: Cuts, mask_value: float, out: Tensor) -> None:
    keys = signed_keys(widened_bits(logits))
    cut = (cuts.key - 2**31).int()[:, None]
    kept = (keys > cut) | ((keys == cut) & (_ranks(logits.shape[1], logits.device) <= cuts.index[:, None]))
    out.copy_(torch.where(kept | (logits == float("-inf")), logits, _fill(mask_value, logits)))


def _fill(mask_value: float, logits: Tensor) -> Tensor:
    """0-d, `mask_value` in the logits' dtype, by its bits: see `rounding.pattern`."""
    integer = torch.int32 if logits.dtype is torch.float32 else torch.int16
    bits = rounding.pattern(mask_value, logits.dtype)
    return torch.tensor(bits, dtype=integer, device=logits.device).view(logits.dtype)


def _emit_candidates(logits: Tensor, order: _Order, slots: int) -> Candidates:
    rows, depth, device = len(logits), min(slots, order.index.shape[1]), logits.device
    listed = _ranks(depth, device) < order.rank[:, None]
    indices = torch.full((rows, slots), -1, dtype=torch.int32, device=device)
    indices[:, :depth] = torch.where(listed, order.index[:, :depth], -1)
    values = torch.full((rows, slots), float("-inf"), dtype=logits.dtype, device=device)
    values[:, :depth] = torch.where(listed, logits.gather(1, order.index[:, :depth].long()), float("-inf"))
    return Candidates(indices, values, order.rank.int(), order.mass, order.total)


# --- the engine -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TorchEngine:
    """Exact on any machine that runs torch; the engine for CPU tensors."""

    name: str = "torch"

    def cuts(self, problem: Problem) -> Cuts:
        """The cut of every row."""
        return _concatenate([_cuts(order) for _, order in self._blocks(problem)])

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        """Write the masked logits into `out`; a block of rows is read whole before it is written."""
        for block, order in self._blocks(problem):
            _emit_mask(problem.logits[block], _cuts(order), mask_value, out[block])

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        """The kept tokens in order."""
        found = [
            _emit_candidates(problem.logits[block], order, max_candidates) for block, order in self._blocks(problem)
        ]
        return _concatenate(found)

    def describe(self, problem: Problem) -> str:
        """How a problem is answered."""
        return f"sort, {max(1, _BLOCK // problem.vocab)} rows at a time"

    @staticmethod
    def _blocks(problem: Problem) -> Iterator[tuple[slice, _Order]]:
        """Row blocks of bounded size, each with its rows ordered and selected."""
        k, p = _top_k(problem), _top_p(problem)
        step = max(1, _BLOCK // problem.vocab)
        for start in range(0, problem.rows, step):
            block = slice(start, start + step)
            yield block, _select(problem.logits[block], k[block], p[block])


def _concatenate(parts: list[_Record]) -> _Record:
    if len(parts) == 1:
        return parts[0]
    kind = type(parts[0])
    return kind(**{f.name: torch.cat([getattr(part, f.name) for part in parts]) for f in fields(kind)})
