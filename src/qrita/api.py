"""The public functions. Arguments become a checked problem, an engine answers it, the answer takes the caller's shape.

Each public function has a twin with a leading underscore that takes the engine as an argument; the property suite
drives those, so that the code under test is the code that users call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, SupportsFloat, SupportsIndex, TypeVar

import torch
from torch import Tensor

from qrita import arguments, engines
from qrita.engines import Engine
from qrita.records import NO_KEY, Candidates, Cuts, Problem

_INF = float("inf")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _outside_compile(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make torch.compile break its graph here and call `function` as it is: compiled, it might fuse (rule 12).

    `torch.compiler.disable` as the decorator would import the compiler, a second's work, into every program.
    """

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if torch.compiler.is_dynamo_compiling():
            return torch.compiler.disable(function)(*args, **kwargs)  # type: ignore[no-any-return,no-untyped-call]
        return function(*args, **kwargs)

    return call


@_outside_compile
def top_k_top_p(
    logits: Tensor,
    k: SupportsIndex | Tensor | None = None,
    p: SupportsFloat | Tensor | None = None,
    *,
    mask_value: SupportsFloat = -_INF,
    out: Tensor | None = None,
) -> Tensor:
    """Truncate logits by top-k, then by top-p: what is kept keeps its bits, everything else becomes `mask_value`.

    The kept set is exact and a pure function of the bits of a row, its k and its p. It is the same on every device,
    for every batch size and in every run: docs/semantics.md defines it (rules 0 to 14).

    Args:
        logits: [vocab] or [batch, vocab], float32, bfloat16 or float16, on a CPU or GPU, any strides,
            vocab <= 2**22. NaN and -inf are never kept. Not modified unless it is also `out`.
        k: keep the k greatest logits, equal ones by lowest index. An int, or an int32 / int64 tensor [batch] on the
            logits' device. None, k <= 0 and k >= vocab switch top-k off.
        p: keep the shortest prefix, greatest first, of what top-k left whose probability reaches p. A number, or a
            float32 / float64 / bfloat16 / float16 tensor [batch] on the logits' device; it is rounded once to
            float32. None and p >= 1 (in a tensor also NaN) switch top-p off; p <= 0 keeps one token.
        mask_value: what removed positions become, rounded to the logits' dtype; a removed -inf stays -inf.
        out: where to write: same shape, dtype and device as logits, and either the very same view or disjoint
            from logits, k and p.

    Returns:
        `out`, or a fresh contiguous tensor of the logits' shape and dtype, detached from autograd.

    Raises:
        TypeError: an argument has the wrong type or dtype.
        ValueError: an argument has the wrong shape, value, device or memory. Nothing has been written.
    """
    return _top_k_top_p(logits, k, p, mask_value=mask_value, out=out)


@_outside_compile
def top_k_top_p_(
    logits: Tensor,
    k: SupportsIndex | Tensor | None = None,
    p: SupportsFloat | Tensor | None = None,
    *,
    mask_value: SupportsFloat = -_INF,
) -> Tensor:
    """`top_k_top_p` in place: overwrite `logits` and return it (docs/semantics.md, rules 0 to 14).

    Args:
        logits: [vocab] or [batch, vocab], float32, bfloat16 or float16, any strides that let no two elements share
            memory.
        k: as in `top_k_top_p`.
        p: as in `top_k_top_p`.
        mask_value: as in `top_k_top_p`.

    Returns:
        `logits` itself.

    Raises:
        TypeError, ValueError: as in `top_k_top_p`; also where elements of `logits` share memory (an expanded tensor),
            since one row would overwrite another, or share it with k or p. Nothing has been written.
    """
    return _top_k_top_p(logits, k, p, mask_value=mask_value, in_place=True)


