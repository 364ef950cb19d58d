"""The failure record: everything there is to say about one failing case, so that nobody has to ask a second question.

One JSON file for each shrunk failure. `record.schema.json` is made from the types here (`qrita.report.schema`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from qrita.report import shapes
from qrita.report.shapes import ShapeError

SCHEMA = 1

Kind = Literal[
    "wrong set",
    "tie side",
    "p boundary",
    "NaN rule",
    "wrong bits",
    "wrong numbers",
    "only in context",
    "non-determinism",
    "crash",
    "hang",
    "input changed",
    "wrong form",
]

MEANINGS: dict[str, str] = {
    "wrong set": "Other tokens are kept than those that the definition keeps.",
    "tie side": "Of equal logits at the cut, others are kept: the lowest token indices should be.",
    "p boundary": "The kept tokens are the first ones, as they should be, but top-p ends at another one.",
    "NaN rule": "A token that is NaN or -inf is kept: neither ever should be.",
    "wrong bits": "The right tokens are kept, but the bits that are written differ.",
    "wrong numbers": "The right tokens are kept, but the count, the mass or the total is wrong.",
    "only in context": "Alone, the row is answered rightly; it is wrong where the property asks for it otherwise.",
    "non-determinism": "The same call gives different answers when it is repeated.",
    "crash": "The implementation raised an exception.",
    "hang": "The implementation did not answer in time.",
    "wrong form": "The result has another type, shape, dtype or device than it should have.",
    "input changed": "The logits were written to, though nothing asked for it.",
}
"""What each kind of failure is, in a sentence."""


@dataclass(frozen=True)
class Row:
    """The row that was built, and its k and p."""

    dtype: Annotated[str, "float32, bfloat16 or float16"]
    vocab: Annotated[int, "its length"]
    eligible: Annotated[int, "how many of its tokens have a rank: those that are neither NaN nor -inf"]
    k: Annotated[int | None, "top-k; null: off"]
    p: Annotated[str | None, "top-p in decimal, as the fp32 that it is; null: off"]
    p_bits: Annotated[str | None, "the fp32 bits of p in hex"]
    digest: Annotated[str, "SHA-256 of the logits' bit patterns, little-endian, in the row's dtype"]


@dataclass(frozen=True)
class Cut:
    """Where a row is cut: the last kept token, how many are kept, and their weight."""

    key: Annotated[str, "the ordered key of the last kept token in hex; 0xffffffff where nothing is kept"]
    index: Annotated[int, "the last kept token; -1 where nothing is kept"]
    count: Annotated[int, "how many tokens are kept"]
    mass: Annotated[int, "the sum of their integer weights"]
    total: Annotated[int, "Z, the sum of the weights of all that top-k left"]


@dataclass(frozen=True)
class Token:
    """One token of the row."""

    index: Annotated[int, "its index in the row"]
    rank: Annotated[int | None, "its place in the order, from 1; null: NaN or -inf, which have none"]
    value: Annotated[str, "its logit in decimal, which may be nan or inf"]
    bits: Annotated[str, "its logit's bits in hex"]
    ulps: Annotated[int | None, "steps of the dtype from the logit of the oracle's last kept token; negative: below it"]
    tied: Annotated[bool, "whether its logit equals that of the oracle's last kept token"]
    weight: Annotated[int | None, "its integer weight; null: top-k has cut it off"]
    prefix: Annotated[int | None, "the weight of all tokens up to it in the order"]
    oracle: Annotated[bool, "whether it should be kept"]
    subject: Annotated[bool | None, "whether it was kept; null: there is no answer"]


@dataclass(frozen=True)
class Tie:
    """The tokens whose logit equals that of the oracle's last kept one."""

    value: Annotated[str, "their logit in decimal"]
    bits: Annotated[str, "its bits in hex"]
    first: Annotated[int, "the rank of the first, from 1"]
    last: Annotated[int, "the rank of the last"]
    oracle: Annotated[int, "how many of them should be kept"]
    subject: Annotated[int | None, "how many were kept; null: there is no answer"]


@dataclass(frozen=True)
class Masses:
    """The integer weights around the point where top-p is reached."""

    total: Annotated[int, "Z"]
    target: Annotated[int, "ceil(p * Z): the kept tokens weigh at least that"]
    before: Annotated[int, "what all but the last of the tokens weigh that should be kept"]
    reached: Annotated[int, "what all of them weigh"]


@dataclass(frozen=True)
class Form:
    """One of the forms in which an answer is asked for."""

    name: Annotated[Literal["mask", "cut", "candidates"], "which"]
    verdict: Annotated[Literal["right", "wrong", "raised", "not asked"], "how the row alone was answered in it"]
    found: Annotated[str, "the first difference, or the exception"] = ""


@dataclass(frozen=True)
class Reruns:
    """The same property on the same case, again."""

    count: Annotated[int, "how often"]
    failed: Annotated[int, "how often it failed"]
    answers: Annotated[int, "how many different answers were seen"]


