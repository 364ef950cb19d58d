"""Every argument as rules 0 to 3 and 13 to 16 of docs/semantics.md allow it, one named case a clause.

Expected values are written out. A row of different logits measures k. A row of V equal logits measures p, of which
exactly ceil(p * V) are kept. What must be an error is in test_argument_errors.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from support import DTYPES, INF, NAN, bits, kept, logits, memory, short
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import qrita
from qrita import arguments, engines

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=short)
numpy_integers = pytest.mark.parametrize(
    "integer", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64], ids=lambda kind: kind.__name__
)


class Index:
    """An integer by way of operator.index and nothing else."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def count(k: Any = None, p: Any = None, row: Tensor | None = None) -> int:
    """How many tokens of the one row are kept."""
    row = logits(1)[0] if row is None else row
    return len(kept(qrita.top_k_top_p(row, k, p)))


# --- logits: rule 0 ---------------------------------------------------------------------------------------------


@dtypes
@pytest.mark.parametrize("rank", [1, 2])
class TestLogits:
    def test_the_result_has_their_shape_and_dtype(self, dtype: torch.dtype, rank: int) -> None:
        x = logits(3, dtype=dtype) if rank == 2 else logits(1, dtype=dtype)[0]
        result = qrita.top_k_top_p(x, 2, 0.5)
        assert (result.shape, result.dtype, result.device) == (x.shape, x.dtype, x.device)

    def test_candidates_have_their_rank(self, dtype: torch.dtype, rank: int) -> None:
        x = logits(3, dtype=dtype) if rank == 2 else logits(1, dtype=dtype)[0]
        found = qrita.candidates(x, 2)
        rows = len(x) if rank == 2 else 1
        listing = (rows, 2) if rank == 2 else (2,)
        assert (found.indices.shape, found.indices.dtype) == (listing, torch.int32)
        assert (found.logits.shape, found.logits.dtype) == (listing, dtype)
        assert (found.counts.shape, found.counts.dtype) == ((rows,), torch.int32)
        assert (found.mass.shape, found.mass.dtype) == ((rows,), torch.int64)
        assert (found.total.shape, found.total.dtype) == ((rows,), torch.int64)


@dtypes
@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[:, 8:24],
        lambda x: x[:, ::3],
        lambda x: x[::2],
        lambda x: x.T,
        lambda x: x[1:, 5:],
        lambda x: x[:1].expand(5, 32),
        lambda x: x[:, :1].expand(4, 9),
        lambda x: x.as_strided((6, 9), (7, 3), 2),
        lambda x: x[0],
        lambda x: x[:, 3],
        lambda x: x[0, :1].expand(7),
    ],
    ids=[
        *("padded", "every-third-column", "every-second-row", "transposed", "offset", "expanded-rows"),
        *("expanded-columns", "overlapping-rows", "row", "column", "expanded-token"),
    ],
)
def test_any_strides(dtype: torch.dtype, view: Callable[[Tensor], Tensor]) -> None:
    x = torch.randn(4, 32, generator=torch.Generator().manual_seed(0)).to(dtype)
    before = memory(x)
    strided, packed = view(x), view(x).contiguous()
    assert bits(qrita.top_k_top_p(strided, 5, 0.9)) == bits(qrita.top_k_top_p(packed, 5, 0.9))
    assert bits(qrita.candidates(strided, 5, 0.9).indices) == bits(qrita.candidates(packed, 5, 0.9).indices)
    assert memory(x) == before


@pytest.mark.parametrize(
    "mode", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)], ids=["no", "inference", "set"]
)
@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "computed"])
def test_logits_that_require_grad_pass_where_grad_mode_is_off(
    mode: Callable[[], AbstractContextManager[Any]], leaf: bool
) -> None:
    x = logits().requires_grad_()
    x = x if leaf else x * 1
    with mode():
        results = qrita.top_k_top_p(x, 2), qrita.candidates(x, 2).logits
    assert [result.requires_grad for result in results] == [False, False]
    assert kept(results[0][0]) == [6, 7]


def test_detached_logits_pass_in_grad_mode() -> None:
    result = qrita.top_k_top_p(logits().requires_grad_().detach(), 2)
    assert not result.requires_grad
    assert result.grad_fn is None


def test_logits_made_in_inference_mode_pass_outside_of_it() -> None:
    with torch.inference_mode():
        x = logits()
    assert kept(qrita.top_k_top_p(x, 2)[0]) == [6, 7]


