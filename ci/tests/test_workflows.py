"""The workflows of .github keep rules that linters do not know, and their scripts cannot turn a failure into a pass.

Each rule is a function from a workflow to what is wrong in it. Each is also shown a copy that breaks it, since a rule
that finds nothing may be one that looks at nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
MATRIX = tomllib.loads((ROOT / "ci" / "matrix.toml").read_text(encoding="utf-8"))
HOSTED = {label for runner in MATRIX["runners"].values() if runner.get("hosted") for label in runner["labels"]}
LANES = "./.github/workflows/lane.yml"
LABELS = "${{ matrix.lane.labels }}"
GATE = "gpu-runners"
TRIGGERS = {"pull_request", "push", "schedule", "workflow_dispatch", "workflow_call"}
"""Of these, none runs a fork's code with the rights of this repository, as pull_request_target does."""


@dataclass(frozen=True)
class Workflow:
    """A file, as text and as data. Every scalar is a string, so that `on` is no boolean."""

    name: str
    text: str

    @cached_property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = yaml.load(self.text, Loader=yaml.BaseLoader)
        return data

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        return dict(self.data["jobs"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [step for job in self.jobs.values() for step in job.get("steps", ())]

    @property
    def triggers(self) -> dict[str, Any]:
        on = self.data["on"]
        return dict(on) if isinstance(on, dict) else dict.fromkeys([on] if isinstance(on, str) else on)

    @property
    def calls(self) -> dict[str, dict[str, Any]]:
        """The jobs that run lanes."""
        return {name: job for name, job in self.jobs.items() if job.get("uses") == LANES}


Rule = Callable[[Workflow], Iterator[str]]


def read(name: str) -> Workflow:
    return Workflow(name, (FOLDER / name).read_text(encoding="utf-8"))


ALL = [read(file.name) for file in sorted(FOLDER.iterdir())]


def triggered(workflow: Workflow) -> Iterator[str]:
    """Nothing starts a workflow with rights that a fork's code must not have."""
    yield from set(workflow.triggers) - TRIGGERS


def pinned(workflow: Workflow) -> Iterator[str]:
    """Actions of others are pinned by commit, with the version beside it: a tag can be moved to other code."""
    for line in re.findall(r"^\s*(?:- )?uses:\s*(.+)", workflow.text, re.MULTILINE):
        if not re.fullmatch(r"\./\S+|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line):
            yield line


def placed(workflow: Workflow) -> Iterator[str]:
    """A job runs on a hosted runner of the matrix, or where its lane belongs."""
    for name, job in workflow.jobs.items():
        if "steps" in job and str(job.get("runs-on")) not in {*HOSTED, LABELS}:
            yield f"{name}: {job.get('runs-on')}"


def tagged(workflow: Workflow) -> Iterator[str]:
    """Some target of the matrix carries the tag that is run."""
    literal = re.findall(r"--tag[ =]([\w-]+)", workflow.text)
    for tag in [*literal, *(job.get("with", {}).get("tag") for job in workflow.calls.values())]:
        if not targets(tag):
            yield str(tag)


def least(workflow: Workflow) -> Iterator[str]:
    """The token may read, and nothing is handed a secret."""
    if workflow.data.get("permissions") != {"contents": "read"}:
        yield f"permissions: {workflow.data.get('permissions')}"
    for name, job in workflow.jobs.items():
        if not set(dict(job.get("permissions", {})).values()) <= {"read", "none"}:
            yield f"{name}: {job['permissions']}"
    yield from re.findall(r"\bsecrets\b.{,40}", json.dumps(workflow.data))
    for step in workflow.steps:
        keeps = step.get("with", {}).get("persist-credentials") != "false"
        if keeps and str(step.get("uses")).startswith("actions/checkout@"):
            yield "checkout leaves the token on the disk"


def timed(workflow: Workflow) -> Iterator[str]:
    """Every job ends; without a limit of its own one that hangs takes six hours."""
    for name, job in workflow.jobs.items():
        if "steps" in job and not re.fullmatch(r"[1-9]\d*|\$\{\{ inputs.minutes \}\}", job.get("timeout-minutes", "")):
            yield name
    for name, job in workflow.calls.items():
        if not 0 < int(job["with"].get("minutes", 0)) <= 360:
            yield name


def judged(workflow: Workflow) -> Iterator[str]:
    """Where lanes run, a report follows whatever becomes of them, and one that fails stops no other."""
    lanes = [name for name, job in workflow.jobs.items() if "strategy" in job]
    for name in lanes:
        if workflow.jobs[name]["strategy"].get("fail-fast") != "false":
            yield f"{name}: one that fails stops the others"
        report = workflow.jobs.get("report", {})
        if report.get("if") != "always()" or set(report.get("needs", ())) != set(workflow.jobs) - {"report"}:
            yield f"{name}: no report"
    if "continue-on-error" in workflow.text:
        yield "continue-on-error: a failure would pass"


def scripted(workflow: Workflow) -> Iterator[str]:
    """What an expression gives reaches a script through its environment, never as code."""
    yield from (step["run"] for step in workflow.steps if "${{" in step.get("run", ""))


def gated(workflow: Workflow) -> Iterator[str]:
    """A pull request reaches machines of our own by the label and the approval only, and a later push does not."""
    pull_request = workflow.triggers.get("pull_request")
    for name, job in workflow.calls.items():
        if "pull_request" not in workflow.triggers or all(map(hosted, targets(job["with"]["tag"]))):
            continue
        if pull_request != {"types": ["labeled"]}:
            yield f"{name}: more than a label starts it"
        gate = workflow.jobs.get(job.get("needs", ""), {})
        if gate.get("environment") != GATE or "event.label.name == 'run-on-gpu'" not in gate.get("if", ""):
            yield f"{name}: no approval"


def alone(workflow: Workflow) -> Iterator[str]:
    """Runs of a workflow that starts by itself are grouped; where labels start it, one label does not end another's."""
    group = workflow.data.get("concurrency", {}).get("group")
    if "workflow_call" in workflow.triggers:
        if group:
            yield "a called workflow in a group of its caller waits for itself"
    elif not group:
        yield "no concurrency group"
    elif "labeled" in str(workflow.triggers.get("pull_request")) and "github.event.label.name" not in group:
        yield f"any label ends the run: {group}"


def called(workflow: Workflow) -> Iterator[str]:
    """Who runs lanes gives the inputs that there are, and none that there are not."""
    inputs = read("lane.yml").data["on"]["workflow_call"]["inputs"]
    required = {name for name, settings in inputs.items() if settings.get("required") == "true"}
    for job in workflow.calls.values():
        given = set(job.get("with", {}))
        yield from (given - set(inputs)) | (required - given)


def targets(tag: str | None) -> list[dict[str, Any]]:
    return [target for target in MATRIX["targets"].values() if tag in target.get("tags", ())]


def hosted(target: dict[str, Any]) -> bool:
    return bool(MATRIX["runners"][target["runner"]].get("hosted"))


RULES: tuple[Rule, ...] = (triggered, pinned, placed, tagged, least, timed, judged, scripted, gated, alone, called)

BREAKS: tuple[tuple[Rule, str, str, str], ...] = (
    (triggered, "gpu.yml", "  pull_request:\n", "  pull_request_target:\n"),
    (triggered, "pull-request.yml", "on:\n  pull_request:\n", "on:\n  pull_request:\n  workflow_run:\n"),
    (pinned, "lane.yml", "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "actions/checkout@v7"),
    (pinned, "lane.yml", " # v7.0.1", ""),
    (pinned, "lane.yml", "@3d3c42e5aac5", "@3d3c42e5"),
    (placed, "pull-request.yml", "ubuntu-24.04", "ubuntu-latest"),
    (placed, "lane.yml", LABELS, "[self-hosted, gpu]"),
    (placed, "gpu.yml", "runs-on: ubuntu-24.04", "runs-on: ${{ inputs.targets }}"),
    (tagged, "nightly.yml", "tag: nightly", "tag: weekly"),
    (tagged, "nightly.yml", "      tag: nightly\n", ""),
    (tagged, "lane.yml", '--tag "$TAG"', "--tag weekly"),
    (least, "nightly.yml", "permissions:\n  contents: read\n", ""),
    (least, "lane.yml", "contents: read", "contents: write"),
    (least, "gpu.yml", "actions: read", "actions: write"),
    (least, "gpu.yml", "    with:\n      tag: gpu", "    secrets: inherit\n    with:\n      tag: gpu"),
    (least, "gpu.yml", "github.token", "secrets.TOKEN"),
    (least, "lane.yml", "persist-credentials: false", "persist-credentials: true"),
    (timed, "lane.yml", "    timeout-minutes: ${{ inputs.minutes }}\n", ""),
    (timed, "pull-request.yml", "    timeout-minutes: 30\n", ""),
    (timed, "nightly.yml", "      minutes: 330\n", ""),
    (timed, "nightly.yml", "minutes: 330", "minutes: 600"),
    (judged, "lane.yml", "fail-fast: false", "fail-fast: true"),
    (judged, "lane.yml", "    needs: [lanes, lane]\n    if: always()\n", "    needs: [lanes, lane]\n"),
    (judged, "lane.yml", "needs: [lanes, lane]", "needs: [lanes]"),
    (judged, "lane.yml", "\n  report:\n", "\n  summary:\n"),
    (judged, "lane.yml", "    strategy:\n", "    continue-on-error: true\n    strategy:\n"),
    (scripted, "lane.yml", '"$TAG"', "${{ inputs.tag }}"),
    (gated, "gpu.yml", "[labeled]", "[labeled, synchronize]"),
    (gated, "gpu.yml", "    types: [labeled]\n", ""),
    (gated, "gpu.yml", "    needs: approve\n", ""),
    (gated, "gpu.yml", "environment: gpu-runners", "environment: none"),
    (gated, "gpu.yml", "== 'run-on-gpu'", "!= 'run-on-gpu'"),
    (gated, "pull-request.yml", "tag: pull-request", "tag: gpu"),
    (alone, "gpu.yml", "-${{ github.event.label.name }}", ""),
    (alone, "nightly.yml", "concurrency:\n  group: nightly\n  cancel-in-progress: false\n", ""),
    (alone, "lane.yml", "\npermissions:", "\nconcurrency:\n  group: lanes\n\npermissions:"),
    (called, "gpu.yml", "commit: ${{", "ref: ${{"),
    (called, "pull-request.yml", "      minutes: 60\n", ""),
)


@pytest.mark.parametrize("workflow", ALL, ids=lambda workflow: workflow.name)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_kept(rule: Rule, workflow: Workflow) -> None:
    assert list(rule(workflow)) == []


@pytest.mark.parametrize(("rule", "name", "old", "new"), BREAKS)
def test_a_break_is_found(rule: Rule, name: str, old: str, new: str) -> None:
    workflow = read(name)
    broken = Workflow(name, workflow.text.replace(old, new))
    assert broken.text != workflow.text, "the break no longer fits the file"
    assert list(rule(broken))


def test_every_rule_is_broken_once() -> None:
    assert {rule for rule, *_ in BREAKS} == set(RULES)


def test_one_version_of_each_action() -> None:
    found = {use for workflow in ALL for use in re.findall(r"uses: ([\w-]+/[\w-]+)[\w/-]*(@.+)", workflow.text)}
    assert len(found) == len({action for action, _ in found}) == 5, found


def test_every_tag_is_run() -> None:
    run = {job["with"]["tag"] for workflow in ALL for job in workflow.calls.values()}
    assert run == {tag for target in MATRIX["targets"].values() for tag in target.get("tags", ())}


def test_lanes_have_the_fields_that_the_workflow_reads() -> None:
    read_there = set(re.findall(r"matrix\.lane\.(\w+)", read("lane.yml").text))
    jobs = json.loads(output("ci/matrix.py", "jobs"))
    assert read_there == {"lane", "labels", "hosted", "python", "command"}
    assert [job["lane"] for job in jobs if not read_there <= set(job)] == []


# The scripts, run as GitHub runs them.


@dataclass(frozen=True)
class Ended:
    status: int
    said: str
    output: dict[str, str]
    summary: str


def step(name: str, file: str = "lane.yml") -> str:
    """The script of a step."""
    (script,) = [str(s["run"]) for s in read(file).steps if s.get("name") == name]
    return script


def run(script: str, folder: Path, **env: str) -> Ended:
    output, summary = folder / "github-output", folder / "github-summary"
    output.touch()
    summary.touch()
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = output.read_text(encoding="utf-8").splitlines()
    pairs = dict(line.partition("=")[::2] for line in lines)
    return Ended(ended.returncode, ended.stdout, pairs, summary.read_text(encoding="utf-8"))


def output(*args: str) -> str:
    return subprocess.run([sys.executable, *args], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the project's ci/ and src/."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("ci", "src"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_the_lanes_of_a_tag(checkout: Path) -> None:
    ended = run(step("List the lanes"), checkout, TAG="pull-request", TARGETS="")
    assert ended.status == 0, ended.said
    assert json.loads(ended.output["expected"]) == json.loads(output("ci/matrix.py", "jobs", "--tag", "pull-request"))
    assert ended.output["started"] == ended.output["expected"]


def test_the_lanes_of_named_targets(checkout: Path) -> None:
    ended = run(step("List the lanes"), checkout, TAG="gpu", TARGETS="cuda-h200 compile-sm_90")
    assert [job["lane"] for job in json.loads(ended.output["expected"])] == ["cuda-h200", "compile-sm_90"]


def test_a_lane_without_machines_is_expected_and_not_started(checkout: Path) -> None:
    ended = run(step("List the lanes"), checkout, TAG="nightly", TARGETS="")
    expected, started = (json.loads(ended.output[name]) for name in ("expected", "started"))
    unattached = [
        name
        for name, target in MATRIX["targets"].items()
        if "nightly" in target.get("tags", ()) and not hosted(target) and not attached(target)
    ]
    assert [job["lane"] for job in expected if job not in started] == unattached


def attached(target: dict[str, Any]) -> bool:
    return bool(MATRIX["runners"][target["runner"]].get("attached"))


@pytest.mark.parametrize("names", ["cuda-h1000", "cuda-h200 $(touch broken)", "--help=; touch broken"])
def test_a_name_that_is_no_target_fails_and_is_never_code(checkout: Path, names: str) -> None:
    ended = run(step("List the lanes"), checkout, TAG="gpu", TARGETS=names)
    assert ended.status != 0
    assert not (checkout / "broken").exists()


def test_a_run_of_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "matrix.py").write_text("print('[]')")
    ended = run(step("List the lanes"), tmp_path, TAG="gpu", TARGETS="")
    assert ended.status == 1
    assert "::error::no target" in ended.said


@pytest.mark.parametrize("status", [0, 1, 5, 143])
def test_a_lane_ends_as_its_command_and_says_how_to_run_it_again(tmp_path: Path, status: int) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    commit = ["git", *author, "commit", "--quiet", "--allow-empty", "-m", "a"]
    subprocess.run(commit, cwd=tmp_path, check=True)
    lane = tmp_path / "lane"
    lane.write_text(f'#!/bin/sh\nls -d "$QRITA_EXAMPLES"\necho "$1 with $HYPOTHESIS_PROFILE"\nexit {status}\n')
    lane.chmod(0o755)
    ended = run(step("Run the lane"), tmp_path, COMMAND="./lane cuda-h200", PROFILE="nightly")
    assert ended.status == status
    assert f"{tmp_path}/.hypothesis/examples\ncuda-h200 with nightly\n" in ended.said
    assert ended.said.count("HYPOTHESIS_PROFILE=nightly ./lane cuda-h200\n") == (2 if status else 1)
    assert ("::error::" in ended.said) == bool(status)


def test_a_lane_without_a_profile_keeps_its_own(tmp_path: Path) -> None:
    said = run(step("Run the lane").replace("git rev-parse HEAD", "echo"), tmp_path, COMMAND="env", PROFILE="").said
    assert "HYPOTHESIS_PROFILE" not in said.replace(os.environ.get("HYPOTHESIS_PROFILE", "-"), "")


PASSED = {
    "schema": 1,
    "targets": [],
    "environment": "cpu",
    "state": "hardware",
    "installed": False,
    "card": "",
    "architecture": "",
    "wave": None,
    "driver": "",
    "torch": "2.13.0+cpu",
    "triton": "",
    "python": "3.12.3",
    "platform": "Linux x86_64",
    "fusion": "0",
    "overrides": {},
    "profile": "pr",
    "commit": "0" * 40,
    "image": "",
    "command": "ci/tox -e cpu",
    "started": "2026-11-30T00:00:00+00:00",
    "finished": "2026-11-30T00:01:00+00:00",
    "outcome": "passed",
    "reason": "",
}
RESULTS = '<testsuites><testsuite tests="1"><testcase classname="a" name="b" time="1"/></testsuite></testsuites>'
EXPECTED = json.dumps([{"lane": "cpu"}, {"lane": "cuda-h200"}])


def leave(checkout: Path, lane: str, **changes: object) -> None:
    """What a lane leaves."""
    folder = checkout / "reports" / lane
    folder.mkdir(parents=True)
    (folder / "lane.json").write_text(json.dumps({**PASSED, "lane": lane, "targets": [lane], **changes}))
    (folder / "results-1.xml").write_text(RESULTS)


def judge(checkout: Path, expected: str = EXPECTED, lanes: str = "success") -> Ended:
    ended = run(step("Every lane has passed"), checkout, EXPECTED=expected, LANES=lanes)
    assert "Traceback" not in ended.said, ended.said
    return ended


def test_all_passed(checkout: Path) -> None:
    leave(checkout, "cpu")
    leave(checkout, "cuda-h200")
    ended = judge(checkout)
    assert ended.status == 0, ended.said
    assert "cuda-h200" in ended.summary


@pytest.mark.parametrize("lanes", ["success", "cancelled", "skipped", "failure"])
def test_a_lane_that_did_not_run_is_shown_and_fails(checkout: Path, lanes: str) -> None:
    leave(checkout, "cpu")
    ended = judge(checkout, lanes=lanes)
    assert ended.status == 1
    assert "cuda-h200" in ended.summary
    assert "not run" in ended.summary


def test_no_lane_ran(checkout: Path) -> None:
    ended = judge(checkout, lanes="skipped")
    assert ended.status == 1
    assert ended.summary.count("not run") >= 2


@pytest.mark.parametrize("outcome", ["refused", "running", "failed"])
def test_a_lane_that_did_not_pass_fails(checkout: Path, outcome: str) -> None:
    leave(checkout, "cpu")
    leave(checkout, "cuda-h200", outcome=outcome, reason="the guard's sentence")
    ended = judge(checkout)
    assert ended.status == 1
    assert "cuda-h200" in ended.summary


@pytest.mark.parametrize("lanes", ["cancelled", "skipped", "failure", ""])
def test_a_report_of_an_earlier_attempt_mends_nothing(checkout: Path, lanes: str) -> None:
    leave(checkout, "cpu")
    leave(checkout, "cuda-h200")
    ended = judge(checkout, lanes=lanes)
    assert ended.status == 1
    assert "::error::" in ended.said


def test_lanes_that_could_not_be_listed_fail(checkout: Path) -> None:
    ended = judge(checkout, expected="", lanes="skipped")
    assert ended.status == 1
    assert "::error::the lanes could not be listed" in ended.said


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("echo wait_timer; echo required_reviewers", True),
        ("echo wait_timer", False),
        ("true", False),
        ("exit 1", False),
    ],
    ids=["reviewers", "timer", "no rules", "no answer"],
)
def test_the_gate_is_shut_without_reviewers(tmp_path: Path, answer: str, passes: bool) -> None:
    gh = tmp_path / "gh"
    gh.write_text(f"#!/bin/sh\n{answer}\n")
    gh.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ended = run(step("The environment asks for a review", "gpu.yml"), tmp_path, PATH=path, GITHUB_REPOSITORY="a/b")
    assert (ended.status == 0) == passes
