"""What an environment promises, and the one sentence that says how a machine does not keep it."""

from __future__ import annotations

import datetime
import inspect
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import copies
import facts
import guard
import promises
import pytest
import targets
from facts import Facts, Gpu
from targets import Evidence, Matrix, Stack, Target

WHEELS = "https://download.pytorch.org/whl"
REHEARSED = Evidence("rehearsed", datetime.date(2026, 11, 30))
MATRIX = Matrix(
    tox="4.65.0",
    python="3.12",
    stacks={
        "cpu": Stack("cpu", "2.13.0+cpu", f"{WHEELS}/cpu", "triton==3.7.1"),
        "cuda": Stack("nvidia", "2.13.0+cu130", f"{WHEELS}/cu130", "triton==3.7.1", "580.65.06"),
        "cuda-min": Stack("nvidia", "2.10.0+cu126", f"{WHEELS}/cu126", "triton==3.6.0", "560.28.03"),
        "rocm": Stack("amd", "2.13.0+rocm7.2", f"{WHEELS}/rocm7.2", "triton-rocm==3.7.1", "6.14.14"),
        "rocm-min": Stack("amd", "2.10.0+rocm7.1", f"{WHEELS}/rocm7.1", "triton-rocm==3.6.0", "6.14.14"),
    },
    targets={
        "cpu": Target("cpu", REHEARSED, "cpu"),
        "interpreter": Target("cpu", REHEARSED, "interpreter"),
        "compile-gfx950": Target("cpu", REHEARSED, "compile", "gfx950", 64),
        "cuda-h100": Target("cuda", REHEARSED, "cuda", "sm_90", 32, "H100"),
        "cuda-h200": Target("cuda", REHEARSED, "cuda", "sm_90", 32, "H200"),
        "cuda-min-h100": Target("cuda-min", REHEARSED, "cuda-min", "sm_90", 32, "H100"),
        "cuda-l40": Target("cuda", REHEARSED, "cuda", "sm_89", 32, "L40"),
        "cuda-rtx4090": Target("cuda", REHEARSED, "cuda", "sm_89", 32, "RTX 4090"),
        "rocm-mi300x": Target("rocm", REHEARSED, "rocm", "gfx942", 64, "MI300X"),
        "rocm-mi355x": Target("rocm", REHEARSED, "rocm", "gfx950", 64, "MI355X"),
        "rocm-min-mi355x": Target("rocm-min", REHEARSED, "rocm-min", "gfx950", 64, "MI355X"),
        "sim-gfx950": Target("cpu", REHEARSED, "sim", "gfx950", 64),
        "planned-gfx1100": Target("cpu", REHEARSED, None, "gfx1100", 32),
    },
    refused={"amd": {"3.8.0": "it miscompiles"}},
)

H100 = Gpu("NVIDIA H100 80GB HBM3", "sm_90", 32)
H200 = Gpu("NVIDIA H200", "sm_90", 32)
GH200 = Gpu("NVIDIA GH200 480GB", "sm_90", 32)
L40S = Gpu("NVIDIA L40S", "sm_89", 32)
MI300X = Gpu("AMD Instinct MI300X", "gfx942", 64)
MI355X = Gpu("AMD Instinct MI355X", "gfx950", 64)

CPU = Facts({"torch": "2.13.0+cpu"}, "cpu")
KERNELS = Facts({"torch": "2.13.0+cpu", "triton": "3.7.1"}, "cpu", fusion="0")
CUDA = Facts({"torch": "2.13.0+cu130", "triton": "3.7.1"}, "nvidia", (H100,), "580.159.04", "0")
ROCM = Facts({"torch": "2.13.0+rocm7.2", "triton-rocm": "3.7.1"}, "amd", (MI355X,), "6.14.14", "0")
H200_MACHINE = Facts({"torch": "2.11.0+cu130", "triton": "3.6.0"}, "nvidia", (H200,), "580.159.04", "0")
AMD_MACHINE = Facts({"torch": "2.12.0+rocm7.2", "triton-rocm": "3.7.1"}, "amd", (MI355X,), "6.14.14", "0")

