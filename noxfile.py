"""Chores that a person runs: `nox -l` lists them. What must pass is written down in tox.ini only."""

import sys

import nox

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["format", "lint", "types"]

PYPROJECT = nox.project.load_toml("pyproject.toml")


@nox.session
def format(session: nox.Session) -> None:  # noqa: A001
    """Rewrite the code: ruff's format and the fixes that ruff calls safe."""
    session.install(*nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check", "--fix-only", "--exit-zero", *session.posargs)
    session.run("ruff", "format", *session.posargs)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check rules and format, as CI does."""
    session.run(sys.executable, "ci/tox", "-e", "lint", "--", *session.posargs)


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types, as CI does."""
    session.run(sys.executable, "ci/tox", "-e", "type", "--", *session.posargs)