@pytest.mark.parametrize("shape", [(0, 8), (2, 0), (0, 0), (0,), (2**40, 0)], ids=str)
class TestEmpty:
    """B = 0 and V = 0: empty results, nothing launched."""

    @pytest.fixture(autouse=True)
    def _no_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(engines, "choose")

    @dtypes
    def test_mask(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        x = torch.zeros(shape, dtype=dtype)
        out = torch.zeros(shape, dtype=dtype)
        result = qrita.top_k_top_p(x, 5, 0.5)
        assert (result.shape, result.dtype) == (x.shape, dtype)
        assert qrita.top_k_top_p(x, 5, 0.5, out=out) is out
        assert qrita.top_k_top_p(x, 5, 0.5, out=x) is x
        assert qrita.top_k_top_p_(x, 5, 0.5) is x

    def test_per_row_arguments(self, shape: tuple[int, ...]) -> None:
        rows = shape[0] if len(shape) == 2 else 1
        k, p = torch.ones(1).long().expand(rows), torch.ones(1).expand(rows)
        assert qrita.top_k_top_p(torch.zeros(shape), k, p).shape == shape


@dtypes
@pytest.mark.parametrize(
    ("shape", "listing", "rows"),
    [((0, 8), (0, 3), 0), ((2, 0), (2, 3), 2), ((0, 0), (0, 3), 0), ((0,), (3,), 1)],
    ids=str,
)
def test_empty_candidates(
    dtype: torch.dtype, shape: tuple[int, ...], listing: tuple[int, ...], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(engines, "choose")
    found = qrita.candidates(torch.zeros(shape, dtype=dtype), 3, 0.5)
    assert found.indices.tolist() == torch.full(listing, -1).tolist()
    assert found.logits.tolist() == torch.full(listing, -INF).tolist()
    assert (found.indices.dtype, found.logits.dtype, found.counts.dtype) == (torch.int32, dtype, torch.int32)
    assert found.counts.tolist() == found.mass.tolist() == found.total.tolist() == [0] * rows


def test_the_longest_row() -> None:
    """V = 2**22 is allowed; all equal, its mass is the greatest there is, 2**62."""
    row = torch.zeros(1).expand(2**22)
    found = qrita.candidates(row, p=0.5, max_candidates=4)
    assert found.counts.tolist() == [2**21]
    assert (found.mass.tolist(), found.total.tolist()) == ([2**61], [2**62])
    assert found.indices.tolist() == [0, 1, 2, 3]


# --- k: rule 1 --------------------------------------------------------------------------------------------------


class TestK:
    """A row of eight different logits."""

    @pytest.mark.parametrize("k", [1, 2, 7])
    def test_within_the_row(self, k: int) -> None:
        assert count(k) == k

    @pytest.mark.parametrize(
        "k",
        [None, 0, -1, -(2**31), -(2**32) + 5, -(10**30), -(10**5000)],
        ids=["None", "0", "-1", "-2**31", "-2**32+5", "-10**30", "-10**5000"],
    )
    def test_none_and_at_most_0_are_off(self, k: int | None) -> None:
        assert count(k) == 8

    @pytest.mark.parametrize(
        "k",
        [8, 9, 2**31, 2**32 + 5, 2**63, 2**64 + 3, 10**30, 10**5000],
        ids=["V", "V+1", "2**31", "2**32+5", "2**63", "2**64+3", "10**30", "10**5000"],
    )
    def test_at_least_the_vocabulary_is_off(self, k: int) -> None:
        assert count(k) == 8

    @numpy_integers
    def test_numpy_integers(self, integer: type[np.integer[Any]]) -> None:
        assert count(integer(5)) == 5

    @pytest.mark.parametrize("k", [Index(5), np.array(5), np.uint64(5)], ids=["object", "0d-array", "numpy-scalar"])
    def test_whatever_has_an_index(self, k: Any) -> None:
        assert count(k) == 5

    @pytest.mark.parametrize(
        "k", [Index(2**64 + 5), np.uint64(2**64 - 1), np.int8(-3)], ids=["object", "uint64", "int8"]
    )
    def test_whatever_has_an_index_is_clamped_before_it_is_narrowed(self, k: Any) -> None:
        assert count(k) == 8

    @pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=short)
    @pytest.mark.parametrize(
        "view",
        [
            lambda k: k,
            lambda k: k.repeat_interleave(3)[::3],
            lambda k: torch.stack([k, -k], 1)[:, 0],
            lambda k: torch.cat([k, k])[len(k) :],
        ],
        ids=["packed", "strided", "column", "offset"],
    )
    def test_tensor(self, dtype: torch.dtype, view: Callable[[Tensor], Tensor]) -> None:
        values = torch.tensor([1, 2, 7, 8, 9, 0, -1, torch.iinfo(dtype).max, torch.iinfo(dtype).min], dtype=dtype)
        k = view(values)
        before = memory(k)
        result = qrita.top_k_top_p(logits(9), k)
        assert [len(kept(row)) for row in result] == [1, 2, 7, 8, 8, 8, 8, 8, 8]
        assert memory(k) == before

    @pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=short)
    def test_expanded_tensor(self, dtype: torch.dtype) -> None:
        result = qrita.top_k_top_p(logits(9), torch.tensor([5], dtype=dtype).expand(9))
        assert [len(kept(row)) for row in result] == [5] * 9

    @pytest.mark.parametrize("value", [2**32 + 5, 2**32, 2**33 - 1, 2**40 + 1, -(2**32) + 5, -(2**40) + 1])
    def test_tensor_is_clamped_before_it_is_narrowed(self, value: int) -> None:
        result = qrita.top_k_top_p(logits(2), torch.tensor([value, 3]))
        assert [len(kept(row)) for row in result] == [8, 3]

    def test_tensor_for_one_row(self) -> None:
        assert count(torch.tensor([3])) == 3
        assert qrita.candidates(logits(1)[0], torch.tensor([3]), max_candidates=4).indices.tolist() == [7, 6, 5, -1]