ANEW = "make the environment anew: the same command with -r"
CHANGE = "change what is installed for this Python, or run the lane without --installed, which installs its own"
PLAIN = "without one, `ci/tox -e cpu` tests the torch engine"


@dataclass(frozen=True)
class Lane:
    """An environment on a machine; `but` are the facts that differ from those that keep its promise."""

    environment: str
    facts: Facts
    target: str | None = None
    installed: bool = False
    but: dict[str, Any] = field(default_factory=dict)

    def judged(self, root: Path) -> str | None:
        made = promises.promise(MATRIX, self.environment, self.target, self.installed, root)
        return promises.broken(made, replace(self.facts, **self.but), MATRIX)


def installed(target: str, facts: Facts, **but: Any) -> Lane:
    assert target in MATRIX.targets
    return Lane(MATRIX.targets[target].environment or "", facts, target, True, but)


KEPT = {
    "cpu": Lane("cpu", CPU),
    "cpu, a build without a label": Lane("cpu", CPU, but={"distributions": {"torch": "2.13.0"}}),
    "cpu, named": Lane("cpu", CPU, "cpu"),
    "cpu needs no setting of kernels": Lane("cpu", CPU, but={"overrides": {"TRITON_OVERRIDE_ARCH": "sm_80"}}),
    "type": Lane("type", CPU),
    "check": Lane("check", CPU),
    "interpreter": Lane("interpreter", KERNELS),
    "compile": Lane("compile", KERNELS),
    "sim": Lane("sim", KERNELS),
    "sim, named": Lane("sim", KERNELS, "sim-gfx950"),
    "compile, named": Lane("compile", KERNELS, "compile-gfx950"),
    "cuda": Lane("cuda", CUDA),
    "cuda on a card without a target": Lane("cuda", CUDA, but={"gpus": (L40S,)}),
    "cuda on cards that differ": Lane("cuda", CUDA, but={"gpus": (H100, L40S)}),
    "cuda, named": Lane("cuda", CUDA, "cuda-h100"),
    "cuda, two of that card": Lane("cuda", CUDA, "cuda-h100", but={"gpus": (H100, H100)}),
    "check-cuda": Lane("check-cuda", CUDA),
    "rocm": Lane("rocm", ROCM),
    "rocm, named": Lane("rocm", ROCM, "rocm-mi355x"),
    "rocm, an older driver that works": Lane("rocm", ROCM, but={"driver": "6.12.12"}),
    "rocm, the driver that comes with Linux": Lane("rocm", ROCM, but={"driver": "amdgpu of Linux 6.17.0-5-generic"}),
    "check-rocm": Lane("check-rocm", ROCM),
    "installed": installed("cuda-h200", H200_MACHINE),
    "installed, the oldest": installed(
        "cuda-h200", H200_MACHINE, distributions={"torch": "2.10.0+cu126", "triton": "3.6.0"}
    ),
    "installed, newer than any pin": installed(
        "cuda-h200", H200_MACHINE, distributions={"torch": "2.15.1+cu132", "triton": "3.10.0"}
    ),
    "installed, a Triton that only AMD refuses": installed(
        "cuda-h200", H200_MACHINE, distributions={"torch": "2.14.0+cu130", "triton": "3.8.0"}
    ),
    "installed, NVIDIA's own build": installed(
        "cuda-h200", H200_MACHINE, distributions={"torch": "2.11.0a0+nv26.2", "pytorch-triton": "3.6.0+git1"}
    ),
    "installed on AMD": installed("rocm-mi355x", AMD_MACHINE),
    "installed for a stack that has no older one": installed(
        "rocm-min-mi355x", AMD_MACHINE, distributions={"torch": "2.10.0+rocm7.1", "triton-rocm": "3.6.0"}
    ),
}

