"""What an environment and its machine are. Nothing here judges; nothing here fails."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

DISTRIBUTIONS = ("torch", "triton", "triton-rocm", "pytorch-triton", "pytorch-triton-rocm")
"""torch, and every distribution that owns site-packages/triton."""
OVERRIDES = ("HSA_OVERRIDE_GFX_VERSION", "TRITON_OVERRIDE_ARCH")
"""Variables that make a card pass for another."""
DRIVERS = {
    "nvidia": ("/proc/driver/nvidia/version", r"\b(\d{3,}\.\d[\d.]*)\b"),
    "amd": ("/sys/module/amdgpu/version", r"(\S+)"),
}
"""Vendor to the file in which its driver gives its version."""
FUSION = "TRITON_DEFAULT_FP_FUSION"
FORM = r"\d+ ?GB|HBM\w*|GDDR\w*|PCIe|SXM\d*|NVL\d*|OAM|VF"
"""What drivers write behind the name of a card that makes no other card of it: its memory, what it is plugged into, and
that a virtual machine has the whole of it."""


@dataclass(frozen=True)
class Gpu:
    """A device that torch can use, as its driver names it."""

    name: str
    architecture: str
    wave: int

    def is_a(self, card: str) -> bool:
        """Whether the driver's name ends with that of a card, but for its memory and form.

        So a GH200 is no H200, an L40S no L40, an RTX 4090 D or a laptop's is no RTX 4090, a slice of an H100 no H100.
        """
        name = rf"(.*[ -])?{re.escape(card)}([ -]({FORM}))*"
        return re.fullmatch(name, self.name, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Facts:
    """What was found.

    Attributes:
        distributions: name to version, of those of torch and Triton that are installed.
        build: the vendor that torch was built for, "cpu", "nvidia" or "amd"; None where it cannot be imported.
        driver: the version of that vendor's driver, or else of another's; in words where it has none of its own.
        trouble: why torch cannot be imported, or why it sees no device.
    """

    distributions: dict[str, str] = field(default_factory=dict)
    build: str | None = None
    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    fusion: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    trouble: str = ""

    @property
    def triton(self) -> tuple[str, ...]:
        """Every Triton distribution, as "name version"."""
        return tuple(f"{name} {version}" for name, version in self.distributions.items() if name != "torch")


def gather() -> Facts:
    """Ask this interpreter and this machine."""
    found = {name: version for name in DISTRIBUTIONS if (version := _version(name))}
    build, gpus, trouble = _torch()
    if build and "torch" in found:  # its own word has the label of the build, which an image's metadata may lack
        found["torch"] = getattr(sys.modules["torch"], "__version__", found["torch"])
    return Facts(
        distributions=found,
        build=build,
        gpus=gpus,
        driver=_driver(build),
        fusion=os.environ.get(FUSION),
        overrides={name: os.environ[name] for name in OVERRIDES if os.environ.get(name)},
        trouble=trouble,
    )


def identity(facts: Facts, root: Path) -> dict[str, Any]:
    """The facts that a lane's report carries."""
    gpu = asdict(facts.gpus[0]) if facts.gpus else {}
    return {
        "card": gpu.get("name"),
        "architecture": gpu.get("architecture"),
        "wave": gpu.get("wave"),
        "driver": facts.driver,
        "torch": facts.distributions.get("torch"),
        "triton": ", ".join(facts.triton) or None,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "fusion": facts.fusion,
        "overrides": facts.overrides,
        "commit": _commit(root),
        "image": os.environ.get("QRITA_IMAGE", ""),
    }


def _version(name: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


def _torch() -> tuple[str | None, tuple[Gpu, ...], str]:
    try:
        import torch

        vendor = "amd" if torch.version.hip else "nvidia" if torch.version.cuda else "cpu"
    except Exception as error:  # one that lacks a library, or half of itself, raises more than ImportError
        return None, (), f"torch cannot be imported: {_line(error)}"
    try:
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return vendor, tuple(_gpu(torch, index) for index in range(count)), ""
    except Exception as error:  # torch's own words about a driver that does not fit
        return vendor, (), _line(error)


def _line(error: Exception) -> str:
    """What an error says first, or else what it is: for a sentence, which has no line breaks."""
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)


def _gpu(torch: Any, index: int) -> Gpu:
    properties = torch.cuda.get_device_properties(index)
    arch = getattr(properties, "gcnArchName", "").partition(":")[0]
    if not torch.version.hip:
        arch = f"sm_{properties.major}{properties.minor}"
    return Gpu(properties.name, arch, properties.warp_size)


def _driver(build: str | None) -> str | None:
    """The driver that the build of torch needs comes first, on a machine that has both."""
    for path, pattern in (value for _, value in sorted(DRIVERS.items(), key=lambda item: item[0] != build)):
        with contextlib.suppress(OSError):
            if found := re.search(pattern, Path(path).read_text(encoding="utf-8")):
                return found[1]
    if Path("/sys/module/amdgpu").is_dir():  # the one that comes with Linux gives no version
        return f"amdgpu of Linux {platform.release()}"
    return None


def _commit(root: Path) -> str:
    """The commit that is tested, with "+" where files differ from it; "" outside a repository."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return _git(root, "rev-parse", "HEAD") + ("+" if _git(root, "status", "--porcelain") else "")
    return ""


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", f"safe.directory={root}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
