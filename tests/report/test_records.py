"""Failure records: what they say of planted bugs, how they are written and read."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import shlex
from pathlib import Path
from typing import get_args

import planted_faults as planted
import planted_lanes
import pytest

from qrita.cli import findings, items, main
from qrita.cli.findings import Finding
from qrita.report import checked, faults, lanes, record
from qrita.report.record import Kind, Record
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import Aim, Planted, Recipe, Tie, build
from qrita.testing.subjects import Subject
from qrita.testing.testers import Here

KINDS = [*planted.CASES, "hang"]


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind: Kind) -> None:
    found = planted.record(kind)
    assert found.kind == kind
    assert found.rule == PROPERTIES[found.property].rule
    assert found.sentence
    assert found.commands.container is not None


def test_every_kind_has_a_meaning_and_a_test() -> None:
    assert set(get_args(Kind)) == set(record.MEANINGS) == {*KINDS, "wrong form"}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_read_as_it_was_written(kind: Kind, tmp_path: Path) -> None:
    found = planted.record(kind)
    file = record.write(found, tmp_path)
    assert record.read([file]) == ((found,), ())
    assert [path.name for path in tmp_path.iterdir()] == [record.file_name(found)]  # no draft is left


@pytest.mark.parametrize("kind", KINDS)
def test_its_case_is_the_one_that_failed(kind: Kind, tmp_path: Path) -> None:
    """The file builds the same row, bit for bit, and the property fails on it again."""
    found = planted.record(kind)
    case = findings.case(items.read(str(record.write(found, tmp_path))))
    assert hashlib.sha256(case.raw.tobytes()).hexdigest() == found.row.digest
    if kind in planted.CASES and kind != "non-determinism":
        bug, name = planted.CASES[kind]
        assert name == found.property
        with pytest.raises(Exception, match=r"."):
            PROPERTIES[name].check(planted.subject(bug), case)


def test_one_token_too_many() -> None:
    """Equal logits, k = 7: ranks 1 to 7 are tokens 0 to 6, and token 7 is one too many."""
    found = examined(Recipe("equal", 40, k=7), "cut")
    assert (found.kind, found.differing) == ("wrong set", 1)
    assert found.first is not None
    assert (found.first.index, found.first.rank, found.first.ulps, found.first.tied) == (7, 8, 0, True)
    assert (found.first.oracle, found.first.subject, found.first.weight) == (False, True, None)
    assert found.tie == record.Tie("0", "0x00000000", 1, 40, 7, 8)
    assert (found.oracle.count, found.oracle.index) == (7, 6)
    assert found.answer is not None
    assert (found.answer.count, found.answer.index) == (8, 7)
    assert found.sentence == (
        "The implementation 'k off by one' keeps token 7, which should be dropped: logit 0 (0x00000000), rank 8 in the "
        "row's order. k = 7: the first 7 tokens are kept. It is one of 40 tokens with that logit, ranks 1 to 40: of "
        "equal logits the lowest token indices come first, and 7 of these are kept."
    )
    assert found.masses is None


def test_around_p() -> None:
    """Four tokens of equal weight, p = 0.5: two reach it exactly, and a third is one too many."""
    found = examined(Recipe("equal", 4, "bfloat16", p=0.5), "mask", "> for >= in the top-p target")
    quarter = 1 << 40
    assert found.kind == "p boundary"
    assert found.masses == record.Masses(4 * quarter, 2 * quarter, quarter, 2 * quarter)
    assert "p = 0.5 is reached where the first 2 tokens are kept, with 0.500000000 of the weight" in found.sentence
    assert [token.prefix for token in found.around] == [quarter, 2 * quarter, 3 * quarter, 4 * quarter]
    assert list(planted.rows(found)) == [(1, True, True), (2, True, True), (3, False, True), (4, False, False)]
    assert (found.row.p, found.row.p_bits, found.first.bits if found.first else "") == ("0.5", "0x3f000000", "0x0000")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_steps_from_the_cut(dtype: str) -> None:
    """Steps are counted on bits: across zero, whose two signs are one place, and among subnormals."""
    negative = 1 << (31 if dtype == "float32" else 15)
    patterns = [2, 1, 0, negative, negative | 1, negative | 2]
    recipe = Recipe("equal", 6, dtype, planted=tuple(Planted(i, bits) for i, bits in enumerate(patterns)), k=3)
    found = examined(recipe, "cut")
    assert [token.ulps for token in found.around] == [2, 1, 0, 0, -1, -2]
    assert [token.bits for token in found.around] == [
        f"0x{bits:0{8 if dtype == 'float32' else 4}x}" for bits in patterns
    ]
    assert [token.tied for token in found.around] == [False, False, True, True, False, False]


def test_what_is_shown_of_a_long_row() -> None:
    found = examined(Recipe("normal", 4000, "float16", seed=1, ties=(Tie("cut", 100, 1, 50),), k=300), "mask")
    ranks = [token.rank for token in found.around if token.rank]
    assert ranks == sorted(ranks)
    assert ranks[0] == 1
    assert {*range(294, 308)} <= set(ranks)
    assert len(ranks) <= 40
    for token in found.around:
        assert float(token.value) == pytest.approx(planted.bits(token.bits, "float16"))
    assert found.tie is not None
    assert found.tie.last - found.tie.first + 1 >= 50


def test_nan_and_infinities() -> None:
    recipe = Recipe(
        "normal", 30, planted=(Planted(3, 0x7FC00001), Planted(4, 0x7F800000), Planted(5, 0xFF800000)), p=0.5
    )
    found = examined(recipe, "mask", "NaN kept")
    assert found.kind == "NaN rule"
    assert found.row.eligible == 28
    assert found.sentence.endswith("keeps token 3, whose logit is nan (0x7fc00001): NaN and -inf are never kept.")
    assert (found.around[-1].index, found.around[-1].rank, found.around[-1].ulps) == (3, None, None)
    assert math.isinf(float(found.around[0].value))
    json.loads(json.dumps(dataclasses.asdict(found), allow_nan=False))


def test_a_row_that_keeps_nothing() -> None:
    recipe = Recipe("equal", 2, planted=(Planted(0, 0x7FC00000), Planted(1, 0xFF800000)), k=1)
    found = examined(recipe, "mask", "NaN kept")
    assert (found.tie, found.masses, found.oracle.count) == (None, None, 0)
    assert [token.rank for token in found.around] == [None]


def test_runs_again() -> None:
    assert planted.record("wrong set").reruns == record.Reruns(5, 5, 1)
    assert planted.record("hang").reruns == record.Reruns(0, 0, 0)
    assert [form.verdict for form in planted.record("hang").forms] == ["not asked"] * 3
    again = planted.record("non-determinism").reruns
    assert again.failed < again.count or again.answers > 1


def test_a_crash_says_what_was_raised() -> None:
    found = planted.record("crash")
    assert found.found.startswith("RuntimeError: no room for ")
    assert "planted_engines.py" in found.details
    assert {form.name: form.verdict for form in found.forms} == {
        "mask": "right",
        "cut": "right",
        "candidates": "raised",
    }


def test_several_faults_of_one_test() -> None:
    """hypothesis raises them as a group; on Python 3.10 it is a backport of ExceptionGroup."""

    class Group(Exception):
        def __init__(self, exceptions: list[Exception]) -> None:
            self.exceptions = exceptions

    errors: list[Exception] = []
    for vocab in (40, 50):
        with pytest.raises(AssertionError) as caught:
            PROPERTIES["cut"].check(planted.subject("k off by one"), build(Recipe("equal", vocab, k=7)))
        errors.append(caught.value)
    found = list(faults.faults(Group([*errors, ValueError("not of a property")])))
    assert [fault.case.vocab for fault, _ in found] == [40, 50]


def test_other_exceptions_are_no_faults() -> None:
    with pytest.raises(ZeroDivisionError) as error:
        1 / 0  # noqa: B018
    assert list(faults.faults(error.value)) == []


def test_a_row_made_by_hand_has_no_recipe() -> None:
    case = dataclasses.replace(build(Recipe("equal", 40, k=7)), recipe=None, label="made by hand")
    with pytest.raises(AssertionError) as error:
        PROPERTIES["cut"].check(planted.subject("k off by one"), case)
    fault, subject = next(faults.faults(error.value, "tests/conformance/test_faults.py::test_x[a-b]"))
    found, _ = faults.examined(fault, subject)
    assert (found.case, found.label, found.commands.show) == (None, "made by hand", "")
    assert found.commands.cpu == "ci/tox -e cpu -- -k test_x"
    assert record.id_of(found).startswith("cut-")


# --- commands ---------------------------------------------------------------------------------------------------


def test_commands_survive_the_shell() -> None:
    found = examined(Recipe("normal", 20, k=3, p=Aim(2, 1)), "cut").commands
    for command in (found.lane, found.cpu, found.container or "", found.other):
        words = shlex.split(command)
        assert words[-2] == "--property=cut"
        assert json.loads(words[-1].removeprefix("--recorded="))["p"] == {"tokens": 2, "ulps": 1}
    assert found.lane.startswith("ci/tox --target cuda-h200 -- --property=cut ")  # its own -k is left out
    assert (found.container or "").startswith("docker/run cuda-h200 --build -- ")
    assert found.other.startswith("ci/tox -e rocm -- ")


def test_show_replays_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = examined(Recipe("equal", 40, k=7), "cut")
    words = shlex.split(found.commands.show)
    assert words[:3] == ["qrita", "replay", "--subject"]
    assert main(["replay", words[-1]]) == 0
    assert "PASSED" in capsys.readouterr().out


def test_an_id_is_about_what_the_case_is() -> None:
    """Not about how it is written; and another property or another case is another id."""
    one = record.identifier("cut", {"family": "equal", "vocab": 2})
    assert one == record.identifier("cut", {"vocab": 2, "family": "equal"})
    assert one != record.identifier("mask", {"family": "equal", "vocab": 2})
    assert one[-10:] != record.identifier("cut", {"family": "equal", "vocab": 3})[-10:]


# --- files ------------------------------------------------------------------------------------------------------


def test_a_corrupt_record_costs_nothing_else(tmp_path: Path) -> None:
    lane = planted_lanes.lane(tmp_path / "cuda", planted_lanes.passes("mask"), outcome="failed", reason="no")
    kept = record.write(planted.record("wrong set"), lane / "records")
    texts = {
        "empty": "",
        "cut-off": kept.read_text(encoding="utf-8")[:1000],
        "foreign": '{"case": {"family": "equal"}}',
        "newer": '{"schema": 2}',
    }
    for name, text in texts.items():
        (lane / "records" / f"{name}.json").write_text(text, encoding="utf-8")
    (lane / "records" / "draft.123.new").write_text("{", encoding="utf-8")
    found = lanes.read(lane)
    assert found.records == (planted.record("wrong set"),)
    says = {
        "cut-off.json is not JSON (",
        "empty.json is empty, expected a JSON object.",
        "foreign.json schema is missing, expected an integer.",
        "newer.json has schema 2, expected 1: another version of qrita wrote it.",
    }
    assert len(found.problems) == len(says)
    assert all(any(text in problem for problem in found.problems) for text in says)


def test_the_lane_of_a_record(tmp_path: Path) -> None:
    planted_lanes.lane(tmp_path / "cpu")
    identity = faults.lane_of(tmp_path / "cpu" / "records")
    assert identity is not None
    assert identity.command == "ci/tox -e cpu"
    assert faults.lane_of(tmp_path / "elsewhere") is None


# --- qrita check ------------------------------------------------------------------------------------------------


def test_of_qrita_check() -> None:
    item = Recipe("equal", 40, k=7)
    tester = Here(planted.subject("k off by one"))
    (finding,) = findings.findings(tester, item, ["mask"])
    found = checked.record(tester, item, finding, subject="planted:Engine", again="qrita replay x")
    assert (found.kind, found.first and found.first.index, found.reruns.failed) == ("wrong set", 7, 5)
    assert [form.verdict for form in found.forms] == ["wrong", "wrong", "not asked"]
    assert found.commands.lane == "qrita replay x"
    assert found.commands.show.startswith("qrita replay --subject planted:Engine ")


@pytest.mark.parametrize(
    ("status", "kind"), [("crashed", "crash"), ("hung", "hang"), ("input changed",) * 2, ("wrong form",) * 2]
)
def test_of_a_subject_in_its_own_process(status: str, kind: Kind) -> None:
    tester, item = Here(planted.subject("k off by one")), Recipe("equal", 40, k=7)
    finding = Finding("mask", status, "what was found", "the whole message")  # type: ignore[arg-type]
    found = checked.record(tester, item, finding, subject=None, again="qrita replay x")
    assert (found.kind, found.found, found.details) == (kind, "what was found", "the whole message")


def examined(recipe: Recipe, name: str, bug: str = "k off by one") -> Record:
    subject: Subject = planted.subject(bug)
    with pytest.raises(Exception, match=r".") as error:
        PROPERTIES[name].check(subject, build(recipe))
    fault, failing = next(faults.faults(error.value))
    return faults.examined(fault, failing, planted.IDENTITY)[0]
