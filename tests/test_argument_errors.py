"""Rule 17 of docs/semantics.md: each wrong argument is an error that names it, its value and what was expected.

Every case goes through one check, which also compares all bytes of all arguments before and after, and in which no
engine may run.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import INF, NAN, logits, memory, short
from torch import Tensor
from torch._subclasses import FakeTensorMode

import qrita
from qrita import arguments, engines
from qrita.records import Problem

Arguments = dict[str, Any]
REAL = "a real number (int, float, Fraction or a numpy scalar)"
UNPRINTABLE = 10**5000  # more digits than Python agrees to print
TOO_LONG = "<a number of thousands of digits>"


@dataclass(frozen=True)
class Wrong:
    """A wrong call: its arguments (logits() where none are named), the exception, parts of the message in order."""

    build: Callable[[], Arguments]
    error: type[Exception]
    says: tuple[str, ...]


def wrong(name: str, build: Callable[[], Arguments], error: type[Exception], *says: str) -> Any:
    return pytest.param(Wrong(build, error, says), id=name)


def wrong_types(argument: str, expected: str, values: Iterable[tuple[str, object, str]]) -> list[Any]:
    """Cases of values that have no business where a number or a tensor is expected: (case, value, its repr)."""
    return [
        wrong(f"{argument}-{name}", lambda value=value: {argument: value}, TypeError,
              f"{argument}={text}", f"(type {type(value).__name__})", f"expected {expected}")
        for name, value, text in values
    ]  # fmt: skip


def wrong_dtypes(argument: str, expected: str, size: tuple[int, ...], wrongs: Iterable[torch.dtype]) -> list[Any]:
    return [
        wrong(f"{argument}-{short(dtype)}", lambda dtype=dtype: {argument: torch.ones(size).to(dtype)}, TypeError,
              f"{argument}: dtype is {short(dtype)}; expected {expected}")
        for dtype in wrongs
    ]  # fmt: skip


def wrong_shapes(
    argument: str, expected: str, shapes: Iterable[tuple[int, ...]], dtype: torch.dtype = torch.float32
) -> list[Any]:
    return [
        wrong(f"{argument}-shape-{shape}", lambda shape=shape: {argument: torch.ones(shape, dtype=dtype)}, ValueError,
              f"{argument}: shape is {shape}; expected {expected}")
        for shape in shapes
    ]  # fmt: skip


# --- tensors that are not what they seem ------------------------------------------------------------------------


def fake(device: str, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor that claims a device and has no memory anywhere."""
    with FakeTensorMode():
        return torch.empty(shape, device=device, dtype=dtype)


