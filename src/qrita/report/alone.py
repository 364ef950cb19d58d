"""How the rows of failures are answered alone, form by form: what shows that several failures are one fault."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from qrita.report import record
from qrita.report.merging import Merged
from qrita.report.record import Record


def verdicts(found: Record) -> tuple[tuple[str, str], ...]:
    """Each form with its verdict."""
    return tuple((form.name, form.verdict) for form in found.forms)


def fault(found: Record) -> Hashable:
    """What failures share that are taken for one fault: the row, and a wrong answer to it alone, wrong in one way.

    Where the row alone is answered rightly, or was not asked for, nothing says that two failures have one cause.
    """
    row = found.row
    if not any(verdict in ("wrong", "raised") for _, verdict in verdicts(found)):
        return record.id_of(found)
    return (row.digest, row.dtype, row.k, row.p_bits, verdicts(found))


def words(found: Record) -> str:
    """The verdicts as a clause: "cut and candidates are right, the mask is not"."""
    said = verdicts(found)
    right = [name for name, verdict in said if verdict == "right"]
    wrong = [name for name, verdict in said if verdict in ("wrong", "raised")]
    if not right and not wrong:
        return "the row was not asked for alone"
    if not wrong:
        return f"{_listed(right)} {_are(right)} right"
    if not right:
        return f"{_listed(wrong)} {_are(wrong)} wrong"
    return f"{_listed(right)} {_are(right)} right, {_listed(wrong)} {_are(wrong)} not"


def summed_up(merged: Merged) -> Iterator[str]:
    """What several failures have in common: "All 10 failures: ..." where it is all of them."""
    known = {record.id_of(found): found for lane in merged.lanes for found in lane.records}
    alike: dict[Hashable, list[Record]] = {}
    for found in known.values():
        alike.setdefault(verdicts(found), []).append(found)
    for members in alike.values():
        if len(members) > 1:
            which = f"all {len(members)}" if len(members) == len(known) else f"{len(members)} of {len(known)}"
            yield f"{which} recorded failures: where the row is answered alone, {words(members[0])}"


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return f"the {names[0]}"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _are(names: list[str]) -> str:
    """Candidates are several by themselves."""
    return "is" if len(names) == 1 and not names[0].endswith("s") else "are"
