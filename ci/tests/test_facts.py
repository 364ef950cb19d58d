"""What is found on a machine, whatever torch is or does there: finding out never fails."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import facts
import pytest
from facts import Facts, Gpu

CI = Path(facts.__file__).parent
TORCH = """
from types import SimpleNamespace as Space
def fail(*words):
    raise RuntimeError(*words)
version = Space(hip={hip!r}, cuda={cuda!r})
{more}
gpus = [{gpus}]
cuda = Space(
    is_available=lambda: {available}, device_count=lambda: len(gpus), get_device_properties=lambda index: gpus[index]
)
"""
MI355X = "Space(name='AMD Instinct MI355X', gcnArchName='gfx950:sramecc+:xnack-', major=9, minor=5, warp_size=64)"
RX9070 = "Space(name='AMD Radeon RX 9070', gcnArchName='gfx1201', major=12, minor=0, warp_size=32)"
H200 = "Space(name='NVIDIA H200', major=9, minor=0, warp_size=32)"
B200 = "Space(name='NVIDIA B200', major=10, minor=0, warp_size=32)"


def fake(
    hip: str | None = None, cuda: str | None = None, gpus: str = "", available: str = "bool(gpus)", more: str = ""
) -> str:
    return TORCH.format(hip=hip, cuda=cuda, gpus=gpus, available=available, more=more)


def gathered(
    folder: Path,
    torch: str | None,
    versions: dict[str, str] | None = None,
    variables: dict[str, str] | None = None,
) -> Any:
    """What an interpreter finds that has this torch, these distributions, these variables and nothing else (-S)."""
    if torch is not None:
        (folder / "torch.py").write_text(torch, encoding="utf-8")
    for name, version in (versions or {}).items():
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    script = "import dataclasses, facts, json; print(json.dumps(dataclasses.asdict(facts.gather())))"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{CI}{os.pathsep}{folder}", **(variables or {})}
    ended = subprocess.run([sys.executable, "-SB", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return json.loads(ended.stdout)


def test_no_torch(tmp_path: Path) -> None:
    found = gathered(tmp_path, None)
    assert (found["build"], found["gpus"], found["distributions"]) == (None, [], {})
    assert found["trouble"] == "torch cannot be imported: No module named 'torch'"


@pytest.mark.parametrize(
    ("torch", "trouble"),
    [
        ("raise ImportError('libtorch.so: no such file\\nthe rest of it')", "libtorch.so: no such file"),
        ("raise OSError('libcudart.so.13: cannot open shared object file')", "libcudart.so.13: cannot open shared"),
        ("raise ValueError('\\n\\n  libcublas.so not found\\n')", "libcublas.so not found"),
        ("raise RuntimeError", "RuntimeError"),
        ("half = 1", "module 'torch' has no attribute 'version'"),
    ],
    ids=["import", "library", "lines", "silent", "half"],
)
def test_a_torch_that_cannot_be_imported(tmp_path: Path, torch: str, trouble: str) -> None:
    found = gathered(tmp_path, torch)
    assert (found["build"], found["gpus"]) == (None, [])
    assert found["trouble"].startswith(f"torch cannot be imported: {trouble}")
    assert "\n" not in found["trouble"]


@pytest.mark.parametrize(
    ("torch", "build", "gpus"),
    [
        (fake(), "cpu", []),
        (fake(cuda="13.0"), "nvidia", []),
        (fake(cuda="13.0", gpus=H200), "nvidia", [Gpu("NVIDIA H200", "sm_90", 32)]),
        (
            fake(cuda="13.0", gpus=f"{H200}, {B200}"),
            "nvidia",
            [Gpu("NVIDIA H200", "sm_90", 32), Gpu("NVIDIA B200", "sm_100", 32)],
        ),
        (fake(hip="7.2"), "amd", []),
        (
            fake(hip="7.2", gpus=f"{MI355X}, {RX9070}"),
            "amd",
            [Gpu("AMD Instinct MI355X", "gfx950", 64), Gpu("AMD Radeon RX 9070", "gfx1201", 32)],
        ),
    ],
    ids=["cpu", "cuda", "one", "two", "rocm", "suffixes"],
)
def test_builds_and_gpus(tmp_path: Path, torch: str, build: str, gpus: list[Gpu]) -> None:
    found = gathered(tmp_path, torch)
    assert (found["build"], found["trouble"]) == (build, "")
    assert [Gpu(**gpu) for gpu in found["gpus"]] == gpus


@pytest.mark.parametrize(
    ("available", "trouble"),
    [
        ("fail('CUDA error: 999\\nCompile with DSA')", "CUDA error: 999"),
        ("fail('')", "RuntimeError"),
        ("fail()", "RuntimeError"),
    ],
    ids=["lines", "empty", "none"],
)
def test_a_torch_that_fails_to_look_for_gpus(tmp_path: Path, available: str, trouble: str) -> None:
    found = gathered(tmp_path, fake(cuda="13.0", gpus=H200, available=available))
    assert (found["build"], found["gpus"], found["trouble"]) == ("nvidia", [], trouble)


def test_distributions_are_torch_and_every_triton(tmp_path: Path) -> None:
    versions = {"torch": "2.13.0+cu130", "triton": "3.7.1", "triton-rocm": "3.7.0", "pytorch-triton": "3.5.0"}
    found = gathered(tmp_path, fake(), {**versions, "pytorch-triton-rocm": "3.4.0", "numpy": "2.0.0"})
    assert found["distributions"] == {**versions, "pytorch-triton-rocm": "3.4.0"}


@pytest.mark.parametrize(
    ("torch", "version"),
    [
        (fake(more="__version__ = '2.10.0+cu128'"), "2.10.0+cu128"),
        (fake(), "2.10.0"),
        ("raise ImportError", "2.10.0"),
    ],
    ids=["labelled", "silent", "broken"],
)
def test_the_version_of_torch_is_its_own_word(tmp_path: Path, torch: str, version: str) -> None:
    """The metadata of an image's build may lack the label."""
    assert gathered(tmp_path, torch, {"torch": "2.10.0"})["distributions"] == {"torch": version}


