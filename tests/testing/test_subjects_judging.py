"""What a contract allows: every set that a correct implementation of it could return, and no other."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qrita import reference
from qrita.testing import strategies
from qrita.testing.building import Case, build
from qrita.testing.foreign.contract import Contract, ContractError, outside, unpromised
from qrita.testing.foreign.judging import difference
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import Recipe

LOWEST = Contract(ties="lowest index first")
EXACT = replace(LOWEST, tolerance=None, k_values="any", p_values="any", nan=True, infinity=True, empty=True)
TIES = ("lowest index first", "any of them", "any number of them", "all of them")
INF, NAN = float("inf"), float("nan")


def case(logits: list[float], k: int | None = None, p: float | None = None) -> Case:
    p = None if p is None else float(np.float32(p))
    return Case(None, torch.tensor(logits), k, p)


def allowed(contract: Contract, row: Case) -> set[tuple[int, ...]]:
    """Every set that the contract allows, by trying all."""
    found = set()
    for kept in itertools.product((False, True), repeat=row.vocab):
        if difference(contract, row, np.array(kept)) is None:
            found.add(tuple(np.flatnonzero(kept).tolist()))
    return found


# --- top-k ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("lowest index first", {(0, 1)}),
        ("any of them", {(0, 1), (0, 3), (0, 4)}),
        ("any number of them", {(0, 1), (0, 3), (0, 4), (0, 1, 3), (0, 1, 4), (0, 3, 4), (0, 1, 3, 4)}),
        ("all of them", {(0, 1, 3, 4)}),
    ],
)
def test_ties_at_k(ties: str, expected: set[tuple[int, ...]]) -> None:
    assert allowed(Contract(ties=ties), case([5.0, 2.0, 1.0, 2.0, 2.0], k=2)) == expected


@pytest.mark.parametrize("ties", TIES)
def test_without_ties_there_is_one_answer(ties: str) -> None:
    row = case([5.0, 2.0, 1.0, 3.0, 4.0])
    for k in range(1, 6):
        assert allowed(Contract(ties=ties), replace(row, k=k)) == {tuple(sorted([0, 4, 3, 1, 2][:k]))}


@pytest.mark.parametrize("ties", TIES)
def test_both_zeros_are_equal(ties: str) -> None:
    found = allowed(Contract(ties=ties), case([0.0, -0.0, -1.0], k=1))
    assert found >= ({(0, 1)} if ties == "all of them" else {(0,)})
    assert ((1,) in found) == ties.startswith("any")


@pytest.mark.parametrize("ties", TIES)
def test_more_than_there_is(ties: str) -> None:
    """k above the number of finite logits: all of those, and -inf never."""
    assert allowed(Contract(ties=ties), case([-INF, 2.0, -INF, 1.0], k=3)) == {(1, 3)}
    assert allowed(Contract(ties=ties), case([-INF, -INF], k=1)) == {()}


# --- top-p ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("lowest index first", {(0, 1)}),
        ("any of them", set(itertools.combinations(range(4), 2))),
        ("any number of them", {s for n in (2, 3, 4) for s in itertools.combinations(range(4), n)}),
        ("all of them", {(0, 1, 2, 3)}),
    ],
)
def test_ties_at_p(ties: str, expected: set[tuple[int, ...]]) -> None:
    """Four equal tokens of mass 0.25, and p away from their sums."""
    assert allowed(Contract(ties=ties), case([1.0, 1.0, 1.0, 1.0], p=0.4)) == expected


def test_within_the_tolerance_of_p_either_way() -> None:
    row = case([1.0, 1.0, 1.0, 1.0], p=0.5)
    for step, expected in ((-1e-4, {(0, 1)}), (0.0, {(0, 1), (0, 1, 2)}), (1e-4, {(0, 1, 2)})):
        assert allowed(LOWEST, replace(row, p=float(np.float32(0.5 + step)))) == expected
    assert allowed(EXACT, row) == {(0, 1)}


def test_top_p_is_of_what_top_k_left() -> None:
    """Of six equal tokens four are left, of which three are three quarters; of six it would be five."""
    row = case([1.0] * 6, k=4, p=0.7)
    assert allowed(LOWEST, row) == {(0, 1, 2)}
    assert allowed(replace(LOWEST, order="k and p apart"), row) == {(0, 1, 2, 3)}
    assert allowed(replace(LOWEST, order="k and p apart"), replace(row, p=float(np.float32(0.3)))) == {(0, 1)}


def test_ties_of_top_k_that_weigh_in_top_p() -> None:
    """Kept in any number, they make the whole greater: then fewer tokens reach p, or more of them are needed."""
    row = case([2.0, 1.0, 1.0, 1.0, 1.0], k=2, p=0.7)  # of two tokens, the first has 0.73; of five, 0.40
    assert allowed(Contract(ties="any of them"), row) == {(0,)}
    assert (0,) in allowed(Contract(ties="any number of them"), row)
    assert (0, 1, 2, 3) in allowed(Contract(ties="any number of them"), row)
    assert allowed(Contract(ties="all of them"), row) == {(0, 1, 2, 3, 4)}


@pytest.mark.parametrize("ties", TIES)
def test_at_least_one_token(ties: str) -> None:
    assert allowed(Contract(ties=ties, p_values="any"), case([1.0, 5.0, 3.0], p=0.0)) == {(1,)}


def test_the_tail_that_rounding_loses() -> None:
    """At p = 1 what weighs less than the tolerance may go; what weighs more may not."""
    found = allowed(LOWEST, case([0.0, -1.0, -50.0], p=1.0))
    assert found == {(0, 1), (0, 1, 2)}


@pytest.mark.parametrize("ties", TIES)
def test_a_set_has_no_gap(ties: str) -> None:
    """All of the tail may go or stay, but never a smaller one without the greater."""
    found = allowed(Contract(ties=ties), case([0.0, -20.0, -21.0, -22.0], p=1.0))
    assert found == {(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)}


def test_all_ties_stay_together_also_within_the_tolerance() -> None:
    row = case([0.0, -20.0, -20.0], p=1.0)
    assert allowed(Contract(ties="all of them"), row) == {(0,), (0, 1, 2)}
    assert allowed(Contract(ties="any of them"), row) == {(0,), (0, 1), (0, 2), (0, 1, 2)}
    assert allowed(Contract(ties="lowest index first"), row) == {(0,), (0, 1), (0, 1, 2)}


def test_logits_that_probabilities_cannot_tell_apart() -> None:
    step = float(np.spacing(np.float32(1.0)))
    row = case([1.0, 1.0 + step, 1.0, -9.0], p=0.2)
    assert (0, 1, 2) not in allowed(Contract(), row)
    assert (0, 1, 2) in allowed(Contract(resolution=2.0**-21), row)
    assert allowed(Contract(resolution=2.0**-21), replace(row, p=None, k=1)) == {(1,)}  # top-k compares logits


# --- any row ----------------------------------------------------------------------------------------------------


@given(strategies.recipes(max_vocab=300))
def test_the_oracles_answer_is_always_allowed(recipe: Recipe) -> None:
    """Whatever a contract leaves open, the exact answer is among what it allows, unless it promises all ties."""
    row = build(recipe)
    kept = reference.kept(row.answer)
    assert difference(EXACT, row, kept) is None
    for ties in TIES[:3]:
        contract = Contract(ties=ties, dtypes=(row.dtype,), k_values="any", p_values="any", empty=True)
        if outside(contract, row) is None:
            assert difference(contract, row, kept) is None


@given(strategies.recipes(max_vocab=300), st.integers(0, 299))
def test_one_token_more_or_less(recipe: Recipe, token: int) -> None:
    """Without top-p, the lowest index first leaves one answer: any other token makes it wrong."""
    row = replace(build(recipe), p=None)
    contract = replace(LOWEST, dtypes=(row.dtype,), k_values="any", nan=True, infinity=True, empty=True)
    kept = reference.kept(row.answer)
    kept[token % row.vocab] ^= True
    found = difference(contract, row, kept)
    assert found is not None
    assert "tokens differ" in found


def test_a_difference_says_what_is_allowed() -> None:
    row = case([5.0, 2.0, 1.0, 2.0, 2.0], k=2)
    contract = Contract(ties="any number of them")
    for kept, says in (
        ((1, 3, 4), "token 0 (logit 5.0, bits 0x40a00000) should be kept and is not; 1 tokens differ; its contract "),
        ((0, 2, 3), "token 2 (logit 1.0, bits 0x3f800000) should not be kept and is; 1 tokens differ; its contract "),
        ((0,), "of equal logits too few are kept: 1 in all; its contract allows 2 to 4 kept tokens"),
    ):
        found = difference(contract, row, np.isin(np.arange(5), kept))
        assert found is not None
        assert found.startswith(says)


# --- what is outside --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "change", "reason"),
    [
        (case([1.0, 2.0], k=1), {}, None),
        (replace(case([1.0]), logits=torch.ones(3, dtype=torch.bfloat16)), {}, "bfloat16 logits"),
        (case([1.0] * 9), {"max_vocab": 8}, "a vocabulary above 8"),
        (case([1.0, 2.0], k=1), {"order": "p alone"}, "top-k"),
        (case([1.0, 2.0], p=0.5), {"order": "k alone"}, "top-p"),
        (case([1.0, 2.0], k=0), {}, "k outside 1 to vocab"),
        (case([1.0, 2.0], k=3), {}, "k outside 1 to vocab"),
        (case([1.0, 2.0], k=2), {}, None),
        (case([1.0, 2.0], k=2), {"k_values": "1 to vocab - 1"}, "k outside 1 to vocab - 1"),
        (case([1.0, 2.0], k=-(1 << 63)), {"k_values": "any"}, None),
        (case([1.0, 2.0], p=0.0), {}, "p outside 0 < p <= 1"),
        (case([1.0, 2.0], p=1.0), {}, None),
        (case([1.0, 2.0], p=1.0), {"p_values": "0 < p < 1"}, "p outside 0 < p < 1"),
        (case([1.0, 2.0], p=-2.0), {"p_values": "any"}, None),
        (case([1.0, NAN]), {}, "NaN"),
        (case([1.0, NAN]), {"nan": True}, None),
        (case([1.0, INF]), {}, "+inf"),
        (case([1.0, INF]), {"infinity": True}, None),
        (case([1.0, -INF]), {}, None),
        (case([1.0, -INF]), {"masked": False}, "-inf"),
        (case([-INF, -INF]), {}, "a row with nothing to keep"),
        (case([-INF, -INF]), {"empty": True}, None),
    ],
)
def test_outside(row: Case, change: dict[str, object], reason: str | None) -> None:
    assert outside(replace(Contract(), **change), row) == reason


def test_the_least_contract_promises_little() -> None:
    promised = [name for name in PROPERTIES if unpromised(Contract(), name) is None]
    assert promised == [
        *("mask", "batch", "repetition", "nested_in_k", "nested_in_p", "permutation", "untouched", "threads")
    ]


def test_more_is_promised_by_saying_so() -> None:
    most = Contract(
        outputs=("mask", "mask in place", "mask_value", "candidates"),
        dtypes=("float32", "float16"),
        tensors=True,
        strides="any",
    )
    assert {name for name in PROPERTIES if unpromised(most, name)} == {"cut", "out", "flush_subnormals"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"outputs": ()}, "contract: outputs=(): expected a tuple of some of 'mask', "),
        ({"outputs": "mask"}, "contract: outputs='mask': expected a tuple"),
        ({"outputs": ("mask_value",)}, "expected 'mask', 'mask in place' or 'candidates' among them"),
        ({"dtypes": ("float64",)}, "contract: dtypes=('float64',): expected"),
        ({"devices": ("rocm",)}, "expected a tuple of some of 'cpu', 'cuda'"),
        ({"order": "p then k"}, "contract: order='p then k': expected one of 'k then p', "),
        ({"ties": "none"}, "contract: ties='none': expected one of 'lowest index first', "),
        ({"tolerance": None}, "contract: tolerance=None: expected a number unless ties='lowest index first'"),
        ({"numbers": False}, "contract: numbers=False: expected True where tensors=False"),
        ({"strides": "some"}, "contract: strides='some': expected one of 'contiguous', 'any'"),
    ],
)
def test_contracts_are_checked(fields: dict[str, object], says: str) -> None:
    with pytest.raises(ContractError) as caught:
        Contract(**fields)
    assert says in str(caught.value)
