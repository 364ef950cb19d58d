"""Merged lanes as one JUnit XML, a suite for each lane, for what reads that."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from qrita.report.junit import Test
from qrita.report.lanes import Lane
from qrita.report.merging import Merged


def suites(merged: Merged) -> str:
    """The file's text. A lane that did not come to its tests is a suite with one error."""
    root = Element("testsuites", name="qrita")
    for lane in merged.lanes:
        _suite(root, lane)
    for problem in merged.problems:
        suite = SubElement(root, "testsuite", name="reports", tests="1", failures="0", errors="1", skipped="0")
        SubElement(SubElement(suite, "testcase", classname="reports", name="readable"), "error", message=problem)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: Element, lane: Lane) -> None:
    broken = not lane.state.good and not lane.count("failed")
    skipped = lane.count("not run") + lane.count("not promised")
    suite = SubElement(
        root,
        "testsuite",
        name=lane.name,
        tests=str(len(lane.tests) + broken),
        failures=str(lane.count("failed")),
        errors=str(int(broken)),
        skipped=str(skipped),
    )
    for test in lane.tests:
        _case(suite, test)
    if broken:
        case = SubElement(suite, "testcase", classname=lane.name, name=lane.state.word)
        SubElement(case, "error", message=lane.reason)


def _case(suite: Element, test: Test) -> None:
    place, _, name = test.id.rpartition("::")
    case = SubElement(suite, "testcase", classname=place, name=name, time=f"{test.seconds:.3f}")
    if test.outcome == "failed":
        SubElement(case, "failure", message=test.message).text = test.details
    elif test.outcome != "passed":
        SubElement(case, "skipped", message=test.message, type=test.outcome)
