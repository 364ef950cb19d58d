"""The simulator's own tests know every instruction that the kernels consist of."""

from __future__ import annotations

import emitting
import pytest

from qrita.testing.recipes import DTYPES
from qrita.testing.subjects import Subject


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_instruction_of_the_kernels_is_listed(subject: Subject, dtype: str, plan_recipes: int) -> None:
    card = subject.engine.card.architecture
    found = emitting.mnemonics(subject, dtype, plan_recipes)
    assert found
    lacking = found - emitting.emitted.of(card)
    assert not lacking, (
        f"{', '.join(sorted(lacking))}: not in tests/amdsim/emitted/{card}.txt. `python tests/sim/emitting.py` adds "
        "them; tests/amdsim/test_emitted.py then asks for their tests"
    )