@dataclass(frozen=True)
class Kernel:
    """A kernel that was launched for the case, as compiled."""

    name: Annotated[str, "its function's"]
    registers: Annotated[int | None, "of a thread"] = None
    spills: Annotated[int | None, "registers that were spilled to memory"] = None
    shared: Annotated[int | None, "bytes of shared memory"] = None


@dataclass(frozen=True)
class Subject:
    """The implementation under test."""

    name: Annotated[str, "what it is called"]
    device: Annotated[str, "torch's name of its device"]
    plan: Annotated[str, "how it says that it answers this call; empty: it says nothing"] = ""
    layout: Annotated[dict[str, int | str], "the plan, field by field, where it has one"] = field(default_factory=dict)
    kernels: Annotated[tuple[Kernel, ...], "what it launched, where that is known"] = ()


@dataclass(frozen=True)
class Surroundings:
    """Where it failed."""

    qrita: Annotated[str, "version"]
    torch: Annotated[str, "version and build"]
    triton: Annotated[str | None, "distribution and version"]
    python: Annotated[str, "version"]
    platform: Annotated[str, "operating system and machine"]
    card: Annotated[str | None, "the GPU, or else the CPU"]
    architecture: Annotated[str | None, "of the GPU"]
    driver: Annotated[str | None, "of the GPU"]
    fusion: Annotated[str | None, "TRITON_DEFAULT_FP_FUSION; null: not set"]
    overrides: Annotated[dict[str, str], "variables that make a card pass for another"]
    image: Annotated[str, "the container image; empty: none"]
    commit: Annotated[str, 'of the checkout, with "+" where files differ from it; empty: unknown']


@dataclass(frozen=True)
class Commands:
    """What to paste into a shell, in a clone of the repository."""

    lane: Annotated[str, "tries the case again as it failed"]
    show: Annotated[str, "shows the row around its cut, where qrita is installed; empty: the case has no recipe"]
    cpu: Annotated[str, "tries it on any machine without a GPU"]
    container: Annotated[str | None, "tries it in the lane's container; null: it has none"]
    other: Annotated[str, "tries it on a GPU of the other vendor"]


@dataclass(frozen=True)
class Record:
    """One failure."""

    schema: Annotated[int, "the version of this format"]
    property: Annotated[str, "the property that does not hold"]
    rule: Annotated[str, "the rules of docs/semantics.md that it tests, and what they say"]
    kind: Annotated[Kind, "what sort of failure it is"]
    sentence: Annotated[str, "what failed, where and why"]
    found: Annotated[str, "the first difference, in the property's own words"]
    details: Annotated[str, "the whole message, with the traceback where something was raised"]
    test: Annotated[str, "the id of the test that failed; empty: it was no test"]
    case: Annotated[dict[str, Any] | None, "the recipe, which `qrita replay` reads; null: the row was made by hand"]
    label: Annotated[str, "the case on one line"]
    row: Annotated[Row, "the row, its k and its p"]
    oracle: Annotated[Cut, "the right answer"]
    answer: Annotated[Cut | None, "the subject's answer for the row alone; null: it gave none"]
    forms: Annotated[tuple[Form, ...], "how the row alone was answered, form by form"]
    first: Annotated[Token | None, "the first token in the order that is kept and should not be, or the reverse"]
    differing: Annotated[int, "how many such tokens there are"]
    tie: Annotated[Tie | None, "the tie at the cut; null: nothing is kept"]
    masses: Annotated[Masses | None, "the masses around p; null: top-p is off"]
    around: Annotated[tuple[Token, ...], "the tokens around the cut in the order, and those that differ"]
    reruns: Annotated[Reruns, "what came of trying again"]
    subject: Annotated[Subject, "what was tested"]
    surroundings: Annotated[Surroundings, "where"]
    commands: Annotated[Commands, "how to try it again"]
    written: Annotated[str, "when: ISO 8601"]


def id_of(record: Record) -> str:
    """The same for the same property on the same case, on every machine."""
    return identifier(record.property, record.case or {"row": record.row.digest})


def file_name(record: Record) -> str:
    """One for each test that meets a failure."""
    return f"{id_of(record)}-{_digest(record.test)[:4]}.json"


def identifier(name: str, case: dict[str, Any]) -> str:
    """What a property on a case is called in file names and test ids."""
    return f"{name}-{_digest(json.dumps(case, sort_keys=True))[:10]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(record: Record, directory: Path) -> Path:
    """Write a record, in one step: a reader finds all of it or nothing."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / file_name(record)
    draft = file.with_suffix(f".{os.getpid()}.new")  # the workers of a run share the directory
    draft.write_text(json.dumps(asdict(record), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    draft.replace(file)
    return file


def read(files: Iterable[Path]) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records of files, and a sentence for each file that holds none."""
    records, problems = [], []
    for file in files:
        try:
            records.append(shapes.load(Record, file, SCHEMA))
        except ShapeError as error:
            problems.append(f"{file} {error}.")
    return tuple(records), tuple(problems)
