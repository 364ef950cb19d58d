"""LDS: widths, halves, offsets, atomic updates, bounds, and races between waves."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from bench import NAMES, WAVE32, WAVE64, Bench, values

from amdsim.errors import OutOfBounds, Race, UnknownInstruction

SIZE = 8192


def verbs(architecture: str) -> tuple[str, str]:
    return ("read", "write") if architecture in WAVE64 else ("load", "store")


def registers(first: int, words: int) -> str:
    return f"v{first}" if words == 1 else f"v[{first}:{first + words - 1}]"


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("bits", [32, 64, 96, 128])
@pytest.mark.parametrize("on", [-1, 0x00FF12340F0F8001])
def test_what_is_stored_is_loaded(architecture: str, bits: int, on: int) -> None:
    load, store = verbs(architecture)
    bench = Bench(architecture, lds=SIZE)
    words, size = bits // 32, bits // 8
    given = [random.Random(lane).getrandbits(bits) for lane in range(bench.width)]
    bench.set_vector("v1", [size * (lane ^ 5) for lane in range(bench.width)])
    bench.set_vector(registers(2, words), given)
    bench.exec(on)
    before = bench.vector(registers(8, words))
    bench.run(
        f"ds_{store}_b{bits} v1, {registers(2, words)} offset:64",
        f"ds_{load}_b{bits} {registers(8, words)}, v1 offset:64",
    )
    for lane, found in enumerate(bench.vector(registers(8, words))):
        assert found == (given[lane] if on >> lane & 1 else before[lane])


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("far", [False, True])
def test_two_values_at_once(architecture: str, bits: int, far: bool) -> None:
    old = architecture in WAVE64
    load = {(True, False): "read2", (True, True): "read2st64", (False, False): "load_2addr",
            (False, True): "load_2addr_stride64"}[old, far]  # fmt: skip
    store = load.replace("read", "write").replace("load", "store")
    bench = Bench(architecture, lds=2 * SIZE)
    words, size = bits // 32, bits // 8
    scale = 64 if far else 1
    first, second = ([random.Random(f"{lane} {i}").getrandbits(bits) for lane in range(bench.width)] for i in range(2))
    bench.set_vector("v1", [(1 if far else 4) * size * lane for lane in range(bench.width)])
    bench.set_vector(registers(2, words), first)
    bench.set_vector(registers(4, words), second)
    bench.run(f"ds_{store}_b{bits} v1, {registers(2, words)}, {registers(4, words)} offset0:2 offset1:1")
    bench.run(f"ds_{load}_b{bits} {registers(10, 2 * words)}, v1 offset0:2 offset1:1")
    for lane, found in enumerate(bench.vector(registers(10, 2 * words))):
        assert found == first[lane] | second[lane] << bits
    bench.run(f"ds_{load.split('_')[0].split('2')[0]}_b{bits} {registers(20, words)}, v1 offset:{2 * size * scale}")
    assert bench.vector(registers(20, words)) == first


@pytest.mark.parametrize("architecture", NAMES)
def test_bytes_and_halves(architecture: str) -> None:
    load, store = verbs(architecture)
    bench = Bench(architecture, lds=SIZE)
    given = values("u32", bench.width, "bytes")
    bench.set_vector("v1", [2 * lane for lane in range(bench.width)])
    bench.set_vector("v2", given)
    bench.run(f"ds_{store}_b16 v1, v2", f"ds_{load}_u16 v3, v1", f"ds_{load}_i16 v4, v1", f"ds_{load}_u8 v5, v1")
    bench.run(f"ds_{load}_i8 v6, v1 offset:1", f"ds_{store}_b8 v1, v2 offset:1024")
    bench.run(f"ds_{load}_u8 v7, v1 offset:1024")
    for lane, word in enumerate(given):
        half = word & 0xFFFF
        assert bench.vector("v3")[lane] == half
        assert bench.vector("v4")[lane] == half - (half >> 15 << 16) & 0xFFFFFFFF
        assert bench.vector("v5")[lane] == half & 255
        assert bench.vector("v6")[lane] == (half >> 8) - (half >> 15 << 8) & 0xFFFFFFFF
        assert bench.vector("v7")[lane] == word & 255


@pytest.mark.parametrize("architecture", NAMES)
def test_halves_of_registers(architecture: str) -> None:
    load, store = verbs(architecture)
    bench = Bench(architecture, lds=SIZE)
    given = values("u32", bench.width, "d16")
    bench.set_vector("v1", [2 * lane for lane in range(bench.width)])
    bench.set_vector("v2", given)
    bench.set_vector("v3", [0xAAAABBBB] * bench.width)
    bench.set_vector("v4", [0xAAAABBBB] * bench.width)
    bench.run(f"ds_{store}_b16_d16_hi v1, v2", f"ds_{load}_u16_d16 v3, v1", f"ds_{load}_u16_d16_hi v4, v1")
    assert bench.vector("v3") == [0xAAAA0000 | word >> 16 for word in given]
    assert bench.vector("v4") == [(word >> 16) << 16 | 0xBBBB for word in given]


ATOMIC: dict[str, Callable[[int, int, int], int]] = {
    "add_u": lambda old, new, bits: old + new,
    "sub_u": lambda old, new, bits: old - new,
    "max_u": lambda old, new, bits: max(old, new),
    "min_u": lambda old, new, bits: min(old, new),
    "and_b": lambda old, new, bits: old & new,
    "or_b": lambda old, new, bits: old | new,
    "xor_b": lambda old, new, bits: old ^ new,
    "inc_u": lambda old, new, bits: 0 if old >= new else old + 1,
    "dec_u": lambda old, new, bits: new if old == 0 or old > new else old - 1,
    "max_i": lambda old, new, bits: max(old, new, key=lambda x: x ^ 1 << (bits - 1)),
    "min_i": lambda old, new, bits: min(old, new, key=lambda x: x ^ 1 << (bits - 1)),
}


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("name", ATOMIC)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("crowded", [False, True])
def test_atomic_updates(architecture: str, name: str, bits: int, crowded: bool) -> None:
    """Lanes in order, several at one address where it is crowded."""
    load, store = verbs(architecture)
    bench = Bench(architecture, lds=SIZE)
    size, words = bits // 8, bits // 32
    given = [random.Random(lane).getrandbits(bits) for lane in range(bench.width)]
    places = [size * (lane % 5 if crowded else lane) for lane in range(bench.width)]
    bench.set_vector("v1", places)
    bench.set_vector(registers(2, words), [7] * bench.width)
    bench.set_vector(registers(4, words), given)
    verb, kind = name.split("_")
    bench.run(f"ds_{store}_b{bits} v1, {registers(2, words)}")
    bench.run(f"ds_{verb}_rtn_{kind}{bits} {registers(6, words)}, v1, {registers(4, words)}")
    bench.run(f"ds_{name}{bits} v1, {registers(4, words)}")
    bench.run(f"ds_{load}_b{bits} {registers(8, words)}, v1")
    memory = dict.fromkeys(places, 7)
    mask = (1 << bits) - 1
    for turn in range(2):
        for lane, place in enumerate(places):
            if not turn:
                assert bench.vector(registers(6, words))[lane] == memory[place]
            memory[place] = ATOMIC[name](memory[place], given[lane], bits) & mask
    assert bench.vector(registers(8, words)) == [memory[place] for place in places]


@pytest.mark.parametrize("architecture", NAMES)
def test_signed_atomic_updates(architecture: str) -> None:
    load, store = verbs(architecture)
    bench = Bench(architecture, lds=SIZE)
    bench.set_vector("v1", [4 * lane for lane in range(bench.width)])
    bench.set_vector("v2", [0xFFFFFFFF] * bench.width)
    bench.set_vector("v3", [5] * bench.width)
    bench.run(f"ds_{store}_b32 v1, v2", "ds_max_i32 v1, v3", f"ds_{load}_b32 v4, v1", f"ds_{store}_b32 v1, v2",
              "ds_min_i32 v1, v3", f"ds_{load}_b32 v5, v1")  # fmt: skip
    assert bench.vector("v4") == [5] * bench.width
    assert bench.vector("v5") == [0xFFFFFFFF] * bench.width


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("address", [SIZE, SIZE - 3, 0xFFFFFFFC])
def test_an_access_beyond_the_end_is_an_error(architecture: str, address: int) -> None:
    load, _ = verbs(architecture)
    bench = Bench(architecture, lds=SIZE)
    bench.set_vector("v1", [0] * (bench.width - 1) + [address])
    with pytest.raises(OutOfBounds, match=f"`ds_{load}_b32 v2, v1`"):
        bench.run(f"ds_{load}_b32 v2, v1")
    bench.exec(1)  # the lane is off
    bench.run(f"ds_{load}_b32 v2, v1")


def test_a_misaligned_address_is_an_error() -> None:
    bench = Bench("gfx950", lds=SIZE)
    bench.set_vector("v1", [2] * 64)
    with pytest.raises(OutOfBounds, match="multiple of 4"):
        bench.run("ds_read_b32 v2, v1")


def two_waves(architecture: str) -> Bench:
    bench = Bench(architecture, waves=2, lds=SIZE)
    bench.set_vector("v1", [4 * lane for lane in range(bench.width)])
    bench.set_vector("v2", list(range(bench.width)), wave=0)
    bench.set_vector("v2", [100 + lane for lane in range(bench.width)], wave=1)
    return bench


def only(bench: Bench, wave: int) -> None:
    bench.machine.activate(np.arange(2) == wave)


def barrier(bench: Bench) -> None:
    bench.machine.local.barrier(np.array([0]), 0)


@pytest.mark.parametrize("architecture", NAMES)
class TestRaces:
    def test_a_load_of_what_another_wave_stored(self, architecture: str) -> None:
        load, store = verbs(architecture)
        bench = two_waves(architecture)
        only(bench, 0)
        bench.run(f"ds_{store}_b32 v1, v2", f"ds_{load}_b32 v3, v1")  # its own
        only(bench, 1)
        with pytest.raises(Race, match="wave 1 reads LDS"):
            bench.run(f"ds_{load}_b32 v3, v1")
        barrier(bench)
        bench.run(f"ds_{load}_b32 v3, v1")
        assert bench.vector("v3", wave=1) == bench.vector("v2", wave=0)

    def test_a_store_to_what_another_wave_loaded(self, architecture: str) -> None:
        load, store = verbs(architecture)
        bench = two_waves(architecture)
        only(bench, 0)
        bench.run(f"ds_{load}_b32 v3, v1")
        only(bench, 1)
        with pytest.raises(Race, match="wave 1 writes LDS"):
            bench.run(f"ds_{store}_b32 v1, v2")

    def test_two_waves_that_loaded(self, architecture: str) -> None:
        load, store = verbs(architecture)
        bench = two_waves(architecture)
        bench.run(f"ds_{load}_b32 v3, v1")  # both at once
        only(bench, 0)
        with pytest.raises(Race, match="wave 0 writes LDS"):
            bench.run(f"ds_{store}_b32 v1, v2")

    def test_stores_of_different_values(self, architecture: str) -> None:
        _, store = verbs(architecture)
        bench = two_waves(architecture)
        with pytest.raises(Race, match="otherwise"):
            bench.run(f"ds_{store}_b32 v1, v2")
        bench = two_waves(architecture)
        only(bench, 0)
        bench.run(f"ds_{store}_b32 v1, v2")
        only(bench, 1)
        with pytest.raises(Race, match="wave 1 writes LDS"):
            bench.run(f"ds_{store}_b32 v1, v2")

    def test_stores_of_equal_values_are_harmless(self, architecture: str) -> None:
        _, store = verbs(architecture)
        bench = two_waves(architecture)
        bench.run(f"ds_{store}_b32 v1, v1")
        only(bench, 1)
        bench.run(f"ds_{store}_b32 v1, v1")

    def test_atomic_updates_race_with_plain_accesses_only(self, architecture: str) -> None:
        load, store = verbs(architecture)
        bench = two_waves(architecture)
        only(bench, 0)
        bench.run(f"ds_{store}_b32 v1, v1")
        barrier(bench)
        for wave in (0, 1):
            only(bench, wave)
            bench.run("ds_add_u32 v1, v2")
        with pytest.raises(Race, match="reads"):
            bench.run(f"ds_{load}_b32 v3, v1")
        bench = two_waves(architecture)
        only(bench, 0)
        bench.run(f"ds_{store}_b32 v1, v1")
        only(bench, 1)
        with pytest.raises(Race, match="updates"):
            bench.run("ds_add_u32 v1, v2")

    def test_workgroups_have_memory_of_their_own(self, architecture: str) -> None:
        load, store = verbs(architecture)
        bench = Bench(architecture, groups=2, lds=SIZE)
        bench.set_vector("v1", [0] * bench.width)
        bench.set_vector("v2", [5] * bench.width, wave=0)
        bench.set_vector("v2", [6] * bench.width, wave=1)
        bench.run(f"ds_{store}_b32 v1, v2", f"ds_{load}_b32 v3, v1")
        assert [bench.vector("v3", wave=w)[0] for w in (0, 1)] == [5, 6]


def test_a_byte_beside_another_waves_byte_is_no_race() -> None:
    from bench import assembly

    from amdsim import parse

    body = """
\tv_cmp_gt_u32_e32 vcc, 1, v0
\tv_mov_b32_e32 v1, v0
\tds_write_b8 v1, v0
\ts_endpgm"""
    program = parse.program(assembly("gfx950", body, threads=128, lds=256))
    from amdsim import Grid, Memory, run

    run(program, Grid(1), [], Memory())


@pytest.mark.parametrize("architecture", WAVE32)
def test_names_of_other_generations_are_not_mixed_up(architecture: str) -> None:
    bench = Bench(architecture, lds=SIZE)
    with pytest.raises(UnknownInstruction):
        bench.run("ds_load_tr16_b128 v[2:5], v1")
