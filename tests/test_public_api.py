"""What users import: names, signatures, docstrings, what an import brings along, records, torch.compile."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from typing import Any, get_type_hints

import pytest
import torch
from support import INF, NAN, bits, logits
from torch import Tensor

import qrita

FUNCTIONS = ("top_k_top_p", "top_k_top_p_", "candidates")
functions = pytest.mark.parametrize("name", FUNCTIONS)


# --- names and signatures ---------------------------------------------------------------------------------------


def test_all_public_names() -> None:
    assert sorted(qrita.__all__) == [
        "Candidates", "__version__", "candidates", "top_k_top_p", "top_k_top_p_", "warmup",
    ]  # fmt: skip
    assert all(hasattr(qrita, name) for name in qrita.__all__)


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", qrita.__version__)


def test_the_package_is_marked_as_typed() -> None:
    assert resources.files(qrita).joinpath("py.typed").is_file()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("top_k_top_p", "(logits, k=None, p=None, *, mask_value=-inf, out=None)"),
        ("top_k_top_p_", "(logits, k=None, p=None, *, mask_value=-inf)"),
        ("candidates", "(logits, k=None, p=None, *, max_candidates=None)"),
        ("warmup", "(device, dtype=torch.float32)"),
    ],
)
def test_signature(name: str, expected: str) -> None:
    signature = inspect.signature(getattr(qrita, name))
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == expected


@functions
def test_every_argument_and_result_has_a_type(name: str) -> None:
    function = getattr(qrita, name)
    hints = get_type_hints(function)
    assert set(hints) == {*inspect.signature(function).parameters, "return"}
    assert hints["return"] is (qrita.Candidates if name == "candidates" else Tensor)


@functions
def test_name_and_module(name: str) -> None:
    """As in tracebacks and help()."""
    function = getattr(qrita, name)
    assert (function.__name__, function.__qualname__) == (name, name)


@pytest.mark.parametrize("names", [("logits", "k", "p")])
@functions
def test_arguments_may_be_named(name: str, names: tuple[str, ...]) -> None:
    getattr(qrita, name)(**dict(zip(names, (logits(), 3, 0.5), strict=True)))


# --- docstrings -------------------------------------------------------------------------------------------------


@functions
def test_docstrings_tell_or_refer(name: str) -> None:
    """Shapes, dtypes, errors and the definition: here or, by name, in `top_k_top_p`."""
    text = inspect.getdoc(getattr(qrita, name)) or ""
    assert "Raises:" in text
    assert "ValueError" in text
    if name != "top_k_top_p":
        assert "`top_k_top_p`" in text


@pytest.mark.parametrize(
    "said",
    [
        *("[vocab] or [batch, vocab]", "[batch]", "float32", "bfloat16", "float16", "float64", "int32", "int64"),
        *("TypeError", "ValueError", "Returns:", "docs/semantics.md", "2**22", "NaN", "-inf"),
    ],
)
def test_the_main_docstring_says(said: str) -> None:
    assert said in (inspect.getdoc(qrita.top_k_top_p) or "")


@pytest.mark.parametrize("said", ["max_candidates", "counts", "docs/semantics.md", "TypeError, ValueError", "Returns:"])
def test_the_docstring_of_candidates_says(said: str) -> None:
    assert said in (inspect.getdoc(qrita.candidates) or "")


@pytest.mark.parametrize("field", ["indices", "logits", "counts", "mass", "total"])
def test_the_docstring_of_the_record_gives_each_field_a_dtype_and_a_shape(field: str) -> None:
    line = re.search(rf"^ *{field}: (.*)$", qrita.Candidates.__doc__ or "", re.MULTILINE)
    assert line
    assert "[rows" in line[1]
    assert re.search(r"int32|int64|dtype", line[1])


# --- importing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use", ["", "qrita.top_k_top_p(torch.zeros(2, 3), 2, 0.5); qrita.candidates(torch.zeros(3), 2)"]
)
def test_importing_and_calling_brings_nothing_heavy(use: str) -> None:
    """Beyond torch itself: no triton, no test tools, no compiler. Warnings would be errors."""
    program = (
        "import sys, torch\n"
        "before = set(sys.modules)\n"
        "import qrita\n"
        f"{use}\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    brought = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:qrita", "-c", program],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    tops = {name.split(".")[0] for name in brought}
    assert "qrita" in tops
    assert not tops & {"triton", "hypothesis", "pytest", "mpmath", "rich", "sympy", "scipy"}
    assert not [
        name for name in brought if name.startswith(("torch._dynamo", "torch._inductor", "qrita.testing", "qrita.cli"))
    ]


# --- the record -------------------------------------------------------------------------------------------------


def test_candidates_is_a_frozen_record() -> None:
    assert [field.name for field in dataclasses.fields(qrita.Candidates)] == [
        "indices",
        "logits",
        "counts",
        "mass",
        "total",
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        qrita.candidates(logits(), 3).counts = None  # type: ignore[misc]


def test_log_probs_are_those_of_the_kept_tokens() -> None:
    x = torch.randn(4, 100, generator=torch.Generator().manual_seed(0))
    found = qrita.candidates(x, 20, 0.9, max_candidates=20)
    expected = torch.log_softmax(qrita.top_k_top_p(x, 20, 0.9).double(), dim=1).gather(
        1, found.indices.long().clamp(min=0)
    )
    listed = found.indices >= 0
    assert found.log_probs().dtype == torch.float64
    assert torch.allclose(found.log_probs()[listed], expected[listed], rtol=0, atol=1e-5)
    assert (found.log_probs()[~listed] == -INF).all()


def test_log_probs_share_the_mass_of_all_that_is_kept() -> None:
    """Also of what is kept and not listed."""
    found = qrita.candidates(torch.zeros(2, 8), 4, max_candidates=2)
    assert found.log_probs().tolist() == [[-torch.tensor(4.0).double().log().item()] * 2] * 2


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([INF, 1.0, INF], [-0.6931471805599453] * 2 + [-INF]),
        ([-INF, NAN], [-INF] * 3),
        ([0.0, -0.0], [-0.6931471805599453] * 2 + [-INF]),
        ([], [-INF] * 3),
    ],
    ids=["infinite", "nothing-kept", "zeros", "empty"],
)
def test_log_probs_of_special_rows(row: list[float], expected: list[float]) -> None:
    assert qrita.candidates(torch.tensor(row), max_candidates=3).log_probs().tolist() == expected


@pytest.mark.parametrize("shape", [(0, 8), (0, 0), (2, 0), (0,), (8,), (2, 8)], ids=str)
def test_log_probs_have_the_shape_of_the_listing(shape: tuple[int, ...]) -> None:
    found = qrita.candidates(torch.zeros(shape), 3)
    assert found.log_probs().shape == found.logits.shape


# --- torch.compile ----------------------------------------------------------------------------------------------


def users_function(x: Tensor) -> tuple[Tensor, ...]:
    """One of each, between operations that are worth compiling."""
    masked = qrita.top_k_top_p(x * 2, 50, 0.9)
    found = qrita.candidates(x * 2, 50, 0.9)
    in_place = qrita.top_k_top_p_(x * 2, 50, 0.9)
    return masked * 1, found.indices, found.logits, found.mass + 0, in_place


@pytest.fixture
def compiled() -> tuple[Callable[..., Any], list[str]]:
    """users_function compiled by a backend that runs what it is given, and the operations that it was given."""
    torch._dynamo.reset()
    operations: list[str] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., Any]:
        operations.extend(node.target.__name__ for node in graph.graph.nodes if node.op.startswith("call"))
        return graph.forward

    return torch.compile(users_function, backend=backend), operations


class TestCompile:
    """Rule 12: torch.compile breaks its graph at a call and sees nothing of what it does."""

    def test_bits_do_not_change(self, compiled: tuple[Callable[..., Any], list[str]]) -> None:
        function, _ = compiled
        for shape in ((4, 999), (4, 999), (7, 500), (999,)):
            x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
            assert [bits(a) for a in function(x)] == [bits(b) for b in users_function(x)]

    def test_nothing_of_it_is_compiled(self, compiled: tuple[Callable[..., Any], list[str]]) -> None:
        function, operations = compiled
        function(torch.zeros(4, 999))
        assert sorted(operations) == ["add", "mul", "mul", "mul", "mul"]

    def test_no_recompilation(self, compiled: tuple[Callable[..., Any], list[str]]) -> None:
        function, operations = compiled
        function(torch.zeros(4, 999))
        first = len(operations)
        for _ in range(20):
            function(torch.ones(4, 999))
        assert len(operations) == first

    def test_errors_are_the_same(self) -> None:
        torch._dynamo.reset()
        with pytest.raises(ValueError, match=r"^p=nan: expected a number"):
            torch.compile(lambda x: qrita.top_k_top_p(x, p=NAN), backend="eager")(logits())

    def test_the_whole_graph_is_refused_rather_than_fused(self) -> None:
        torch._dynamo.reset()
        with pytest.raises(torch._dynamo.exc.Unsupported, match="qrita"):
            torch.compile(lambda x: qrita.top_k_top_p(x, 5), backend="eager", fullgraph=True)(logits())
