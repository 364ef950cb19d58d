"""The hypothesis profiles, whatever is loaded when they are registered."""

from __future__ import annotations

import unittest
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import configuration, given, settings
from hypothesis import strategies as st
from hypothesis.database import GitHubArtifactDatabase

from qrita.testing import profiles


@pytest.fixture(autouse=True)
def _loaded_profile_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    name = settings.get_current_profile_name()
    for variable in ("QRITA_EXAMPLES", "QRITA_EXAMPLES_FROM"):
        monkeypatch.delenv(variable, raising=False)
    yield
    monkeypatch.undo()
    profiles.register()
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


# --- examples that lanes share ----------------------------------------------------------------------------------


def the_test(fails: bool, tried: list[int]) -> Callable[[], None]:
    """One test as two lanes run it: on the one, integers from 1000 on are a fault."""

    @given(st.integers(0, 1 << 20))
    def number(x: int) -> None:
        tried.append(x)
        assert x < 1000 or not fails

    return number


def run(fails: bool) -> list[int]:
    """What a lane tries, in the profile that is loaded."""
    tried: list[int] = []
    test = settings()(the_test(fails, tried))
    if not fails:
        test()
        return tried
    with pytest.raises(AssertionError):
        test()
    return tried


@pytest.fixture
def failing_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which a lane left what failed there."""
    directory = tmp_path / "failing"
    monkeypatch.setenv("QRITA_EXAMPLES", str(directory))
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "nightly")
    profiles.load()
    assert len(run(fails=True)) > 1
    return directory


def files(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.mark.parametrize("variable", ["QRITA_EXAMPLES", "QRITA_EXAMPLES_FROM"])
def test_replay_tries_what_failed_elsewhere_and_changes_nothing(
    failing_lane: Path, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QRITA_EXAMPLES", str(tmp_path / "own"))
    monkeypatch.setenv(variable, str(failing_lane))
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "replay")
    before = files(tmp_path)
    profiles.load()
    assert 1000 in run(fails=True)
    passing = run(fails=False)
    assert 1000 in passing
    assert all(x >= 1000 for x in passing)  # what was found there, and nothing drawn
    assert files(tmp_path) == before


def test_another_lanes_examples_come_first_and_stay(
    failing_lane: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they pass: hypothesis would take them out of a database of its own."""
    before = files(failing_lane)
    monkeypatch.setenv("QRITA_EXAMPLES", str(tmp_path / "own"))
    monkeypatch.setenv("QRITA_EXAMPLES_FROM", f" {failing_lane} , ")
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "dev")
    profiles.load()
    tried = run(fails=False)
    assert 1000 in tried[:10]
    assert len(tried) > 20
    assert files(failing_lane) == before


def test_an_artifact_is_read(failing_lane: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As hypothesis keeps it once it is fetched: a zip of the directory, not older than a day. No network here."""
    monkeypatch.setattr(GitHubArtifactDatabase, "_fetch_artifact", lambda self: pytest.fail("the network was asked"))
    configuration.set_hypothesis_home_dir(tmp_path / "home")
    try:
        cache = tmp_path / "home" / "github-artifacts" / "examples-rocm"
        cache.mkdir(parents=True)
        now = datetime.now(timezone.utc).isoformat().replace(":", "_")
        with zipfile.ZipFile(cache / f"{now}.zip", "w") as archive:
            for name, content in files(failing_lane).items():
                archive.writestr(name, content)
        monkeypatch.setenv("QRITA_EXAMPLES", str(tmp_path / "own"))
        monkeypatch.setenv("QRITA_EXAMPLES_FROM", "github:someone/qrita@examples-rocm")
        monkeypatch.setenv("HYPOTHESIS_PROFILE", "replay")
        profiles.load()
        assert 1000 in run(fails=False)
    finally:
        configuration.set_hypothesis_home_dir(None)


@pytest.mark.parametrize("name", ["no/such/directory", "github:someone", "github:", "gitlab:a/b@c"])
def test_what_is_no_database_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QRITA_EXAMPLES_FROM", name)
    with pytest.raises(
        ValueError, match=f"QRITA_EXAMPLES_FROM: '{name}': expected a directory that is there, or github:"
    ):
        profiles.load()


def test_nothing_to_replay_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QRITA_EXAMPLES", str(tmp_path))
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "replay")
    with pytest.raises(ValueError, match="HYPOTHESIS_PROFILE='replay': no examples in"):
        profiles.load()


def test_what_has_nothing_to_replay_is_shown_as_skipped(failing_lane: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "replay")
    profiles.load()

    @given(st.integers())
    def another(x: int) -> None:
        raise AssertionError("nothing is stored for this test")

    with pytest.raises(unittest.SkipTest, match="no test cases"):
        another()
