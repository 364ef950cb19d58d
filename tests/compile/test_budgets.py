"""The gate of budgets, on figures that nothing was compiled for."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import architectures
import budget_file
import budget_report
import budgets
import compile_report
import launches
import pytest
from budgets import WRITE, Figures, Move

BUDGET = Figures(100, 60, 0, 12, 0, 4096, 10)
KERNEL, VARIANT, TARGET = "mask_kernel", "mask-fp32-aligned-TILE1024-128threads", "gfx950"


def moves(budget: Figures | None, **found: int) -> list[Move]:
    return budgets.moves(f"qrita.kernels.emit:{KERNEL}", VARIANT, TARGET, budget, replace(BUDGET, **found))


def record(variant: str = VARIANT, target: str = TARGET, **found: int) -> dict[str, Any]:
    """As `compile_report.record_of` makes it."""
    kernel = f"qrita.kernels.emit:{KERNEL}"
    return {"architecture": target, "variant": variant, "kernel": kernel, "needs": asdict(replace(BUDGET, **found))}


FAILURES = [
    ("registers", 111, "over"),
    ("scalar_registers", 67, "over"),
    ("shared", 4506, "over"),
    ("spills", 1, "over"),
    ("scratch", 8, "over"),
    ("occupancy", 9, "under"),
]
PASSES = [
    ("registers", 110, "moved"),
    ("registers", 90, "moved"),
    ("registers", 89, "better"),
    ("scalar_registers", 66, "moved"),
    ("scalar_spills", 500, "moved"),
    ("shared", 0, "better"),
    ("occupancy", 11, "better"),
]


@pytest.mark.parametrize(("figure", "found", "verdict"), FAILURES)
def test_what_fails_names_kernel_variant_target_and_figure(figure: str, found: int, verdict: str) -> None:
    moved = moves(BUDGET, **{figure: found})
    budget = getattr(BUDGET, figure)
    assert moved == [Move(KERNEL, VARIANT, TARGET, figure, budget, found, verdict)]
    (sentence,) = budgets.sentences(moved)
    assert sentence.startswith(f"{VARIANT} on {TARGET}: {figure} of {KERNEL}: {found}, budget {budget}: ")
    assert budget_report.table(moved).splitlines()[1].split() == [
        *(KERNEL, VARIANT, TARGET, figure, str(budget), str(found), verdict)
    ]


@pytest.mark.parametrize(("figure", "found", "verdict"), PASSES)
def test_what_passes(figure: str, found: int, verdict: str) -> None:
    (move,) = moves(BUDGET, **{figure: found})
    assert move.verdict == verdict
    assert not budgets.sentences([move])


def test_nothing_is_said_of_what_is_as_it_was() -> None:
    assert not moves(BUDGET)
    assert budget_report.beside_budgets([record()], {"3.7.1": {TARGET: {VARIANT: BUDGET}}}, "3.7.1") == "as they were"


def test_shared_memory_where_there_was_none() -> None:
    (move,) = moves(replace(BUDGET, shared=0), shared=8)
    assert move.fails


def test_without_a_budget_nothing_may_be_in_memory_either() -> None:
    assert not moves(None, registers=255, occupancy=1)
    (move,) = moves(None, scratch=8)
    assert move.fails


def test_the_report_shows_what_matters_most_first_and_says_that_the_file_is_out_of_date() -> None:
    other = VARIANT.replace("1024", "2048")
    book = {"3.7.1": {TARGET: {VARIANT: BUDGET, other: BUDGET}}}
    lines = budget_report.beside_budgets(
        [record(registers=50), record(other, registers=200)], book, "3.7.1"
    ).splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["kernel", KERNEL, KERNEL]
    assert [line.split()[-1] for line in lines[1:3]] == ["over", "better"]
    assert lines[3] == f"1 better than budgeted: budgets.json is out of date: {WRITE}"


def test_a_version_without_budgets() -> None:
    sentence = budget_file.unknown_version({"3.7.1": {}}, "3.9.0")
    assert sentence == (
        "budgets.json has no budgets for Triton 3.9.0; expected one of 3.7.1: install that, or write budgets for this "
        f"one: {WRITE}"
    )
    assert budget_report.beside_budgets([record()], {"3.7.1": {}}, "3.9.0") == f"not judged: {sentence}"
    assert not budget_file.unknown_version({"3.7.1": {}}, "3.7.1")


def test_a_variant_without_a_budget_and_a_budget_without_a_variant() -> None:
    targets = {TARGET: {VARIANT: BUDGET, "list-old": BUDGET}}
    assert not budgets.mismatches(targets, TARGET, [VARIANT, "list-old"])
    assert budgets.mismatches(targets, TARGET, [VARIANT, "list-new"]) == [
        f"list-new on {TARGET}: it has no budget: {WRITE}",
        f"list-old on {TARGET}: a budget of what no launch compiles: {WRITE}",
    ]
    assert budgets.mismatches(targets, "sm_90", [VARIANT]) == [f"{VARIANT} on sm_90: it has no budget: {WRITE}"]
    without = budget_report.beside_budgets([record("list-new")], {"3.7.1": targets}, "3.7.1")
    assert without.splitlines()[-1] == f"list-new on {TARGET}: not judged: it has no budget"


def test_a_rewrite() -> None:
    """What was compiled is as found, but for memory; what was not keeps its budget, if it still is a variant."""
    before = {TARGET: {VARIANT: BUDGET, "list-old": BUDGET, "list-kept": BUDGET}, "sm_70": {VARIANT: BUDGET}}
    variants = {TARGET: [VARIANT, "list-kept", "list-new", "list-never"]}
    records = [record(registers=80, spills=7, scratch=28), record("list-new"), {**record("list-never"), "needs": None}]
    after = budget_report.rewritten(records, before, variants)
    assert after == {TARGET: {VARIANT: replace(BUDGET, registers=80), "list-kept": BUDGET, "list-new": BUDGET}}
    lines = budget_report.rewrite(before, after, variants).splitlines()
    assert [*lines[1].split()[1:5], lines[1].split()[-1]] == [VARIANT, TARGET, "registers", "100", "better"]
    assert [(line.split()[1], line.split()[-1]) for line in lines[2:-1]] == [
        ("list-old", "gone"),
        ("list-new", "new"),
        (VARIANT, "gone"),
    ]
    assert lines[-1] == f"list-never on {TARGET}: still without a budget: this run did not compile it"
    assert budget_report.rewrite(after, after, {TARGET: list(after[TARGET])}) == "nothing changed"


@pytest.mark.parametrize("writes", [False, True], ids=["compares", "writes"])
def test_the_results_of_all_processes_come_together(tmp_path: Path, writes: bool) -> None:
    """As xdist's processes send them: a property of a test's report."""
    architecture = architectures.wanted({})[0]
    target, names = architecture.name, [variant.name for variant in launches.compiled(architecture)]
    file, triton = tmp_path / "budgets.json", compile_report.triton_version()
    shown: Any = Shown()
    file.write_text(budget_file.text({triton: {target: {names[0]: BUDGET, "list-old": BUDGET}}}), encoding="utf-8")
    report = compile_report.Report(None, file, writes_budgets=writes)
    for found in (record(names[0], target, registers=300), record(names[1], target)):
        properties = [(compile_report.PROPERTY, json.dumps(found))]
        report.pytest_runtest_logreport(
            pytest.TestReport("test", ("", None, ""), {}, "passed", None, "call", user_properties=properties)
        )
    report.pytest_terminal_summary(shown)
    after = budget_file.load(file)[triton][target]
    if writes:
        assert after == {names[0]: replace(BUDGET, registers=300), names[1]: BUDGET}
        assert f"{names[2]} on {target}: still without a budget: this run did not compile it" in shown.text
        assert shown.text.endswith(f"written: {file}")
    else:
        assert after == {names[0]: BUDGET, "list-old": BUDGET}
        assert f"{names[1]} on {target}: not judged: it has no budget" in shown.text
    assert [KERNEL, names[0], target, "registers", "100", "300", "over"] in [
        line.replace(names[0].partition("-")[0] + "_kernel", KERNEL).split() for line in shown.text.splitlines()
    ]


class Shown:
    """What a terminal reporter was asked to show."""

    text = ""

    def section(self, title: str) -> None:
        self.text += f"\n{title}"

    def write_line(self, line: str) -> None:
        self.text += f"\n{line}"


def test_the_file_has_a_line_for_each_variant_and_is_read_as_it_was_written(tmp_path: Path) -> None:
    book = {"3.7.1": {TARGET: {VARIANT: BUDGET, "list": BUDGET}, "sm_90": {VARIANT: BUDGET}}, "3.9.0": {}}
    text = budget_file.text(book)
    assert sum(VARIANT in line and '"registers": 100' in line for line in text.splitlines()) == 2
    (tmp_path / "budgets.json").write_text(text, encoding="utf-8")
    assert budget_file.load(tmp_path / "budgets.json") == book
    assert budget_file.load(tmp_path / "none.json") == {}


def test_the_file_here_is_as_it_would_be_written() -> None:
    assert budget_file.text(budget_file.load()) == budget_file.FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spills": 4}, "expected no spills and no scratch"),
        ({"scratch": 8}, "expected no spills and no scratch"),
        ({"registers": -1}, "expected counts for registers, "),
        ({"registers": 1.5}, "expected counts for registers, "),
        ({"register": 1}, "expected counts for registers, "),
    ],
    ids=lambda change: "-".join(change) if isinstance(change, dict) else "",
)
def test_what_can_be_no_budget(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    file = tmp_path / "budgets.json"
    entry = {**asdict(BUDGET), **change}
    file.write_text(json.dumps({"schema": 1, "budgets": {"3.7.1": {TARGET: {VARIANT: entry}}}}), encoding="utf-8")
    with pytest.raises(ValueError, match=words) as raised:
        budget_file.load(file)
    assert f"{VARIANT} on {TARGET}" in str(raised.value)


def test_another_schema(tmp_path: Path) -> None:
    (tmp_path / "budgets.json").write_text('{"schema": 2}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"schema 2: expected 1; correct it, or remove the file and write it anew: "):
        budget_file.load(tmp_path / "budgets.json")


def test_no_json(tmp_path: Path) -> None:
    (tmp_path / "budgets.json").write_text("<<<<<<< HEAD", encoding="utf-8")
    with pytest.raises(ValueError, match=r"budgets\.json: expected JSON, found .* line 1 .*; correct it"):
        budget_file.load(tmp_path / "budgets.json")
