"""Options of pytest: --records=DIR writes a record of every failure there, --recorded=WHERE tries recorded cases again,
and --property=NAME, beside it, tries that property alone.

With "=", or pytest takes a folder that exists for one of tests. The variable QRITA_RECORDS is --records for those who
cannot add an option.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from qrita.report import record
from qrita.report.commands import RETRY

Retries = dict[str, tuple[str, str]]
"""An id to a property and to the case as JSON."""

_RETRIES = pytest.StashKey[Retries]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("qrita")
    group.addoption(
        "--records",
        metavar="DIR",
        default=os.environ.get("QRITA_RECORDS"),
        help="write a record of each failing property there (default: the variable QRITA_RECORDS)",
    )
    group.addoption(
        "--recorded",
        metavar="WHERE",
        action="append",
        default=[],
        help="try this again, and nothing else: a case as JSON, a record, or a folder of them; may be given repeatedly",
    )
    group.addoption(
        "--property",
        metavar="NAME",
        action="append",
        default=[],
        help="of what --recorded names, try this property alone: its whole name; may be given repeatedly",
    )


def pytest_configure(config: pytest.Config) -> None:
    chosen: Retries = {}
    for where in config.getoption("--recorded"):
        chosen |= retries(where)
    config.stash[_RETRIES] = of_properties(chosen, config.getoption("--property"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --recorded its test alone is collected, which is quick and fails of nothing else; without it, all others."""
    wanted = (collection_path.stem == RETRY) == bool(config.stash[_RETRIES])
    return True if collection_path.is_file() and not wanted else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recorded" in metafunc.fixturenames:
        chosen = metafunc.config.stash[_RETRIES]
        metafunc.parametrize("recorded", chosen.values(), ids=chosen.keys())


def retries(where: str) -> Retries:
    """The properties and cases of records, or every property for a bare case.

    Raises:
        UsageError: there is nothing of the kind there.
    """
    from qrita.cli import exits, items
    from qrita.testing.properties import PROPERTIES

    path = Path(where)
    if not where.lstrip().startswith("{") and path.exists():
        found, problems = record.read(_files(path))
        if path.is_dir() and (problems or not found):
            raise pytest.UsageError(f"--recorded: {' '.join(problems) or f'{where!r} holds no records'}")
        if found:
            return {record.id_of(known): (known.property, json.dumps(known.case)) for known in found if known.case}
    try:
        case = items.read(where).to_json()
    except exits.UsageError as error:
        raise pytest.UsageError(f"--recorded: {error}") from None
    return {record.identifier(name, json.loads(case)): (name, case) for name in PROPERTIES}


def of_properties(found: Retries, names: Sequence[str]) -> Retries:
    """Those of some properties, by their whole names; all of them where none is named.

    Raises:
        UsageError: a property is named of which there is nothing.
    """
    there = dict.fromkeys(name for name, _ in found.values())
    for name in names:
        if name not in there:
            expected = f"expected one of {', '.join(there)}" if there else "it needs --recorded"
            raise pytest.UsageError(f"--property: {name!r}: {expected}")
    return {known: retry for known, retry in found.items() if not names or retry[0] in names}


def _files(path: Path) -> list[Path]:
    """The records of a folder of them, of a lane, or of several lanes; a file is one."""
    if not path.is_dir():
        return [path]
    return sorted({*path.glob("*.json"), *path.rglob("records/*.json")} - {path / "lane.json"})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    records, retried = item.config.getoption("--records"), item.config.getoption("--recorded")
    if call.excinfo is not None and report.failed and (records or retried):
        try:
            text = _recorded(call.excinfo.value, item, records)
        except (
            Exception,
            pytest.fail.Exception,
        ) as error:  # which a time-out raises; the test has failed already, and its own message is worth more
            text = f"no record: {type(error).__name__}: {error}"
        if text:
            report.sections.append(("qrita", text))
    return report


def _recorded(error: BaseException, item: pytest.Item, records: str | None) -> str:
    """Write a record of each fault behind an exception; what there is to say of them."""
    from qrita.report import faults

    said = []
    engine = item.config.getoption("--engine", "")
    for fault, subject in faults.faults(error, item.nodeid, engine):
        found, table = faults.examined(fault, subject, faults.lane_of(Path(records)) if records else None)
        written = f"record: {record.write(found, Path(records))}" if records else "no record: no --records"
        said.append("\n".join([f"{found.kind}: {found.sentence}", "", *table, "", written]))
    return "\n\n".join(said)
