"""What an implementation promises. Whatever it does not promise is neither a pass nor a fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, get_args

from qrita import reference
from qrita.testing.building import Case
from qrita.testing.formats import DTYPES

Ties = Literal["lowest index first", "any of them", "any number of them", "all of them"]
Order = Literal["k then p", "k and p apart", "k alone", "p alone"]
KValues = Literal["1 to vocab - 1", "1 to vocab", "any"]
PValues = Literal["0 < p < 1", "0 < p <= 1", "any"]
Strides = Literal["contiguous", "any"]

OUTPUTS = ("mask", "mask in place", "mask_value", "candidates")
DEVICES = ("cpu", "cuda")
"""torch's names: ROCm's GPUs are "cuda" too."""


class ContractError(ValueError):
    """A contract that says nothing that can be tried. Names the field, its value and what was expected."""


@dataclass(frozen=True)
class Contract:
    """The promises of one implementation; by default what goes without saying, and no more.

    Attributes:
        outputs: "mask": logits in, masked logits out, -inf where removed. "mask in place": the same, written over the
            logits. "mask_value": the mask takes another value than -inf. "candidates": a listing of the kept tokens.
        dtypes: of the logits.
        devices: where they may be.
        order: "k then p": top-p on what top-k left. "k and p apart": both on the whole row. Or one of them alone.
        ties: which of equal logits are kept where not all fit. "lowest index first"; "any of them", but just as many as
            fit; "any number of them" from there to all; "all of them".
        tolerance: the greatest error of a prefix's probability: tokens whose prefix is within it of p may go either
            way. None: decided by the exact weights of rule 9, so without any.
        tolerance_growth: what is added to it, times the square root of the vocabulary: floating-point sums grow so.
        resolution: logits that differ by no more may be tied in top-p, where probabilities are compared.
        k_values, p_values: those that are allowed. None, for "off", always is.
        numbers, tensors: whether k and p may be numbers for all rows, or tensors with one value a row.
        nan, infinity, masked, empty: whether rows with NaN, with +inf, with -inf, with nothing but these are answered.
        strides: of the logits.
        max_vocab: the longest row.
        deterministic: the same call has the same answer again.
        batch_invariant: a row has the same answer in every batch.
        keeps_input: the logits are not written to (except in place).
        sorted: candidates come greatest first.
        sources: where a promise is made, or why it is read so, by field: for readers of a report.
    """

    outputs: tuple[str, ...] = ("mask",)
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = DEVICES
    order: Order = "k then p"
    ties: Ties = "any number of them"
    tolerance: float | None = 1e-6
    tolerance_growth: float = 2.0**-22
    resolution: float = 0.0
    k_values: KValues = "1 to vocab"
    p_values: PValues = "0 < p <= 1"
    numbers: bool = True
    tensors: bool = False
    nan: bool = False
    infinity: bool = False
    masked: bool = True
    empty: bool = False
    strides: Strides = "contiguous"
    max_vocab: int = 1 << 22
    deterministic: bool = True
    batch_invariant: bool = False
    keeps_input: bool = True
    sorted: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _some_of("outputs", self.outputs, OUTPUTS)
        _some_of("dtypes", self.dtypes, DTYPES)
        _some_of("devices", self.devices, DEVICES)
        for name, options in (
            ("order", Order),
            ("ties", Ties),
            ("k_values", KValues),
            ("p_values", PValues),
            ("strides", Strides),
        ):
            if getattr(self, name) not in get_args(options):
                raise _error(name, getattr(self, name), f"one of {', '.join(map(repr, get_args(options)))}")
        if not {"mask", "candidates", "mask in place"} & set(self.outputs):
            raise _error("outputs", self.outputs, "'mask', 'mask in place' or 'candidates' among them")
        if not (self.numbers or self.tensors):
            raise _error("numbers", self.numbers, "True where tensors=False: k and p have to come somehow")
        if self.tolerance is None and (self.ties, self.order) != ("lowest index first", "k then p"):
            raise _error("tolerance", None, "a number unless ties='lowest index first' and order='k then p'")

    def tolerance_of(self, vocab: int) -> float:
        """The greatest error of a prefix's probability in a row of that length."""
        return 0.0 if self.tolerance is None else self.tolerance + self.tolerance_growth * sqrt(vocab)

    @property
    def top_k(self) -> bool:
        """Whether k is taken."""
        return self.order != "p alone"

    @property
    def top_p(self) -> bool:
        """Whether p is taken."""
        return self.order != "k alone"


