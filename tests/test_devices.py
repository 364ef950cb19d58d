"""Which GPU a worker takes: one of the caller's list, and nobody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import devices
import pytest

GB = 1 << 30


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"CUDA_VISIBLE_DEVICES": "2,5"}, {}),
        ({"PYTEST_XDIST_WORKER": "gw0"}, {}),
        ({"PYTEST_XDIST_WORKER": "gw0", "CUDA_VISIBLE_DEVICES": ""}, {}),
        ({"PYTEST_XDIST_WORKER": "gw0", "CUDA_VISIBLE_DEVICES": "2,5"}, {"CUDA_VISIBLE_DEVICES": "2"}),
        ({"PYTEST_XDIST_WORKER": "gw1", "CUDA_VISIBLE_DEVICES": "2, 5"}, {"CUDA_VISIBLE_DEVICES": "5"}),
        ({"PYTEST_XDIST_WORKER": "gw11", "CUDA_VISIBLE_DEVICES": "2,5,7"}, {"CUDA_VISIBLE_DEVICES": "7"}),
        ({"PYTEST_XDIST_WORKER": "gw3", "CUDA_VISIBLE_DEVICES": "GPU-ab,GPU-cd"}, {"CUDA_VISIBLE_DEVICES": "GPU-cd"}),
        ({"PYTEST_XDIST_WORKER": "gw1", "HIP_VISIBLE_DEVICES": "4,6"}, {"HIP_VISIBLE_DEVICES": "6"}),
        (
            {"PYTEST_XDIST_WORKER": "gw1", "ROCR_VISIBLE_DEVICES": "4,6", "HIP_VISIBLE_DEVICES": "0,1"},
            {"HIP_VISIBLE_DEVICES": "1"},
        ),
    ],
)
def test_a_worker_takes_one_device_of_the_list(environ: dict[str, str], expected: dict[str, str]) -> None:
    assert devices.mine(environ) == expected


def test_the_list_is_made_explicit_only_where_the_caller_gave_none() -> None:
    assert devices.explicit({}, 3, "HIP_VISIBLE_DEVICES") == {"HIP_VISIBLE_DEVICES": "0,1,2"}
    assert devices.explicit({"CUDA_VISIBLE_DEVICES": "7"}, 1, "HIP_VISIBLE_DEVICES") == {}
    assert devices.explicit({}, 0, "CUDA_VISIBLE_DEVICES") == {}


@pytest.mark.parametrize(
    ("memory", "cpus", "expected"),
    [
        ([], 8, 1),
        ([2 * GB], 8, 1),  # too small for two, and still one
        ([24 * GB], 16, 6),
        ([24 * GB], 4, 4),
        ([139 * GB, 139 * GB], 32, 32),
        ([24 * GB] * 8, 4, 8),  # every GPU is used, however few the cores
    ],
)
def test_workers(memory: list[int], cpus: int, expected: int) -> None:
    assert devices.workers(memory, cpus) == expected


def test_asking_imports_no_torch() -> None:
    code = "import devices, sys; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
