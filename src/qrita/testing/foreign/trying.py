"""One property of an implementation on one case: what became of it."""

from __future__ import annotations

import traceback

from qrita.testing.building import Case
from qrita.testing.foreign.implementation import Implementation, InputChanged, WrongForm
from qrita.testing.foreign.properties import NotPromised, check
from qrita.testing.invariance import NotRun
from qrita.testing.properties import PROPERTIES
from qrita.testing.sweep import Outcome


def tried(implementation: Implementation, case: Case, name: str) -> Outcome:
    """Try a property by name."""
    try:
        found = check(name, implementation, case)
    except NotPromised as reason:
        return Outcome(name, case, "not promised", str(reason))
    except NotRun as reason:
        return Outcome(name, case, "not run", str(reason))
    except InputChanged as change:
        return Outcome(name, case, "input changed", _message(implementation, case, name, str(change)))
    except WrongForm as form:
        return Outcome(name, case, "wrong form", _message(implementation, case, name, str(form)))
    except Exception:
        return Outcome(name, case, "crashed", f"{traceback.format_exc()}recipe:  {case.line}")
    if found is None:
        return Outcome(name, case, "passed")
    return Outcome(name, case, "failed", _message(implementation, case, name, found))


def _message(implementation: Implementation, case: Case, name: str, found: str) -> str:
    return "\n".join(
        (
            f"property {name!r} does not hold for {implementation.name!r} on {implementation.device!r}",
            f"rule:    {PROPERTIES[name].rule}",
            f"found:   {found}",
            f"recipe:  {case.line}",
            f"call:    {case.dtype} logits [{case.vocab}], k={case.k}, p={case.p!r}",
        )
    )
