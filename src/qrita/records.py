"""The records that travel between the stages and to the user."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

NO_KEY = 0xFFFFFFFF
"""The cut key of a row that keeps nothing: above the key of every eligible logit."""


@dataclass(frozen=True)
class Problem:
    """One checked call. Whoever holds a Problem may rely on everything said here.

    Attributes:
        logits: [rows, vocab], fp32, bf16 or fp16, any strides, detached; neither rows nor vocab need be positive.
        k: an int in 1 .. vocab - 1; or an int32 / int64 tensor [rows] on the logits' device, any values; None: off.
        p: a float < 1 that fp32 represents exactly; or a floating tensor [rows] on the logits' device, any values;
            None: off.
    """

    logits: Tensor
    k: int | Tensor | None
    p: float | Tensor | None

    @property
    def rows(self) -> int:
        return self.logits.shape[0]

    @property
    def vocab(self) -> int:
        return self.logits.shape[1]


@dataclass(frozen=True, eq=False)  # tensors have no truth value to compare by
class Cuts:
    """Where each row is cut: token i is kept iff (key_i, i) does not come after (key, index) in the order.

    Two implementations agree on a row iff these five integers agree.

    Attributes:
        key: int64 [rows], the ordered key of the last kept token, 0 .. 2**32 - 1; `NO_KEY` where nothing is kept.
        index: int32 [rows], the index of the last kept token; -1 where nothing is kept.
        count: int32 [rows], how many tokens are kept.
        mass: int64 [rows], the sum of the kept tokens' weights.
        total: int64 [rows], Z, the sum of the weights of what top-k left.
    """

    key: Tensor
    index: Tensor
    count: Tensor
    mass: Tensor
    total: Tensor


@dataclass(frozen=True, eq=False)
class Candidates:
    """The kept tokens of each row, greatest logit first, equal logits by lowest index.

    With 1-D logits the two listings are [max_candidates] and the per-row tensors are [1].

    Attributes:
        indices: int32 [rows, max_candidates], token indices; -1 past the kept ones.
        logits: [rows, max_candidates] in the dtype of the input, its bits kept; -inf past the kept ones.
        counts: int32 [rows], the true number of kept tokens, also where it exceeds max_candidates and only the first
            max_candidates are listed.
        mass: int64 [rows], the sum of the kept tokens' weights, in units of 2**-40 of the weight of the row's maximum.
        total: int64 [rows], the same sum over what top-k left (over every eligible token where top-k is off).

    The log-probability of a listed token among the kept ones is `logit - max_logit - log(mass * 2**-40)`, and among
    what top-k left the same with `total`; `log_probs` computes the first.
    """

    indices: Tensor
    logits: Tensor
    counts: Tensor
    mass: Tensor
    total: Tensor

    def log_probs(self) -> Tensor:
        """fp64, shaped as `logits`: the log-probability of each listed token among the kept; -inf past the listed.

        A convenience in floating point. It takes no part in deciding a set, and devices may differ in its last bits.
        """
        logits = self.logits.double().reshape(len(self.counts), self.logits.shape[-1])
        shifted = (logits - logits[:, :1]).masked_fill(logits == logits[:, :1], 0.0)  # inf - inf is 0 here
        log_mass = (self.mass.double() * 2.0**-40).log()
        listed = self.indices.reshape(logits.shape) >= 0
        return (shifted - log_mass[:, None]).masked_fill(~listed, float("-inf")).reshape(self.logits.shape)
