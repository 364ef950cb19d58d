"""The GPU that is measured, and what has to be equal for two results to be of one kind."""

from __future__ import annotations

import datetime
import hashlib
import platform
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import torch

import qrita
from qrita import device as features
from qrita import engines
from qrita.bench import ablation
from qrita.bench.results import Here
from qrita.entries import FOLDER, Provenance
from qrita.report.surroundings import gather

NOT_MEASURED = ("bench", "cli", "report", "testing")
"""Folders of the package whose sources no time depends on."""


class NoGpuError(ValueError):
    """There is nothing to measure on. Says what was expected."""


def gpu(name: str) -> torch.device:
    """The device of a name.

    Raises:
        NoGpuError: it is no GPU, or there is none here.
    """
    try:
        device = torch.device(name)
    except RuntimeError:
        raise NoGpuError(f"argument --device: {name!r}: expected cuda, or cuda:1 for the second GPU") from None
    if device.type != "cuda":
        raise NoGpuError(f"argument --device: {name!r}: expected a GPU, such as cuda: nothing else is measured")
    try:
        engines.named("triton")
    except RuntimeError as error:
        raise NoGpuError(f"nothing can be measured here: {error}") from None
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise NoGpuError(f"argument --device: {name!r}: expected one of cuda:0 to cuda:{count - 1}")
    return torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)


def here(device: str, repeats: int) -> Here:
    """What results made now share."""
    card = features.of(torch.device(device))
    versions = {"qrita": f"{qrita.__version__} (sources {sources()})", "torch": torch.__version__}
    for name in ("triton", "triton-rocm", "pytorch-triton", "pytorch-triton-rocm"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    versions["Python"] = platform.python_version()
    return Here(f"{card.name} ({card.architecture})", device, versions, repeats)


def provenance(device: torch.device, command: str, compared: tuple[str, ...]) -> Provenance:
    """Where figures that are measured now come from."""
    card, found = features.of(device), gather(str(device))
    return Provenance(
        card=card.name,
        multiprocessors=card.multiprocessors,
        driver=found.driver or "unknown",
        torch=found.torch,
        triton=(found.triton or "unknown").rpartition(" ")[2],
        date=datetime.date.today().isoformat(),
        command=command,
        commit=found.commit or "unknown",
        sources=sources(),
        compared=compared,
    )


def with_ablation(here: Here) -> Here:
    """The same of the ablation, whose kernels are among its sources: its results go into files of their own."""
    return replace(here, versions={**here.versions, "ablation": f"sources {sources(Path(ablation.__file__).parent)}"})


def sources(folder: Path = Path(qrita.__file__).parent) -> str:
    """A digest of the sources and figures that times depend on: results of other kernels are not gone on with."""
    digest = hashlib.sha256()
    for file in sorted([*folder.rglob("*.py"), *(folder / FOLDER).glob("*.json")]):
        path = file.relative_to(folder)
        if path.parts[0] not in NOT_MEASURED:
            digest.update(path.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