# --- p: rule 2 --------------------------------------------------------------------------------------------------

ULP = Fraction(1, 2**24)  # between fp32 numbers in [1/2, 1]
BESIDE = Fraction(1, 2**80)  # less than fp64 can tell from a tie

ROUNDING = {
    "tie-to-even-below": (Fraction(1, 2) + ULP / 2, Fraction(1, 2)),
    "below-that-tie": (Fraction(1, 2) + ULP / 2 - BESIDE, Fraction(1, 2)),
    "above-that-tie": (Fraction(1, 2) + ULP / 2 + BESIDE, Fraction(1, 2) + ULP),
    "tie-to-even-above": (Fraction(1, 2) + 3 * ULP / 2, Fraction(1, 2) + 2 * ULP),
    "below-this-tie": (Fraction(1, 2) + 3 * ULP / 2 - BESIDE, Fraction(1, 2) + ULP),
    "tie-with-1": (1 - ULP / 2, Fraction(1)),
    "below-the-tie-with-1": (1 - ULP / 2 - BESIDE, 1 - ULP),
}
"""Numbers that rounding by way of fp64 gets wrong are among these: (p, the fp32 nearest to it)."""

FP64_ROUNDING = {
    "tie-to-even-below": (0.5 + 2**-25, 0.5),
    "above-that-tie": (0.5 + 2**-25 + 2**-53, 0.5 + 2**-24),
    "tie-to-even-above": (0.5 + 3 * 2**-25, 0.5 + 2**-23),
    "below-this-tie": (0.5 + 3 * 2**-25 - 2**-53, 0.5 + 2**-24),
    "tie-with-1": (1 - 2**-25, 1.0),
    "below-the-tie-with-1": (1 - 2**-25 - 2**-53, 1 - 2**-24),
}


def named(cases: dict[str, Any]) -> list[Any]:
    return [pytest.param(*case, id=name) if isinstance(case, tuple) else pytest.param(case, id=name)
            for name, case in cases.items()]  # fmt: skip


def checked(p: Any) -> Any:
    """p as the engines get it: None where top-p is off."""
    return arguments.problem(logits(1), None, p).p


