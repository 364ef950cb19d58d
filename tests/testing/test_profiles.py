"""The hypothesis profiles, whatever is loaded when they are registered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from qrita.testing import profiles


@pytest.fixture(autouse=True)
def _loaded_profile_stays() -> Iterator[None]:
    name = settings.get_current_profile_name()
    yield
    settings.load_profile(name)


@pytest.mark.parametrize("loaded", ["default", "ci"])
@pytest.mark.parametrize("name", ["dev", "pr", "nightly"])
def test_load(name: str, loaded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under CI hypothesis has loaded a profile of its own; nothing of it is left."""
    settings.load_profile(loaded)
    monkeypatch.setenv("HYPOTHESIS_PROFILE", name)
    assert profiles.load() == name
    assert settings.get_current_profile_name() == name
    assert settings.default.deadline is None
    assert settings.default.derandomize == (name == "pr")
    assert (settings.default.database is None) == (name == "pr")


def test_sizes() -> None:
    profiles.register()
    dev, pr, nightly = (settings.get_profile(name).max_examples for name in ("dev", "pr", "nightly"))
    assert dev < pr < nightly


def test_dev_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
    assert profiles.load() == "dev"


def test_unknown_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "ci")
    with pytest.raises(ValueError, match="HYPOTHESIS_PROFILE='ci': expected one of dev, pr, "):
        profiles.load()


def test_database_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QRITA_EXAMPLES", str(tmp_path))
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "nightly")
    profiles.load()
    settings.default.database.save(b"key", b"value")
    assert any(tmp_path.rglob("*"))
