"""What launches are told of a device, beside what a plan says."""

from __future__ import annotations

import pytest

from qrita.device import INTERPRETER, Device

CARDS = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_120", "gfx950", "gfx1201")
EARLY = ("sm_90", "sm_100", "sm_120")


def card(architecture: str) -> Device:
    return Device("", architecture, wave=64 if architecture.startswith("gfx9") else 32, multiprocessors=1)


@pytest.mark.parametrize("architecture", CARDS)
def test_launches_come_early_where_there_is_such_a_thing(architecture: str) -> None:
    wanted = {"EARLY": True, "launch_pdl": True} if architecture in EARLY else {"EARLY": False}
    assert card(architecture).early == wanted


def test_nothing_is_early_in_the_interpreter() -> None:
    assert INTERPRETER.early == {"EARLY": False}


@pytest.mark.parametrize("architecture", CARDS)
def test_registers_are_asked_for_where_it_was_measured(architecture: str) -> None:
    nvidia = architecture.startswith("sm_")
    assert card(architecture).resident(3, 8) == ({"maxnreg": 80} if architecture == "sm_90" else {})
    assert card(architecture).all_registers(8) == ({"maxnreg": 255} if nvidia else {})
    assert card(architecture).all_registers(16) == ({"maxnreg": 128} if nvidia else {})


@pytest.mark.parametrize(
    ("programs", "warps", "registers"), [(4, 8, 64), (3, 8, 80), (2, 8, 128), (5, 4, 96), (4, 4, 128), (1, 4, 255)]
)
def test_a_multiprocessor_has_registers_for_so_many_programs(programs: int, warps: int, registers: int) -> None:
    assert card("sm_90").resident(programs, warps) == {"maxnreg": registers}
    assert registers * warps * 32 * programs <= 65_536
