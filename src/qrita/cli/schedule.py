"""What `qrita check` tries, decided before anything runs: stages of trials, a pure function of the options.

Every case is compared with the oracle in three ways: its cut, its mask and its candidates. The other properties repeat
a case in many forms and cost more, so they take turns: each case gets one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from qrita.testing.properties import PROPERTIES
from qrita.testing.real import TEMPERATURES, RealRow, rows
from qrita.testing.recipes import DTYPES, Recipe, Seeded, compose

CORE = ("cut", "mask", "candidates")
TURNS = tuple(name for name in PROPERTIES if name not in CORE)

SETTINGS = ((50, 0.9), (None, 0.9), (20, None), (1, None), (1000, None), (20, 0.95), (None, 0.5), (None, 0.999))
"""The k and p that real rows are cut with, the most usual first."""


@dataclass(frozen=True)
class Trial:
    """One case, as the record that builds it, and the properties it is tried with."""

    item: Recipe | RealRow
    properties: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """A part of the check: its name, what it is in words, and its trials."""

    name: str
    words: str
    trials: tuple[Trial, ...]


def stages(*, recipes: int, seed: int, max_vocab: int, quick: bool) -> tuple[Stage, ...]:
    """Everything one run tries, in order."""
    return real_rows(quick), generated(recipes, seed, max_vocab)


def real_rows(quick: bool) -> Stage:
    """All real rows in every dtype; in every temperature and setting, too, unless `quick`."""
    temperatures, settings = ((1.0,), SETTINGS[:2]) if quick else (TEMPERATURES, SETTINGS)
    names = [name for name, _ in rows()]
    trials: list[Trial] = []
    for (k, p), temperature, dtype, name in product(settings, temperatures, DTYPES, names):
        item = RealRow(name, dtype, temperature, k, p)
        takes_turn = (k, p, temperature) == (*SETTINGS[0], 1.0)  # the turns are slow on rows of this length
        trials.append(Trial(item, (*CORE, TURNS[len(trials) % len(TURNS)]) if takes_turn else CORE))
    words = (
        f"{len(names)} of SmolLM2-135M, {len(DTYPES)} dtypes, temperature {', '.join(map(str, temperatures))}, "
        f"{len(settings)} settings of k and p"
    )
    return Stage("real rows", words, tuple(trials))


def generated(count: int, seed: int, max_vocab: int) -> Stage:
    """The recipes of the seeds seed, seed + 1, ..."""
    trials = tuple(
        Trial(compose(Seeded(seed + i), max_vocab=max_vocab), (*CORE, TURNS[i % len(TURNS)])) for i in range(count)
    )
    seeds = f"seed {seed:,}" if count == 1 else f"seeds {seed:,} to {seed + count - 1:,}"
    words = f"generated from {seeds}, vocabulary up to {max_vocab:,}" if count else "none"
    return Stage("recipes", words, trials)
