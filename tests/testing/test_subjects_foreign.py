"""Foreign subjects, each judged as it should be: by its contract, every kind of failure by its name."""

from __future__ import annotations

from collections import Counter

import pytest
from planted_subjects import Forgets

from qrita.testing.foreign import loading
from qrita.testing.foreign.contract import unpromised
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.loading import SubjectError
from qrita.testing.foreign.properties import DIFFERENCES
from qrita.testing.foreign.trying import tried
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import Planted, Recipe, build, seeded
from qrita.testing.subjects import Subject
from qrita.testing.sweep import FAULTS, Outcome

RECIPES = 150


def loaded(name: str) -> Implementation:
    found = loading.load(f"planted_subjects:{name}", None)
    assert isinstance(found, Implementation)
    return found


def outcomes(name: str, tried_property: str, *, enough: int = 3) -> list[Outcome]:
    """Of so many recipes, or until enough have failed."""
    subject, found, failed = loaded(name), [], 0
    for recipe in seeded(RECIPES, max_vocab=300, dtypes=("float32",)):
        found.append(tried(subject, build(recipe), tried_property))
        failed += found[-1].status in FAULTS
        if failed == enough:
            break
    return found


def tallied(found: list[Outcome]) -> Counter[str]:
    return Counter(outcome.status for outcome in found)


def test_every_property_can_be_tried() -> None:
    assert [*DIFFERENCES] == [*PROPERTIES]


RIGHT = ("right", "Masks", "InPlace", "KeepsAllTiesAndSaysSo", "AnyTies", "KeepsNan", "Listing", "Fills")


@pytest.mark.parametrize("name", RIGHT)
def test_right_by_its_contract(name: str) -> None:
    """Not one failure in any property; and something passes in every property that is promised."""
    subject = loaded(name)
    passed = set()
    for recipe in seeded(25, max_vocab=300, dtypes=("float32",)):
        for tried_property in PROPERTIES:
            outcome = tried(subject, build(recipe), tried_property)
            assert outcome.status not in FAULTS, outcome.message
            if outcome.status == "passed":
                passed.add(tried_property)
    assert passed == {name for name in PROPERTIES if unpromised(subject.contract, name) is None}


WRONG = {
    "Raises": ("crashed", ("mask", "batch", "repetition", "untouched")),
    "Exits": ("crashed", ("mask",)),
    "ChangesInput": ("input changed", ("mask", "untouched", "batch")),
    "ChangesK": ("input changed", ("untouched", "batch")),
    "WritesPastTheRow": ("input changed", ("in_place",)),
    "ReturnsDoubles": ("wrong form", ("mask", "batch")),
    "ReturnsOneRow": ("wrong form", ("mask", "batch")),
    "ReturnsNothing": ("wrong form", ("mask",)),
    "IgnoresP": ("failed", ("mask", "batch", "nested_in_p", "permutation", "threads", "spelling")),
    "OneMore": ("failed", ("mask", "nested_in_k", "permutation")),
    "NarrowK": ("failed", ("mask",)),
    "NeighboursK": ("failed", ("batch",)),
    "KAndPApart": ("failed", ("mask", "nested_in_p")),
    "KeepsAllTies": ("failed", ("mask", "nested_in_k", "permutation")),
    "FloatTies": ("failed", ("mask",)),
    "LastTies": ("failed", ("mask", "permutation")),
    "ChangesBits": ("failed", ("mask",)),
    "FillsWithAnother": ("failed", ("mask_value",)),
    "FillsTooMuch": ("failed", ("mask_value",)),
    "Forgets": ("failed", ("repetition",)),
    "ListingUnsorted": ("failed", ("candidates",)),
    "ListingTwice": ("failed", ("candidates",)),
    "ListingOneFloat": ("wrong form", ("candidates",)),
}


