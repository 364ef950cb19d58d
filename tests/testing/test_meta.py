"""The suite is tested: it finds every planted bug in a bounded number of recipes, and nothing where there is none."""

from __future__ import annotations

import planted_bugs as bugs
import pytest
from planted_bugs import RowEngine, Spoilt

from qrita.engines import Engine
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import seeded
from qrita.testing.subjects import Subject
from qrita.testing.sweep import sweep

RECIPES = 300
"""As many as one property is given in the profile `pr`."""

PLANTED: dict[str, tuple[Engine, tuple[str, ...]]] = {
    "> for >= in the top-p target": (RowEngine(bugs.strictly_greater_mass), ("cut", "mask", "candidates")),
    "highest index first": (RowEngine(bugs.highest_index_first), ("cut", "mask", "candidates")),
    "-0.0 below +0.0": (RowEngine(bugs.negative_zero_below), ("cut", "mask", "candidates")),
    "k off by one": (RowEngine(bugs.one_more), ("cut", "mask", "candidates")),
    "fp32 sums": (RowEngine(bugs.float_sums), ("cut", "mask", "candidates")),
    "tie tolerance": (RowEngine(bugs.tie_tolerance), ("cut", "mask", "candidates")),
    "right count, wrong set": (
        RowEngine(bugs.right_count_wrong_set),
        ("cut", "mask", "candidates", "nested_in_k", "nested_in_p", "permutation"),
    ),
    "weightless tokens stay": (RowEngine(bugs.weightless_tokens_stay), ("cut", "mask", "candidates")),
    "the neighbour's k": (Spoilt(bugs.neighbours_k), ("batch", "stride", "in_place", "out")),
    "k narrowed to 32 bits": (Spoilt(bugs.narrowed_k), ("batch", "stride")),
    "NaN p keeps one": (Spoilt(bugs.nan_p_keeps_one), ("batch", "stride")),
    "subnormals of 16-bit rows lost": (Spoilt(bugs.flushed_narrow), ("cut", "widening")),
    "k for the first row only": (Spoilt(bugs.k_for_the_first_row), ("spelling",)),
    "k depends on the threads": (bugs.CountsThreads(), ("threads",)),
    "NaN kept": (bugs.KeepsNan(), ("mask", "one_answer")),
    "-inf becomes mask_value": (bugs.LosesMinusInfinity(), ("mask_value",)),
    "-0.0 becomes +0.0": (bugs.NormalisesZero(), ("mask",)),
    "input written": (bugs.WritesTheInput(), ("untouched", "out")),
    "write past the row": (bugs.WritesPastTheRow(), ("in_place", "out")),
    "stale total": (bugs.KeepsTheLastTotal(), ("cut", "repetition")),
    "float comparisons": (bugs.ComparesFloats(), ("flush_subnormals",)),
    "counts cut off": (bugs.CountsWhatIsListed(), ("candidates",)),
}


@pytest.mark.parametrize(("bug", "name"), [(bug, name) for bug, (_, names) in PLANTED.items() for name in names])
def test_planted_bug_is_caught(bug: str, name: str) -> None:
    outcomes = sweep(Subject(bug, PLANTED[bug][0]), seeded(RECIPES, max_vocab=300), [name])
    caught = next((outcome for outcome in outcomes if outcome.status != "passed"), None)
    assert caught is not None, f"{name} has not caught {bug!r} in {RECIPES} recipes"
    assert caught.status == "failed", caught.message
    assert caught.case.recipe is not None
    for expected in (name, PROPERTIES[name].rule, f"qrita replay '{caught.case.recipe.to_json()}'"):
        assert expected in caught.message


def test_every_property_catches_something() -> None:
    assert {name for _, names in PLANTED.values() for name in names} == set(PROPERTIES)


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_oracle_as_an_engine_has_no_bug(name: str) -> None:
    """Another implementation passes too: the properties are about the semantics, not about one engine's habits."""
    for outcome in sweep(Subject("oracle", RowEngine()), seeded(40, max_vocab=300), [name]):
        assert outcome.status in ("passed", "not run"), outcome.message