class TestP:
    """Four equal logits tell 1/2, which keeps two, from the next fp32, which keeps three."""

    equal = torch.zeros(4)
    with_weightless = torch.tensor([0.0, -100.0, -INF, 0.0])
    """Off keeps three of these. The greatest p below 1 keeps two: a token of weight 0 is never kept."""

    @pytest.mark.parametrize(
        ("p", "expected"), [(0.2, 1), (0.25, 1), (0.2500001, 2), (0.5, 2), (0.50000006, 3), (0.75, 3), (0.9999, 4)]
    )
    def test_float(self, p: float, expected: int) -> None:
        assert count(p=p, row=self.equal) == expected

    @pytest.mark.parametrize(
        "p",
        named({
            "0": 0, "0.0": 0.0, "-0.0": -0.0, "-1": -1, "-inf": -INF, "huge": -(10**400), "unprintable": -(10**5000),
            "numpy-minus-0.0": np.float16(-0.0), "numpy-int": np.int64(-7), "fraction": Fraction(-1, 10**400),
        }),
    )  # fmt: skip
    def test_at_most_0_keeps_one_token(self, p: Any) -> None:
        assert count(p=p, row=self.equal) == 1
        assert count(3, p, row=self.equal) == 1

    @pytest.mark.parametrize(
        ("p", "rounded"),
        named({
            "least-subnormal": (2.0**-149, 2.0**-149), "greatest-subnormal": (1.1754942e-38, 1.1754942106924411e-38),
            "tie-with-0": (2.0**-150, 0.0), "above-that-tie": (Fraction(1, 2**150) + Fraction(1, 2**400), 2.0**-149),
            "fp64-subnormal": (5e-324, 0.0), "fraction-below-fp64": (Fraction(1, 10**400), 0.0),
        }),
    )  # fmt: skip
    def test_subnormal(self, p: Any, rounded: float) -> None:
        assert checked(p) == rounded
        assert count(p=p, row=self.equal) == 1

    @pytest.mark.parametrize(
        "p",
        named({
            "None": None, "int": 1, "float": 1.0, "above": 1.5, "inf": INF, "huge": 10**400, "unprintable": 10**5000,
            "fraction": Fraction(3, 2), "numpy-float": np.float16(1), "numpy-int": np.int64(1),
            "numpy-uint": np.uint64(2**64 - 1), "longdouble": np.longdouble(2) ** 1023 * 2,
        }),
    )  # fmt: skip
    @pytest.mark.filterwarnings("ignore:overflow")  # where a long double is a double
    def test_none_and_at_least_1_are_off(self, p: Any) -> None:
        assert count(p=p, row=self.with_weightless) == 3

    @pytest.mark.parametrize(("p", "rounded"), named(ROUNDING))
    def test_fraction_is_rounded_once(self, p: Fraction, rounded: Fraction) -> None:
        assert checked(p) == (rounded if rounded < 1 else None)
        assert count(p=p, row=self.equal) == math.ceil(4 * rounded)
        assert count(p=p, row=self.with_weightless) == (math.ceil(2 * rounded) if rounded < 1 else 3)

    @pytest.mark.parametrize(("p", "rounded"), named(FP64_ROUNDING))
    @pytest.mark.parametrize("kind", [float, np.float64, np.longdouble], ids=lambda kind: kind.__name__)
    def test_float_is_rounded_once(self, p: float, rounded: float, kind: type[float]) -> None:
        assert checked(kind(p)) == (rounded if rounded < 1 else None)
        assert count(p=kind(p), row=self.equal) == math.ceil(4 * rounded)
        assert count(p=kind(p), row=self.with_weightless) == (math.ceil(2 * rounded) if rounded < 1 else 3)

    @pytest.mark.parametrize("sign", [-1, 0, 1], ids=["below", "at", "above"])
    @pytest.mark.parametrize(
        ("tie", "odd"), [(0.5 + 2**-25, 0), (0.5 + 3 * 2**-25, 1)], ids=["even-below", "even-above"]
    )
    def test_longdouble_is_rounded_once(self, sign: int, tie: float, odd: int) -> None:
        """Beside a tie by its last bit, wherever a long double has more of them than a double; else at the tie."""
        p = np.longdouble(tie) + sign * np.finfo(np.longdouble).eps
        beside = Fraction(*p.as_integer_ratio()) - Fraction(tie)
        up = beside > 0 or (beside == 0 and odd)
        assert checked(p) == tie + (2**-25 if up else -(2**-25))

    @pytest.mark.parametrize("kind", [np.float16, np.float32], ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize("p", [0.5, 0.9, 0.123, 6e-8])
    def test_narrow_numpy_scalars_widen_exactly(self, kind: type[np.floating[Any]], p: float) -> None:
        assert checked(kind(p)) == float(kind(p))

    @numpy_integers
    @pytest.mark.parametrize(("p", "expected"), [(0, 1), (1, 4), (100, 4)])
    def test_numpy_integers(self, integer: type[np.integer[Any]], p: int, expected: int) -> None:
        assert count(p=integer(p), row=self.equal) == expected

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=short)
    @pytest.mark.parametrize(
        "view",
        [lambda p: p, lambda p: torch.stack([p, -p], 1)[:, 0], lambda p: torch.cat([p, p])[len(p) :]],
        ids=["packed", "strided", "offset"],
    )
    def test_tensor(self, dtype: torch.dtype, view: Callable[[Tensor], Tensor]) -> None:
        values = [0.25, 0.5, 0.75, 1.0, 1.5, INF, NAN, -NAN, 0.0, -0.0, -1.0, -INF, torch.finfo(dtype).tiny, 1e-7]
        p = view(torch.tensor(values, dtype=dtype))
        before = memory(p)
        result = qrita.top_k_top_p(self.equal.expand(len(values), 4), p=p)
        assert [len(kept(row)) for row in result] == [1, 2, 3, 4, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1]
        assert memory(p) == before

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=short)
    def test_expanded_tensor(self, dtype: torch.dtype) -> None:
        result = qrita.top_k_top_p(self.equal.expand(3, 4), p=torch.tensor([0.75], dtype=dtype).expand(3))
        assert [len(kept(row)) for row in result] == [3, 3, 3]

    @pytest.mark.parametrize(
        ("dtype", "p", "expected"),
        [(torch.bfloat16, 0.50390625, 3), (torch.float16, 0.50048828125, 3), (torch.float16, 0.499755859375, 2)],
        ids=["bfloat16-above-half", "float16-above-half", "float16-below-half"],
    )
    def test_16_bit_tensor_widens_exactly(self, dtype: torch.dtype, p: float, expected: int) -> None:
        assert torch.tensor(p, dtype=dtype).item() == p
        assert count(p=torch.tensor([p], dtype=dtype), row=self.equal) == expected

    @pytest.mark.parametrize(("p", "rounded"), named(FP64_ROUNDING))
    def test_fp64_tensor_is_rounded_once(self, p: float, rounded: float) -> None:
        tensor = torch.tensor([p], dtype=torch.float64)
        assert count(p=tensor, row=self.equal) == math.ceil(4 * rounded)
        assert count(p=tensor, row=self.with_weightless) == (math.ceil(2 * rounded) if rounded < 1 else 3)

    @pytest.mark.parametrize("p", [2.0**-149, 2.0**-150, 5e-324, -5e-324, 1e-38])
    def test_subnormal_tensor(self, p: float) -> None:
        assert count(p=torch.tensor([p], dtype=torch.float64), row=self.equal) == 1
        assert count(p=torch.tensor([p], dtype=torch.float32), row=self.equal) == 1

    def test_lazily_negated_tensor_is_read_as_its_value(self) -> None:
        p = torch.complex(torch.zeros(1), torch.tensor([-0.75])).conj().imag
        assert (p.is_neg(), p.item()) == (True, 0.75)
        assert count(p=p, row=self.equal) == 3

    def test_tensor_that_requires_grad(self) -> None:
        result = qrita.top_k_top_p(self.equal, p=torch.tensor([0.75], requires_grad=True))
        assert (len(kept(result)), result.requires_grad) == (3, False)


