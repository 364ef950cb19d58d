"""Figures that plans are made from: their limits, the entries that hold them, and which are in force."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import qrita
from qrita import entries
from qrita import plan as plans
from qrita.device import Device
from qrita.entries import Entry
from qrita.records import Problem
from qrita.tuning import LIMITS, SCRATCH_WORDS, Tuning, TuningError, derived

H200 = Device("NVIDIA H200", "sm_90", wave=32, multiprocessors=132, cache=60 << 20, bandwidth=4_917_000_000_000)
OTHERS = {  # as their drivers give them
    "sm_80": Device("NVIDIA A100", "sm_80", 32, 108, 40 << 20, 1_555_000_000_000),
    "sm_89": Device("NVIDIA GeForce RTX 4090", "sm_89", 32, 128, 72 << 20, 1_008_000_000_000),
    "sm_100": Device("NVIDIA B200", "sm_100", 32, 148, 126 << 20, 8_000_000_000_000),
    "sm_120": Device("NVIDIA GeForce RTX 5090", "sm_120", 32, 170, 96 << 20, 1_792_000_000_000),
    "gfx942": Device("AMD Instinct MI300X", "gfx942", 64, 304, 32 << 20, 5_300_000_000_000),
    "gfx950": Device("AMD Instinct MI355X", "gfx950", 64, 256, 32 << 20, 8_000_000_000_000),
    "gfx1100": Device("AMD Radeon RX 7900 XTX", "gfx1100", 32, 48, 6 << 20, 960_000_000_000),
    "gfx1201": Device("AMD Radeon RX 9070 XT", "gfx1201", 32, 32, 8 << 20, 640_000_000_000),
}
SM_90 = entries.packaged("sm_90")
assert SM_90 is not None


def unsized(device: Device) -> Device:
    return replace(device, cache=0, bandwidth=0)


# --- figures ----------------------------------------------------------------------------------------------------


def test_every_figure_has_limits() -> None:
    assert [*asdict(derived(H200))] == [*LIMITS]
    assert {LIMITS[name][1] for name in LIMITS if name.endswith("_splits")} == {plans.MAX_SPLITS}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("end", [0, 1], ids=["least", "greatest"])
def test_plans_take_every_figure_within_the_limits(name: str, end: int) -> None:
    figures = replace(derived(H200), **{name: LIMITS[name][end]})
    for device in (H200, OTHERS["gfx950"]):
        for rows, vocab in ((1, 1), (1, 4096), (64, 128_256), (4096, 262_208), (65_537, 1 << 22)):
            for k in (None, 50, 1000):
                plans.choose(Problem(torch.empty((rows, vocab), device="meta"), k, 0.9), device, figures)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("tile", 1000, "tile=1000: expected a power of two from 512 to 8,192"),
        ("tile", 256, "tile=256: expected a power of two from 512"),
        ("warps", 64, "warps=64: expected a power of two from 1 to 32"),
        ("settle_warps", 0, "settle_warps=0: expected a power of two from 1"),
        ("few_rows_splits", 65, "few_rows_splits=65: expected a whole number from 1 to 64"),
        ("programs", 2.0, "programs=2.0: expected a whole number from 1"),
        ("streaming", True, "streaming=True: expected a whole number from 1"),
        ("sample", "2048", "sample='2048': expected a power of two from 64"),
        ("row_programs", None, "row_programs=None: expected a whole number from 1"),
    ],
)
def test_figures_that_no_plan_can_have(name: str, value: Any, says: str) -> None:
    with pytest.raises(TuningError, match=f"^figures: {says}"):
        replace(derived(H200), **{name: value})


# --- derived ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", OTHERS)
def test_cards_that_were_not_measured_say_so(architecture: str) -> None:
    """And what their drivers say of cache and memory changes nothing: an H200 needs as much."""
    figures, origin = entries.in_force(OTHERS[architecture])
    assert origin == "derived from figures of sm_90, not measured"
    assert figures == derived(unsized(OTHERS[architecture]))
    others = {}
    if architecture in ("sm_80", "sm_89"):  # what their assembler does not spill
        others = {"select_warps": 16, "row_tile": 512, "row_warps": 4}
    assert figures == replace(derived(H200), **others)


def test_faster_memory_has_more_programs() -> None:
    assert [derived(replace(H200, bandwidth=n * 4_917 * 10**9)).streaming for n in (1, 2, 4, 10**6)] == [4, 6, 11, 256]


def test_a_small_cache_has_fewer_searches_of_whole_rows() -> None:
    scratch = 132 * 1024 * SCRATCH_WORDS * 4
    sizes = (0, 1, scratch, 2 * scratch, 9 * scratch)
    assert [derived(replace(H200, cache=size)).row_programs for size in sizes] == [2, 1, 1, 2, 2]


# --- entries ----------------------------------------------------------------------------------------------------


def test_the_entry_of_a_measured_card_is_in_force() -> None:
    figures, origin = entries.in_force(H200)
    assert SM_90 is not None
    assert (figures, origin) == (SM_90.figures, SM_90.origin)
    assert origin.startswith("measured on NVIDIA H200 (20")
    assert plans.choose(Problem(torch.empty((1, 1000), device="meta"), 5, None), H200).origin == origin
    assert entries.packaged("sm_70") is None


def test_every_packaged_entry_is_read() -> None:
    files = sorted((Path(qrita.__file__).parent / entries.FOLDER).iterdir())
    assert [file.suffix for file in files] == [".json"] * len(files)
    assert files
    for file in files:
        entry = entries.packaged(file.stem)
        assert entry is not None
        assert entry.to_json() == file.read_text(encoding="utf-8")


def test_an_entry_is_the_same_after_json() -> None:
    assert SM_90 is not None
    assert entries.parse(SM_90.to_json()) == SM_90
    assert entries.parse(SM_90.to_json(), "sm_90") == SM_90


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    assert SM_90 is not None
    given = json.loads(SM_90.to_json())
    change(given)
    return json.dumps(given)


GARBAGE = {
    "nothing": ("", "not JSON"),
    "cut short": ('{"schema": 1,', "not JSON"),
    "a list": ("[]", "expected an object with schema 1"),
    "no schema": ("{}", "expected an object with schema 1"),
    "a later schema": (changed(lambda e: e.update(schema=2)), "expected an object with schema 1"),
    "a stranger": (changed(lambda e: e.update(note="")), "entry: unknown field 'note'; expected architecture, figures"),
    "no figures": (changed(lambda e: e.pop("figures")), "entry: no figures; expected"),
    "figures that are none": (changed(lambda e: e.update(figures=[1])), r"figures=\[1\]: expected an object"),
    "a figure of that name": (changed(lambda e: e["figures"].update(tiles=1)), "figures: unknown field 'tiles'; expe"),
    "a figure is missing": (changed(lambda e: e["figures"].pop("tile")), "figures: no tile; expected tile, row_tile"),
    "a figure": (changed(lambda e: e["figures"].update(tile=3)), "figures: tile=3: expected a power of two"),
    "a text": (changed(lambda e: e["figures"].update(tile="1024")), "figures: tile='1024': expected a power of two"),
    "no card": (changed(lambda e: e["provenance"].update(card="")), "provenance: card='': expected a string with"),
    "no list": (changed(lambda e: e["provenance"].update(compared="a")), "provenance: compared='a': expected a list"),
    "no lines": (changed(lambda e: e["provenance"].update(compared=[1])), "provenance: compared=.1,.: expected a list"),
    "a number": (changed(lambda e: e["provenance"].update(multiprocessors=0)), "provenance: multiprocessors=0: expec"),
    "a provenance": (changed(lambda e: e.update(provenance=None)), "provenance=None: expected an object"),
    "an architecture": (changed(lambda e: e.update(architecture=90)), "architecture=90: expected sm_90"),
    "another architecture": (changed(lambda e: e.update(architecture="sm_80")), "architecture='sm_80': expected sm_90"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_entry(name: str) -> None:
    text, says = GARBAGE[name]
    with pytest.raises(TuningError, match=f"^{says}"):
        entries.parse(text, "sm_90")


def test_a_corrupt_entry_of_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not passed over: figures that nobody chose would be in force."""
    file = tmp_path / entries.FOLDER / "sm_123.json"
    file.parent.mkdir()
    file.write_text("{", encoding="utf-8")
    monkeypatch.setattr(entries.resources, "files", lambda package: tmp_path)
    with pytest.raises(TuningError, match=r"sm_123\.json: not JSON .*; install qrita anew, or remove the file"):
        entries.in_force(Device("", "sm_123", 32, 1))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(TuningError, match=r"sm_123\.json: .*utf-8"):
        entries.in_force(Device("", "sm_123", 32, 1))


def test_the_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    card = replace(H200, name="read once")
    first = entries.in_force(card)
    monkeypatch.setattr(entries, "packaged", lambda architecture: pytest.fail("read again"))
    assert entries.in_force(replace(card)) is first


def test_figures_that_are_given_are_taken() -> None:
    problem = Problem(torch.empty((1024, 128_256), device="meta"), 50, None)
    figures: Tuning = replace(derived(H200), small_k_splits=32)
    assert plans.choose(problem, H200, figures).splits == 32
    assert plans.choose(problem, H200).splits == plans.choose(problem, H200, entries.in_force(H200)[0]).splits
    assert isinstance(SM_90, Entry)