def inference(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return x.clone()


def lazily_negated() -> Tensor:
    return torch.complex(logits(), logits()).conj().imag


def csr() -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "sparse CSR tensor support is in beta state"
        return logits().to_sparse_csr()


def nested() -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "the PyTorch API of nested tensors is in prototype stage"
        return torch.nested.nested_tensor([torch.zeros(3), torch.zeros(4)])


def freed() -> Tensor:
    """As sharded trainers do with parameters that they will gather again."""
    x = logits()
    x.untyped_storage().resize_(0)
    return x


class Refusing:
    """Has an __index__ that refuses, as numpy's arrays do."""

    def __index__(self) -> int:
        raise TypeError("no")


# --- logits, k, p: rules 0 to 3 ---------------------------------------------------------------------------------

WRONG_LOGITS = [
    *wrong_types("logits", "a torch.Tensor",
        [("list", [1.0, 2.0], "[1.0, 2.0]"), ("array", np.zeros(3), "array("), ("none", None, "None"),
         ("float", 1.5, "1.5"), ("long-list", [0.25] * 10**5, "[0.25, 0.25")]),
    *wrong_dtypes("logits", "float32, bfloat16 or float16", (2, 8),
        [torch.float64, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.complex128, torch.bool,
         torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32]),
    *wrong_shapes("logits", "[vocab] or [batch, vocab]", [(), (2, 1, 8), (1, 1, 1, 8), (0, 0, 0)]),
    *(
        wrong(f"logits-vocab-{name}", lambda x=x: {"logits": x}, ValueError,
              f"logits: vocabulary is {x.shape[-1]}; expected at most 2**22 = 4194304")
        for name, x in [
            ("too-large", torch.zeros(1, 1).expand(2, 2**22 + 1)),
            ("too-large-1d", torch.zeros(1).expand(2**22 + 1)),
            ("past-int32", torch.zeros(1, 1).expand(1, 2**31 + 5)),
            ("past-uint32", torch.zeros(1).expand(2**32 + 5)),
            ("too-large-no-rows", torch.zeros(0, 2**22 + 1)),
        ]
    ),
    *(
        wrong(f"logits-requires-grad-{name}", build, ValueError, "logits: requires grad", "pass logits.detach()")
        for name, build in [
            ("leaf", lambda: {"logits": logits().requires_grad_()}),
            ("computed", lambda: {"logits": logits().requires_grad_() * 2}),
            ("1d", lambda: {"logits": logits()[0].requires_grad_()}),
            ("parameter", lambda: {"logits": torch.nn.Parameter(logits())}),
        ]
    ),
    wrong("logits-on-meta", lambda: {"logits": logits().to("meta")}, ValueError,
          "logits: device is 'meta'; expected 'cpu' or 'cuda'"),
    *(
        wrong(f"logits-on-{device}", lambda device=device: {"logits": fake(device, 2, 8)}, ValueError,
              f"logits: device is '{device}:0'; expected 'cpu' or 'cuda'")
        for device in ("xpu", "mps")
    ),
    wrong("logits-sparse", lambda: {"logits": logits().to_sparse()}, ValueError,
          "logits: layout is torch.sparse_coo; expected a dense, strided tensor"),
    wrong("logits-csr", lambda: {"logits": csr()}, ValueError,
          "logits: layout is torch.sparse_csr; expected a dense, strided tensor"),
    wrong("logits-nested", lambda: {"logits": nested()}, ValueError,
          "logits: layout is nested; expected a dense, strided tensor"),
    wrong("logits-lazily-negated", lambda: {"logits": lazily_negated()}, ValueError,
          "logits: is a lazy negation", "pass logits.resolve_neg()"),
    wrong("logits-freed", lambda: {"logits": freed()}, ValueError,
          "logits: has no memory of its own (type Tensor); expected a plain tensor"),
    wrong("logits-fake", lambda: {"logits": fake("cpu", 2, 8)}, ValueError,
          "logits: has no memory of its own (type FakeTensor); expected a plain tensor"),
]  # fmt: skip

WRONG_K = [
    *wrong_types("k", "None, an int, or an int32 or int64 tensor [batch]",
        [("true", True, "True"), ("false", False, "False"), ("numpy-bool", np.bool_(True), ""), ("float", 5.0, "5.0"),
         ("numpy-float", np.float32(5), ""), ("nan", NAN, "nan"), ("string", "5", "'5'"), ("list", [5, 5], "[5, 5]"),
         ("complex", 5j, "5j"), ("fraction", Fraction(5), "Fraction(5, 1)"), ("class", int, "<class 'int'>"),
         ("array", np.array([5, 5]), "array([5, 5])"), ("bool-array", np.array(True), "array(True)"),
         ("refusing-index", Refusing(), "<")]),
    *wrong_dtypes("k", "int32 or int64", (2,),
        [torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.uint8, torch.uint32]),
    *wrong_shapes("k", "(2,), one value a row, or a plain number",
        [(), (1,), (3,), (2, 1), (1, 2), (0,), (8,)], torch.int64),
    wrong("k-on-meta", lambda: {"k": torch.ones(2).long().to("meta")}, ValueError,
          "k: device is 'meta'; expected that of logits, 'cpu'"),
    wrong("k-on-cuda", lambda: {"k": fake("cuda", 2, dtype=torch.int64)}, ValueError,
          "k: device is 'cuda:0'; expected that of logits, 'cpu'"),
    wrong("k-fake", lambda: {"k": fake("cpu", 2, dtype=torch.int64)}, ValueError,
          "k: has no memory of its own (type FakeTensor); expected a plain tensor"),
    wrong("k-sparse", lambda: {"k": torch.ones(2).long().to_sparse()}, ValueError,
          "k: layout is torch.sparse_coo; expected a dense, strided tensor"),
]  # fmt: skip

WRONG_P = [
    *(
        wrong(f"p-nan-{type(p).__name__}", lambda p=p: {"p": p}, ValueError, "p=nan: expected a number; pass None")
        for p in (NAN, -NAN, np.float16(NAN), np.float32(NAN), np.float64(NAN), np.longdouble(NAN))
    ),
    *wrong_types("p", f"None, {REAL}, or a floating-point tensor [batch]",
        [("true", True, "True"), ("false", False, "False"), ("numpy-bool", np.bool_(False), ""),
         ("string", "0.5", "'0.5'"), ("complex", 0.5j, "0.5j"), ("numpy-complex", np.complex64(0.5), ""),
         ("list", [0.5, 0.5], "[0.5, 0.5]"), ("array", np.array(0.5), "array(0.5)"),
         ("class", float, "<class 'float'>"), ("decimal", Decimal("0.5"), "Decimal('0.5')")]),
    *wrong_dtypes("p", "float32 or float64 or bfloat16 or float16", (2,),
        [torch.int32, torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2]),
    *wrong_shapes("p", "(2,), one value a row, or a plain number", [(), (1,), (3,), (2, 1), (1, 2), (0,), (8,)]),
    wrong("p-on-meta", lambda: {"p": torch.ones(2, device="meta")}, ValueError,
          "p: device is 'meta'; expected that of logits, 'cpu'"),
    wrong("p-on-cuda", lambda: {"p": fake("cuda", 2)}, ValueError,
          "p: device is 'cuda:0'; expected that of logits, 'cpu'"),
    wrong("p-fake", lambda: {"p": fake("cpu", 2)}, ValueError,
          "p: has no memory of its own (type FakeTensor); expected a plain tensor"),
    wrong("p-sparse", lambda: {"p": torch.ones(2).to_sparse()}, ValueError,
          "p: layout is torch.sparse_coo; expected a dense, strided tensor"),
]  # fmt: skip

# --- mask_value: rule 13 ----------------------------------------------------------------------------------------

WRONG_MASK_VALUE = [
    *(
        wrong(f"mask-value-{name}", lambda value=value: {"mask_value": value}, ValueError,
              "mask_value=", text, ": expected a finite number or -inf")
        for name, value, text in [
            ("nan", NAN, "nan"), ("inf", INF, "inf"),
            ("numpy-nan", np.float32(NAN), "nan"), ("numpy-inf", np.float16(INF), "inf"),
        ]
    ),
    *(
        wrong(f"mask-value-{text}-{short(dtype)}",
              lambda value=value, dtype=dtype: {"logits": logits(dtype=dtype), "mask_value": value}, ValueError,
              f"mask_value={text}", f": rounds to infinity in {short(dtype)}", "expected at most ", ", or -inf")
        for dtype, value, text in [
            (torch.float16, 65520, "65520"),  # midway between the greatest finite number and the next power of two
            (torch.float16, 70000.0, "70000.0"),
            (torch.float16, -70000.0, "-70000.0"),
            (torch.float32, 2**128 - 2**103, "340282356779733661637539395458142568448"),
            (torch.float32, 1e308, "1e+308"),
            (torch.bfloat16, float(2**128 - 2**119), "3.3961775292304"),
            (torch.float32, -(10**400), "-1000000"),
            (torch.float32, Fraction(10**400, 3), "Fraction(1000000"),
            (torch.float32, UNPRINTABLE, TOO_LONG),
        ]
    ),
    *wrong_types("mask_value", REAL,
        [("true", True, "True"), ("numpy-bool", np.bool_(False), ""), ("none", None, "None"),
         ("string", "-inf", "'-inf'"), ("complex", 1j, "1j"), ("tensor", torch.zeros(()), "tensor(0.)"),
         ("array", np.zeros(()), "array(0.)")]),
]  # fmt: skip

# --- out and in place: rule 14 ----------------------------------------------------------------------------------


def shifted(elements: int) -> Arguments:
    """logits and out start so many elements apart in one buffer."""
    both = torch.zeros(16 + elements)
    return {"logits": both[:16].view(2, 8), "out": both[elements:].view(2, 8)}


def transposed() -> Arguments:
    square = torch.zeros(4, 4)
    return {"logits": square, "out": square.T}


def interleaved() -> Arguments:
    """No element in common, but the byte ranges meet: an error, since only ranges are compared."""
    both = torch.zeros(2, 16)
    return {"logits": both[:, ::2], "out": both[:, 1::2]}


def reinterpreted() -> Arguments:
    words = torch.zeros(16)
    return {"logits": words[:8].view(2, 4), "out": words.view(torch.int32)[4:12].view(torch.float32).view(2, 4)}


def column(written: str, name: str, dtype: torch.dtype) -> Arguments:
    """k or p is a column of the tensor that is written."""
    words = torch.zeros(2, 8)
    return {written: words, name: words.view(dtype)[:, 3]}


def strided(*strides: int) -> Tensor:
    return torch.zeros(99).as_strided((2, 8), strides)


WRONG_OUT = [
    *wrong_types("out", "a torch.Tensor",
        [("list", [0.0], "[0.0]"), ("array", np.zeros((2, 8)), "array("), ("true", True, "True")]),
    *wrong_dtypes("out", "the logits' float32", (2, 8), [torch.bfloat16, torch.float64, torch.int32, torch.bool]),
    *wrong_shapes("out", "the logits' (2, 8)", [(2, 7), (1, 8), (3, 8), (8,), (16,), (8, 2), (2, 8, 1), ()]),
    wrong("out-on-meta", lambda: {"out": torch.zeros(2, 8, device="meta")}, ValueError,
          "out: device is 'meta'; expected that of logits, 'cpu'"),
    wrong("out-fake", lambda: {"out": fake("cpu", 2, 8)}, ValueError,
          "out: has no memory of its own (type FakeTensor); expected a plain tensor"),
    wrong("out-sparse", lambda: {"out": logits().to_sparse()}, ValueError,
          "out: layout is torch.sparse_coo; expected a dense, strided tensor"),
    wrong("out-requires-grad", lambda: {"out": logits().requires_grad_()}, ValueError,
          "out: requires grad", "pass out.detach()"),
    wrong("out-inference", lambda: {"out": inference(logits())}, ValueError,
          "out: is an inference tensor", "torch.inference_mode()", "pass out.clone()"),
    wrong("out-lazily-negated", lambda: {"out": lazily_negated()}, ValueError,
          "out: is a lazy negation", "pass out.resolve_neg()"),
    *(
        wrong(f"out-{name}", lambda out=out: {"out": out}, ValueError,
              f"out: its elements share memory (shape (2, 8), strides {out.stride()})", ".contiguous()")
        for name, out in [
            ("expanded", torch.zeros(8).expand(2, 8)),
            ("expanded-vocab", torch.zeros(2, 1).expand(2, 8)),
            ("overlapping-rows", strided(7, 1)),
            ("rows-in-a-comb", strided(1, 1)),
            ("strides-unexplained", strided(7, 2)),  # no two elements coincide, but that is not seen at a glance
        ]
    ),
    *(
        wrong(f"out-{name}", build, ValueError,
              "out: its memory range overlaps that of logits without being the same view", "pass out=logits")
        for name, build in [
            ("shifted-by-one", lambda: shifted(1)),
            ("shifted-by-a-row", lambda: shifted(8)),
            ("shifted-to-the-last-element", lambda: shifted(15)),
            ("transposed", transposed),
            ("interleaved", interleaved),
            ("reinterpreted", reinterpreted),
        ]
    ),
    wrong("out-over-k", lambda: column("out", "k", torch.int32), ValueError,
          "out: its memory range overlaps that of k; pass k.clone()"),
    wrong("out-over-p", lambda: column("out", "p", torch.float32), ValueError,
          "out: its memory range overlaps that of p; pass p.clone()"),
    wrong("out-over-bf16-p", lambda: {"out": (x := torch.zeros(2, 8)), "p": x.view(torch.bfloat16)[:, 9]}, ValueError,
          "out: its memory range overlaps that of p; pass p.clone()"),
]  # fmt: skip

WRONG_IN_PLACE = [
    *(
        wrong(f"in-place-{name}", lambda x=x: {"logits": x}, ValueError,
              f"logits: its elements share memory (shape (2, 8), strides {x.stride()})", ".contiguous()")
        for name, x in [("expanded", logits(1).expand(2, 8)), ("overlapping-rows", strided(4, 1))]
    ),
    wrong("in-place-inference", lambda: {"logits": inference(logits())}, ValueError,
          "logits: is an inference tensor", "torch.inference_mode()", "pass logits.clone()"),
    wrong("in-place-over-k", lambda: column("logits", "k", torch.int32), ValueError,
          "logits: its memory range overlaps that of k; pass k.clone()"),
    wrong("in-place-over-p", lambda: column("logits", "p", torch.float32), ValueError,
          "logits: its memory range overlaps that of p; pass p.clone()"),
]  # fmt: skip

# --- max_candidates: rule 15 ------------------------------------------------------------------------------------

WRONG_MAX_CANDIDATES = [
    wrong("max-candidates-missing", dict, ValueError,
          "max_candidates=None: required unless k is an int; pass the number of slots"),
    wrong("max-candidates-missing-k-tensor", lambda: {"k": torch.ones(2).int()}, ValueError,
          "max_candidates=None: required unless k is an int; pass the number of slots"),
    *(
        wrong(f"max-candidates-missing-k-{name}", lambda k=k: {"k": k}, ValueError,
              f"max_candidates=None: k={text} switches top-k off and gives no default; pass the number of slots")
        for name, k, text in [("0", 0, "0"), ("-3", -3, "-3"), ("huge", -UNPRINTABLE, TOO_LONG)]
    ),
    *(
        wrong(f"max-candidates-default-{name}", lambda k=k: {"k": k}, ValueError,
              f"max_candidates={text} (the default, from k): expected 1 to 2**22 = 4194304")
        for name, k, text in [
            ("2**22+1", 2**22 + 1, "4194305"),
            ("2**32+5", 2**32 + 5, "4294967301"),
            ("huge", UNPRINTABLE, TOO_LONG),
        ]
    ),
    *(
        wrong(f"max-candidates-{name}", lambda n=n: {"max_candidates": n}, ValueError,
              f"max_candidates={text}: expected 1 to 2**22 = 4194304")
        for name, n, text in [
            ("0", 0, "0"),
            ("-1", -1, "-1"),
            ("2**22+1", 2**22 + 1, "4194305"),
            ("2**32+5", 2**32 + 5, "4294967301"),
            ("huge", UNPRINTABLE, TOO_LONG),
        ]
    ),
    *wrong_types("max_candidates", "None or an int",
        [("true", True, "True"), ("numpy-bool", np.bool_(True), ""), ("float", 4.0, "4.0"), ("inf", INF, "inf"),
         ("string", "4", "'4'"), ("tensor", torch.tensor(4), "tensor(4)"), ("array", np.array([4]), "array([4])"),
         ("class", int, "<class 'int'>")]),
]  # fmt: skip


# --- the check --------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be launched."""

    def choose(problem: Problem) -> engines.Engine:
        raise AssertionError(f"launched: {problem}")

    monkeypatch.setattr(engines, "choose", choose)


def check(function: Callable[..., object], case: Wrong, **others: Any) -> None:
    """`function` raises, the message is a sentence about the argument, and no byte of any argument has changed."""
    given = {"logits": logits(), **others, **case.build()}
    before = {name: memory(value) for name, value in given.items()}
    with pytest.raises(case.error) as caught:
        function(**given)
    assert {name: memory(value) for name, value in given.items()} == before

    message = str(caught.value)
    assert type(caught.value) is case.error
    assert "expected" in message or "pass " in message, message
    assert "\n" not in message
    assert len(message) < 300, message
    at = 0
    for part in case.says:
        assert part in message[at:], f"{part!r} is not in its place in: {message}"
        at = message.index(part, at) + len(part)


@pytest.mark.parametrize("case", [*WRONG_LOGITS, *WRONG_K, *WRONG_P, *WRONG_MASK_VALUE])
def test_top_k_top_p(case: Wrong) -> None:
    check(qrita.top_k_top_p, case)


@pytest.mark.parametrize("case", WRONG_OUT)
def test_out(case: Wrong) -> None:
    check(qrita.top_k_top_p, case)


@pytest.mark.parametrize("case", [*WRONG_LOGITS, *WRONG_K, *WRONG_P, *WRONG_MASK_VALUE, *WRONG_IN_PLACE])
def test_in_place(case: Wrong) -> None:
    check(qrita.top_k_top_p_, case)


@pytest.mark.parametrize("case", [*WRONG_LOGITS, *WRONG_K, *WRONG_P])
def test_candidates(case: Wrong) -> None:
    check(qrita.candidates, case, max_candidates=4)


@pytest.mark.parametrize("case", WRONG_MAX_CANDIDATES)
def test_max_candidates(case: Wrong) -> None:
    check(qrita.candidates, case)


WRONG_WARMUP = [
    wrong("warmup-device-meta", lambda: {"device": "meta"}, ValueError, "device='meta': expected 'cpu' or 'cuda'"),
    wrong("warmup-device-text", lambda: {"device": "gpu"}, ValueError, "device='gpu' (type str): expected 'cpu'"),
    wrong("warmup-device-none", lambda: {"device": None}, ValueError, "device=None (type NoneType): expected 'cpu'"),
    wrong("warmup-dtype-float64", lambda: {"device": "cpu", "dtype": torch.float64}, TypeError,
          "dtype=torch.float64 (type dtype): expected torch.float32, torch.bfloat16 or torch.float16"),
    wrong("warmup-dtype-text", lambda: {"device": "cpu", "dtype": "float32"}, TypeError,
          "dtype='float32' (type str): expected torch.float32"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG_WARMUP)
def test_warmup(case: Wrong) -> None:
    with pytest.raises(case.error) as caught:
        qrita.warmup(**case.build())
    assert str(caught.value).startswith(case.says)


def test_warmup_on_a_cpu_has_nothing_to_do() -> None:
    assert qrita.warmup("cpu", torch.bfloat16) is None


@pytest.mark.parametrize("case", [*WRONG_LOGITS, *WRONG_K, *WRONG_P])
def test_a_right_out_is_not_written(case: Wrong) -> None:
    check(qrita.top_k_top_p, case, out=torch.full((2, 8), 7.0))


@pytest.mark.parametrize("case", WRONG_MASK_VALUE)
def test_a_right_out_is_not_written_before_mask_value_is_checked(case: Wrong) -> None:
    dtype = case.build().get("logits", logits()).dtype
    check(qrita.top_k_top_p, case, out=torch.full((2, 8), 7.0, dtype=dtype))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("logits", {"logits": logits().double(), "k": True, "p": NAN, "mask_value": NAN, "out": 1}),
        ("k", {"logits": logits(), "k": True, "p": NAN, "mask_value": NAN, "out": 1}),
        ("p", {"logits": logits(), "k": 3, "p": NAN, "mask_value": NAN, "out": 1}),
        ("mask_value", {"logits": logits(), "k": 3, "p": 0.5, "mask_value": NAN, "out": 1}),
        ("out", {"logits": logits(), "k": 3, "p": 0.5, "mask_value": 0, "out": 1}),
    ],
)
def test_of_several_wrong_arguments_the_first_is_named(name: str, given: Arguments) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{name}[=:]"):
        qrita.top_k_top_p(**given)


