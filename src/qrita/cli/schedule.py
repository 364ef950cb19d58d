"""What `qrita check` tries, decided before anything runs: stages of trials, a pure function of the options.

Every case is compared with the oracle in three ways: its cut, its mask and its candidates. The other properties repeat
a case in many forms and cost more, so they take turns: each case gets one of them. Of another's implementation only
what its contract speaks of is tried: its outputs, its dtypes, top-k or top-p.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from qrita.cli.counting import counted
from qrita.testing.foreign.contract import Contract, unpromised
from qrita.testing.properties import PROPERTIES
from qrita.testing.real import TEMPERATURES, RealRow, rows
from qrita.testing.recipes import DTYPES, Recipe, Seeded, compose

CORE = ("cut", "mask", "candidates")
TURNS = tuple(name for name in PROPERTIES if name not in CORE)

SETTINGS: tuple[tuple[int | None, float | None], ...] = (
    (50, 0.9),
    (None, 0.9),
    (20, None),
    (1, None),
    (1000, None),
    (20, 0.95),
    (None, 0.5),
    (None, 0.999),
)
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


def stages(
    *, recipes: int, seed: int, max_vocab: int, quick: bool, contract: Contract | None = None
) -> tuple[Stage, ...]:
    """Everything one run tries, in order; `contract` is None where it is all of docs/semantics.md."""
    return real_rows(quick, contract), generated(recipes, seed, max_vocab, contract)


def core(contract: Contract | None) -> tuple[str, ...]:
    """What every case is tried with."""
    return _promised(CORE, contract) or _promised(TURNS, contract)[:1]


def turns(contract: Contract | None) -> tuple[str, ...]:
    """What takes turns."""
    return _promised(TURNS, contract)


def _promised(names: tuple[str, ...], contract: Contract | None) -> tuple[str, ...]:
    return tuple(name for name in names if contract is None or unpromised(contract, name) is None)


def real_rows(quick: bool, contract: Contract | None = None) -> Stage:
    """All real rows in every dtype; in every temperature and setting, too, unless `quick`."""
    temperatures, settings = ((1.0,), SETTINGS[:2]) if quick else (TEMPERATURES, SETTINGS)
    dtypes = DTYPES if contract is None else contract.dtypes
    always, turn = core(contract), turns(contract)
    names = [name for name, _ in rows()]
    if contract is not None:
        settings = tuple(dict.fromkeys(_covered(contract, *setting) for setting in settings))
    trials: list[Trial] = []
    for (k, p), temperature, dtype, name in product(settings, temperatures, dtypes, names):
        item = RealRow(name, dtype, temperature, k, p)
        takes_turn = ((k, p), temperature) == (settings[0], 1.0)  # the turns are slow on rows of this length
        trials.append(Trial(item, (*always, turn[len(trials) % len(turn)]) if takes_turn else always))
    words = (
        f"{len(names)} of SmolLM2-135M, {counted(len(dtypes), 'dtypes')}, "
        f"temperature {', '.join(map(str, temperatures))}, {counted(len(settings), 'settings')} of k and p"
    )
    return Stage("real rows", words, tuple(trials))


def _covered(contract: Contract, k: int | None, p: float | None) -> tuple[int | None, float | None]:
    """k and p without the one that the contract has not."""
    return k if contract.top_k else None, p if contract.top_p else None


def generated(count: int, seed: int, max_vocab: int, contract: Contract | None = None) -> Stage:
    """The recipes of the seeds seed, seed + 1, ..."""
    always, turn = core(contract), turns(contract)
    trials = tuple(Trial(_recipe(seed + i, max_vocab, contract), (*always, turn[i % len(turn)])) for i in range(count))
    seeds = f"seed {seed:,}" if count == 1 else f"seeds {seed:,} to {seed + count - 1:,}"
    words = f"generated from {seeds}, vocabulary up to {max_vocab:,}" if count else "none"
    return Stage("recipes", words, trials)


def _recipe(seed: int, max_vocab: int, contract: Contract | None) -> Recipe:
    if contract is None:
        return compose(Seeded(seed), max_vocab=max_vocab)
    recipe = compose(Seeded(seed), max_vocab=min(max_vocab, contract.max_vocab), dtypes=contract.dtypes)
    return replace(recipe, k=recipe.k if contract.top_k else None, p=recipe.p if contract.top_p else None)
