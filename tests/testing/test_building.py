"""What recipes build: the same bits everywhere, quickly, with ties and aims where they were meant to be."""

from __future__ import annotations

import hashlib
import time
from fractions import Fraction

import numpy as np
import pytest

from qrita import reference
from qrita.testing.recipes import DTYPES, FAMILIES, Aim, Case, Planted, Recipe, Tie, build

DIGESTS = {
    "equal": "809e8b94ca6b42b5",
    "two_values": "00738c19239e7512",
    "one_hot": "230396fa1a29582c",
    "duplicates": "c9fc9072282b8da6",
    "signed_zeros": "abfd79b093f1245a",
    "dyadic": "9f31d10571c08904",
    "normal": "fd4b1edae7bb04a5",
    "bf16_ties": "e45a63d2a73994d6",
    "peaked": "9e53e82a24613e62",
    "sorted": "a9c2771eed247faa",
    "masked": "ea1241ae6bfaae7e",
    "nan": "f0cc48abb2e677d1",
    "infinite": "c31217f4b114df0f",
    "finite_mask": "6563561920f03c98",
    "first_block": "6f5c83b8c58708f1",
    "outlier": "714e73ff0d940de1",
    "huge": "6465dda167c61b0c",
    "offset": "a28480a6e5336bd9",
    "subnormal": "5fd93c11ef333bd1",
    "small_steps": "1471fbe3a9308bc2",
    "adjacent": "e64db808fc237d69",
    "fading": "42e165f53c79f75c",
    "patterns": "89ac20425e1286cd",
}
"""SHA-256 of the little-endian patterns of 1000 logits, seed 7, in all dtypes and levels: the first 16 digits."""


def little_endian(case: Case) -> bytes:
    return case.raw.astype(case.raw.dtype.newbyteorder("<")).tobytes()


@pytest.mark.parametrize("family", FAMILIES)
def test_bits_are_the_same_everywhere(family: str) -> None:
    digest = hashlib.sha256()
    for dtype in DTYPES:
        for level in FAMILIES[family].levels:
            digest.update(little_endian(build(Recipe(family, 1000, dtype, 7, level))))
    assert digest.hexdigest()[:16] == DIGESTS[family]


def test_every_digest_is_of_a_family() -> None:
    assert set(DIGESTS) == set(FAMILIES)


def test_a_long_row_is_built_quickly() -> None:
    start = time.perf_counter()
    case = build(Recipe("normal", 262_144, seed=1, level=300))
    seconds = time.perf_counter() - start
    expected = "16d944611592684cb9914024699a50b5284b4aa610187cf9439eebd8c67741e3"
    assert hashlib.sha256(little_endian(case)).hexdigest() == expected
    assert seconds < 1.0  # about 0.01


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("vocab", [1, 2, 3])
def test_shortest_rows(family: str, vocab: int) -> None:
    for dtype in DTYPES:
        for level in FAMILIES[family].levels:
            case = build(Recipe(family, vocab, dtype, level=level))
            assert (case.vocab, case.dtype) == (vocab, dtype)


