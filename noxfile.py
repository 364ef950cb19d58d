"""Chores that a person runs: `nox -l` lists them. What must pass is written down in tox.ini only."""

import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["format", "lint", "types"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
MATRIX = nox.project.load_toml("ci/matrix.toml")
TARGETS = MATRIX["targets"]


@nox.session
def format(session: nox.Session) -> None:  # noqa: A001
    """Rewrite the code: ruff's format and the fixes that ruff calls safe."""
    session.install(*nox.project.dependency_groups(PYPROJECT, "format"))
    session.run("ruff", "check", "--fix-only", "--exit-zero", *session.posargs)
    session.run("ruff", "format", *session.posargs)


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Write what follows from ci/matrix.toml, then compare every copy with it."""
    session.run(sys.executable, "ci/matrix.py", "write")
    session.run(sys.executable, "ci/matrix.py", "check")


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check rules, format and the matrix, as CI does."""
    _tox(session, "lint")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types, as CI does."""
    _tox(session, "type")


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Build the documents into site/, every link checked."""
    _tox(session, "docs")
    session.log("open site/index.html" if Path("site/index.html").exists() else "open site/semantics.html")


@nox.session(venv_backend="none")
def budgets(session: nox.Session) -> None:
    """Write what each compiled kernel may take of a GPU (tests/compile/budgets.json) anew, and show the difference."""
    _tox(session, "compile", "--write-budgets")


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """Measure the kernels on this GPU, with the torch of this Python: what has a target, or what follows --."""
    session.run(
        sys.executable,
        "-m",
        "qrita",
        "bench",
        *(session.posargs or ["--quick"]),
        env={"PYTHONPATH": "src"},
        external=True,
    )


@nox.session(venv_backend="none")
def images(session: nox.Session) -> None:
    """Build the runner images of the targets that follow --, or one for each Dockerfile."""
    by_file = {target["dockerfile"]: name for name, target in TARGETS.items() if "dockerfile" in target}
    for name in session.posargs or by_file.values():
        session.run(sys.executable, "docker/run", name, "--build", "--dry-run", external=True)


@nox.session(venv_backend="none")
def digests(session: nox.Session) -> None:
    """Ask the registry for the digests of the base images and write them down."""
    session.run(sys.executable, "docker/resolve", *session.posargs, external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Build the distributions and check them: metadata, contents, and an import from the wheel without the checkout."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist")
    built = sorted(str(file) for file in Path("dist").iterdir())
    session.run("twine", "check", "--strict", *built)
    session.run("python", "-m", "zipfile", "-l", next(file for file in built if file.endswith(".whl")))


def _tox(session: nox.Session, environment: str, *arguments: str) -> None:
    session.run(sys.executable, "ci/tox", "-e", environment, "--", *arguments, *session.posargs)
