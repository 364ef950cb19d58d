"""The oracle against the definition once more, on tiny rows: exact fractions and Python's sort, one token at a time.

Every number here is a Fraction or an int; the one rounding is qrita.rounding.nearest, which test_rounding.py checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, isinf

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from qrita import reference, torch_engine
from qrita.rounding import nearest

INFINITY, NEGATIVE_INFINITY, NAN, NEGATIVE_ZERO = 0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000
ONE_ULP_BELOW_1 = Fraction(1) - Fraction(1, 2**24)


# --- the definition ---------------------------------------------------------------------------------------------


def fp32(value: Fraction) -> Fraction | float:
    """Rounded once to fp32: a Fraction, or an infinity."""
    rounded = nearest(value, torch.float32)
    return rounded if isinf(rounded) else Fraction(rounded)


def value(pattern: int) -> Fraction | float | None:
    """What an fp32 pattern stands for: a Fraction, an infinity, or None for NaN."""
    sign, exponent, fraction = pattern >> 31, pattern >> 23 & 0xFF, pattern & 0x7FFFFF
    if exponent == 0xFF:
        return None if fraction else (-inf if sign else inf)
    magnitude = Fraction(fraction | (0x800000 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 150)
    return -magnitude if sign else magnitude


def weight(d: Fraction | float) -> int:
    """Rule 9, line by line."""
    d = max(d, Fraction(-28))
    steps = int(fp32(d * -12102203))
    n, f = steps >> 23, Fraction(steps & 0x7FFFFF, 2**23)
    q = Fraction(float.fromhex("-0x1.ef66d2p-11"))
    for c in ("0x1.2da7d6p-7", "-0x1.c4fef8p-5", "0x1.ebe392p-3", "-0x1.62e3bcp-1", "1.0"):
        q = fp32(fp32(q * f) + Fraction(float.fromhex(c)))
    scaled = q * 2**24
    assert scaled.denominator == 1
    return int(scaled) << 16 >> n


@dataclass
class Expected:
    kept: list[int]
    mass: int
    total: int


def truncate(patterns: list[int], k: int | None, p: Fraction | None) -> Expected:
    """Rules 4 to 8 and 16."""
    values = [value(pattern) for pattern in patterns]
    eligible = [i for i, v in enumerate(values) if v is not None and v != -inf]
    order = sorted(eligible, key=lambda i: (-values[i], i))
    if k is not None and 0 < k < len(patterns):
        order = order[:k]
    if not order:
        return Expected([], 0, 0)
    top = values[order[0]]
    weights = [weight(Fraction(0)) if values[i] == top else weight(below(values[i], top)) for i in order]
    total = sum(weights)
    count = len(order)
    if p is not None and p < 1:
        target = ceil(max(p, Fraction(0)) * total)
        count = next(n for n in range(1, len(order) + 1) if sum(weights[:n]) >= target)
    return Expected(order[:count], sum(weights[:count]), total)


def below(logit: Fraction, top: Fraction | float) -> Fraction | float:
    return -inf if top == inf else fp32(logit - top)


# --- rows -------------------------------------------------------------------------------------------------------

zeros_and_subnormals = [0, NEGATIVE_ZERO, 1, 2, 0x80000001, 0x007FFFFF, 0x00800000, 0x807FFFFF]
ones_and_extremes = [0x3F800000, 0x3F800001, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x41E00000, 0xC1E00000]
not_finite = [INFINITY, NEGATIVE_INFINITY, NAN, 0xFFC00001, 0x7F800001]
palette = st.sampled_from([*zeros_and_subnormals, *ones_and_extremes, *not_finite])
near_one = st.integers(0x3F7FFFF0, 0x3F800010)
ordinary = st.integers(-(2**13), 2**13).map(lambda n: int(np.float32(n / 512).view(np.uint32)))
patterns = st.lists(palette | near_one | ordinary | st.integers(0, 2**32 - 1), min_size=1, max_size=12)
ks = st.none() | st.integers(-2, 14) | st.sampled_from([2**31, 2**32 + 5, -(2**40)])
p_patterns = st.integers(0, 0x3F800000) | st.integers(0x3F000000, 0x3F800000) | st.sampled_from([0, 1, 0x3F7FFFFF])
ps = st.none() | p_patterns.map(value) | st.sampled_from([Fraction(-1), Fraction(3, 2), Fraction(1, 2), Fraction(1, 4)])


@given(patterns=patterns, k=ks, p=ps)
@example(patterns=[0, NEGATIVE_ZERO, 1], k=2, p=None)
@example(patterns=[0x3F800000] * 8, k=None, p=Fraction(1, 2))
@example(patterns=[INFINITY, INFINITY, 0x7F7FFFFF], k=None, p=Fraction(1, 2))
@example(patterns=[0x7F7FFFFF, 0xFF7FFFFF], k=None, p=ONE_ULP_BELOW_1)
@example(patterns=[NAN, NEGATIVE_INFINITY], k=1, p=Fraction(1, 2))
def test_rows_against_the_definition(patterns: list[int], k: int | None, p: Fraction | None) -> None:
    answer = reference.row(np.array(patterns, np.uint32), k, None if p is None else float(p))
    expected = truncate(patterns, k, p)
    assert answer.kept.tolist() == expected.kept
    assert (sum(answer.weights.tolist()), answer.total) == (expected.mass, expected.total)
    assert (answer.cut.count, answer.cut.mass, answer.cut.total) == (len(expected.kept), expected.mass, expected.total)
    assert np.flatnonzero(reference.kept(answer)).tolist() == sorted(expected.kept)


@given(patterns=patterns, k=ks, share=st.integers(1, 12), side=st.sampled_from([-1, 0, 1]))
def test_rows_with_p_beside_the_mass_of_a_prefix(patterns: list[int], k: int | None, share: int, side: int) -> None:
    """p is the fp32 nearest to a prefix's share of the total, or a neighbour of it: where a cut is decided."""
    everything = truncate(patterns, k, None)
    if not everything.total:
        return
    weights = reference.row(np.array(patterns, np.uint32), k, None).weights.tolist()
    near = fp32(Fraction(sum(weights[:share]), everything.total))
    p = value(int(np.float32(float(near)).view(np.uint32)) + side)
    answer = reference.row(np.array(patterns, np.uint32), k, float(p))
    assert answer.kept.tolist() == truncate(patterns, k, p).kept


