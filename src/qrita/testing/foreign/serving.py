"""The other side of `worker`: what runs in the process of a foreign subject."""

from __future__ import annotations

import traceback
from contextlib import suppress
from itertools import product
from multiprocessing.connection import Connection
from typing import Any

import torch

from qrita.testing.building import Case
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.loading import SubjectError, load
from qrita.testing.foreign.trying import tried
from qrita.testing.recipes import Recipe, build
from qrita.testing.subjects import Subject
from qrita.testing.sweep import Outcome, sweep
from qrita.testing.testers import Answer, Described, Item, answer, describe, raised


def serve(connection: Connection, name: str, path: str | None) -> None:
    """Say what the subject is, or why there is none; then reply to requests until the connection ends."""
    torch.set_num_threads(1)  # rows are short; the property `threads` tries other numbers
    try:
        subject = load(name, path)
        said = describe(subject) if isinstance(subject, Subject) else _described(subject)
    except SubjectError as error:
        connection.send(str(error))
        return
    except BaseException as error:
        connection.send(f"{name!r} cannot be loaded: {raised(error)}")
        return
    connection.send(said)
    last: tuple[Item | None, Case | None] = (None, None)
    while True:
        try:
            what, item, wanted = connection.recv()
        except EOFError:
            return
        if what == "warm":
            if isinstance(subject, Implementation):
                _warm(subject)
            connection.send(None)
            continue
        case = last[1] if item == last[0] and last[1] is not None else _case(item)
        last = (item, case)
        connection.send(_reply(subject, what, case, wanted))


def _warm(subject: Implementation) -> None:
    """Have kernels compiled before anything is timed; what goes wrong here will go wrong in a try, and be told."""
    contract = subject.contract
    settings = [(5 if contract.top_k else None, p) for p in ((None, 0.5) if contract.top_p else (None,))]
    settings += [(None, 0.5)] if contract.top_p else []
    for dtype, rows, vocab, (k, p) in product(contract.dtypes, (1, 2, 65), (4096, 1001), settings):
        with suppress(Exception):
            subject.kept(subject.put(torch.rand((rows, vocab)).to(getattr(torch, dtype))), k, p)


def _case(item: Item) -> Case:
    return build(item) if isinstance(item, Recipe) else item.build()


def _reply(subject: Subject | Implementation, what: str, case: Case, wanted: str) -> tuple[Any, bool]:
    """The reply to one request, and whether this process is fit for another."""
    reply: Any
    try:
        if what == "answer":
            reply = answer(subject, case) if isinstance(subject, Subject) else _answer(subject, case)
        else:
            outcome = _tried(subject, case, wanted)
            reply = (outcome.status, outcome.message)
    except BaseException:  # sys.exit and the like
        reply = ("crashed", f"{traceback.format_exc()}recipe:  {case.line}")
    return reply, _fit(subject.device)


def _tried(subject: Subject | Implementation, case: Case, name: str) -> Outcome:
    if isinstance(subject, Implementation):
        return tried(subject, case, name)
    (outcome,) = sweep(subject, [case], [name])
    return outcome


def _described(subject: Implementation) -> Described:
    return Described(subject.name, subject.device, subject.contract, "", dict(subject.versions), subject.about)


def _answer(subject: Implementation, case: Case) -> Answer:
    """What an implementation keeps of a row alone; it has no cut."""
    none = "none: cuts are not among its outputs"
    try:
        return Answer(subject.kept(subject.put(case.logits[None]), case.k, case.p)[0], none)
    except Exception as error:
        return Answer(raised(error), none)


def _fit(device: str) -> bool:
    """Whether the device still answers: after an illegal access every later call fails, whatever it is."""
    if not device.startswith("cuda"):
        return True
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True
