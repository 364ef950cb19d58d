"""Implementations of others, by name: found where they are, called as they are documented. Here on stand-ins."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from qrita.testing.foreign import loading, peers
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.loading import SubjectError
from qrita.testing.foreign.trying import tried
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import build, seeded
from qrita.testing.sweep import FAULTS

VLLM = """
import torch
from qrita.testing.foreign.peers import sorted_mask

def apply_top_k_top_p_triton(logits, k, p, mask_value=float("-inf")):
    assert logits.dtype == torch.float32
    for given, dtype in ((k, torch.int32), (p, torch.float32)):
        assert given is None or (given.dtype == dtype and given.shape == logits.shape[:1])
    masked = sorted_mask(logits, k, p)
    return logits.copy_(masked.masked_fill(masked == -torch.inf, mask_value))
"""

FLASHINFER = {
    "__init__.py": "__version__ = '0.0.1'\n",
    "sampling.py": """
import torch
from qrita.testing.foreign.peers import sorted_mask

def top_k_mask_logits(logits, top_k):
    return sorted_mask(logits, top_k, None)

def top_p_renorm_probs(probs, top_p):
    assert probs.dtype == torch.float32
    kept = sorted_mask(probs.log(), None, top_p) > -torch.inf
    return probs * kept / (probs * kept).sum(dim=-1, keepdim=True)
""",
    "topk.py": """
import torch

def top_k(input, k, sorted, deterministic, tie_break):
    assert (sorted, deterministic, tie_break) == (True, True, 1)
    found = input.sort(dim=-1, descending=True, stable=True)
    return found.values[:, :k], found.indices[:, :k]
""",
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What is imported here, and where from, ends with the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    before = {*sys.modules}
    yield
    for name in {*sys.modules} - before:
        if name.partition(".")[0] in ("vllm", "vllm_sampler", "flashinfer"):
            del sys.modules[name]


def passes(subject: Implementation, count: int = 12) -> None:
    """Every property on a few rows: something passes, and nothing fails."""
    statuses = set()
    for recipe in seeded(count, max_vocab=100, dtypes=subject.contract.dtypes):
        fitted = replace(recipe, p=recipe.p if subject.contract.top_p else None)
        for name in PROPERTIES:
            outcome = tried(subject, build(fitted), name)
            assert outcome.status not in FAULTS, outcome.message
            statuses.add(outcome.status)
    assert "passed" in statuses


def loaded(name: str, path: Path | None) -> Implementation:
    found = loading.load(name, None if path is None else str(path))
    assert isinstance(found, Implementation)
    return found


@pytest.mark.parametrize("layout", ["vllm_sampler.py", "any_name.py", "vllm/v1/sample/ops/topk_topp_triton.py"])
def test_vllm(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # so that it may be on a CPU
    file = tmp_path / "there" / layout
    file.parent.mkdir(parents=True)
    file.write_text(VLLM, encoding="utf-8")
    subject = loaded("vllm", file if layout == "any_name.py" else tmp_path / "there")
    assert subject.versions["vllm"].startswith(f"unknown ({file.name}, SHA-256 ")
    assert subject.about.endswith(", in Triton's interpreter")
    assert subject.contract.devices == ("cpu",)
    passes(subject)


def test_flashinfer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site" / "flashinfer").mkdir(parents=True)
    for name, source in FLASHINFER.items():
        (tmp_path / "site" / "flashinfer" / name).write_text(source, encoding="utf-8")
    for contract in ("FLASHINFER", "FLASHINFER_TOP_K"):
        monkeypatch.setattr(peers, contract, replace(getattr(peers, contract), devices=("cpu",)))
    for peer in ("flashinfer", "flashinfer-top-k"):
        subject = loaded(peer, tmp_path / "site")
        assert subject.versions == {"flashinfer": "0.0.1"}
        passes(subject)


def test_torch_topk() -> None:
    passes(loaded("torch-topk", None))


def test_torch_sort() -> None:
    subject = loaded("torch-sort", None)
    assert subject.versions == {"torch": torch.__version__}
    passes(subject)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_needs_a_gpu_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    (tmp_path / "vllm_sampler.py").write_text(VLLM, encoding="utf-8")
    with pytest.raises(SubjectError, match=r"^'vllm': it needs a GPU, and torch sees none here$"):
        loaded("vllm", tmp_path)


@pytest.mark.parametrize("name", ["vllm", "flashinfer", "flashinfer-top-k"])
def test_what_is_not_there_says_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match=f"^'{name}' cannot be loaded: (ImportError|ModuleNotFoundError): "):
        loaded(name, tmp_path)


def test_every_promise_that_is_read_has_a_field() -> None:
    for contract in (peers.TORCH_SORT, peers.TORCH_TOPK, peers.VLLM, peers.FLASHINFER, peers.FLASHINFER_TOP_K):
        assert set(contract.sources) <= set(vars(contract))
