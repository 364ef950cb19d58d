"""The faults that users of other top-k / top-p kernels met, each with the small input that showed it.

Kinds that only a kernel can have (graph capture, compiling while serving, launch limits) are tested where kernels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import Tensor

from qrita.testing import batches, differences, formats
from qrita.testing.batches import batch
from qrita.testing.building import Case, build
from qrita.testing.generator import Stream
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import DTYPES, Recipe, fp32
from qrita.testing.subjects import Subject

V = 1000
INF, NAN = float("inf"), float("nan")
HALF, NINETY, NINETY_FIVE, NINETY_NINE = 0.5, fp32(0.9), fp32(0.95), fp32(0.99)


def row(logits: Tensor, k: int | None = None, p: float | None = None) -> Case:
    return Case(None, logits, k, p, "the fault's own input")


def recipe(family: str, vocab: int, level: int, k: int | None = None, p: float | None = None) -> Case:
    return build(Recipe(family, vocab, level=level, k=k, p=p))


def normal(scale: float, vocab: int = V, seed: int = 0) -> Tensor:
    """[vocab] float32 from N(0, scale), the same on every machine."""
    return torch.from_numpy(Stream(seed).normal(0, vocab, scale))


def kept(subject: Subject, case: Case) -> list[int]:
    """The indices that the subject keeps, after cut, mask and listing have been found equal to the oracle's."""
    for name in ("cut", "mask", "candidates"):
        PROPERTIES[name].check(subject, case)
    masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
    return np.flatnonzero(masked != formats.NEGATIVE_INFINITY[case.dtype]).tolist()


def check_batch(subject: Subject, cases: Sequence[Case]) -> None:
    """Every row of the batch has the oracle's cut and mask."""
    rows = batch(cases)
    assert batches.cuts_difference(rows, subject.cuts(rows.logits, rows.k, rows.p)) is None
    assert batches.masks_difference(rows, formats.raw(subject.top_k_top_p(rows.logits, rows.k, rows.p))) is None


# --- searches on floats -----------------------------------------------------------------------------------------


@pytest.mark.large
def test_search_stops_early(subject: Subject) -> None:
    """log([0.9] + 100,000 times 1e-6): half of the tail is needed to reach 0.95."""
    case = recipe("peaked", 100_001, 6, p=NINETY_FIVE)
    assert 50_000 <= len(kept(subject, case)) <= 50_010
    assert case.answer.cut.mass >= NINETY_FIVE * case.answer.total


@pytest.mark.large
@pytest.mark.parametrize("p", [NINETY, NINETY_NINE])
def test_search_resolution(subject: Subject, p: float) -> None:
    kept(subject, recipe("normal", 128_000, 300, p=p))


@pytest.mark.large
def test_peaked_row_with_a_long_tail(subject: Subject) -> None:
    kept(subject, recipe("peaked", 128_000, 6, p=fp32(0.9999)))
    kept(subject, recipe("peaked", 128_000, 5, p=fp32(0.9999)))


@pytest.mark.large
def test_estimate_replaces_the_maximum(subject: Subject) -> None:
    """N(0, 20): a handful of tokens carry nearly everything."""
    assert len(kept(subject, recipe("normal", 128_000, 2000, p=NINETY))) < 10


@pytest.mark.large
@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize(("k", "p"), [(50, None), (None, NINETY), (50, NINETY)])
def test_statistics_from_the_first_block(subject: Subject, level: int, k: int | None, p: float | None) -> None:
    """The first 8192 logits are -100, or masked, and look like nothing that follows."""
    kept(subject, recipe("first_block", 40_000, level, k, p))


def test_iteration_cap_on_adjacent_floats(subject: Subject) -> None:
    """Logits one ulp apart, beside ones 1e30 away: floats halve the range too slowly to tell them apart."""
    logits = torch.arange(0x3F800000, 0x3F800000 + V, dtype=torch.int32).view(torch.float32).clone()
    logits[0] = -1e30
    assert kept(subject, row(logits, 3)) == [V - 3, V - 2, V - 1]


# --- ties -------------------------------------------------------------------------------------------------------


def test_ties_by_tolerance(subject: Subject) -> None:
    assert kept(subject, row(torch.arange(V) * 1e-10, 3)) == [997, 998, 999]


@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_by_tolerance_on_subnormals(subject: Subject, dtype: str) -> None:
    steps = 100  # all subnormal in every dtype
    logits = formats.tensor(formats.patterns(np.arange(steps), dtype), dtype)
    assert kept(subject, row(logits, 3)) == [97, 98, 99]


def test_kth_value_equals_the_minimum(subject: Subject) -> None:
    one = torch.zeros(V)
    one[500] = 1.0
    assert kept(subject, row(one, 5)) == [0, 1, 2, 3, 500]


def test_kth_value_is_a_floor(subject: Subject) -> None:
    floor = torch.full((V,), -5.0)
    floor[700:710] = torch.arange(10.0)
    assert kept(subject, row(floor, 50)) == [*range(40), *range(700, 710)]