@pytest.mark.parametrize("shape", [(0, 8), (2, 0), (0, 0), (0,)], ids=str)
@pytest.mark.parametrize(
    ("name", "given"),
    [("k", {"k": True}), ("p", {"p": NAN}), ("k", {"k": torch.ones(5).int()}), ("mask_value", {"mask_value": NAN})],
    ids=["k", "p", "k-shape", "mask-value"],
)
def test_errors_do_not_depend_on_the_tensor_being_empty(shape: tuple[int, ...], name: str, given: Arguments) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{name}[=:]"):
        qrita.top_k_top_p(torch.zeros(shape), **given)


def test_every_error_in_the_module_has_a_case() -> None:
    """Each `raise` of qrita.arguments is where some case ends."""
    source = Path(arguments.__file__).read_text(encoding="utf-8")
    raises = {node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)}
    cases = {
        qrita.top_k_top_p: [*WRONG_LOGITS, *WRONG_K, *WRONG_P, *WRONG_MASK_VALUE, *WRONG_OUT],
        qrita.top_k_top_p_: WRONG_IN_PLACE,
        qrita.candidates: WRONG_MAX_CANDIDATES,
        lambda logits, **given: qrita.warmup(**given): WRONG_WARMUP,
    }
    reached = {raised_at(function, param.values[0]) for function, params in cases.items() for param in params}
    assert reached == raises