@pytest.mark.parametrize(("name", "by"), [(name, by) for name, (_, names) in WRONG.items() for by in names])
def test_wrong_in_its_own_way(name: str, by: str) -> None:
    """Every failure is of the one kind, and there is one."""
    Forgets.calls = 0
    if name == "Exits":
        with pytest.raises(SystemExit):  # the process that it would end is `worker`'s matter
            outcomes(name, by)
        return
    found = tallied(outcomes(name, by))
    kinds = {kind for kind in FAULTS if found[kind]}
    assert kinds == {WRONG[name][0]}, found


def test_the_neighbours_k_shows_in_batches_only() -> None:
    assert tallied(outcomes("NeighboursK", "mask"))["failed"] == 0


def test_what_is_not_promised_is_no_failure() -> None:
    """NaN is kept where it should not be, and nobody promised otherwise."""
    row = build(Recipe("normal", 20, planted=(Planted(3, 0x7FC00000),), k=5))
    outcome = tried(loaded("KeepsNan"), row, "mask")
    assert (outcome.status, outcome.message) == ("not promised", "NaN")
    assert tried(loaded("KeepsNan"), build(Recipe("normal", 20, k=5)), "mask").status == "passed"


@pytest.mark.parametrize(
    ("recipe", "name", "reason"),
    [
        (Recipe("normal", 20, "bfloat16", k=5), "mask", "bfloat16 logits"),
        (Recipe("normal", 20, k=50), "mask", "k outside 1 to vocab"),
        (Recipe("normal", 20, p=0.0), "mask", "p outside 0 < p <= 1"),
        (Recipe("infinite", 20), "mask", "+inf"),
        (Recipe("normal", 20), "cut", "cuts are not among its outputs"),
        (Recipe("normal", 20), "stride", "logits have to be contiguous"),
    ],
)
def test_not_promised_with_its_reason(recipe: Recipe, name: str, reason: str) -> None:
    outcome = tried(loaded("Masks"), build(recipe), name)
    assert (outcome.status, outcome.message) == ("not promised", reason)


def test_a_message_says_everything() -> None:
    recipe = Recipe("equal", 9, k=4)
    outcome = tried(loaded("OneMore"), build(recipe), "mask")
    for line in (
        "property 'mask' does not hold for 'planted_subjects:OneMore' on 'cpu'",
        f"rule:    {PROPERTIES['mask'].rule}",
        "found:   token 4 (logit 0.0, bits 0x00000000) should not be kept and is; 1 tokens differ; "
        "its contract allows 4 kept tokens",
        f"recipe:  {recipe.to_json()}",
        "call:    float32 logits [9], k=4, p=None",
    ):
        assert line in outcome.message.splitlines()


# --- finding them -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "says"),
    [
        ("tropic", None, "'tropic': expected one of 'torch', 'triton', 'interpreter', 'torch-sort', "),
        ("torch:sigma", None, "the engine 'torch' has no plans"),
        ("nowhere:at_all", None, "'nowhere:at_all' cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("planted_subjects:Absent", None, "cannot be loaded: AttributeError"),
        (
            "planted_subjects:NoContractNoFunction",
            None,
            "is a NoContractNoFunction; expected a function (",
        ),
        ("planted_subjects:WrongContract", None, "contract is a str; expected a Contract"),
        ("planted_subjects:PromisesWhatItLacks", None, "it promises 'candidates' and has no candidates; expected a "),
        ("torch-sort", "/no/such/place", "path='/no/such/place': there is no such file or folder"),
    ],
)
def test_no_such_subject(name: str, path: str | None, says: str) -> None:
    with pytest.raises(SubjectError) as caught:
        loading.load(name, path)
    assert says in str(caught.value)


def test_engines_of_ones_own_answer_as_the_semantics_say() -> None:
    found = loading.load("planted_bugs:RowEngine", None)
    assert isinstance(found, Subject)
    assert (found.name, found.device) == ("rows", "cpu")


def test_our_engines_by_name() -> None:
    found = loading.load("torch", None)
    assert isinstance(found, Subject)
    assert found.name == "torch"
    assert [loading.is_ours(name) for name in ("torch", "triton:sigma", "torch-sort", "a:b")] == [
        True,
        True,
        False,
        False,
    ]