class NoValues(TorchDispatchMode):
    """Fails where the host asks for a tensor's values."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert "_local_scalar_dense" not in str(func)
        assert "nonzero" not in str(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=short)
def test_the_host_never_looks_at_the_values_of_a_tensor(dtype: torch.dtype) -> None:
    k, p = torch.tensor([3, -3]), torch.tensor([NAN, 0.5], dtype=dtype)
    x, out = logits(), torch.zeros(2, 8)
    with NoValues():
        arguments.problem(x, k, p)
        arguments.destination(out, x, k, p)


# --- mask_value: rule 13 ----------------------------------------------------------------------------------------


def filled(mask_value: Any, dtype: torch.dtype) -> int:
    """The bits of a removed position."""
    result = qrita.top_k_top_p(logits(1, dtype=dtype), 1, mask_value=mask_value)
    pattern = result.view(torch.int32 if dtype == torch.float32 else torch.int16)[0, 0].item()
    return int(pattern) & (0xFFFFFFFF if dtype == torch.float32 else 0xFFFF)


@pytest.mark.parametrize(
    ("dtype", "mask_value", "expected"),
    [
        pytest.param(dtype, value, pattern, id=f"{short(dtype)}-{name}")
        for dtype, cases in {
            torch.float32: {
                "default": (-INF, 0xFF800000), "0": (0, 0), "-0.0": (-0.0, 0x80000000), "-1e9": (-1e9, 0xCE6E6B28),
                "1/3": (Fraction(1, 3), 0x3EAAAAAB), "max": (2**128 - 2**104, 0x7F7FFFFF),
                "just-below-overflow": (2**128 - 2**103 - 1, 0x7F7FFFFF), "-max": (-3.4028234663852886e38, 0xFF7FFFFF),
                "subnormal": (1e-45, 1), "tie-with-0": (2.0**-150, 0), "-tie-with-0": (-(2.0**-150), 0x80000000),
                "above-tie-with-0": (Fraction(1, 2**150) + Fraction(1, 2**999), 1),
                "tie": (1 + 2**-24, 0x3F800000),
                "above-a-tie-by-less-than-fp64-sees": (1 + Fraction(1, 2**24) + BESIDE, 0x3F800001),
            },
            torch.bfloat16: {
                "default": (-INF, 0xFF80), "-0.0": (-0.0, 0x8000), "1/3": (Fraction(1, 3), 0x3EAB),
                "tie": (1 + 2**-8, 0x3F80), "tie-to-odd": (1 + 3 * 2**-8, 0x3F82),
                "above-a-tie-by-less-than-fp32-sees": (1 + 2**-8 + 2**-40, 0x3F81),
                "below-a-tie-by-less-than-fp32-sees": (1 + 3 * 2**-8 - 2**-40, 0x3F81),
                "above-a-tie-by-less-than-fp64-sees": (1 + Fraction(1, 2**8) + BESIDE, 0x3F81),
                "max": (3.3895313892515355e38, 0x7F7F), "just-below-overflow": (2**128 - 2**119 - 1, 0x7F7F),
                "subnormal": (2.0**-133, 1), "tie-with-0": (2.0**-134, 0), "above-tie-with-0": (2.0**-134 * 1.0001, 1),
            },
            torch.float16: {
                "default": (-INF, 0xFC00), "-0.0": (-0.0, 0x8000), "1/3": (Fraction(1, 3), 0x3555),
                "-1e4": (-1e4, 0xF0E2), "max": (65504, 0x7BFF), "just-below-overflow": (65519.99, 0x7BFF),
                "-just-below-overflow": (-65519.999999, 0xFBFF),
                "tie": (1 + 2**-11, 0x3C00), "above-a-tie-by-less-than-fp32-sees": (1 + 2**-11 + 2**-40, 0x3C01),
                "subnormal": (2.0**-24, 1), "tie-with-0": (2.0**-25, 0), "above-tie-with-0": (2.0**-25 + 2.0**-70, 1),
            },
        }.items()
        for name, (value, pattern) in cases.items()
    ],
)  # fmt: skip
def test_mask_value_is_rounded_once(dtype: torch.dtype, mask_value: Any, expected: int) -> None:
    assert filled(mask_value, dtype) == expected


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64])
def test_mask_value_may_be_a_numpy_scalar(kind: type[np.number[Any]]) -> None:
    assert filled(kind(-7), torch.float32) == 0xC0E00000


@dtypes
@pytest.mark.parametrize("mask_value", [-INF, 0.0, -0.0, -1.0, 7.0])
@pytest.mark.parametrize(
    ("k", "p"), [(1, None), (None, 0.5), (None, None), (0, 1.0)], ids=["k", "p", "off", "both-off"]
)
def test_mask_value_spares_a_minus_infinity_and_replaces_a_nan(
    dtype: torch.dtype, mask_value: float, k: int | None, p: float | None
) -> None:
    x = torch.tensor([[-INF, 9.0, NAN, -INF, -NAN]], dtype=dtype)
    result = qrita.top_k_top_p(x, k, p, mask_value=mask_value)
    assert bits(result) == bits(torch.tensor([[-INF, 9.0, mask_value, -INF, mask_value]], dtype=dtype))


@dtypes
def test_kept_logits_keep_their_bits(dtype: torch.dtype) -> None:
    """Zeros of both signs, subnormals, infinity; mask_value 1 shows what is not kept."""
    tiny = torch.finfo(dtype).smallest_normal / 4
    x = torch.tensor([[-0.0, 0.0, tiny, -tiny, INF, -INF]], dtype=dtype)
    expected = torch.tensor([[-0.0, 0.0, tiny, 1.0, INF, -INF]], dtype=dtype)
    assert bits(qrita.top_k_top_p(x, 4, mask_value=1.0)) == bits(expected)


# --- the result and out: rules 13 and 14 ------------------------------------------------------------------------


@dtypes
@pytest.mark.parametrize(
    ("k", "p"), [(3, 0.9), (None, None), (0, 2.0), (8, None)], ids=["on", "off", "switched-off", "k=V"]
)
@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x.T, lambda x: x[:1].expand(4, 8)], ids=["packed", "transposed", "expanded"]
)
def test_the_result_is_fresh(
    dtype: torch.dtype, k: int | None, p: float | None, view: Callable[[Tensor], Tensor]
) -> None:
    x = view(logits(2, dtype=dtype))
    result = qrita.top_k_top_p(x, k, p)
    assert result.is_contiguous()
    assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    assert result.untyped_storage().nbytes() == x.numel() * x.element_size()
    assert (result.requires_grad, result.grad_fn, result._base) == (False, None, None)


@pytest.mark.parametrize(("k", "p"), [(3, 0.9), (None, None), (8, 1.0)], ids=["on", "off", "switched-off"])
@pytest.mark.parametrize("rank", [1, 2])
def test_every_tensor_of_candidates_is_fresh_and_packed(k: int | None, p: float | None, rank: int) -> None:
    x = logits(64, 8) if rank == 2 else logits(1, 8)[0]
    found = qrita.candidates(x, k, p, max_candidates=8)
    for tensor in (found.indices, found.logits, found.counts, found.mass, found.total):
        assert tensor.is_contiguous()
        assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()


OUTS = {
    "packed": lambda: torch.full((2, 8), 7.0),
    "padded": lambda: torch.full((2, 99), 7.0)[:, 3:11],
    "transposed": lambda: torch.full((8, 2), 7.0).T,
    "every-third": lambda: torch.full((2, 24), 7.0)[:, ::3],
    "every-second-row": lambda: torch.full((4, 8), 7.0)[::2],
    "at-an-offset": lambda: torch.full((99,), 7.0)[5:21].view(2, 8),
}


@pytest.mark.parametrize("make", OUTS.values(), ids=OUTS)
def test_out_is_written_and_returned_and_nothing_beside_it(make: Callable[[], Tensor]) -> None:
    out = make()
    expected = out.untyped_storage().clone()
    expected_out = torch.empty(0).set_(expected, out.storage_offset(), out.shape, out.stride())
    expected_out.copy_(qrita.top_k_top_p(logits(), 3, 0.9))
    x = logits()
    assert qrita.top_k_top_p(x, 3, 0.9, out=out) is out
    assert memory(out) == memory(expected_out)
    assert bits(x) == bits(logits())


def test_out_with_one_row() -> None:
    row, out = logits(1)[0], torch.zeros(8)
    assert qrita.top_k_top_p(row, 3, out=out) is out
    assert kept(out) == [5, 6, 7]


def test_out_beside_the_logits_in_one_buffer() -> None:
    both = torch.cat([logits(), torch.zeros(2, 8)])
    qrita.top_k_top_p(both[:2], 3, out=both[2:])
    assert bits(both[:2]) == bits(logits())
    assert [kept(row) for row in both[2:]] == [[5, 6, 7], [5, 6, 7]]


def test_out_that_touches_neither_k_nor_p_in_one_buffer() -> None:
    buffer = torch.zeros(99)
    k, p, x = buffer[:2].view(torch.int32), buffer[2:4], buffer[4:20].view(2, 8)
    k.fill_(3), p.fill_(1.0), x.copy_(logits())
    assert [kept(row) for row in qrita.top_k_top_p(x, k, p, out=buffer[20:36].view(2, 8))] == [[5, 6, 7], [5, 6, 7]]


def test_out_that_requires_grad_where_grad_mode_is_off() -> None:
    out = torch.zeros(2, 8, requires_grad=True)
    with torch.no_grad():
        assert qrita.top_k_top_p(logits(), 3, out=out) is out
    assert kept(out[0]) == [5, 6, 7]


@pytest.mark.parametrize("where", [logits, lambda: torch.zeros(2, 8)], ids=["in-place", "out"])
def test_inference_tensors_are_written_in_inference_mode(where: Callable[[], Tensor]) -> None:
    with torch.inference_mode():
        out = where()
        out.copy_(logits())
        qrita.top_k_top_p(out, 3, out=out)
        assert kept(out[0]) == [5, 6, 7]


IN_PLACE = {
    "packed": logits,
    "padded": lambda: torch.nn.functional.pad(logits(), (1, 2))[:, 1:9],
    "transposed": lambda: logits().T.contiguous().T,
    "every-second-row": lambda: logits().repeat_interleave(2, 0)[::2],
    "row": lambda: logits(1)[0],
    "column": lambda: logits(1).T.repeat(1, 3)[:, 1],
    "one-expanded-row": lambda: logits(1)[0].expand(1, 8),
}


@pytest.mark.parametrize(
    "function",
    [lambda x: qrita.top_k_top_p_(x, 3, 0.99), lambda x: qrita.top_k_top_p(x, 3, 0.99, out=x)],
    ids=["underscore", "out"],
)
@pytest.mark.parametrize("make", IN_PLACE.values(), ids=IN_PLACE)
def test_in_place(function: Callable[[Tensor], Tensor], make: Callable[[], Tensor]) -> None:
    x, expected = make(), make()
    expected.copy_(qrita.top_k_top_p(make(), 3, 0.99))
    assert function(x) is x
    assert memory(x) == memory(expected)


def test_in_place_through_another_view_of_the_same_elements() -> None:
    x = logits()
    qrita.top_k_top_p(x, 3, out=x.view(16).view(2, 8))
    assert [kept(row) for row in x] == [[5, 6, 7], [5, 6, 7]]


def test_in_place_bumps_the_version_that_autograd_watches() -> None:
    weight = torch.ones(2, 8, requires_grad=True)
    x = logits()
    product = weight * x
    with torch.no_grad():
        qrita.top_k_top_p_(x, 3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_in_place_many_rows() -> None:
    """More rows than fit into one block of the plain-torch engine."""
    x = logits(1, 4).repeat(2**20 + 3, 1)
    qrita.top_k_top_p_(x, 2)
    assert torch.equal(x, torch.tensor([-INF, -INF, 2.0, 3.0]).expand(2**20 + 3, 4))


# --- candidates: rules 15 and 16 --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [3, np.int32(3), Index(3), np.array(3)], ids=["int", "numpy", "index", "0d-array"])
def test_max_candidates_defaults_to_an_int_k(k: Any) -> None:
    assert qrita.candidates(logits(), k).indices.tolist() == [[7, 6, 5]] * 2


def test_max_candidates_defaults_to_k_also_where_k_exceeds_the_vocabulary() -> None:
    found = qrita.candidates(logits(), 10)
    assert found.indices.tolist() == [[7, 6, 5, 4, 3, 2, 1, 0, -1, -1]] * 2
    assert found.logits[0].tolist() == [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, -INF, -INF]
    assert found.counts.tolist() == [8, 8]


@pytest.mark.parametrize("slots", [1, np.int64(1), Index(1)], ids=["int", "numpy", "index"])
def test_max_candidates_below_the_count(slots: Any) -> None:
    """Only the first is listed; counts, mass and total speak of all."""
    all_three, one = qrita.candidates(logits(), 3), qrita.candidates(logits(), 3, max_candidates=slots)
    assert one.indices.tolist() == [[7], [7]]
    assert one.logits.tolist() == [[7.0], [15.0]]
    for name in ("counts", "mass", "total"):
        assert getattr(one, name).tolist() == getattr(all_three, name).tolist()
    assert one.counts.tolist() == [3, 3]


def test_max_candidates_may_be_the_longest_vocabulary() -> None:
    found = qrita.candidates(logits(1), 3, max_candidates=2**22)
    assert found.indices.shape == (1, 2**22)
    assert found.indices[0, :4].tolist() == [7, 6, 5, -1]
    assert (found.indices[0, 3:] == -1).all()


@pytest.mark.parametrize(("k", "p"), [(None, None), (0, None), (torch.tensor([2, 8]), None), (None, 0.5)])
def test_max_candidates_where_k_gives_no_default(k: Any, p: Any) -> None:
    assert qrita.candidates(logits(), k, p, max_candidates=1).indices.tolist() == [[7], [7]]


@dtypes
def test_candidates_keep_bits_and_order(dtype: torch.dtype) -> None:
    """Both zeros are one key: the lower index first, each with its own sign."""
    x = torch.tensor([[0.0, -0.0, 1.0, -INF, 0.0, NAN, 1.0, -1.0]], dtype=dtype)
    found = qrita.candidates(x, 6)
    assert found.indices.tolist() == [[2, 6, 0, 1, 4, 7]]
    assert bits(found.logits) == bits(torch.tensor([[1.0, 1.0, 0.0, -0.0, 0.0, -1.0]], dtype=dtype))


def test_mass_and_total_are_the_integers_of_the_definition() -> None:
    found = qrita.candidates(torch.tensor([0.0, 0.0, -100.0, 0.0]), p=0.5, max_candidates=4)
    assert (found.counts.tolist(), found.mass.tolist(), found.total.tolist()) == ([2], [2 * 2**40], [3 * 2**40])


@dtypes
@pytest.mark.parametrize(("k", "p"), [(3, None), (None, 0.5), (3, 0.5), (None, None), (None, 0.0)], ids=str)
@pytest.mark.parametrize("row", [[-INF] * 4, [NAN] * 4, [-INF, NAN, -INF, -NAN]], ids=["minus-inf", "nan", "both"])
def test_a_row_with_no_eligible_token_keeps_nothing(
    dtype: torch.dtype, k: int | None, p: float | None, row: list[float]
) -> None:
    x = torch.tensor([row, [1.0, 2.0, 3.0, 4.0]], dtype=dtype)
    assert not (qrita.top_k_top_p(x, k, p)[0] > -INF).any()
    found = qrita.candidates(x, k, p, max_candidates=2)
    assert found.indices[0].tolist() == [-1, -1]
    assert found.logits[0].tolist() == [-INF, -INF]
    assert (found.counts[0], found.mass[0], found.total[0]) == (0, 0, 0)
    assert found.indices[1, 0] == 3
