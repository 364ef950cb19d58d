"""The weight as compiled for a card: rule 9, its whole table, and distances of every kind against the oracle."""

from __future__ import annotations

import hashlib

import numpy as np
import torch

from qrita import reference
from qrita.testing.subjects import Subject

SHA256 = "3e8aa13b7024693a54370e618215379005db33abde1aa699fb5c84631c8c110d"
STEPS, TILE = 1 << 23, 4096


def test_the_whole_table(subject: Subject) -> None:
    """As docs/semantics.md gives its checksum: fusion would change 1.8 million entries of it."""
    from qrita.kernels.weight import table_kernel

    out = torch.full((STEPS,), -1, dtype=torch.int32)
    with subject.engine.simulated():
        table_kernel[(STEPS // TILE,)](out, TILE=TILE, num_warps=4, enable_fp_fusion=False)
    assert hashlib.sha256(out.numpy().astype("<i4").tobytes()).hexdigest() == SHA256


def test_weights_of_distances_of_every_kind(subject: Subject) -> None:
    """All exponents, and as many between -30 and 0; -inf, zero, and the ends of the subnormals."""
    from weight_kernels import weights

    random = np.random.default_rng(5)
    patterns = random.integers(0x80000001, 0xFF800000, 20_000, dtype=np.uint32, endpoint=True)
    ends = np.array([0, 0x80000001, 0x807FFFFF, 0x80800000, 0xFF7FFFFF, 0xFF800000], np.uint32)
    near = (-30 * random.random(20_000)).astype(np.float32)
    d = np.concatenate([patterns.view(np.float32), ends.view(np.float32), near])
    out = torch.full((len(d),), -1, dtype=torch.int64)
    with subject.engine.simulated():
        weights[(-(-len(d) // 512),)](torch.from_numpy(d), out, len(d), TILE=512, num_warps=2, enable_fp_fusion=False)
    assert np.array_equal(out.numpy(), reference.weights(d))