def test_variables(tmp_path: Path) -> None:
    nothing = gathered(tmp_path, fake(), variables={"HSA_OVERRIDE_GFX_VERSION": ""})
    assert (nothing["fusion"], nothing["overrides"]) == (None, {})
    overrides = {"HSA_OVERRIDE_GFX_VERSION": "9.4.2", "TRITON_OVERRIDE_ARCH": "sm80"}
    found = gathered(tmp_path, None, variables={"TRITON_DEFAULT_FP_FUSION": "1", **overrides})
    assert (found["fusion"], found["overrides"]) == ("1", overrides)


def test_every_triton_is_named_with_its_version() -> None:
    found = Facts({"torch": "2.13.0", "triton": "3.7.1", "triton-rocm": "3.6.0"})
    assert found.triton == ("triton 3.7.1", "triton-rocm 3.6.0")
    assert Facts({"torch": "2.13.0"}).triton == ()


@pytest.mark.parametrize(
    ("card", "names", "others"),
    [
        ("H200", ["NVIDIA H200", "NVIDIA H200 NVL", "h200"], ["NVIDIA GH200 480GB", "NVIDIA H20", "NVIDIA H2000"]),
        ("L40", ["NVIDIA L40"], ["NVIDIA L40S", "NVIDIA L4"]),
        (
            "H100",
            ["NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"],
            ["NVIDIA H100 80GB HBM3 MIG 1g.10gb"],
        ),
        ("A100", ["NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"], ["NVIDIA A100X", "GRID A100-4-40C"]),
        (
            "RTX 4090",
            ["NVIDIA GeForce RTX 4090", "RTX 4090"],
            ["NVIDIA GeForce RTX 4080", "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU"],
        ),
        ("RTX 4080", ["NVIDIA GeForce RTX 4080"], ["NVIDIA GeForce RTX 4080 SUPER", "NVIDIA GeForce GTX 4080"]),
        ("MI300X", ["AMD Instinct MI300X", "AMD Instinct MI300X VF"], ["AMD Instinct MI300A", "AMD Instinct MI325X"]),
        ("7900 XT", ["AMD Radeon RX 7900 XT"], ["AMD Radeon RX 7900 XTX"]),
    ],
)
def test_a_card_is_told_by_its_whole_name(card: str, names: list[str], others: list[str]) -> None:
    assert [name for name in (*names, *others) if Gpu(name, "", 0).is_a(card)] == names


