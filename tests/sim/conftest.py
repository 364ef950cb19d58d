"""How much is tried on a simulated card, by the profile."""

from __future__ import annotations

import pytest
from hypothesis import settings


@pytest.fixture(scope="session")
def recipes_of_a_dtype() -> int:
    """Recipes of a dtype that each way through the kernels is tried on."""
    return 5 if settings.get_current_profile_name() == "sim-slice" else 20