# Name: what is not kept, what its sentence promises, what was found, what to do.
BROKEN: dict[str, tuple[Lane, str, str, str]] = {
    "torch missing": (
        Lane("cpu", CPU, but={"build": None, "distributions": {}, "trouble": ""}),
        "environment 'cpu' promises a CPU build of torch",
        "there is none",
        ANEW,
    ),
    "torch broken": (
        Lane("cuda", CUDA, but={"build": None, "trouble": "torch cannot be imported: no libcudart.so.13"}),
        "environment 'cuda' promises a CUDA build of torch",
        "torch cannot be imported: no libcudart.so.13",
        ANEW,
    ),
    "torch missing, installed": (
        installed("cuda-h200", H200_MACHINE, build=None, trouble="torch cannot be imported: no module named torch"),
        "target 'cuda-h200' promises a CUDA build of torch",
        "no module named torch",
        CHANGE,
    ),
    # Builds of torch mixed up. Where versions are pinned, the pin is what is wrong first.
    "cpu, CUDA build of that version": (
        Lane("cpu", CPU, but={"build": "nvidia", "distributions": {"torch": "2.13.0"}}),
        "environment 'cpu' promises a CPU build of torch",
        "found a CUDA build of torch (2.13.0)",
        ANEW,
    ),
    "interpreter, ROCm build of that version": (
        Lane("interpreter", KERNELS, but={"build": "amd"}),
        "environment 'interpreter' promises a CPU build of torch",
        "found a ROCm build of torch (2.13.0+cpu)",
        ANEW,
    ),
    "cuda, CPU build": (
        Lane("cuda", CUDA, but={"build": "cpu", "distributions": {"torch": "2.13.0+cpu", "triton": "3.7.1"}}),
        "environment 'cuda' promises torch 2.13.0+cu130",
        "found 2.13.0+cpu",
        ANEW,
    ),
    "cuda, CPU build that says it is another": (
        Lane("cuda", CUDA, but={"build": "cpu", "gpus": ()}),
        "environment 'cuda' promises a CUDA build of torch",
        "found a CPU build of torch (2.13.0+cu130)",
        f"run it on a machine with an NVIDIA GPU; {PLAIN}",
    ),
    "rocm, CUDA build on a machine with an NVIDIA GPU": (
        Lane("rocm", ROCM, but={"build": "nvidia", "gpus": (H100,)}),
        "environment 'rocm' promises a ROCm build of torch",
        "found a CUDA build of torch",
        "on this machine `ci/tox -e cuda` is the right one",
    ),
    "cuda, ROCm build on a machine with an AMD GPU": (
        Lane("cuda", CUDA, but={"build": "amd", "gpus": (MI355X,)}),
        "environment 'cuda' promises a CUDA build of torch",
        "found a ROCm build of torch",
        "on this machine `ci/tox -e rocm` is the right one",
    ),
    "installed cpu, CUDA build": (
        installed("cpu", CPU, build="nvidia", distributions={"torch": "2.11.0+cu130"}),
        "target 'cpu' promises a CPU build of torch",
        "found a CUDA build of torch (2.11.0+cu130)",
        CHANGE,
    ),
    "installed, CPU build": (
        installed("cuda-h200", H200_MACHINE, build="cpu", gpus=()),
        "target 'cuda-h200' promises a CUDA build of torch",
        "found a CPU build of torch",
        "run it on a machine with an NVIDIA GPU",
    ),
    # Triton.
    "two Tritons": (
        Lane(
            "rocm", ROCM, but={"distributions": {"torch": "2.13.0+rocm7.2", "triton": "3.8.0", "triton-rocm": "3.7.1"}}
        ),
        "environment 'rocm' promises exactly one Triton",
        "found triton 3.8.0 and triton-rocm 3.7.1; they all own site-packages/triton and the last one installed wins",
        ANEW,
    ),
    "two Tritons, installed": (
        installed(
            "cuda-h200", H200_MACHINE, distributions={"torch": "2.11.0", "triton": "3.6.0", "pytorch-triton": "3.5.0"}
        ),
        "target 'cuda-h200' promises exactly one Triton",
        "found triton 3.6.0 and pytorch-triton 3.5.0",
        CHANGE,
    ),
    "no Triton": (
        Lane("compile", KERNELS, but={"distributions": {"torch": "2.13.0+cpu"}}),
        "environment 'compile' promises exactly one Triton",
        "found none: make",
        ANEW,
    ),
    "no Triton, installed": (
        installed("rocm-mi355x", AMD_MACHINE, distributions={"torch": "2.12.0+rocm7.2"}),
        "target 'rocm-mi355x' promises exactly one Triton",
        "found none: change",
        CHANGE,
    ),
    # Pins.
    "another torch": (
        Lane("cpu", CPU, but={"distributions": {"torch": "2.12.0+cpu"}}),
        "environment 'cpu' promises torch 2.13.0 or 2.13.0+cpu, as ci/stacks pins it",
        "found 2.12.0+cpu",
        ANEW,
    ),
    "another label": (
        Lane("cuda", CUDA, but={"distributions": {"torch": "2.13.0+cu126", "triton": "3.7.1"}}),
        "environment 'cuda' promises torch 2.13.0+cu130",
        "found 2.13.0+cu126",
        ANEW,
    ),
    "no label where one is pinned": (
        Lane("cuda", CUDA, but={"distributions": {"torch": "2.13.0", "triton": "3.7.1"}}),
        "environment 'cuda' promises torch 2.13.0+cu130",
        "found 2.13.0;",
        ANEW,
    ),
    "no torch among the distributions": (
        Lane("cpu", CPU, but={"distributions": {}}),
        "environment 'cpu' promises torch 2.13.0",
        "found none",
        ANEW,
    ),
    "another Triton": (
        Lane("interpreter", KERNELS, but={"distributions": {"torch": "2.13.0+cpu", "triton": "3.8.0"}}),
        "environment 'interpreter' promises triton 3.7.1",
        "found 3.8.0",
        ANEW,
    ),
    "the other vendor's Triton": (
        Lane("rocm", ROCM, but={"distributions": {"torch": "2.13.0+rocm7.2", "triton": "3.7.1"}}),
        "environment 'rocm' promises triton (none)",
        "found 3.7.1",
        ANEW,
    ),
    "a Triton that nobody pinned": (
        Lane("cpu", CPU, but={"distributions": {"torch": "2.13.0+cpu", "triton": "3.7.1"}}),
        "environment 'cpu' promises triton (none)",
        "found 3.7.1",
        ANEW,
    ),
    # Settings.
    **{
        f"fusion {value}": (
            Lane("cuda", CUDA, but={"fusion": value}),
            "environment 'cuda' promises TRITON_DEFAULT_FP_FUSION=0",
            f"it is {'unset' if value is None else repr(value)}",
            "run it through ci/tox or tox, which set it",
        )
        for value in (None, "1", "", "00")
    },
    "fusion, interpreted": (
        Lane("interpreter", KERNELS, but={"fusion": None}),
        "environment 'interpreter' promises TRITON_DEFAULT_FP_FUSION=0",
        "it is unset",
        "run it through ci/tox",
    ),
    **{
        f"override {name}": (
            Lane("rocm", ROCM, but={"overrides": {name: value}}),
            "environment 'rocm' promises the real architecture",
            f"{name}={value} hides it",
            "unset it",
        )
        for name, value in (("HSA_OVERRIDE_GFX_VERSION", "9.4.2"), ("TRITON_OVERRIDE_ARCH", "sm80"))
    },
    # Cards.
    "no GPU, no driver": (
        Lane("cuda", CUDA, but={"gpus": (), "driver": None}),
        "environment 'cuda' promises an NVIDIA GPU",
        "torch 2.13.0+cu130 finds no GPU here (no driver is loaded)",
        f"run it on a machine with an NVIDIA GPU; {PLAIN}",
    ),
    "no GPU on AMD": (
        Lane("rocm", ROCM, but={"gpus": (), "driver": None}),
        "environment 'rocm' promises an AMD GPU",
        "torch 2.13.0+rocm7.2 finds no GPU here (no driver is loaded)",
        f"run it on a machine with an AMD GPU; {PLAIN}",
    ),
    "no GPU, a driver": (
        Lane("cuda", CUDA, but={"gpus": ()}),
        "environment 'cuda' promises an NVIDIA GPU",
        "finds no GPU here (driver 580.159.04)",
        "run it on a machine with an NVIDIA GPU",
    ),
    "no GPU, too old a driver": (
        Lane("cuda", CUDA, but={"gpus": (), "driver": "570.86.15"}),
        "environment 'cuda' promises an NVIDIA GPU",
        "(driver 570.86.15; this build wants 580.65.06 or newer, and the environment cuda-min an older one)",
        "run it on a machine with an NVIDIA GPU",
    ),
    "no GPU, too old a driver even for the oldest": (
        Lane(
            "cuda-min",
            CUDA,
            but={
                "distributions": {"torch": "2.10.0+cu126", "triton": "3.6.0"},
                "gpus": (),
                "driver": "535.54.03",
            },
        ),
        "environment 'cuda-min' promises an NVIDIA GPU",
        "(driver 535.54.03; this build wants 560.28.03 or newer)",
        "run it on a machine with an NVIDIA GPU",
    ),
    "no GPU, too old a driver on AMD": (
        Lane("rocm", ROCM, but={"gpus": (), "driver": "6.12.12"}),
        "environment 'rocm' promises an AMD GPU",
        "finds no GPU here (driver 6.12.12; this build wants 6.14.14 or newer);",
        "run it on a machine with an AMD GPU",
    ),
    "no GPU, a driver of AMD": (
        Lane("rocm", ROCM, but={"gpus": (), "driver": "6.16.6"}),
        "environment 'rocm' promises an AMD GPU",
        "finds no GPU here (driver 6.16.6);",
        "run it on a machine with an AMD GPU",
    ),
    "no GPU, the driver of AMD that comes with Linux": (
        Lane("rocm", ROCM, but={"gpus": (), "driver": "amdgpu of Linux 6.17.0-5-generic"}),
        "environment 'rocm' promises an AMD GPU",
        "(driver amdgpu of Linux 6.17.0-5-generic, which cannot be compared with the 6.14.14 that this build wants);",
        "run it on a machine with an AMD GPU",
    ),
    "no GPU, in torch's words": (
        Lane("cuda", CUDA, but={"gpus": (), "trouble": "CUDA driver initialization failed"}),
        "environment 'cuda' promises an NVIDIA GPU",
        "finds no GPU here (CUDA driver initialization failed)",
        "run it on a machine with an NVIDIA GPU",
    ),
    "no GPU for a named target": (
        Lane("rocm", ROCM, "rocm-mi355x", but={"gpus": (), "driver": None}),
        "target 'rocm-mi355x' promises an AMD GPU, MI355X (gfx950)",
        "finds no GPU here",
        "run it on a machine with an AMD GPU",
    ),
    "another architecture": (
        Lane("rocm", ROCM, "rocm-mi300x"),
        "target 'rocm-mi300x' promises an AMD GPU, MI300X (gfx942)",
        "found AMD Instinct MI355X (gfx950)",
        "name the target of that card (ci/matrix.toml lists them) or run `ci/tox -e rocm`, which takes any AMD GPU",
    ),
    "another card of that architecture": (
        Lane("cuda", CUDA, "cuda-h200"),
        "target 'cuda-h200' promises an NVIDIA GPU, H200 (sm_90)",
        "found NVIDIA H100 80GB HBM3 (sm_90)",
        "run `ci/tox -e cuda`, which takes any NVIDIA GPU",
    ),
    "a card whose name has that one inside": (
        Lane("cuda", CUDA, "cuda-h200", but={"gpus": (GH200,)}),
        "target 'cuda-h200' promises an NVIDIA GPU, H200 (sm_90)",
        "found NVIDIA GH200 480GB (sm_90)",
        "name the target of that card",
    ),
    "a card whose name begins with that one": (
        Lane("cuda", CUDA, "cuda-l40", but={"gpus": (L40S,)}),
        "target 'cuda-l40' promises an NVIDIA GPU, L40 (sm_89)",
        "found NVIDIA L40S (sm_89)",
        "name the target of that card",
    ),
    "a card with that name and one letter more": (
        Lane("cuda", CUDA, "cuda-rtx4090", but={"gpus": (Gpu("NVIDIA GeForce RTX 4090 D", "sm_89", 32),)}),
        "target 'cuda-rtx4090' promises an NVIDIA GPU, RTX 4090 (sm_89)",
        "found NVIDIA GeForce RTX 4090 D (sm_89)",
        "name the target of that card",
    ),
    "the name of that card on another architecture": (
        Lane("rocm", ROCM, "rocm-mi355x", but={"gpus": (replace(MI355X, architecture="gfx942"),)}),
        "target 'rocm-mi355x' promises an AMD GPU, MI355X (gfx950)",
        "found AMD Instinct MI355X (gfx942)",
        "name the target of that card",
    ),
    "several GPUs, of which one is another": (
        Lane("cuda", CUDA, "cuda-h100", but={"gpus": (H100, H100, H200)}),
        "target 'cuda-h100' promises an NVIDIA GPU, H100 (sm_90)",
        "found NVIDIA H100 80GB HBM3 (sm_90), NVIDIA H200 (sm_90)",
        "name the target of that card",
    ),
    "another card, installed": (
        installed("cuda-h200", H200_MACHINE, gpus=(H100,)),
        "target 'cuda-h200' promises an NVIDIA GPU, H200 (sm_90)",
        "found NVIDIA H100 80GB HBM3 (sm_90)",
        "name the target of that card",
    ),
    # The machine's own versions.
    "installed, torch too old": (
        installed("cuda-h200", H200_MACHINE, distributions={"torch": "2.9.1+cu128", "triton": "3.6.0"}),
        "target 'cuda-h200' promises torch 2.10.0 or newer",
        "found 2.9.1+cu128",
        "update it",
    ),
    "installed, Triton too old": (
        installed("cuda-h200", H200_MACHINE, distributions={"torch": "2.11.0+cu130", "triton": "3.5.1"}),
        "target 'cuda-h200' promises Triton 3.6.0 or newer",
        "found 3.5.1",
        "update it",
    ),
    "installed, a refused Triton": (
        installed("rocm-mi355x", AMD_MACHINE, distributions={"torch": "2.14.0+rocm7.14", "triton-rocm": "3.8.0"}),
        "target 'rocm-mi355x' promises a right Triton",
        "3.8.0 is refused: it miscompiles",
        "install another one",
    ),
    "installed, a refused Triton with a label": (
        installed("rocm-mi355x", AMD_MACHINE, distributions={"torch": "2.14.0+rocm7.14", "triton": "3.8.0+rocm7.14"}),
        "target 'rocm-mi355x' promises a right Triton",
        "3.8.0+rocm7.14 is refused: it miscompiles",
        "install another one",
    ),
}