AMDGPU = {"/sys/module/amdgpu/version": "6.14.14\n"}
NVIDIA = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version: 13.3.0\n"


@pytest.mark.parametrize(
    ("files", "build", "driver"),
    [
        ({}, None, None),
        ({"/proc/driver/nvidia/version": NVIDIA}, "nvidia", "580.159.04"),
        ({"/proc/driver/nvidia/version": NVIDIA}, "amd", "580.159.04"),
        (AMDGPU, "amd", "6.14.14"),
        (AMDGPU, None, "6.14.14"),
        ({"/proc/driver/nvidia/version": NVIDIA, **AMDGPU}, "nvidia", "580.159.04"),
        ({"/proc/driver/nvidia/version": NVIDIA, **AMDGPU}, "amd", "6.14.14"),
        ({"/proc/driver/nvidia/version": "no number"}, None, None),
        ({"/sys/module/amdgpu": ""}, "amd", f"amdgpu of Linux {platform.release()}"),
        ({"/sys/module/amdgpu": "", "/proc/driver/nvidia/version": NVIDIA}, "nvidia", "580.159.04"),
    ],
    ids=["none", "nvidia", "nvidia alone", "amd", "cpu", "both", "both, amd", "unreadable", "in Linux", "Linux's too"],
)
def test_the_driver(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str], build: str | None, driver: str | None
) -> None:
    text_of, is_dir = Path.read_text, Path.is_dir

    def read(path: Path, *args: Any, **options: Any) -> str:
        if not str(path).startswith(("/proc/", "/sys/")):
            return text_of(path, *args, **options)
        if str(path) not in files:
            raise FileNotFoundError(path)
        return files[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(Path, "is_dir", lambda path: str(path) in files if str(path)[:5] == "/sys/" else is_dir(path))
    monkeypatch.setattr(facts, "_torch", lambda: (build, (), ""))
    assert facts.gather().driver == driver


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QRITA_IMAGE", "python@sha256:0")
    versions = {"torch": "2.13.0+rocm7.2", "triton-rocm": "3.7.1"}
    card = Gpu("AMD Instinct MI355X", "gfx950", 64)
    assert facts.identity(Facts(versions, "amd", (card, card), "6.14.14", "0", {"A": "1"}), tmp_path) == {
        "card": "AMD Instinct MI355X",
        "architecture": "gfx950",
        "wave": 64,
        "driver": "6.14.14",
        "torch": "2.13.0+rocm7.2",
        "triton": "triton-rocm 3.7.1",
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "fusion": "0",
        "overrides": {"A": "1"},
        "commit": "",
        "image": "python@sha256:0",
    }


def test_identity_of_a_machine_that_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QRITA_IMAGE", raising=False)
    found = facts.identity(Facts(), tmp_path)
    nothing = {"card", "architecture", "wave", "driver", "torch", "triton", "fusion"}
    assert {name for name, value in found.items() if value is None} == nothing
    assert found["image"] == ""


def test_the_commit_is_marked_where_files_differ_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / "file"
    file.write_text("1", encoding="utf-8")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert facts.identity(Facts(), tmp_path)["commit"] == commit
    file.write_text("2", encoding="utf-8")
    assert facts.identity(Facts(), tmp_path)["commit"] == f"{commit}+"