def test_all_equal(subject: Subject) -> None:
    zeros = torch.zeros(V)
    assert kept(subject, row(zeros, 5)) == [0, 1, 2, 3, 4]
    assert kept(subject, row(zeros, None, HALF)) == list(range(V // 2))


# --- values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outlier", [1e9, 1e30])
def test_one_outlier_stretches_the_range(subject: Subject, outlier: float) -> None:
    logits = normal(1.0)
    logits[123] = outlier
    chosen = kept(subject, row(logits, 5))
    assert len(chosen) == 5
    assert 123 in chosen


def test_finite_minus_infinity(subject: Subject) -> None:
    logits = normal(1.0)
    logits[::2] = -1e9
    chosen = kept(subject, row(logits, 10))
    assert len(chosen) == 10
    assert all(token % 2 for token in chosen)


@pytest.mark.parametrize(("k", "p", "count"), [(1, None, 1), (5, None, 5), (None, NINETY, 1), (5, NINETY, 1)])
def test_plus_infinity(subject: Subject, k: int | None, p: float | None, count: int) -> None:
    logits = normal(1.0)
    logits[0] = INF
    chosen = kept(subject, row(logits, k, p))
    assert len(chosen) == count
    assert 0 in chosen


@pytest.mark.large
@pytest.mark.parametrize("size", [1, 64, 65])
def test_nan_at_any_batch_size(subject: Subject, size: int) -> None:
    logits = normal(1.0)
    logits[17] = NAN
    case = row(logits, None, NINETY)
    assert 17 not in kept(subject, case)
    check_batch(subject, [case] * size)


@pytest.mark.parametrize("k", [0, -1, V - 1, V, V + 1, 2**31, 2**32 + 5, -(2**63)])
def test_k_out_of_range(subject: Subject, k: int) -> None:
    logits = normal(1.0)
    assert len(kept(subject, row(logits, k))) == (k if 0 < k < V else V)
    kept(subject, row(logits, k, NINETY))


def test_k_greater_than_the_number_of_finite_logits(subject: Subject) -> None:
    """Top-p is not lost for such a row."""
    logits = torch.full((V,), -INF)
    logits[10:20] = 0.0
    assert kept(subject, row(logits, 50)) == list(range(10, 20))
    assert kept(subject, row(logits, 50, HALF)) == list(range(10, 15))


@pytest.mark.parametrize("p", [0.0, -0.0, -1.0, fp32(1e-45)])
def test_p_out_of_range_below(subject: Subject, p: float) -> None:
    logits = normal(1.0)
    assert kept(subject, row(logits, None, p)) == [int(logits.argmax())]


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_p_out_of_range_above(subject: Subject, p: float) -> None:
    assert len(kept(subject, row(normal(1.0), None, p))) == V


def test_no_eligible_token(subject: Subject) -> None:
    for value in (-INF, NAN):
        for k, p in ((None, None), (5, None), (None, NINETY), (5, 0.0)):
            assert kept(subject, row(torch.full((V,), value), k, p)) == []


# --- memory and dtypes ------------------------------------------------------------------------------------------


def test_rows_that_alias(subject: Subject) -> None:
    """In place on an expanded tensor each row would overwrite the others: an error says so, and nothing is written."""
    base = subject.put(normal(1.0))
    before = formats.raw(base).copy()
    with pytest.raises(ValueError, match="logits"):
        subject.top_k_top_p_(base.expand(4, V), 5)
    assert (formats.raw(base) == before).all()


def test_strided_logits(subject: Subject) -> None:
    case = row(normal(1.0), 50, NINETY)
    for name in ("stride", "in_place", "out", "untouched"):
        PROPERTIES[name].check(subject, case)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_bit_logits_are_native(subject: Subject, dtype: str) -> None:
    logits = normal(2.0).to(getattr(torch, dtype))
    case = row(logits, 50, NINETY)
    assert kept(subject, case) == kept(subject, row(logits.float(), 50, NINETY))
    assert subject.top_k_top_p(logits, 50, NINETY).dtype == logits.dtype
    assert subject.candidates(logits, 50, NINETY).logits.dtype == logits.dtype


@pytest.mark.parametrize("stride", [(2**31 + 8, 1), (1, 2**19 + 1)], ids=["rows", "columns"])
def test_offsets_of_more_than_31_bits(subject: Subject, stride: tuple[int, int]) -> None:
    """Two rows, the last elements of which lie 2**31 elements into memory that is never touched in between."""
    vocab = 4100
    cases = [row(normal(2.0, vocab, seed).bfloat16(), 50, NINETY) for seed in (0, 1)]
    memory = torch.empty(stride[0] + (vocab - 1) * stride[1] + 1, dtype=torch.bfloat16, device=subject.device)
    view = memory.as_strided((2, vocab), stride)
    assert memory.numel() > 2**31
    view.copy_(torch.stack([case.logits for case in cases]))
    rows = batch(cases)
    k, p = subject.put(rows.k), subject.put(rows.p)
    assert batches.cuts_difference(rows, subject.cuts(view, k, p)) is None
    subject.top_k_top_p_(view, k, p)
    assert batches.masks_difference(rows, formats.raw(view)) is None


@pytest.mark.large
@pytest.mark.parametrize(("rows", "vocab"), [(65_537, 3), (65_537, 1), (1, 1), (3, 1)])
def test_many_rows_and_one_token(subject: Subject, rows: int, vocab: int) -> None:
    """All rows are 0, 1, 2, ...: the greatest is the last."""
    logits = torch.arange(float(vocab)).repeat(rows, 1)
    cuts = differences.cuts(subject.cuts(logits, 1))
    assert set(cuts) == {row(logits[0], 1).answer.cut}
    assert len(cuts) == rows
    masked = subject.top_k_top_p(logits, 1)
    assert (masked[:, -1] == vocab - 1).all()
    assert (masked[:, :-1] == -INF).all()


@pytest.mark.parametrize("shape", [(0, V), (3, 0), (0, 0), (0,)])
def test_empty(subject: Subject, shape: tuple[int, ...]) -> None:
    logits, rows = torch.zeros(shape), shape[0] if len(shape) == 2 else 1
    assert subject.top_k_top_p(logits, 5, NINETY).shape == shape
    assert subject.top_k_top_p_(logits, 5, NINETY).shape == shape
    assert subject.candidates(logits, 5, NINETY).counts.tolist() == [0] * rows
    assert subject.cuts(logits, 5, NINETY).index.tolist() == [-1] * rows


# --- answers that depend on something else than the row ----------------------------------------------------------


@pytest.mark.large
def test_batch_size_changes_the_answer(subject: Subject) -> None:
    """N(0, 2), V = 50,000, p = .99, alone and in a batch of 65."""
    case = row(normal(2.0, 50_000), None, NINETY_NINE)
    kept(subject, case)
    check_batch(subject, [case] * 65)


@pytest.mark.parametrize("vocab", [1023, 1024, 1025, 2048, 4095, 4096, 4097, 9000])
def test_tile_size_changes_the_answer(subject: Subject, vocab: int) -> None:
    """A row padded with -inf ends in other tiles and splits: the same tokens, the same masses."""
    logits = normal(3.0)
    padded = torch.cat((logits, torch.full((vocab - V,), -INF)))
    for k, p in ((50, NINETY_NINE), (None, NINETY)):
        short, long = row(logits, k, p), row(padded, k, p)
        assert kept(subject, short) == kept(subject, long)
        assert short.answer.cut == long.answer.cut


def test_stale_data_of_the_previous_row(subject: Subject) -> None:
    """Rows that keep nearly everything between rows that keep next to nothing."""
    wide, narrow = row(normal(0.01), V - 1, NINETY_NINE), row(normal(20.0), 2, HALF)
    check_batch(subject, [wide, narrow] * 20)
    for case in (wide, narrow, wide):
        PROPERTIES["repetition"].check(subject, case)


def test_scratch_shared_by_callers(subject: Subject) -> None:
    """Two threads at once, one row each."""
    cases = [row(normal(2.0, seed=seed), 50, NINETY) for seed in range(2)]

    def call(case: Case) -> list[str | None]:
        found = (subject.cuts(case.logits.clone(), case.k, case.p) for _ in range(50))
        return [differences.cut_difference(case, differences.cut(cuts)) for cuts in found]

    for case in cases:
        assert case.answer.kept.size  # the oracle's answer is there before the threads read it
    with ThreadPoolExecutor(2) as pool:
        assert {text for found in pool.map(call, cases) for text in found} == {None}


def test_scratch_replaced_when_the_batch_grows(subject: Subject) -> None:
    cases = [row(normal(2.0, seed=seed), 50, NINETY) for seed in range(64)]
    for size in (1, 64, 1, 2):
        check_batch(subject, cases[:size])


def test_masses_are_the_same_on_every_rank(subject: Subject) -> None:
    """Integer sums: not one of a mass's 60 bits depends on the batch or on where the tokens stand."""
    case = row(normal(2.0), None, NINETY)
    expected = (case.answer.cut.mass, case.answer.cut.total)
    moved = case.logits[torch.from_numpy(Stream(1).shuffled(0, np.arange(V)))]
    for logits in (case.logits[None], case.logits.repeat(65, 1), moved[None]):
        listing = subject.candidates(logits, None, case.p, max_candidates=4)
        assert set(zip(listing.mass.tolist(), listing.total.tolist(), strict=True)) == {expected}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_top_k_without_ties_is_deterministic(subject: Subject, dtype: str) -> None:
    """Sixteen-bit rows of more than 256 distinct values."""
    order = Stream(0).shuffled(0, np.arange(V))
    logits = formats.tensor(formats.patterns(0x3C00 + order, dtype), dtype)
    case = row(logits, 100)
    assert kept(subject, case) == np.flatnonzero(order >= V - 100).tolist()
    first = subject.candidates(logits, 100).indices
    assert all(torch.equal(subject.candidates(logits, 100).indices, first) for _ in range(10))


@pytest.mark.parametrize("k", [1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 511, 513, 999])
def test_scan_across_wavefronts(subject: Subject, k: int) -> None:
    """Ties are counted by a scan; all equal, the count is the index."""
    assert kept(subject, row(torch.ones(V), k)) == list(range(k))
