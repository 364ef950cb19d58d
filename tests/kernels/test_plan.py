"""Plans: pure, within what every card can launch, and taken from the device that holds the logits."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from qrita import device as devices
from qrita import plan as plans
from qrita.device import Device
from qrita.records import Problem

H200 = Device("NVIDIA H200", "sm_90", wave=32, multiprocessors=132)
MI355X = Device("AMD Instinct MI355X", "gfx950", wave=64, multiprocessors=256)
SHAPES = [(rows, vocab) for rows in (1, 7, 64, 132, 1024, 65_537) for vocab in (1, 31, 4096, 128_256, 262_208, 1 << 22)]


def problem(rows: int, vocab: int, k: int | None = 50) -> Problem:
    return Problem(torch.empty((rows, vocab), device="meta"), k, 0.9)


@pytest.mark.parametrize("device", [H200, MI355X], ids=lambda device: device.architecture)
@pytest.mark.parametrize(("rows", "vocab"), SHAPES)
def test_a_plan_fits_any_card(device: Device, rows: int, vocab: int) -> None:
    for plan in plans.forced(problem(rows, vocab), device).values():
        for warps in (plan.warps, plan.select_warps, plan.row_warps):
            assert 1 <= warps * device.wave <= devices.MAX_THREADS
            assert warps & (warps - 1) == 0
        for size in (plan.group, plan.groups, plan.keep, plan.tile, plan.row_tile, plan.hold, plan.sample):
            assert size & (size - 1) == 0
        assert plan.tile % plan.group == 0
        assert 1 <= plan.splits <= plans.MAX_SPLITS
        assert rows * plan.splits < 2**31


@pytest.mark.parametrize(("rows", "vocab"), SHAPES)
def test_choosing_is_pure(rows: int, vocab: int) -> None:
    assert plans.choose(problem(rows, vocab), H200) == plans.choose(problem(rows, vocab), H200)


def test_the_chosen_plan_holds_the_vocabulary() -> None:
    for rows, vocab in SHAPES:
        plan = plans.choose(problem(rows, vocab), H200)
        assert plan.truncation == "none" or vocab <= plan.group * plan.groups


def test_a_plan_says_whether_it_was_measured_on_such_a_card() -> None:
    assert plans.choose(problem(1, 1000), H200).origin.startswith("measured on NVIDIA H200 (")
    assert "not measured" in plans.choose(problem(1, 1000), MI355X).origin


def test_reachable_plans_cover_the_choice() -> None:
    """Whatever is chosen differs from a reachable plan only in figures that are not compiled in."""
    kinds = {replace(plan, splits=1, programs=1, row_programs=1) for plan, _ in plans.reachable(H200)}
    kinds |= {replace(plan, truncation="none") for plan in kinds}
    for rows, vocab in SHAPES:
        for k in (None, 1, 56, 57, 1000):
            assert replace(plans.choose(problem(rows, vocab, k), H200), splits=1, programs=1, row_programs=1) in kinds


@pytest.fixture
def no_cache() -> None:
    devices._gpu.cache_clear()
    yield
    devices._gpu.cache_clear()


def test_rocm_devices_are_cuda_devices_to_torch(monkeypatch: pytest.MonkeyPatch, no_cache: None) -> None:
    properties = SimpleNamespace(
        name="AMD Instinct MI355X", gcnArchName="gfx950:sramecc+:xnack-", warp_size=64, multi_processor_count=256
    )
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    assert devices.of(torch.device("cuda", 3)) == MI355X


def test_a_driver_that_gives_the_cache_of_a_die(monkeypatch: pytest.MonkeyPatch, no_cache: None) -> None:
    properties = SimpleNamespace(
        name="AMD Instinct MI355X", gcnArchName="gfx950", warp_size=64, multi_processor_count=256, L2_cache_size=4 << 20
    )
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    assert devices.of(torch.device("cuda", 0)) == replace(MI355X, cache=32 << 20)


def test_cuda_devices(monkeypatch: pytest.MonkeyPatch, no_cache: None) -> None:
    properties = SimpleNamespace(name="NVIDIA H200", major=9, minor=0, warp_size=32, multi_processor_count=132)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    assert devices.of(torch.device("cuda", 0)) == H200
    devices._gpu.cache_clear()
    sizes = {"L2_cache_size": 60 << 20, "memory_clock_rate": 3_201_000, "memory_bus_width": 6144}
    vars(properties).update(sizes)
    assert devices.of(torch.device("cuda", 0)) == replace(H200, cache=60 << 20, bandwidth=4_916_736_000_000)


WRONG = [
    ("group", 48, "group=48: expected a power of two"),
    ("keep", 1, "keep=1: expected 2 to 16384"),
    ("sample", 16, "sample=16: expected 32"),
    ("groups", 32_768, "groups=32768: expected 32 to 16384"),
    ("groups", 16, "groups=16: expected 32 to 16384"),
    ("survivors", 32, "survivors=32, keep=64"),
    ("survivors", 4096, "survivors=4096, keep=64, group=32"),
    ("splits", 65, "splits=65: expected 1 to 64"),
    ("programs", 0, "programs=0: expected 1"),
    ("truncation", "guess", "truncation='guess': expected one of groups, sigma, none"),
    ("hold", 1, "hold=1, splits="),
    ("group", 256, "tile=1024, group=256"),
    ("group", 512, "keep=64, group=512: expected at most 16384"),
    ("tile", 128, "tile=128, group=32"),
]


@pytest.mark.parametrize(("field", "value", "says"), WRONG)
def test_an_impossible_plan_is_refused(field: str, value: object, says: str) -> None:
    plan = plans.choose(problem(1, 128_256), H200)
    with pytest.raises(ValueError, match=f"^plan: .*{says}"):
        replace(plan, **{field: value})