def test_p_that_is_nan_switches_top_p_off() -> None:
    row = np.zeros(4, np.uint32)
    assert reference.row(row, None, float("nan")).kept.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("p", [None, 0.0, 0.5])
@pytest.mark.parametrize("size", [0, 3])
def test_a_row_without_eligible_tokens(k: int | None, p: float | None, size: int) -> None:
    row = np.full(size, NEGATIVE_INFINITY, np.uint32)
    assert reference.row(row, k, p).cut == reference.Cut(0xFFFFFFFF, -1, 0, 0, 0)


def test_a_token_of_weight_0_is_never_kept_while_top_p_is_on() -> None:
    row = np.array([0, -200], np.float32).view(np.uint32)
    assert reference.row(row, None, float(ONE_ULP_BELOW_1)).kept.tolist() == [0]
    assert reference.row(row, None, 1.0).kept.tolist() == [0, 1]


# --- order: rules 4 and 5 ---------------------------------------------------------------------------------------


@given(patterns=patterns)
def test_keys_sort_as_the_values_do(patterns: list[int]) -> None:
    values = [value(pattern) for pattern in patterns]
    eligible = reference.eligible(np.array(patterns, np.uint32)).tolist()
    assert eligible == [v is not None and v != -inf for v in values]
    keys = reference.ordered_keys(np.array(patterns, np.uint32)).tolist()
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if eligible[i] and eligible[j]:
                assert (keys[i] < keys[j], keys[i] == keys[j]) == (a < b, a == b)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_widening_every_sixteen_bit_pattern(dtype: str) -> None:
    """The same value, subnormals too; both implementations. NaN stays NaN."""
    raw = np.arange(1 << 16, dtype=np.uint16)
    wide = reference.widen(raw, dtype)
    tensor = torch.from_numpy(raw.view(np.int16).copy()).view(getattr(torch, dtype))
    exact = tensor.double()
    with np.errstate(invalid="ignore"):  # signalling NaN
        widened = wide.view(np.float32).astype(np.float64)
    assert np.array_equal(widened, exact.numpy(), equal_nan=True)
    assert np.array_equal(np.signbit(wide.view(np.float32)), torch.signbit(exact).numpy())
    engine, nan = torch_engine.widened_bits(tensor).numpy().view(np.uint32), exact.isnan().numpy()
    assert np.array_equal(engine[~nan], wide[~nan])
    assert np.isnan(engine.view(np.float32)[nan]).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_engine_has_the_same_keys_for_every_sixteen_bit_pattern(dtype: str) -> None:
    wide = reference.widen(np.arange(1 << 16, dtype=np.uint16), dtype)
    signed = torch_engine.signed_keys(torch.from_numpy(wide.view(np.int32).copy())).numpy().astype(np.int64)
    eligible = reference.eligible(wide)
    assert np.array_equal(signed[eligible] + 2**31, reference.ordered_keys(wide)[eligible].astype(np.int64))
    assert (signed[~eligible] < signed[eligible].min()).all()