@_outside_compile
def candidates(
    logits: Tensor,
    k: SupportsIndex | Tensor | None = None,
    p: SupportsFloat | Tensor | None = None,
    *,
    max_candidates: int | None = None,
) -> Candidates:
    """List the kept tokens instead of masking the others: indices, logits, counts and exact masses.

    The kept set is that of `top_k_top_p` with the same logits, k and p (docs/semantics.md, rules 0 to 12 and 15).

    Args:
        logits: as in `top_k_top_p`.
        k: as in `top_k_top_p`.
        p: as in `top_k_top_p`.
        max_candidates: how many slots a row has, 1 .. 2**22. Defaults to k where k is an int of at least 1;
            required otherwise.

    Returns:
        A `Candidates` record on the logits' device. `counts` holds the true number of kept tokens, also where it
        exceeds max_candidates and only the first are listed.

    Raises:
        TypeError, ValueError: as in `top_k_top_p`; also a missing or impossible max_candidates.
    """
    return _candidates(logits, k, p, max_candidates=max_candidates)


def warmup(device: torch.device | str, dtype: torch.dtype = torch.float32) -> None:
    """Compile every kernel that logits of `dtype` on `device` can need, so that no later call compiles.

    Neither a batch size, a vocabulary, a stride, nor the values and dtypes of k and p lead to a kernel that this does
    not cover. Call it once a process, device and dtype before serving, and before capturing a graph. On a CPU there is
    nothing to compile, and it returns at once.

    Args:
        device: where the logits will be, for example "cuda" or "cuda:1".
        dtype: float32, bfloat16 or float16.

    Raises:
        TypeError: dtype is none of the three.
        ValueError: device is neither a CPU nor a GPU.
        RuntimeError: the GPU or Triton is missing; the message says what to do.
    """
    where = arguments.device(device)
    arguments.logits_dtype(dtype)
    engines.warm(where, dtype)


def _top_k_top_p(
    logits: Tensor,
    k: SupportsIndex | Tensor | None,
    p: SupportsFloat | Tensor | None,
    *,
    mask_value: SupportsFloat = -_INF,
    out: Tensor | None = None,
    in_place: bool = False,
    engine: Engine | None = None,
) -> Tensor:
    problem = arguments.problem(logits, k, p)
    fill = arguments.mask_value(mask_value, problem.logits.dtype)
    target = logits if in_place else out
    if target is None:
        result = torch.empty(logits.shape, dtype=logits.dtype, device=logits.device)
    else:
        result = arguments.destination(target, logits, k, p, name="logits" if in_place else "out")
    if problem.logits.numel():
        rows = result.detach() if result.ndim == 2 else result.detach()[None]
        (engine or engines.choose(problem)).mask(problem, fill, rows)
    return result


def _candidates(
    logits: Tensor,
    k: SupportsIndex | Tensor | None,
    p: SupportsFloat | Tensor | None,
    *,
    max_candidates: int | None = None,
    engine: Engine | None = None,
) -> Candidates:
    problem = arguments.problem(logits, k, p)
    slots = arguments.max_candidates(max_candidates, k)
    if problem.logits.numel():
        found = (engine or engines.choose(problem)).candidates(problem, slots)
    else:
        found = _no_candidates(problem, slots)
    if logits.ndim == 2:
        return found
    return Candidates(found.indices[0], found.logits[0], found.counts, found.mass, found.total)


def _cuts(
    logits: Tensor, k: SupportsIndex | Tensor | None, p: SupportsFloat | Tensor | None, *, engine: Engine | None = None
) -> Cuts:
    problem = arguments.problem(logits, k, p)
    if problem.logits.numel():
        return (engine or engines.choose(problem)).cuts(problem)
    none = _no_candidates(problem, 1)
    return Cuts(torch.full_like(none.mass, NO_KEY), none.counts - 1, none.counts, none.mass, none.total)


def _no_candidates(problem: Problem, slots: int) -> Candidates:
    """The answer for an empty batch or an empty vocabulary: every row keeps nothing."""
    logits, rows = problem.logits, problem.rows
    zeros = torch.zeros(rows, dtype=torch.int64, device=logits.device)
    return Candidates(
        indices=torch.full((rows, slots), -1, dtype=torch.int32, device=logits.device),
        logits=torch.full((rows, slots), -_INF, dtype=logits.dtype, device=logits.device),
        counts=zeros.int(),
        mass=zeros,
        total=zeros.clone(),
    )
