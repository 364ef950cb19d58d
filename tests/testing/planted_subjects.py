"""Foreign subjects with one fault each, and some without: what the worker is given to load."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from qrita.testing.foreign.contract import Contract
from qrita.testing.foreign.peers import sorted_mask

INF = float("inf")

PLAIN = Contract(ties="lowest index first", tensors=True)
"""float32, contiguous, k then p: what most of the faulty ones promise."""


def right(logits: Tensor, k: int | None, p: float | None) -> Tensor:
    """No fault, and no contract: it is held to the least."""
    return sorted_mask(logits, k, p)


class Masks:
    """What the faulty ones have in common."""

    contract = PLAIN

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, k, p)


class Hangs(Masks):
    """Whenever a row has 7 tokens."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        while logits.shape[-1] == 7:
            time.sleep(0.01)
        return sorted_mask(logits, k, p)


class HangsWhenWarmed(Masks):
    """Whenever a row has as many tokens as those of a warm-up."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        while logits.shape[-1] == 4096:
            time.sleep(0.01)
        return sorted_mask(logits, k, p)


class HangsOnce(Masks):
    """The first time that a row has 7 tokens, which the file tells a later process."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        once = Path(os.environ["PLANTED_ONCE"])
        if logits.shape[-1] == 7 and not once.exists():
            once.touch()
            time.sleep(1000)
        return sorted_mask(logits, k, p)


class Aborts(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        if logits.shape[-1] == 7:
            print("out of patience", file=sys.stderr, flush=True)
            os.abort()
        return sorted_mask(logits, k, p)


class Exits(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        if logits.shape[-1] == 7:
            sys.exit("enough")
        return sorted_mask(logits, k, p)


class Raises(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        if logits.shape[-1] == 7:
            raise RuntimeError("no kernel for 7")
        return sorted_mask(logits, k, p)


class ChangesInput(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return logits.copy_(sorted_mask(logits, k, p))


class ChangesK(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        masked = sorted_mask(logits, k, p)
        if isinstance(k, Tensor):
            k += 1
        return masked


class InPlace(Masks):
    """Writes over its input, and says so."""

    contract = Contract(outputs=("mask in place",), ties="lowest index first", tensors=True, strides="any")

    def mask_in_place(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return logits.copy_(sorted_mask(logits, k, p))


class WritesPastTheRow(InPlace):
    def mask_in_place(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        end = logits.storage_offset() + (len(logits) - 1) * logits.stride(0) + logits.shape[1] * logits.stride(1)
        if end < logits.untyped_storage().nbytes() // logits.element_size():
            logits.as_strided((1,), (1,), end).fill_(0.0)
        return super().mask_in_place(logits, k, p)


class ReturnsDoubles(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, k, p).double()


class ReturnsOneRow(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, k, p)[0]


class ReturnsNothing(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return None  # type: ignore[return-value]


class IgnoresP(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, k, None)


class OneMore(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, None if k is None else k + 1, p)


class NarrowK(Masks):
    """k is narrowed to 8 bits on its way."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        if isinstance(k, Tensor):
            k = k.to(torch.int8).int()
        elif k is not None:
            k = (k + 128) % 256 - 128
        return sorted_mask(logits, k, p)


class NeighboursK(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, k.roll(1) if isinstance(k, Tensor) else k, p)


class KAndPApart(Masks):
    """Top-p of the whole row, where top-k's survivors are meant."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        by_k, by_p = sorted_mask(logits, k, None), sorted_mask(logits, None, p)
        return by_k.where(by_p > -INF, -INF)


def _at_least(logits: Tensor, k: int | Tensor | None, p: float | Tensor | None, tolerance: float) -> Tensor:
    """All that is not below the last kept logit by more than a tolerance."""
    masked = sorted_mask(logits, k, p)
    least = masked.masked_fill(masked == -INF, INF).min(dim=-1, keepdim=True).values
    return logits.masked_fill(logits < least - tolerance, -INF)


class KeepsAllTies(Masks):
    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return _at_least(logits, k, p, 0.0)


class KeepsAllTiesAndSaysSo(KeepsAllTies):
    contract = Contract(ties="any number of them", tensors=True)


class FloatTies(KeepsAllTiesAndSaysSo):
    """What is within 1e-3 of the last kept logit counts as equal to it."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return _at_least(logits, k, p, 1e-3)


class LastTies(Masks):
    """Of equal logits the last: wrong by its contract."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits.flip(-1), k, p).flip(-1)


class AnyTies(LastTies):
    """The same, by its contract allowed."""

    contract = Contract(ties="any of them", tensors=True)


class KeepsNan(Masks):
    """Wrong only if NaN is promised."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return torch.where(logits.isnan(), logits, sorted_mask(logits.masked_fill(logits.isnan(), -INF), k, p))


class ChangesBits(Masks):
    """Arithmetic on what is kept: -0.0 becomes 0.0."""

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        return sorted_mask(logits, k, p) + 0.0


class Fills(Masks):
    """Takes a value for what is removed."""

    contract = Contract(outputs=("mask", "mask_value"), ties="lowest index first", tensors=True)

    def mask(
        self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None, mask_value: float = -INF
    ) -> Tensor:
        masked = sorted_mask(logits, k, p)
        return masked.masked_fill(masked == -INF, mask_value)


class FillsWithAnother(Fills):
    def mask(
        self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None, mask_value: float = -INF
    ) -> Tensor:
        return super().mask(logits, k, p, mask_value=mask_value + 1.0)


class FillsTooMuch(Fills):
    """With a value, one token fewer is kept."""

    def mask(
        self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None, mask_value: float = -INF
    ) -> Tensor:
        k = k - 1 if isinstance(k, int) and k > 1 and mask_value != -INF else k
        return super().mask(logits, k, p, mask_value=mask_value)


class Forgets(Masks):
    """Answers otherwise every second time."""

    calls = 0

    def mask(self, logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        Forgets.calls += 1
        return sorted_mask(logits, k, p) if Forgets.calls % 2 else KeepsAllTies().mask(logits, k, p)


class Listing:
    """torch.topk."""

    contract = Contract(outputs=("candidates",), order="k alone", ties="any of them", sorted=True, strides="any")

    def candidates(self, logits: Tensor, k: int | None, p: None) -> tuple[Tensor, Tensor]:
        found = logits.topk(logits.shape[-1] if k is None else k)
        return found.values, found.indices


class ListingUnsorted(Listing):
    def candidates(self, logits: Tensor, k: int | None, p: None) -> tuple[Tensor, Tensor]:
        values, indices = super().candidates(logits, k, p)
        return values.flip(-1), indices.flip(-1)


class ListingTwice(Listing):
    """The last token stands there twice."""

    def candidates(self, logits: Tensor, k: int | None, p: None) -> tuple[Tensor, Tensor]:
        values, indices = super().candidates(logits, k, p)
        return torch.cat((values, values[:, -1:]), -1), torch.cat((indices, indices[:, -1:]), -1)


class ListingOneFloat(Listing):
    """Indices in floating point."""

    def candidates(self, logits: Tensor, k: int | None, p: None) -> tuple[Tensor, Tensor]:
        values, indices = super().candidates(logits, k, p)
        return values, indices.float()


class NoContractNoFunction:
    """Neither callable nor an implementation."""


class WrongContract(Masks):
    contract = "all of it"


class PromisesWhatItLacks(Masks):
    contract = Contract(outputs=("candidates",))