# --- the target of top-p: rule 8 --------------------------------------------------------------------------------


def target(p: int, total: int) -> int:
    """The formula of rule 8 for the fp32 pattern p, every intermediate within signed 64 bits."""
    exponent = p >> 23
    m = (p & 0x7FFFFF) | (0x800000 if exponent else 0)
    q = 126 - max(exponent, 1)
    low = m * (total & 0xFFFFFF)
    high = m * (total >> 24)
    a = high + (low >> 24) + ((low & 0xFFFFFF) != 0)
    assert max(low, high, a) < 2**63
    return -((-a) >> min(q, 63))


def exact_target(p: int, total: int) -> int:
    return ceil(value(p) * total)


totals = st.integers(1, 2**62) | st.integers(0, 62).flatmap(
    lambda bits: st.integers(max(1, 2**bits - 3), min(2**62, 2**bits + 3))
)


@given(p=p_patterns.filter(lambda p: 0 < p < 0x3F800000), total=totals)
@example(p=1, total=1)
@example(p=1, total=2**62)
@example(p=0x007FFFFF, total=2**62)
@example(p=0x3F7FFFFF, total=2**62)
@example(p=0x3F7FFFFF, total=2**62 - 1)
@example(p=0x3F000000, total=2**62 - 1)
def test_target_is_the_exact_ceiling(p: int, total: int) -> None:
    assert target(p, total) == exact_target(p, total)


def test_the_engine_has_the_exact_ceiling_in_thousands_of_cases() -> None:
    random = np.random.default_rng(0)
    p = np.concatenate([
        random.integers(1, 0x3F800000, 10_000), random.integers(0x3E000000, 0x3F800000, 10_000),
        random.integers(1, 0x00800000, 2_000), np.array([1, 0x7FFFFF, 0x800000, 0x3F000000, 0x3F7FFFFF] * 4),
    ]).astype(np.int32)  # fmt: skip
    total = (2.0 ** random.uniform(0, 62, len(p))).astype(np.int64)
    total[-20:] = np.repeat([1, 2**62, 2**62 - 1, 2**40], 5)
    found = torch_engine._target(torch.from_numpy(p).view(torch.float32), torch.from_numpy(total))
    assert found.tolist() == [exact_target(a, b) for a, b in zip(p.tolist(), total.tolist(), strict=True)]