def test_families_are_what_they_say() -> None:
    def row(family: str, level: int, dtype: str = "float32") -> np.ndarray:
        return build(Recipe(family, 1000, dtype, seed=3, level=level)).logits.float().numpy()

    assert len(np.unique(row("equal", 3))) == 1
    assert sorted(np.unique(row("one_hot", 50)).tolist()) == [0.0, 50.0]
    assert len(np.unique(row("duplicates", 10))) <= 10
    assert np.signbit(row("signed_zeros", 0)).any()
    assert not row("signed_zeros", 0).any()
    assert np.isneginf(row("masked", 0)).all()
    assert 1 <= np.isfinite(row("masked", 10)).sum() <= 10
    assert np.isnan(row("nan", 1000)).all()
    assert 1 <= np.isnan(row("nan", 10)).sum() < 50
    assert 1 <= np.isposinf(row("infinite", 7)).sum() <= 7
    assert (row("finite_mask", 0)[1::2] == np.float32(-1e9)).all()
    assert (row("first_block", 0)[:500] == -100).all()
    assert row("first_block", 0).max() == 50
    assert np.isneginf(row("first_block", 1)[:500]).all()
    assert row("outlier", 30).max() == np.float32(1e30)
    assert np.ptp(row("huge", 38).astype(np.float64)) > 3.5e38
    assert len(np.unique(row("subnormal", 0))) == 1000
    assert row("subnormal", 0).max() < np.finfo(np.float32).tiny
    assert len(np.unique(row("small_steps", 1))) == 1000
    assert (np.diff(row("sorted", 0)) >= 0).all()
    assert (np.diff(row("sorted", 1)) <= 0).all()
    assert (np.isfinite(row("outlier", 30, "float16"))).all()
    assert len(np.unique(row("bf16_ties", 100).view(np.uint32) & 0xFFFF)) == 1
    assert build(Recipe("dyadic", 1000, level=8)).answer.total == 8 << 40
    peaked = np.sort(row("peaked", 4))
    assert np.allclose(np.exp(peaked.astype(np.float64)).sum(), 0.9 + 999e-4, atol=1e-6)


def test_planted_patterns_are_planted() -> None:
    case = build(Recipe("normal", 10, "bfloat16", planted=(Planted(3, 0x7FC1), Planted(3, 0xFF80), Planted(9, 0x8000))))
    assert case.raw[3] == 0xFF80
    assert case.raw[9] == 0x8000


def test_ties_have_the_value_of_their_rank() -> None:
    plain = build(Recipe("normal", 500, seed=1))
    order = reference.row(reference.widen(plain.raw, "float32"), None, None).kept
    tied = build(Recipe("normal", 500, seed=1, ties=(Tie(20, 63, 1, 4), Tie(1000, 400, 64, 9))))
    assert (tied.raw[63:67] == plain.raw[order[20]]).all()
    assert (tied.raw[[400, 464]] == plain.raw[order[-1]]).all()  # as far as the row goes
    same = np.setdiff1d(np.arange(500), [63, 64, 65, 66, 400, 464])
    assert (tied.raw[same] == plain.raw[same]).all()


def test_ties_at_the_cut() -> None:
    plain = build(Recipe("normal", 500, seed=1, k=50))
    tied = build(Recipe("normal", 500, seed=1, k=50, ties=(Tie("cut", 0, 50, 10),)))
    assert (tied.raw[::50] == plain.raw[plain.answer.cut.index]).all()


def test_ties_of_a_row_without_eligible_tokens() -> None:
    assert not build(Recipe("masked", 5, level=0, ties=(Tie(0, 0, 1, 3),), p=Aim(1, 0))).answer.kept.size


@pytest.mark.parametrize("tokens", [1, 7, 100, 650])
@pytest.mark.parametrize("k", [None, 700])
def test_aim_is_the_nearest_fp32(tokens: int, k: int | None) -> None:
    def aimed(ulps: int) -> Case:
        return build(Recipe("normal", 1000, seed=3, k=k, p=Aim(tokens, ulps)))

    survivors = reference.row(reference.widen(aimed(0).raw, "float32"), k, None)
    exact = Fraction(int(survivors.weights[:tokens].sum()), survivors.total)
    below, nearest, above = (np.float32(aimed(ulps).p) for ulps in (-1, 0, 1))
    assert np.nextafter(nearest, np.float32(0)) == below
    assert np.nextafter(nearest, np.float32(2)) == above
    assert all(abs(Fraction(float(nearest)) - exact) <= abs(Fraction(float(p)) - exact) for p in (below, above))
    assert aimed(-1).answer.cut.count <= tokens < aimed(1).answer.cut.count


def test_aim_past_the_last_token_is_one() -> None:
    assert build(Recipe("normal", 10, p=Aim(10, 0))).p == 1.0
    assert build(Recipe("normal", 10, p=Aim(10**6, 1))).p == 1.0 + 2.0**-23
