"""From a property that failed to a record: the fault as it was met, and everything around it."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import re
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qrita import arguments, reference
from qrita.cli.table import table
from qrita.records import Problem
from qrita.report import commands, compiled, diagnosis, lanes, sentences, shapes, surroundings
from qrita.report.answers import Answer, ask
from qrita.report.diagnosis import Diagnosis, Manner
from qrita.report.lanes import Identity
from qrita.report.record import SCHEMA, Cut, Record, Row, Surroundings
from qrita.report.record import Subject as Tested
from qrita.testing.building import Case
from qrita.testing.properties import Mismatch, NotRun, Property
from qrita.testing.subjects import Subject


@dataclass(frozen=True)
class Fault:
    """A property that does not hold.

    Attributes:
        found: the first difference, or the exception on one line.
        details: the whole message.
        manner: how it failed where it did not come to a difference.
        test: the id of the test; "" where it was none.
        engine: what chooses the subject on a command line; "": its name does.
    """

    property: Property
    case: Case
    found: str
    details: str
    manner: Manner = ""
    test: str = ""
    engine: str = ""


def faults(error: BaseException, test: str = "", engine: str = "") -> Iterator[tuple[Fault, Subject]]:
    """The faults behind an exception, each with whose it is: hypothesis raises several as a group, others have none."""
    inner = getattr(error, "exceptions", None)
    if inner:
        for each in inner:
            yield from faults(each, test, engine)
        return
    tried = _tried(error)
    if tried is None or isinstance(error, NotRun):
        return
    failing, subject, case = tried
    if isinstance(error, Mismatch):
        yield Fault(failing, case, _found(str(error)), str(error), test=test, engine=engine), subject
        return
    hung = type(error).__name__ == "Failed" and str(error).startswith("Timeout")  # pytest-timeout's
    details = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    line = traceback.format_exception_only(type(error), error)[-1].strip()
    yield Fault(failing, case, line, details, "hang" if hung else "crash", test, engine), subject


def _tried(error: BaseException) -> tuple[Property, Subject, Case] | None:
    """What was being tried when it was raised: the arguments of the innermost call of Property.check."""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code is Property.check.__code__:
            return frame.f_locals["self"], frame.f_locals["subject"], frame.f_locals["case"]
    return None


def _found(message: str) -> str:
    found = re.search(r"^found: +(.*?)^recipe: ", message, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else message


def examined(fault: Fault, subject: Subject, identity: Identity | None = None) -> tuple[Record, list[str]]:
    """Ask the subject once more: the record, and the row around its cut as lines of text.

    Args:
        identity: of the lane that this is part of, where there is one.
    """
    hung = fault.manner == "hang"
    answer = Answer() if hung else ask(subject, fault.case, fault.property)
    found = assembled(
        fault,
        answer,
        tested=tested(subject, fault.case, asked=not hung),
        here=surroundings.gather(subject.device),
        identity=identity,
        written=now(),
    )
    seen = Diagnosis(fault.case, answer)
    kept = "no answer" if seen.subject is None else seen.subject
    return found, [line for line, _ in table(fault.case, kept, answer.cut or "not asked")]


def now() -> str:
    """ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def assembled(
    fault: Fault,
    answer: Answer,
    *,
    tested: Tested,
    here: Surroundings,
    identity: Identity | None,
    written: str,
    again: str = "",
) -> Record:
    """The record: a pure function of the case with the oracle's answer, the subject's answer, and where it was met."""
    seen = Diagnosis(fault.case, answer)
    case, built = as_json(fault.case), row(fault.case)
    kind = diagnosis.kind(seen, fault.property.name, fault.found, fault.manner)
    first = diagnosis.token(seen, int(seen.differing[0])) if len(seen.differing) else None
    tie, masses = diagnosis.tie(seen), diagnosis.masses(seen)
    return Record(
        schema=SCHEMA,
        property=fault.property.name,
        rule=fault.property.rule,
        kind=kind,
        sentence=sentences.sentence(
            kind,
            name=tested.name,
            found=fault.found,
            by_cut=seen.by_cut,
            row=built,
            kept=len(fault.case.answer.kept),
            first=first,
            tie=tie,
            masses=masses,
            reruns=answer.reruns,
        ),
        found=fault.found,
        details=fault.details,
        test=fault.test,
        case=case,
        label=fault.case.line,
        row=built,
        oracle=_cut(fault.case.answer.cut),
        answer=_cut(answer.cut) if isinstance(answer.cut, reference.Cut) else None,
        forms=diagnosis.forms(seen),
        first=first,
        differing=len(seen.differing),
        tie=tie,
        masses=masses,
        around=diagnosis.around(seen),
        reruns=answer.reruns,
        subject=tested,
        surroundings=here,
        commands=commands.commands(fault.property.name, case, fault.test, fault.engine or tested.name, identity, again),
        written=written,
    )


def tested(subject: Subject, case: Case, *, asked: bool) -> Tested:
    """The subject, its plan for the row alone, and what it launches for it, as far as it says so."""
    words, layout = "", dict[str, int | str]()
    with contextlib.suppress(Exception):  # a device that has failed for good answers nothing any more
        words = _described(subject, case)
    with contextlib.suppress(Exception):
        layout = _layout(subject, case)
    launched = compiled.launched(lambda: subject.top_k_top_p(case.logits.clone(), case.k, case.p)) if asked else ()
    return Tested(subject.name, subject.device, words, layout, launched)


def _described(subject: Subject, case: Case) -> str:
    describe = getattr(subject.engine, "describe", None)
    return str(describe(_problem(subject, case))) if describe else ""


def _layout(subject: Subject, case: Case) -> dict[str, int | str]:
    plan_for = getattr(subject.engine, "plan_for", None)
    plan = plan_for(_problem(subject, case)) if plan_for else None
    return asdict(plan) if is_dataclass(plan) and not isinstance(plan, type) else {}


def _problem(subject: Subject, case: Case) -> Problem:
    return arguments.problem(subject.put(case.logits.clone())[None], case.k, case.p)


def row(case: Case) -> Row:
    """The row as built."""
    little_endian = case.raw.astype(case.raw.dtype.newbyteorder("<"))
    return Row(
        dtype=case.dtype,
        vocab=case.vocab,
        eligible=int(reference.eligible(reference.widen(case.raw, case.dtype)).sum()),
        k=case.k,
        p=None if case.p is None else f"{np.float32(case.p)!s}",
        p_bits=None if case.p is None else f"0x{int(np.float32(case.p).view(np.uint32)):08x}",
        digest=hashlib.sha256(little_endian.tobytes()).hexdigest(),
    )


def as_json(case: Case) -> dict[str, Any] | None:
    """What `qrita replay` builds the case from: a recipe, or a real row; None where it was made by hand."""
    try:
        found = json.loads(case.line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _cut(cut: reference.Cut) -> Cut:
    return Cut(f"0x{cut.key:08x}", cut.index, cut.count, cut.mass, cut.total)


def lane_of(records: Path) -> Identity | None:
    """The lane whose directory holds the directory of records, where it is one."""
    try:
        return shapes.load(Identity, records.resolve().parent / "lane.json", lanes.SCHEMA)
    except shapes.ShapeError:
        return None