def raised_at(function: Callable[..., object], case: Wrong) -> int:
    """The line of qrita.arguments that a case ends in."""
    with pytest.raises(case.error) as caught:
        function(**{"logits": logits(), **case.build()})
    last = caught.traceback[-1]
    assert Path(last.path) == Path(arguments.__file__)
    return last.lineno + 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # from torch's own jvp
@pytest.mark.parametrize(
    "transformed",
    [
        torch.func.vmap(lambda row: qrita.top_k_top_p(row, 2)),
        torch.func.grad(lambda rows: qrita.top_k_top_p(rows, 2).sum()),
        lambda x: torch.func.jvp(lambda rows: qrita.top_k_top_p(rows, 2), (x,), (x,)),
        torch.func.functionalize(lambda rows: qrita.top_k_top_p(rows, 2)),
    ],
    ids=["vmap", "grad", "jvp", "functionalize"],
)
def test_logits_inside_a_function_transform(transformed: Callable[[Tensor], Tensor]) -> None:
    """Rows need no vmap, and truncation has no gradient."""
    with pytest.raises(ValueError, match=r"^logits: has no memory of its own .* outside of torch\.func"):
        transformed(logits())


def test_p_inside_a_function_transform() -> None:
    with pytest.raises(ValueError, match=r"^p: has no memory of its own .* outside of torch\.func"):
        torch.func.vmap(lambda p: qrita.top_k_top_p(logits(), p=p.expand(2)))(torch.ones(3))
