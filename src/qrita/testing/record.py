"""The recipe: a small record that names one row with its k and p, and travels as one line of JSON."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from qrita.testing.families import FAMILIES
from qrita.testing.formats import DTYPES, WIDTH

MAX_VOCAB = 1 << 22
MAX_SEED = (1 << 64) - 1


class RecipeError(ValueError):
    """A recipe that cannot be built: the message names the field, its value and what was expected."""


@dataclass(frozen=True)
class Planted:
    """One logit overwritten: `pattern` is its bits in the row's dtype."""

    position: int
    pattern: int


@dataclass(frozen=True)
class Tie:
    """A group of tokens overwritten with the value that has rank `rank` in the row's order, which ties them.

    The tokens are start, start + stride, ...: `length` of them, as far as the vocabulary goes. A rank past the last
    eligible token means the last. The rank "cut" is that of the last kept token before any tie was planted.
    """

    rank: int | str
    start: int
    stride: int
    length: int


@dataclass(frozen=True)
class Aim:
    """p aimed at a prefix: the fp32 nearest to (mass of the first `tokens` tokens) / Z, moved by `ulps` steps."""

    tokens: int
    ulps: int


@dataclass(frozen=True)
class Recipe:
    """One row, its k and its p. Fixes every bit on every machine.

    Attributes:
        family, level: what kind of row; see `families`.
        vocab: its length.
        dtype: "float32", "bfloat16" or "float16".
        seed: picks one row of the family.
        planted: logits overwritten with given bits, in this order.
        ties: groups of tokens then made equal, in this order.
        k: as in `qrita.top_k_top_p`, any integer.
        p: None, a number that fp32 represents exactly, or an aim that is resolved when the row is known.
    """

    family: str
    vocab: int
    dtype: str = "float32"
    seed: int = 0
    level: int | None = None
    planted: tuple[Planted, ...] = ()
    ties: tuple[Tie, ...] = ()
    k: int | None = None
    p: float | Aim | None = None

    def __post_init__(self) -> None:
        _one_of("family", self.family, tuple(FAMILIES))
        _one_of("dtype", self.dtype, DTYPES)
        _whole("vocab", self.vocab, 1, MAX_VOCAB)
        _whole("seed", self.seed, 0, MAX_SEED)
        levels = FAMILIES[self.family].levels
        if self.level is None:
            object.__setattr__(self, "level", levels[0])
        if self.level not in levels or isinstance(self.level, bool):
            raise _error("level", self.level, f"one of {', '.join(map(str, levels))} (family {self.family!r})")
        for i, planted in enumerate(self.planted):
            _whole(f"planted[{i}].position", planted.position, 0, self.vocab - 1)
            _whole(f"planted[{i}].pattern", planted.pattern, 0, (1 << WIDTH[self.dtype]) - 1)
        for i, tie in enumerate(self.ties):
            if tie.rank != "cut":
                _whole(f"ties[{i}].rank", tie.rank, 0, MAX_VOCAB, ' or "cut"')
            _whole(f"ties[{i}].start", tie.start, 0, MAX_VOCAB)
            _whole(f"ties[{i}].stride", tie.stride, 1, MAX_VOCAB)
            _whole(f"ties[{i}].length", tie.length, 1, MAX_VOCAB)
        if self.k is not None and (not isinstance(self.k, int) or isinstance(self.k, bool)):
            raise _error("k", self.k, "null or an integer")
        if isinstance(self.p, Aim):
            _whole("p.tokens", self.p.tokens, 1, MAX_VOCAB)
            _whole("p.ulps", self.p.ulps, -(1 << 20), 1 << 20)
        elif self.p is not None:
            object.__setattr__(self, "p", _fp32(self.p))

    def to_json(self) -> str:
        """One line, without the fields that have their default."""
        shown: dict[str, Any] = {"family": self.family, "vocab": self.vocab, "dtype": self.dtype, "seed": self.seed}
        shown["level"] = self.level
        if self.planted:
            shown["planted"] = [[p.position, f"0x{p.pattern:0{WIDTH[self.dtype] // 4}x}"] for p in self.planted]
        if self.ties:
            shown["ties"] = [vars(tie) for tie in self.ties]
        if self.k is not None:
            shown["k"] = self.k
        if self.p is not None:
            shown["p"] = vars(self.p) if isinstance(self.p, Aim) else self.p
        return json.dumps(shown, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """The recipe of a JSON object, as `to_json` writes it.

        Raises:
            RecipeError: names the field, its value and what was expected. Unknown and repeated keys are errors.
        """
        try:
            given = json.loads(text, object_pairs_hook=_pairs)
        except json.JSONDecodeError as error:
            raise RecipeError(f"recipe: not JSON ({error}); expected one object on one line") from None
        given = _object("recipe", given, required=("family", "vocab"), known=tuple(f.name for f in fields(cls)))
        read: dict[str, Callable[[Any], Any]] = {"planted": _planted, "ties": _ties, "p": _p}
        return cls(**{key: read.get(key, lambda same: same)(value) for key, value in given.items()})


def _error(field: str, value: object, expected: str) -> RecipeError:
    return RecipeError(f"recipe: {field}={value!r}: expected {expected}")


def _one_of(field: str, value: object, options: tuple[str, ...]) -> None:
    if value not in options:
        raise _error(field, value, f"one of {', '.join(options)}")


def _whole(field: str, value: object, low: int, high: int, otherwise: str = "") -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _error(field, value, f"an integer from {low:,} to {high:,}{otherwise}")


def _fp32(p: object) -> float:
    expected = (
        "null, a finite number that fp32 represents exactly, or an aim at the mass of the first tokens such as "
        '{"tokens": 10, "ulps": 0}'
    )
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise _error("p", p, expected)
    try:
        narrowed: float = struct.unpack("<f", struct.pack("<f", p))[0]
    except OverflowError:
        raise _error("p", p, expected) from None
    if not math.isfinite(p):
        raise _error("p", p, expected)
    if narrowed != p:
        raise _error("p", p, f"{expected}; the nearest such number is {narrowed!r}")
    return float(p)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise RecipeError(f"recipe: key {key!r} is there more than once; expected it once")
    return dict(pairs)


def _object(field: str, value: object, required: tuple[str, ...], known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _error(field, value, f"an object with the keys {', '.join(required)}")
    place = "" if field == "recipe" else f" in {field}"
    for key in value:
        if key not in known:
            raise RecipeError(f"recipe: unknown key {key!r}{place}; expected some of {', '.join(known)}")
    for key in required:
        if key not in value:
            raise RecipeError(f"recipe: no key {key!r}{place}; expected {', '.join(required)}")
    return value


def _list(field: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _error(field, value, "a list")
    return value


def _planted(value: object) -> tuple[Planted, ...]:
    return tuple(_plant(f"planted[{i}]", item) for i, item in enumerate(_list("planted", value)))


def _plant(field: str, item: object) -> Planted:
    expected = 'a pair such as [3, "0x7fc0"], a position and a bit pattern'
    if not isinstance(item, list) or len(item) != 2 or not isinstance(item[1], str):
        raise _error(field, item, expected)
    try:
        return Planted(item[0], int(item[1], 16))
    except ValueError:
        raise _error(field, item, expected) from None


def _ties(value: object) -> tuple[Tie, ...]:
    names = tuple(f.name for f in fields(Tie))
    return tuple(Tie(**_object(f"ties[{i}]", item, names, names)) for i, item in enumerate(_list("ties", value)))


def _p(value: object) -> object:
    if not isinstance(value, dict):
        return value
    names = tuple(f.name for f in fields(Aim))
    return Aim(**_object("p", value, names, names))
