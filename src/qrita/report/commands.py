"""What to paste into a shell to try a failing case again. Each is for a clone of the repository."""

from __future__ import annotations

import json
import shlex
from typing import Any

from qrita.report.lanes import Identity
from qrita.report.record import Commands

RETRY = "test_recorded"
"""The test that tries what --recorded gives it."""


def commands(
    name: str, case: dict[str, Any] | None, test: str, engine: str, identity: Identity | None, again: str = ""
) -> Commands:
    """The commands for a property on a case. A case without a recipe can only be tried through its own test.

    Args:
        name: the property.
        test: the id of the test that failed.
        engine: what chooses the implementation.
        identity: the lane's, where there is a lane.
        again: what tries it as it failed, where that was no test.
    """
    chosen = _chosen(name, case, test)
    lane = identity.command.partition(" -- ")[0] if identity else ""
    vendor = (identity.environment if identity else "").partition("-")[0]
    target = identity.targets[0] if identity and identity.targets else None
    return Commands(
        lane=again or (f"{lane} -- {chosen}" if lane else f"pytest --engine {shlex.quote(engine)} {chosen}"),
        show=f"qrita replay --subject {shlex.quote(engine)} {shlex.quote(json.dumps(case))}" if case else "",
        cpu=f"ci/tox -e cpu -- {chosen}",
        container=f"docker/run {target} --build -- {chosen}" if target and vendor in ("cuda", "rocm") else None,
        other=f"ci/tox -e {'cuda' if vendor == 'rocm' else 'rocm'} -- {chosen}",
    )


def _chosen(name: str, case: dict[str, Any] | None, test: str) -> str:
    """pytest's arguments that choose the case."""
    if case is None:
        return f"-k {shlex.quote(test.partition('::')[2].rpartition('::')[2].partition('[')[0] or name)}"
    # With "=": pytest takes a word of its own that follows an option of ours for a path, where one is of that name.
    # The property by an option that takes its whole name: -k mask would choose mask_value too.
    return f"{shlex.quote(f'--property={name}')} {shlex.quote(f'--recorded={json.dumps(case)}')}"
