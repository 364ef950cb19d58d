"""The random integers: known answers, and what the distributions are used for."""

from __future__ import annotations

import numpy as np

from qrita.testing.generator import Seeded, Stream, mix


def test_mix_is_splitmix64() -> None:
    """The first outputs of the published generator with state 1234567."""
    gamma = 0x9E3779B97F4A7C15
    outputs = [mix((1234567 + i * gamma) & (2**64 - 1)) for i in range(1, 6)]
    assert outputs == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_words_are_mix_of_counters() -> None:
    words = Stream(5).words(3, 4)
    start = mix(mix(5) + 3)
    expected = [mix((start + i * 0x9E3779B97F4A7C15) & (2**64 - 1)) for i in range(1, 5)]
    assert words.tolist() == expected
    assert Stream(5).words(3, 100)[:4].tolist() == expected


def test_lanes_and_seeds_differ() -> None:
    rows = {Stream(seed).words(lane, 4).tobytes() for seed in (0, 1, 2**64 - 1) for lane in range(3)}
    assert len(rows) == 9


def test_normal_has_the_moments_of_a_gaussian() -> None:
    values = Stream(1).normal(0, 1 << 18, 3.0).astype(np.float64)
    assert abs(values.mean()) < 0.03
    assert abs(values.std() - 3.0) < 0.02
    assert 0.67 < (np.abs(values) < 3.0).mean() < 0.70
    assert np.abs(values).max() > 12.0


def test_shuffled_is_a_permutation() -> None:
    shuffled = Stream(0).shuffled(0, np.arange(1000))
    assert sorted(shuffled.tolist()) == list(range(1000))
    assert shuffled.tolist() != list(range(1000))


def test_seeded_choices_are_fixed_and_in_range() -> None:
    choose = Seeded(42)
    assert [choose.integer(0, 99) for _ in range(8)] == [81, 91, 41, 66, 59, 15, 89, 86]
    drawn = [choose.integer(-3, 3) for _ in range(500)]
    assert set(drawn) == set(range(-3, 4))
    assert {choose.pick("abc") for _ in range(100)} == set("abc")
