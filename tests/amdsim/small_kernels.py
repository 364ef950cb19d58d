"""Small Triton kernels, for tests: what the simulator runs is compared with numpy."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def row_sums(x, out, stride, n, BLOCK: tl.constexpr):
    """One program a row: sum of what is positive, the greatest, how many are above 0."""
    row = tl.program_id(0)
    total = tl.zeros((), tl.float32)
    top = tl.full((), float("-inf"), tl.float32)
    count = tl.zeros((), tl.int32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.load(x + row.to(tl.int64) * stride + i, mask=i < n, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.where(value > 0, value, 0.0), 0)
        top = tl.maximum(top, tl.max(value, 0))
        count += tl.sum((value > 0).to(tl.int32), 0)
    tl.store(out + row * 3, total)
    tl.store(out + row * 3 + 1, top)
    tl.store(out + row * 3 + 2, count.to(tl.float32))


@triton.jit
def compact(x, values, places, count, n, least, BLOCK: tl.constexpr):
    """The elements that are at least `least`, in order, by a running sum."""
    total = 0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = i < n
        value = tl.load(x + i, mask=inside, other=0.0).to(tl.float32)
        keep = (value >= least) & inside
        one = keep.to(tl.int32)
        slot = total + tl.cumsum(one, 0) - one
        tl.store(values + slot, value, mask=keep)
        tl.store(places + slot, i, mask=keep)
        total += tl.sum(one, 0)
    tl.store(count, total)


@triton.jit
def counted(x, bins, n, BLOCK: tl.constexpr):
    """A histogram of the lower five bits, many programs at once."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(bins + (value & 31), 1, mask=i < n, sem="relaxed")


@triton.jit
def allotted(x, slots, used, total, n, BLOCK: tl.constexpr):
    """Programs take slots by an atomic sum that returns, and add to a 64-bit total."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    keep = (value % 3 == 0) & (i < n)
    one = keep.to(tl.int32)
    before = tl.cumsum(one, 0) - one
    start = tl.atomic_add(used, tl.sum(one, 0), sem="relaxed")
    tl.store(slots + start + before, value, mask=keep)
    tl.atomic_add(total, tl.sum(tl.where(keep, value.to(tl.int64) << 20, 0), 0), sem="relaxed")


@triton.jit
def kth(x, out, n, k, BLOCK: tl.constexpr):
    """The k-th greatest int32, by halving in 64 bits."""
    low = tl.full((), -2147483648, tl.int64)
    high = tl.full((), 2147483647, tl.int64)
    while low < high:
        middle = (low + high + 1) >> 1
        count = 0
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            value = tl.load(x + i, mask=i < n, other=-2147483648)
            count += tl.sum(((value >= middle.to(tl.int32)) & (i < n)).to(tl.int32), 0)
        if count >= k:
            low = middle
        else:
            high = middle - 1
    tl.store(out, low)


@triton.jit
def wide(x, y, out, n, BLOCK: tl.constexpr):
    """Arithmetic in 64 bits."""
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1)
    b = tl.load(y + i, mask=i < n, other=1)
    tl.store(out + i, a * b + (a >> 7), mask=i < n)
    tl.store(out + n + i, (a ^ b) - (a << 3), mask=i < n)
    tl.store(out + 2 * n + i, a // b, mask=i < n)
    tl.store(out + 3 * n + i, a % b, mask=i < n)
    tl.store(out + 4 * n + i, tl.where(a < b, a, b), mask=i < n)


@triton.jit
def converted(x, out, n, BLOCK: tl.constexpr):
    """To float32, twice that, and to another type."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, (value + value).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def quotients(x, y, out, n, BLOCK: tl.constexpr):
    """What floats are divided, rooted and raised to."""
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1.0)
    b = tl.load(y + i, mask=i < n, other=1.0)
    tl.store(out + i, tl.div_rn(a, b), mask=i < n)
    tl.store(out + n + i, tl.sqrt_rn(tl.abs(a)), mask=i < n)
    tl.store(out + 2 * n + i, tl.exp2(b), mask=i < n)


@triton.jit
def programs(out):
    """The size of the grid."""
    place = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(out + place, tl.num_programs(0) * 10000 + tl.num_programs(1) * 100 + tl.num_programs(2))


@triton.jit
def exchanged(x, scratch, out, BLOCK: tl.constexpr, ORDERED: tl.constexpr):
    """Through memory, to other threads of the program: it takes a barrier."""
    i = tl.arange(0, BLOCK)
    tl.store(scratch + i, tl.load(x + i) + 1)
    if ORDERED:
        tl.debug_barrier()
    tl.store(out + i, tl.load(scratch + (BLOCK - 1 - i)))


@triton.jit
def beyond(x, out, n, BLOCK: tl.constexpr):
    """A mask forgotten."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), mask=i < n)


@triton.jit
def last_arriver(x, parts, arrived, out, n, BLOCK: tl.constexpr, SEM: tl.constexpr):
    """Programs leave a sum each; the one that comes last adds them up."""
    program = tl.program_id(0)
    i = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + program, tl.sum(tl.load(x + i, mask=i < n, other=0), 0))
    tl.debug_barrier()
    before = tl.atomic_add(arrived, 1, sem=SEM)
    if before == tl.num_programs(0) - 1:
        j = tl.arange(0, 16)
        tl.store(out, tl.sum(tl.load(parts + j, mask=j < tl.num_programs(0), other=0), 0))