def outside(contract: Contract, case: Case) -> str | None:
    """What in a case the contract does not cover, in words; None where it covers everything."""
    return _outside_in_arguments(contract, case) or _outside_in_row(contract, case)


def _outside_in_arguments(contract: Contract, case: Case) -> str | None:
    k, p = case.k, case.p
    if case.dtype not in contract.dtypes:
        return f"{case.dtype} logits"
    if case.vocab > contract.max_vocab:
        return f"a vocabulary above {contract.max_vocab:,}"
    if k is not None and not contract.top_k:
        return "top-k"
    if p is not None and not contract.top_p:
        return "top-p"
    greatest_k = {"1 to vocab - 1": case.vocab - 1, "1 to vocab": case.vocab}.get(contract.k_values)
    if k is not None and greatest_k is not None and not 1 <= k <= greatest_k:
        return f"k outside {contract.k_values}"
    inside_p = {"0 < p < 1": p is None or 0.0 < p < 1.0, "0 < p <= 1": p is None or 0.0 < p <= 1.0}
    if not inside_p.get(contract.p_values, True):
        return f"p outside {contract.p_values}"
    return None


def _outside_in_row(contract: Contract, case: Case) -> str | None:
    magnitude = reference.widen(case.raw, case.dtype) & 0x7FFFFFFF
    infinite = magnitude == 0x7F800000
    eligible = reference.eligible(reference.widen(case.raw, case.dtype))
    if not contract.nan and (magnitude > 0x7F800000).any():
        return "NaN"
    if not contract.infinity and (infinite & eligible).any():
        return "+inf"
    if not contract.masked and (infinite & ~eligible).any():
        return "-inf"
    if not contract.empty and not eligible.any():
        return "a row with nothing to keep"
    return None


def unpromised(contract: Contract, name: str) -> str | None:
    """Why the contract says nothing about a property, whatever the case; None where it does."""
    both = {"mask", "candidates"} <= set(contract.outputs)
    lacks: dict[str, str | None] = {
        "cut": "cuts are not among its outputs",
        "mask": None if "mask" in contract.outputs else "a mask is not among its outputs",
        "mask_value": None if "mask_value" in contract.outputs else "it takes no mask_value",
        "candidates": None if "candidates" in contract.outputs else "candidates are not among its outputs",
        "one_answer": None if both else "it has one form of output",
        "spelling": None if contract.numbers and contract.tensors else "k and p have one form",
        "stride": None if contract.strides == "any" else "logits have to be contiguous",
        "widening": None if len(contract.dtypes) > 1 and "float32" in contract.dtypes else "logits have one width",
        "repetition": None if contract.deterministic else "a second call may answer otherwise",
        "nested_in_k": None if contract.top_k else "it has no top-k",
        "nested_in_p": None if contract.top_p else "it has no top-p",
        "in_place": None if "mask in place" in contract.outputs else "it does not work in place",
        "out": "it takes no out",
        "untouched": None if contract.keeps_input else "it may write to its input",
        "flush_subnormals": "modes of the CPU are not spoken of",
    }
    return lacks.get(name)


def _some_of(field: str, value: object, options: tuple[str, ...]) -> None:
    if not isinstance(value, tuple) or not value or not set(value) <= set(options):
        raise _error(field, value, f"a tuple of some of {', '.join(map(repr, options))}")


def _error(field: str, value: object, expected: str) -> ContractError:
    return ContractError(f"contract: {field}={value!r}: expected {expected}")