NO_PROMISE = {
    "an undefined environment": (
        ("py311-rocm", None),
        "tox.ini defines no environment 'py311-rocm'; `ci/tox list` shows those that it defines",
    ),
    "a target of another environment": (
        ("cuda", "rocm-mi355x"),
        "target 'rocm-mi355x' does not run in the environment 'cuda'; expected one of cuda-h100, cuda-h200, cuda-l40",
    ),
    "a target that does not exist": (
        ("rocm", "rocm-mi400"),
        "target 'rocm-mi400' does not run in the environment 'rocm'; expected one of rocm-mi300x, rocm-mi355x",
    ),
    "a planned target": (
        ("compile", "planned-gfx1100"),
        "target 'planned-gfx1100' does not run in the environment 'compile'; ",
    ),
    "a target where none runs": (
        ("type", "cuda-h100"),
        "target 'cuda-h100' does not run in the environment 'type'; no target does, so unset QRITA_TARGET",
    ),
}


RULES = [
    name
    for name, rule in inspect.getmembers(promises, inspect.isfunction)
    if [*inspect.signature(rule).parameters] == ["made", "facts", "matrix"] and name != "broken"
]

REAL = targets.load()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pins of MATRIX."""
    root = tmp_path_factory.mktemp("root")
    (root / "ci" / "stacks").mkdir(parents=True)
    for path, text in copies.derived(MATRIX, root).items():
        if path.startswith("ci/stacks"):
            (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("lane", KEPT.values(), ids=KEPT)
def test_a_promise_that_is_kept(root: Path, lane: Lane) -> None:
    assert lane.judged(root) is None


@pytest.mark.parametrize(("lane", "promised", "found", "what_to_do"), BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_one_sentence(root: Path, lane: Lane, promised: str, found: str, what_to_do: str) -> None:
    sentence = lane.judged(root)
    assert sentence is not None
    assert sentence.startswith(promised)
    assert found in sentence
    assert what_to_do in sentence
    assert "\n" not in sentence
    assert ". " not in sentence
    assert not sentence.endswith(".")


def test_every_rule_is_broken_above(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one of them some sentence is another, or none."""
    assert len(RULES) > 5
    before = {name: lane.judged(root) for name, (lane, *_) in BROKEN.items()}
    for rule in RULES:
        with monkeypatch.context() as without:
            without.setattr(promises, rule, lambda made, facts, matrix: None)
            assert {name: lane.judged(root) for name, (lane, *_) in BROKEN.items()} != before, rule


