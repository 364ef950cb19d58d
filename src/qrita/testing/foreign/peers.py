"""Implementations of others, by name, with what their documentation promises. None of them is part of this package."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from qrita.testing.foreign.contract import Contract
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.formats import DTYPES

_INF = float("inf")


# --- torch -------------------------------------------------------------------------------------------------------

TORCH_SORT = Contract(
    dtypes=DTYPES,
    ties="lowest index first",
    tensors=True,
    strides="any",
    sources={
        "ties": "torch.sort(stable=True) keeps the order of equal elements",
        "deterministic": "on a GPU torch lists cumsum of floating-point numbers among what is not",
        "tolerance": "softmax and cumsum are in float32; torch states no error for them",
        "nan": "softmax of a row with NaN is NaN",
        "infinity": "softmax of a row with +inf is NaN",
        "empty": "softmax of a row of -inf is NaN",
    },
)

TORCH_TOPK = Contract(
    outputs=("candidates",),
    dtypes=DTYPES,
    order="k alone",
    ties="any of them",
    infinity=True,
    empty=True,
    strides="any",
    deterministic=False,
    sorted=True,
    sources={
        "ties": "its documentation: the indices of tied elements may vary across invocations",
        "deterministic": "the same sentence",
        "nan": "its documentation does not say where NaN is ordered",
    },
)


def torch_sort(path: Path | None) -> Implementation:
    """The usual recipe: a stable sort, softmax in float32, a running sum, and the mask scattered back."""
    device = _device(TORCH_SORT)
    return Implementation(
        "torch-sort",
        replace(TORCH_SORT, deterministic=device == "cpu"),
        device,
        mask=sorted_mask,
        versions={"torch": torch.__version__},
        about="torch.sort(descending=True, stable=True), softmax and cumsum in float32, scatter",
    )


def sorted_mask(logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
    """Top-k, then top-p, by sorting."""
    values, indices = logits.sort(dim=-1, descending=True, stable=True)
    removed = torch.zeros_like(values, dtype=torch.bool)
    if k is not None:
        ranks = torch.arange(logits.shape[-1], device=logits.device)
        removed = ranks >= (k[:, None] if isinstance(k, Tensor) else k)
        removed = removed.expand_as(values)
    if p is not None:
        probabilities = values.float().masked_fill(removed, -_INF).softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities
        reached = before >= (p[:, None] if isinstance(p, Tensor) else p)
        reached[:, 0] = False
        removed = removed | reached
    return logits.masked_fill(removed.scatter(-1, indices, removed), -_INF)


def torch_topk(path: Path | None) -> Implementation:
    """torch.topk(logits, k)."""

    def candidates(logits: Tensor, k: int | None, p: None) -> tuple[Tensor, Tensor]:
        found = logits.topk(logits.shape[-1] if k is None else k, dim=-1)
        return found.values, found.indices

    return Implementation(
        "torch-topk",
        TORCH_TOPK,
        _device(TORCH_TOPK),
        candidates=candidates,
        versions={"torch": torch.__version__},
        about="torch.topk(logits, k)",
    )


# --- vLLM --------------------------------------------------------------------------------------------------------

VLLM_MODULES = ("vllm.v1.sample.ops.topk_topp_triton", "vllm_sampler")
"""Where the function is: in vLLM itself, or in a copy of that one file under a name of its own."""

VLLM = Contract(
    outputs=("mask", "mask_value"),
    devices=("cuda",),
    numbers=False,
    tensors=True,
    strides="any",
    deterministic=False,
    keeps_input=False,
    sources={
        "deterministic": "its docstring does not say",
        "dtypes": "asserted: float32",
        "numbers": "k is an int32 tensor, p a float32 tensor, or None",
        "order": "its docstring: top-k first, then top-p on the remaining k values",
        "ties": "its docstring does not say; the code means to keep exactly k",
        "p_values": "its docstring: 0 to 1",
        "k_values": "its docstring does not say; k = vocab is vLLM's own way to switch top-k off",
        "strides": "its docstring: other layouts are copied",
        "masked": "a comment in it: -inf from grammar bitmasks",
        "keeps_input": "its docstring: the input may or may not be modified in place",
        "tolerance": "it states none: that of a float32 softmax and blocked sums",
    },
)


def vllm(path: Path | None) -> Implementation:
    """`apply_top_k_top_p_triton` of vLLM, installed or from a path."""
    module = _module(path, VLLM_MODULES)
    function = module.apply_top_k_top_p_triton

    def mask(logits: Tensor, k: Tensor | None, p: Tensor | None, mask_value: float = -_INF) -> Tensor:
        masked: Tensor = function(logits, k, p, mask_value)
        return masked

    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    contract = replace(VLLM, devices=("cpu",)) if interpreted else VLLM
    return Implementation(
        "vllm",
        contract,
        _device(contract),
        mask=mask,
        versions={"vllm": _version("vllm", module), **_installed("triton")},
        about=f"apply_top_k_top_p_triton of {module.__name__}" + (", in Triton's interpreter" if interpreted else ""),
    )


# --- FlashInfer --------------------------------------------------------------------------------------------------

FLASHINFER = Contract(
    dtypes=DTYPES,
    devices=("cuda",),
    k_values="1 to vocab - 1",
    p_values="0 < p < 1",
    resolution=2.0**-21,
    tensors=True,
    deterministic=False,
    sources={
        "order": "that of top_k_top_p_sampling_from_logits with its default, filter_apply_order='top_k_first'",
        "ties": "not said of top_k_mask_logits; top_p_renorm_probs is documented to keep what equals its threshold",
        "resolution": "top_p_renorm_probs compares float32 probabilities, not logits",
        "k_values": "its documentation: in (0, num_classes)",
        "p_values": "its documentation: in (0, 1)",
        "deterministic": "top_p_renorm_probs is called as it is by default, is_deterministic=False",
        "strides": "its documentation does not speak of them",
        "masked": "its documentation does not say; inference engines mask tokens so, and its own masks hold -inf",
        "tolerance": "it states none: that of a float32 softmax and blocked sums",
    },
)

FLASHINFER_TOP_K = Contract(
    outputs=("candidates",),
    dtypes=DTYPES,
    devices=("cuda",),
    order="k alone",
    ties="lowest index first",
    sorted=True,
    sources={
        "ties": "its documentation: tie_break=1 prefers smaller indices",
        "deterministic": "its documentation: deterministic=True repeats its output",
        "sorted": "sorted=True",
        "masked": "its documentation does not say; inference engines mask tokens so",
        "nan": "its documentation does not say where NaN is ordered",
        "infinity": "its documentation does not speak of it",
    },
)


def flashinfer(path: Path | None) -> Implementation:
    """top_k_mask_logits, then the softmax in torch, then what top_p_renorm_probs leaves above zero."""
    sampling = importlib.import_module("flashinfer.sampling")

    def mask(logits: Tensor, k: int | Tensor | None, p: float | Tensor | None) -> Tensor:
        masked: Tensor = logits if k is None else sampling.top_k_mask_logits(logits, k)
        if p is not None:
            left = sampling.top_p_renorm_probs(masked.float().softmax(dim=-1), p)
            masked = masked.masked_fill(left <= 0, -_INF)
        return masked.clone() if masked is logits else masked

    return Implementation(
        "flashinfer",
        FLASHINFER,
        _device(FLASHINFER),
        mask=mask,
        versions={"flashinfer": _version("flashinfer-python", importlib.import_module("flashinfer"))},
        about="top_k_mask_logits(logits, k), softmax in float32 in torch, top_p_renorm_probs(probs, p) > 0",
    )


def flashinfer_top_k(path: Path | None) -> Implementation:
    """`flashinfer.topk.top_k`, sorted, deterministic, with ties by the smaller index."""
    topk = importlib.import_module("flashinfer.topk")

    def candidates(logits: Tensor, k: int | None, p: None) -> tuple[Tensor, Tensor]:
        slots = logits.shape[-1] if k is None else k
        values, indices = topk.top_k(logits, slots, sorted=True, deterministic=True, tie_break=1)
        return values, indices

    return Implementation(
        "flashinfer-top-k",
        FLASHINFER_TOP_K,
        _device(FLASHINFER_TOP_K),
        candidates=candidates,
        versions={"flashinfer": _version("flashinfer-python", importlib.import_module("flashinfer"))},
        about="flashinfer.topk.top_k(logits, k, sorted=True, deterministic=True, tie_break=1)",
    )


PEERS: dict[str, Callable[[Path | None], Implementation]] = {
    "torch-sort": torch_sort,
    "torch-topk": torch_topk,
    "vllm": vllm,
    "flashinfer": flashinfer,
    "flashinfer-top-k": flashinfer_top_k,
}
"""What makes each, given the path that a person named."""


# --- finding them ------------------------------------------------------------------------------------------------


def _device(contract: Contract) -> str:
    from qrita.testing.foreign.loading import device_for

    return device_for(contract)


def _module(path: Path | None, names: tuple[str, ...]) -> ModuleType:
    """The file that a person named, or the first module that can be imported."""
    if path is not None and path.is_file():
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    reasons = []
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            reasons.append(f"{name}: {error}")
    raise ImportError(f"{'; '.join(reasons)}. Install it, or name a folder or a file with --subject-path")


def _version(distribution: str, module: ModuleType) -> str:
    """The installed version, or the module's own; without either, a digest that tells its file from others."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        pass
    own: Any = getattr(module, "__version__", None)
    if own:
        return str(own)
    source = Path(inspect.getfile(module))
    return f"unknown ({source.name}, SHA-256 {hashlib.sha256(source.read_bytes()).hexdigest()[:12]})"


def _installed(distribution: str) -> dict[str, str]:
    try:
        return {distribution: metadata.version(distribution)}
    except metadata.PackageNotFoundError:
        return {}
