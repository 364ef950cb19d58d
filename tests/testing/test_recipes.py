"""Recipes: one line of JSON and back, errors that say what is wrong, and what the composed ones are like."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from qrita import reference
from qrita.testing.recipes import (
    DTYPES,
    FAMILIES,
    Aim,
    Case,
    Planted,
    Recipe,
    RecipeError,
    Seeded,
    Tie,
    build,
    compose,
    seeded,
)

FULL = Recipe(
    "normal",
    1000,
    "bfloat16",
    seed=7,
    level=300,
    planted=(Planted(3, 0x7FC0),),
    ties=(Tie(10, 60, 1, 8), Tie("cut", 100, 64, 12)),
    k=2**70,
    p=Aim(7, -1),
)


def test_json_is_one_short_line() -> None:
    assert FULL.to_json() == (
        '{"family": "normal", "vocab": 1000, "dtype": "bfloat16", "seed": 7, "level": 300, '
        '"planted": [[3, "0x7fc0"]], '
        '"ties": [{"rank": 10, "start": 60, "stride": 1, "length": 8}, '
        '{"rank": "cut", "start": 100, "stride": 64, "length": 12}], '
        '"k": 1180591620717411303424, "p": {"tokens": 7, "ulps": -1}}'
    )
    assert Recipe.from_json('{"family": "normal", "vocab": 5}') == Recipe("normal", 5)


def test_json_round_trip() -> None:
    for recipe in (FULL, *seeded(500)):
        text = recipe.to_json()
        assert "\n" not in text
        assert "'" not in text  # it is quoted so on a command line
        assert Recipe.from_json(text) == recipe


def test_json_keeps_the_sign_and_the_bits_of_p() -> None:
    for p in (-0.0, 2.0**-149, 1.0 - 2.0**-24):
        back = Recipe.from_json(Recipe("equal", 1, p=p).to_json()).p
        assert isinstance(back, float)
        assert back.hex() == p.hex()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": "norml"}, "family='norml': expected one of equal,"),
        ({"vocab": 0}, "vocab=0: expected an integer from 1 to 4,194,304"),
        ({"vocab": True}, "vocab=True: expected an integer"),
        ({"vocab": 10.0}, "vocab=10.0: expected an integer"),
        ({"dtype": "float64"}, "dtype='float64': expected one of float32, bfloat16, float16"),
        ({"seed": -1}, "seed=-1: expected an integer from 0"),
        ({"level": 17}, "level=17: expected one of 100, 1, 15, 200, 300, 500, 1000, 2000 (family 'normal')"),
        ({"k": 5.0}, "k=5.0: expected null or an integer"),
        ({"k": True}, "k=True: expected null or an integer"),
        ({"p": 0.1}, "p=0.1: expected null, a finite number that fp32 represents exactly, or an aim"),
        (
            {"p": 0.9},
            'an aim at the mass of the first tokens such as {"tokens": 10, "ulps": 0}; the nearest such number is ',
        ),
        ({"p": 0.9}, "; the nearest such number is 0.8999999761581421"),
        ({"p": 1e300}, "p=1e+300: expected null, a finite number that fp32 represents exactly"),
        ({"p": "0.5"}, "p='0.5': expected null, a finite number"),
        ({"p": {"tokens": 0, "ulps": 0}}, "p.tokens=0: expected an integer from 1"),
        ({"p": {"tokens": 1}}, "no key 'ulps' in p; expected tokens, ulps"),
        ({"p": {"tokens": 1, "ulps": 0, "up": 1}}, "unknown key 'up' in p; expected some of tokens, ulps"),
        ({"planted": {}}, "planted={}: expected a list"),
        ({"planted": [[1]]}, "planted[0]=[1]: expected a pair"),
        ({"planted": [[1, "xyz"]]}, "planted[0]=[1, 'xyz']: expected a pair"),
        ({"planted": [[10, "0x0"]]}, "planted[0].position=10: expected an integer from 0 to 9"),
        (
            {"planted": [[1, "0x100000000"]]},
            "planted[0].pattern=4294967296: expected an integer from 0 to 4,294,967,295",
        ),
        ({"ties": [3]}, "ties[0]=3: expected an object with the keys rank, start, stride, length"),
        (
            {"ties": [{"rank": "k", "start": 0, "stride": 1, "length": 2}]},
            "ties[0].rank='k': expected an integer from 0 to 4,194,304 or \"cut\"",
        ),
        ({"ties": [{"rank": 0, "start": 0, "stride": 0, "length": 2}]}, "ties[0].stride=0: expected an integer from 1"),
        ({"vocabulary": 3}, "unknown key 'vocabulary'; expected some of family, vocab,"),
        ({"family": None}, "family=None: expected one of"),
    ],
)
def test_errors_name_field_value_and_what_was_expected(change: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError) as raised:
        Recipe.from_json(json.dumps({"family": "normal", "vocab": 10} | change))
    assert message in str(raised.value)
    assert str(raised.value).startswith("recipe: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "recipe=[]: expected an object with the keys family, vocab"),
        ('{"vocab": 3}', "recipe: no key 'family'; expected family, vocab"),
        ('{"family": "equal", "vocab": 3, "vocab": 4}', "key 'vocab' is there more than once"),
        ('{"family": "equal", "vocab": 3, "p": NaN}', "p=nan: expected"),
        ('{"family": ["equal"], "vocab": 3}', "family=['equal']: expected one of"),
        ('{"family": "equal", "vocab": 3, "level": [0]}', "level=[0]: expected one of"),
    ],
)
def test_errors_of_text(text: str, message: str) -> None:
    with pytest.raises(RecipeError) as raised:
        Recipe.from_json(text)
    assert message in str(raised.value)


def test_compose_obeys_its_options() -> None:
    for seed in range(200):
        recipe = compose(Seeded(seed), max_vocab=33, min_vocab=30, dtypes=("float16",), families=("nan", "equal"))
        assert 30 <= recipe.vocab <= 33
        assert recipe.dtype == "float16"
        assert recipe.family in ("nan", "equal")


def test_seeded_recipes_are_fixed() -> None:
    assert [recipe.to_json() for recipe in seeded(3)] == [recipe.to_json() for recipe in (*seeded(1), *seeded(2, 1))]


def test_composed_recipes_reach_the_edges() -> None:
    """Each kind of edge is a fair share of the recipes, so that a few hundred of them meet it many times."""
    count = 2000
    met: Counter[str] = Counter()
    for recipe in seeded(count):
        met.update(_edges(recipe, build(recipe)))
    at_least = {
        "k and p": 0.25,
        "k only": 0.1,
        "p only": 0.1,
        "both off": 0.03,
        "k out of range": 0.05,
        "cut by k inside ties": 0.1,
        "cut by p inside ties": 0.1,
        "tie run across 64": 0.1,
        "last token needed by one step of p": 0.04,
        "subnormal p": 0.01,
        "nothing eligible": 0.005,
        "NaN or -inf": 0.1,
        **{f"family {family}": 0.02 for family in FAMILIES},
        **{f"dtype {dtype}": 0.2 for dtype in DTYPES},
    }
    assert {edge: met[edge] for edge, share in at_least.items() if met[edge] < share * count} == {}


def _edges(recipe: Recipe, case: Case) -> set[str]:
    k_on = case.k is not None and 0 < case.k < case.vocab
    p_on = case.p is not None and case.p < 1.0
    edges = {f"family {recipe.family}", f"dtype {recipe.dtype}"}
    edges.add({(1, 1): "k and p", (1, 0): "k only", (0, 1): "p only", (0, 0): "both off"}[k_on, p_on])
    if case.k is not None and not k_on:
        edges.add("k out of range")
    if case.p is not None and 0.0 < case.p < 2.0**-126:
        edges.add("subnormal p")
    answer = case.answer
    eligible = reference.eligible(reference.widen(case.raw, case.dtype))
    if not eligible.all():
        edges.add("NaN or -inf")
    if not len(answer.kept):
        return edges | {"nothing eligible"}
    run = np.flatnonzero((answer.keys == answer.keys[answer.kept[-1]]) & eligible)
    removed = np.setdiff1d(run, answer.kept)
    if len(removed):
        by_k = k_on and len(answer.kept) == case.k
        edges.add(f"cut by {'k' if by_k else 'p'} inside ties")
        if run[0] // 64 != run[-1] // 64:
            edges.add("tie run across 64")
    if p_on and len(answer.kept) > 1:
        below = int(answer.weights[:-1].sum())
        assert below < ceil(Fraction(case.p) * answer.total)
        if ceil(Fraction(float(np.nextafter(np.float32(case.p), np.float32(0)))) * answer.total) <= below:
            edges.add("last token needed by one step of p")
    return edges
