"""What a call launches, with a Triton that is made up: the real one launches on a GPU only."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from qrita.report import compiled
from qrita.report.record import Kernel


class Hooks:
    """Triton's chain of hooks."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.add, self.remove = self.calls.append, self.calls.remove


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> object:
    """Launches a kernel of ours by its handle."""
    hooks = Hooks()
    triton = ModuleType("triton")
    triton.knobs = SimpleNamespace(runtime=SimpleNamespace(launch_enter_hook=hooks))  # type: ignore[attr-defined]
    cache = {
        "a": SimpleNamespace(function=1, name="first", n_regs=40, n_spills=0, metadata=SimpleNamespace(shared=256)),
        "b": SimpleNamespace(function=2, name="second", n_regs=255, n_spills=8, metadata=SimpleNamespace(shared=0)),
        "c": SimpleNamespace(function=None, name="never loaded"),
    }
    kernels = ModuleType("qrita.kernels.made_up")
    kernels.kernel = SimpleNamespace(device_caches={0: (cache, None)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "qrita.kernels.made_up", kernels)

    def run(function: int) -> None:
        for hook in list(hooks.calls):
            hook(SimpleNamespace(get=lambda: {"name": "n", "function": function}))  # type: ignore[operator]

    yield run
    assert hooks.calls == []  # no hook is left behind


def test_what_was_launched(launch: object) -> None:
    def call() -> None:
        for function in (2, 1, 2, 99):  # 99 is somebody else's
            launch(function)  # type: ignore[operator]
        raise RuntimeError("the last launch failed")

    assert compiled.launched(call) == (Kernel("second", 255, 8, 0), Kernel("first", 40, 0, 256))


@pytest.mark.parametrize("triton", [None, ModuleType("triton")])
def test_without_a_triton_that_says(triton: ModuleType | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", triton)
    assert compiled.launched(lambda: None) == ()
