"""The search of a tile, whose masses are light words first, and the lists that passes over a row append to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qrita import reference
from qrita.testing.subjects import Subject

SIZE = 64


def drawn(scale: float) -> NDArray[np.float32]:
    """Gaussian logits, fewer than fit the tile."""
    return (np.random.default_rng(3).standard_normal(24) * scale).astype(np.float32)


TILES = {
    "normal": drawn(1.0),
    "narrow": drawn(1e-3),
    "wide": drawn(9.0),
    "equal": np.full(33, 1.5, np.float32),
    "two values": np.repeat(np.array([3.0, -2.0], np.float32), 20),
    "one heavy": np.concatenate([np.array([20.0], np.float32), drawn(0.5)]),
    "tiny beside one": np.concatenate([np.array([25.0], np.float32), drawn(0.01)]),
    "weightless": np.concatenate([np.array([0.0, -1.0], np.float32), drawn(1.0) - 60.0]),
    "ineligible": np.concatenate([np.full(30, np.nan, np.float32), np.full(9, -np.inf, np.float32), drawn(1.0)[:3]]),
    "one": np.array([-7.0], np.float32),
    "infinite": np.concatenate([np.full(3, np.inf, np.float32), drawn(1.0)]),
}


def measured(tile: NDArray[np.float32], mass: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The eligible keys of a tile from the greatest down, and what each token counts."""
    bits = tile.view(np.uint32)
    own = reference.ordered_keys(bits).astype(np.int64) - 2**31
    eligible = reference.eligible(bits)
    keys, values = own[eligible], tile[eligible]
    order = np.argsort(-keys, kind="stable")
    keys, values = keys[order], values[order]
    if not mass:
        return keys, np.ones(len(keys), np.int64)
    with np.errstate(invalid="ignore"):
        apart = np.where(keys == keys[0], np.float32(0.0), values - values[0]).astype(np.float32)
    return keys, reference.weights(apart).astype(np.int64)


@pytest.mark.parametrize("mass", [False, True], ids=["counts", "masses"])
@pytest.mark.parametrize("name", TILES)
def test_it_finds_the_greatest_key_that_reaches_the_goal(subject: Subject, name: str, mass: bool) -> None:
    """At every other goal where the answer changes, and on either side of it."""
    found, _, expected = searched(subject, TILES[name], mass)
    assert found == expected


def test_light_masses_alone_would_be_wrong(subject: Subject) -> None:
    """What is exact is the test of what they find, and the search after it: here both are needed."""
    _, light, expected = searched(subject, TILES["tiny beside one"], True)
    assert light != [key for key, _ in expected]


def searched(
    subject: Subject, tile: NDArray[np.float32], mass: bool
) -> tuple[list[tuple[int, int]], list[int], list[tuple[int, int]]]:
    """(key, above) at goals: as found, the keys that light masses lead to, and as they should be."""
    from search_kernels import search_kernel

    from qrita import pipeline

    keys, amounts = measured(tile, mass)
    reached = np.cumsum(amounts)
    goals = sorted({goal for at in reached[::2].tolist() for goal in (at - 1, at, at + 1) if 1 <= goal <= reached[-1]})
    places = [int(np.searchsorted(reached, goal)) for goal in goals]
    expected = [(int(keys[i]), int(amounts[keys > keys[i]].sum())) for i in places]
    on = subject.put(torch.from_numpy(tile))
    found = torch.empty((len(goals), 2), dtype=torch.int64, device=on.device)
    light = torch.empty((len(goals),), dtype=torch.int32, device=on.device)
    with pipeline._on(on.device):
        search_kernel[(len(goals),)](
            on.view(torch.int32), torch.tensor(goals, dtype=torch.int64, device=on.device), found, light, len(tile),
            MASS=mass, SIZE=SIZE, enable_fp_fusion=False,
        )  # fmt: skip
    return [(key, above) for key, above in found.tolist()], light.tolist(), expected


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.003, 0.2, 1.0])
@pytest.mark.parametrize("tiles", [1, 7, 8, 9, 31, 32])
def test_a_list_has_every_token_once(subject: Subject, tiles: int, share: float, aligned: bool) -> None:
    """Also of the last bit of a word, which is its sign."""
    from search_kernels import listing_kernel

    from qrita import pipeline

    flags = np.random.default_rng(tiles).random(tiles * SIZE) < share
    on = subject.put(torch.from_numpy(flags.astype(np.int32)))
    listing = torch.full((len(flags) + 1,), -1, dtype=torch.int32, device=on.device)
    held = torch.zeros((1,), dtype=torch.int32, device=on.device)
    with pipeline._on(on.device):
        listing_kernel[(1,)](on, held, listing, tiles, ALIGNED=aligned, TILE=SIZE)
    wanted = np.flatnonzero(flags).tolist()
    assert held.item() == len(wanted)
    assert sorted(listing[: len(wanted)].tolist()) == wanted
    assert listing[len(wanted) :].tolist() == [-1] * (len(flags) + 1 - len(wanted))
