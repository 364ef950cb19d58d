"""Global memory: addresses and buffers, widths, halves, atomic updates, bounds, and accesses that nothing orders."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bench import NAMES, WAVE64, Bench, values

from amdsim.errors import OutOfBounds, Race
from amdsim.memory import Memory

WORDS = {32: "dword", 64: "dwordx2", 96: "dwordx3", 128: "dwordx4"}


def registers(first: int, words: int) -> str:
    return f"v{first}" if words == 1 else f"v[{first}:{first + words - 1}]"


def name(architecture: str, verb: str, bits: int) -> str:
    return f"{verb}_{WORDS[bits]}" if architecture in WAVE64 else f"{verb}_b{bits}"


def with_memory(architecture: str, size: int = 4096, **more: Any) -> tuple[Bench, np.ndarray, int]:
    """(a bench, some memory, its address)."""
    bench = Bench(architecture, **more)
    data = np.random.default_rng(3).integers(0, 256, size, np.uint8)
    memory = Memory()
    memory.granule = 4
    address = memory.add("the data", data)
    bench.machine.memory = memory
    return bench, data, address


def number(data: np.ndarray, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size].tobytes(), "little")


def addresses(bench: Bench, first: str, numbers: list[int]) -> None:
    bench.set_vector(first, numbers)


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("bits", WORDS)
@pytest.mark.parametrize("way", ["vector", "scalar", "buffer"])
@pytest.mark.parametrize("on", [-1, 0x00FF12340F0F8001])
@pytest.mark.parametrize("skewed", [0, 2])
def test_loads_and_stores(architecture: str, bits: int, way: str, on: int, skewed: int) -> None:
    """`skewed`: by half a word; memory has no alignment."""
    bench, data, address = with_memory(architecture)
    words, size = bits // 32, bits // 8
    offsets = [size * (lane ^ 3) + skewed for lane in range(bench.width)]
    bench.exec(on)
    if way == "vector":
        bench.set_vector("v[2:3]", [address + offset for offset in offsets])
        place, tail, unit = "v[2:3], off", " offset:64", "global"
    else:
        bench.set_vector("v2", offsets)
        bench.set_scalar(8, address, 2)
        bench.set_scalar(10, len(data))
        place, tail, unit = ("v2, s[8:9]", " offset:64", "global") if way == "scalar" else (
            "v2, s[8:11], 0", " offen offset:64", "buffer")  # fmt: skip
    target = registers(10, words)
    before = bench.vector(target)
    bench.run(f"{unit}_{name(architecture, 'load', bits)} {target}, {place}{tail}")
    for lane, found in enumerate(bench.vector(target)):
        assert found == (number(data, offsets[lane] + 64, size) if on >> lane & 1 else before[lane])
    given = [random.Random(lane).getrandbits(bits) for lane in range(bench.width)]
    bench.set_vector(target, given)
    expected = data.copy()
    for lane, value in enumerate(given):
        if on >> lane & 1:
            start = offsets[lane] + 64
            expected[start : start + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
    store = f"{unit}_{name(architecture, 'store', bits)}"
    text = f"{store} {target}, {place}{tail}"
    if unit == "global":
        first, second = place.split(", ")
        text = f"{store} {first}, {target}, {second}{tail}"
    bench.run(text)
    assert np.array_equal(data, expected)


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("unit", ["global", "buffer"])
def test_bytes_and_halves(architecture: str, unit: str) -> None:
    bench, data, address = with_memory(architecture)
    old = architecture in WAVE64
    bench.set_vector("v2", [2 * lane for lane in range(bench.width)])
    bench.set_scalar(8, address, 2)
    bench.set_scalar(10, len(data))
    place = "s[8:9]" if unit == "global" else "s[8:11], 0 offen"
    names = ("ushort", "sshort", "ubyte", "sbyte") if old else ("u16", "i16", "u8", "i8")
    for register, kind in enumerate(names, 3):
        bench.run(f"{unit}_load_{kind} v{register}, v2, {place}")
    for lane in range(bench.width):
        half, byte = number(data, 2 * lane, 2), number(data, 2 * lane, 1)
        expected = [half, half - (half >> 15 << 16), byte, byte - (byte >> 7 << 8)]
        assert [bench.vector(f"v{r}")[lane] for r in range(3, 7)] == [e & 0xFFFFFFFF for e in expected]
    given = values("u32", bench.width, "stores")
    bench.set_vector("v3", given)
    both = "v2, v3" if unit == "global" else "v3, v2"
    bench.run(f"{unit}_store_{'short' if old else 'b16'} {both}, {place} offset:512")
    bench.run(f"{unit}_store_{'byte' if old else 'b8'} {both}, {place} offset:1025")
    assert [number(data, 512 + 2 * lane, 2) for lane in range(bench.width)] == [g & 0xFFFF for g in given]
    assert [number(data, 1025 + 2 * lane, 1) for lane in range(bench.width)] == [g & 255 for g in given]


@pytest.mark.parametrize("architecture", NAMES)
def test_halves_of_registers(architecture: str) -> None:
    bench, data, address = with_memory(architecture)
    old = architecture in WAVE64
    bench.set_vector("v2", [2 * lane for lane in range(bench.width)])
    bench.set_scalar(8, address, 2)
    bench.set_vector("v3", [0xAAAABBBB] * bench.width)
    bench.set_vector("v4", [0xAAAABBBB] * bench.width)
    low, high, store = (
        ("global_load_short_d16", "global_load_short_d16_hi", "global_store_short_d16_hi")
        if old
        else ("global_load_d16_b16", "global_load_d16_hi_b16", "global_store_d16_hi_b16")
    )
    bench.run(f"{low} v3, v2, s[8:9]", f"{high} v4, v2, s[8:9]")
    halves = [number(data, 2 * lane, 2) for lane in range(bench.width)]
    assert bench.vector("v3") == [0xAAAA0000 | half for half in halves]
    assert bench.vector("v4") == [half << 16 | 0xBBBB for half in halves]
    bench.run(f"{store} v2, v4, s[8:9] offset:1024")
    assert [number(data, 1024 + 2 * lane, 2) for lane in range(bench.width)] == halves


@pytest.mark.parametrize("architecture", NAMES)
def test_beyond_the_size_of_a_buffer_loads_give_nothing_and_stores_do_nothing(architecture: str) -> None:
    bench, data, address = with_memory(architecture)
    bench.set_vector("v2", [4 * lane if lane % 2 else 0x80000000 for lane in range(bench.width)])
    bench.set_scalar(8, address, 2)
    bench.set_scalar(10, 0x7FFFFFFE)
    bench.set_vector("v3", [9] * bench.width)
    before = data.copy()
    bench.run(f"buffer_{name(architecture, 'load', 32)} v3, v2, s[8:11], 0 offen")
    assert bench.vector("v3") == [number(data, 4 * lane, 4) if lane % 2 else 0 for lane in range(bench.width)]
    bench.set_vector("v3", [7] * bench.width)
    bench.run(f"buffer_{name(architecture, 'store', 32)} v3, v2, s[8:11], 0 offen")
    expected = [7 if lane % 2 else number(before, 4 * lane, 4) for lane in range(bench.width)]
    assert [number(data, 4 * lane, 4) for lane in range(bench.width)] == expected
    assert np.array_equal(data[4 * bench.width :], before[4 * bench.width :])


ATOMIC: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda old, new, bits: old + new,
    "sub": lambda old, new, bits: old - new,
    "umax": lambda old, new, bits: max(old, new),
    "umin": lambda old, new, bits: min(old, new),
    "smax": lambda old, new, bits: max(old, new, key=lambda x: x ^ 1 << (bits - 1)),
    "smin": lambda old, new, bits: min(old, new, key=lambda x: x ^ 1 << (bits - 1)),
    "and": lambda old, new, bits: old & new,
    "or": lambda old, new, bits: old | new,
    "xor": lambda old, new, bits: old ^ new,
    "swap": lambda old, new, bits: new,
    "inc": lambda old, new, bits: 0 if old >= new else old + 1,
    "dec": lambda old, new, bits: new if old == 0 or old > new else old - 1,
}


def atomic_name(architecture: str, what: str, bits: int) -> str:
    if architecture in WAVE64:
        return f"atomic_{what}{'_x2' if bits == 64 else ''}"
    if what[1:] in ("max", "min"):
        return f"atomic_{what[1:]}_{'i' if what[0] == 's' else 'u'}{bits}"
    return f"atomic_{what}_{'u' if what in ('add', 'sub', 'inc', 'dec') else 'b'}{bits}"


RETURNS = {"gfx942": " sc0", "gfx950": " sc0", "gfx1100": " glc", "gfx1201": " th:TH_ATOMIC_RETURN"}


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("what", [*ATOMIC, "cmpswap"])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("unit", ["global", "buffer"])
def test_atomic_updates(architecture: str, what: str, bits: int, returns: bool, unit: str) -> None:
    """Lanes in order; seven places, so that many meet; a third of the lanes are off."""
    bench, data, address = with_memory(architecture)
    size, words = bits // 8, bits // 32
    on = sum(1 << lane for lane in range(bench.width) if lane % 3)
    places = [size * (lane % 7) for lane in range(bench.width)]
    given = [random.Random(lane).getrandbits(bits) for lane in range(bench.width)]
    memory = {place: number(data, place, size) for place in places}
    expected = [memory[place] if lane % 2 else 5 for lane, place in enumerate(places)]
    bench.set_vector("v2", places)
    bench.set_scalar(8, address, 2)
    bench.set_scalar(10, len(data))
    operand = registers(4, words)
    bench.set_vector(operand, given)
    if what == "cmpswap":  # the new value first, then what has to be there
        operand = registers(4, 2 * words)
        bench.set_vector(operand, [g | e << bits for g, e in zip(given, expected, strict=True)])
    target = registers(12, words)
    bench.exec(on)
    result = operand.replace("v[4", "v[4") if unit == "buffer" else target
    before = bench.vector(registers(4, words) if unit == "buffer" else target)
    name_ = f"{unit}_{atomic_name(architecture, what, bits)}"
    if unit == "buffer":
        text = f"{name_} {operand}, v2, s[8:11], 0 offen"
        result = registers(4, words)
    else:
        text = f"{name_} {target + ', ' if returns else ''}v2, {operand}, s[8:9]"
    bench.run(text + (RETURNS[architecture] if returns else ""))
    mask = (1 << bits) - 1
    found = bench.vector(result)
    for lane, place in enumerate(places):
        if not on >> lane & 1 or not returns:
            assert found[lane] == before[lane]
        else:
            assert found[lane] == memory[place]
        if on >> lane & 1:
            old = memory[place]
            if what == "cmpswap":
                memory[place] = given[lane] if old == expected[lane] else old
            else:
                memory[place] = ATOMIC[what](old, given[lane], bits) & mask
    for place, value in memory.items():
        assert number(data, place, size) == value


@pytest.mark.parametrize("architecture", NAMES)
def test_scalar_loads(architecture: str) -> None:
    bench, data, address = with_memory(architecture)
    bench.set_scalar(8, address, 2)
    bench.set_scalar(10, 16)
    loads = {1: "dword", 2: "dwordx2", 4: "dwordx4", 8: "dwordx8"}
    for words, old in loads.items():
        kind = old if architecture in WAVE64 else f"b{32 * words}"
        target = "s20" if words == 1 else f"s[20:{19 + words}]"
        bench.run(f"s_load_{kind} {target}, s[8:9], 0x20")
        assert bench.scalar(20, words) == number(data, 0x20, 4 * words)
    kind = "dword" if architecture in WAVE64 else "b32"
    bench.run(f"s_load_{kind} s20, s[8:9], s10 offset:0x4")
    assert bench.scalar(20) == number(data, 20, 4)


def test_short_scalar_loads_of_generation_12() -> None:
    bench, data, address = with_memory("gfx1201")
    data[2:4] = 0x80, 0xFF
    bench.set_scalar(8, address, 2)
    for kind, expected in (("u16", 0xFF80), ("i16", 0xFFFFFF80), ("u8", 0x80), ("i8", 0xFFFFFF80)):
        bench.run(f"s_load_{kind} s4, s[8:9], 0x2")
        assert bench.scalar(4) == expected
    bench.run("s_load_b96 s[20:22], s[8:9], 0x0")
    assert bench.scalar(20, 3) == number(data, 0, 12)


class TestBounds:
    @pytest.mark.parametrize("architecture", NAMES)
    @pytest.mark.parametrize("offset", [4096, 4093, -1, 1 << 35, -(1 << 34)])
    @pytest.mark.parametrize("verb", ["load", "store"])
    def test_beside_a_buffer(self, architecture: str, offset: int, verb: str) -> None:
        bench, _, address = with_memory(architecture)
        bench.set_vector("v[2:3]", [address] * (bench.width - 1) + [address + offset])
        bench.set_vector("v4", [0] * bench.width)
        operands = "v4, v[2:3], off" if verb == "load" else "v[2:3], v4, off"
        text = f"global_{name(architecture, verb, 32)} {operands}"
        with pytest.raises(OutOfBounds, match=re.escape(text)):
            bench.run(text)
        bench.exec(1)  # the lane is off
        bench.run(text)

    def test_the_message_names_the_buffer_the_bytes_and_its_size(self) -> None:
        bench, _, address = with_memory("gfx950")
        bench.set_vector("v[2:3]", [address + 4094] * 64)
        with pytest.raises(OutOfBounds, match="bytes 4094 to 4098 of the data, which has 4096"):
            bench.run("global_load_dword v4, v[2:3], off")

    def test_a_buffer_that_may_only_be_read(self) -> None:
        bench = Bench("gfx950")
        address = bench.machine.memory.add("a constant", np.zeros(256, np.uint8), writable=False)
        bench.set_vector("v[2:3]", [address] * 64)
        bench.set_vector("v4", [0] * 64)
        bench.run("global_load_dword v5, v[2:3], off")
        with pytest.raises(OutOfBounds, match="only be read"):
            bench.run("global_store_dword v[2:3], v4, off")

    def test_lanes_may_be_in_different_buffers(self) -> None:
        bench = Bench("gfx950")
        arrays = [np.full(64, value, np.uint32) for value in (7, 8)]
        first, second = (bench.machine.memory.add(f"{i}", array) for i, array in enumerate(arrays))
        bench.set_vector("v[2:3]", [(second if lane % 2 else first) + 4 * lane for lane in range(64)])
        bench.set_vector("v4", list(range(64)))
        bench.run("global_load_dword v5, v[2:3], off", "global_store_dword v[2:3], v4, off")
        assert bench.vector("v5") == [7, 8] * 32
        assert arrays[0].tolist() == [lane if lane % 2 == 0 else 7 for lane in range(64)]

    def test_scalar_loads(self) -> None:
        bench, _, address = with_memory("gfx950")
        bench.set_scalar(8, address, 2)
        with pytest.raises(OutOfBounds):
            bench.run("s_load_dwordx2 s[4:5], s[8:9], 0xffc")

    @pytest.mark.parametrize("architecture", NAMES)
    @pytest.mark.parametrize("bits", WORDS)
    def test_scratch(self, architecture: str, bits: int) -> None:
        bench = Bench(architecture, scratch=32)
        words = bits // 32
        given = [random.Random(lane).getrandbits(bits) for lane in range(bench.width)]
        bench.set_vector(registers(4, words), given)
        bench.set_scalar(8, 4)
        store, load = (f"scratch_{name(architecture, verb, bits)}" for verb in ("store", "load"))
        bench.run(
            f"{store} off, {registers(4, words)}, s8 offset:8", f"{load} {registers(12, words)}, off, s8 offset:8"
        )
        assert bench.vector(registers(12, words)) == given
        with pytest.raises(OutOfBounds, match="scratch bytes"):
            bench.run(f"{store} off, {registers(4, words)}, off offset:32")


class TestRaces:
    """What `Tracker` sees of memory that workgroups share."""

    def setup_two(self, *, waves: int = 1, groups: int = 1) -> tuple[Bench, np.ndarray]:
        bench, data, address = with_memory("gfx950", waves=waves, groups=groups)
        bench.set_vector("v[2:3]", [address + 4 * lane for lane in range(64)])
        for wave in range(2):
            bench.set_vector("v4", [1000 * wave + lane for lane in range(64)], wave=wave)
        return bench, data

    def only(self, bench: Bench, wave: int) -> None:
        bench.machine.activate(np.arange(2) == wave)

    def test_a_load_of_what_another_wave_of_the_workgroup_stored(self) -> None:
        bench, _ = self.setup_two(waves=2)
        self.only(bench, 0)
        bench.run("global_store_dword v[2:3], v4, off", "global_load_dword v5, v[2:3], off")
        self.only(bench, 1)
        with pytest.raises(Race, match="load at byte 0 of the data"):
            bench.run("global_load_dword v5, v[2:3], off")
        bench.machine.local.barrier(np.array([0]), 0)
        bench.run("global_load_dword v5, v[2:3], off")
        assert bench.vector("v5", wave=1) == bench.vector("v4", wave=0)

    def test_a_store_to_what_another_wave_loaded(self) -> None:
        bench, _ = self.setup_two(waves=2)
        bench.run("global_load_dword v5, v[2:3], off")
        self.only(bench, 1)
        with pytest.raises(Race, match="store at byte"):
            bench.run("global_store_dword v[2:3], v4, off")

    def test_two_lanes_that_store_different_values_at_once(self) -> None:
        bench, _, address = with_memory("gfx950")
        bench.set_vector("v[2:3]", [address] * 64)
        bench.set_vector("v4", list(range(64)))
        with pytest.raises(Race, match="two lanes at once"):
            bench.run("global_store_dword v[2:3], v4, off")

    def test_a_workgroup_that_reads_what_another_stored(self) -> None:
        bench, _ = self.setup_two(groups=2)
        self.only(bench, 0)
        bench.run("global_store_dword v[2:3], v4, off")
        self.only(bench, 1)
        bench.machine.local.barrier(np.array([1]), 0)  # its own barrier orders nothing
        with pytest.raises(Race):
            bench.run("global_load_dword v5, v[2:3], off")

    def test_atomic_updates_by_many_workgroups(self) -> None:
        bench, data = self.setup_two(groups=2)
        bench.set_vector("v4", [1] * 64)
        data[...] = 0
        bench.run("global_atomic_add v[2:3], v4, off", "global_atomic_add v[2:3], v4, off")
        assert number(data, 0, 4) == 4
        self.only(bench, 0)
        with pytest.raises(Race, match="load"):
            bench.run("global_load_dword v5, v[2:3], off")