@pytest.mark.parametrize(("arguments", "sentence"), NO_PROMISE.values(), ids=NO_PROMISE)
def test_no_such_promise(root: Path, arguments: tuple[str, str | None], sentence: str) -> None:
    with pytest.raises(promises.NoPromiseError) as error:
        promises.promise(MATRIX, *arguments, installed=False, root=root)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


def test_pins_by_platform_are_all_kept() -> None:
    text = 'torch==2.13.0+cpu ; sys_platform == "linux"\n# torch==1\n--index-url x\ntorch==2.13.0\ntriton-rocm==3.7.1\n'
    assert promises.pins(text) == {"torch": {"2.13.0+cpu", "2.13.0"}, "triton-rocm": {"3.7.1"}}


@pytest.mark.parametrize("name", [name for name, target in REAL.targets.items() if target.environment])
def test_every_promise_of_the_matrix_can_be_kept(name: str) -> None:
    """And by no machine that has nothing."""
    target = REAL.targets[name]
    made = promises.promise(REAL, str(target.environment), name, False, targets.ROOT)
    gpus = (Gpu(f"A {target.card} 1 GB", str(target.architecture), target.wave or 0),) if made.gpu else ()
    kept = Facts({n: max(v) for n, v in (made.pins or {}).items()}, made.vendor, gpus, fusion="0")
    assert promises.broken(made, kept, REAL) is None
    assert promises.broken(made, Facts(), REAL) is not None


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that keeps the promise of the environment cpu."""
    made = promises.promise(REAL, "cpu", None, False, targets.ROOT)
    monkeypatch.setattr(facts, "gather", lambda: Facts({n: max(v) for n, v in (made.pins or {}).items()}, "cpu"))
    monkeypatch.delenv("QRITA_TARGET", raising=False)


@pytest.mark.usefixtures("machine")
def test_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    assert guard.main("cpu") is None
    assert guard.main("cpu", "--installed") is None
    assert str(guard.main("rocm")).startswith("environment 'rocm' promises exactly one Triton, but found none")
    assert str(guard.main("rocm", "--installed")).endswith(CHANGE)
    assert str(guard.main("py311-rocm")).startswith("tox.ini defines no environment 'py311-rocm'")
    monkeypatch.setenv("QRITA_TARGET", "cuda-h100")
    assert str(guard.main("cpu")).startswith("target 'cuda-h100' does not run in the environment 'cpu'")
    monkeypatch.setenv("QRITA_TARGET", "")
    assert guard.main("cpu") is None


@pytest.mark.usefixtures("machine")
def test_the_guard_without_a_reader_of_toml(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the base environment on Python 3.10: it still fails."""
    monkeypatch.setitem(sys.modules, "targets", None)
    assert str(guard.main("py310-rocm")).startswith("the environment 'py310-rocm' has no package for reading TOML")


def test_the_guard_ends_with_its_sentence() -> None:
    command = [sys.executable, "-B", str(targets.ROOT / "ci" / "guard.py"), "py311-rocm"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("ci/guard.py: tox.ini defines no environment 'py311-rocm'")
    assert ended.stderr.count("\n") == 1
