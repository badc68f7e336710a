"""Findings as people read them: one line a cause, and equal ones together."""

from __future__ import annotations

import pytest

from shunter.migrate.conversion import batch
from shunter.migrate.conversion.source.files import text_file
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.findings import Finding, Place, Topic
from shunter.migrate.grouping import blocks, grouped, once_per_cause
from shunter.migrate.options import Options

LOUD = Topic("LOUD001", "loud", "warning", "lossy", "D", "", "Be quiet.")
STOP = Topic("STOP001", "stop", "error", "manual", "D", "", "Go.", acceptable=True)
WALL = Topic("WALL001", "wall", "error", "manual", "D", "", "Break it.")


def told(topic: Topic, name: str, message: str, line: int = 1, role: str = "Worker") -> Finding:
    path = ("spec", "pytorchReplicaSpecs", role, "template")
    return Finding(topic, f"PyTorchJob team/{name}", Place(f"{name}.yaml", line, 1), path, message)


def test_equal_findings_of_many_jobs_are_one_group_that_counts_them() -> None:
    findings = [told(LOUD, f"job-{number}", f"job-{number} shouts in Worker.") for number in range(400)]
    (group,) = grouped(findings)
    assert group.first == findings[0]
    assert group.line == "LOUD001: 400 jobs, also at job-1.yaml:1:1, job-2.yaml:1:1, job-3.yaml:1:1 and 396 more."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(told(LOUD, "a", "spec.x is lost."), told(LOUD, "b", "spec.y is lost."), id="another field"),
        pytest.param(told(LOUD, "a", "It is 1."), told(LOUD, "b", "It is 2."), id="another value"),
        pytest.param(told(LOUD, "a", "It ends."), told(STOP, "b", "It ends."), id="another topic"),
        pytest.param(told(STOP, "a", "x"), told(STOP, "b", "x")._replace(remedy="Wait."), id="another remedy"),
    ],
)
def test_findings_that_say_different_things_stay_apart(first: Finding, second: Finding) -> None:
    assert [group.first for group in grouped([first, second])] == [first, second]


def test_a_finding_alone_has_no_line_of_its_own() -> None:
    assert [group.line for group in grouped([told(LOUD, "a", "x")])] == [""]


def test_what_roles_share_by_an_anchor_is_told_once() -> None:
    master, worker = (told(LOUD, "a", f"{role} shouts.", 7, role) for role in ("Master", "Worker"))
    assert once_per_cause([master, worker]) == [master]


def test_objects_of_a_cluster_have_no_lines_and_are_told_apart() -> None:
    live = [told(LOUD, name, "It shouts.")._replace(place=Place(f"PyTorchJob team/{name}")) for name in ("a", "b")]
    assert once_per_cause(live) == live


def test_what_blocks_a_job_stands_before_the_rest_of_it_and_jobs_keep_their_order() -> None:
    findings = [told(LOUD, "a", "1", 1), told(LOUD, "b", "2", 2), told(STOP, "a", "3", 3), told(WALL, "b", "4", 4)]
    assert [group.first.message for group in grouped(findings)] == ["3", "1", "4", "2"]


def test_a_topic_with_many_messages_is_told_ten_times() -> None:
    groups = grouped([told(LOUD, f"j{number}", f"{number} shouts.") for number in range(40)])
    assert [len(group.others) for group in groups] == [0] * 9 + [30]


def test_all_that_blocks_a_job_is_one_line_with_one_option() -> None:
    of_jobs = [
        ("PyTorchJob a", [told(STOP, "a", "1"), told(WALL, "a", "2"), told(LOUD, "a", "3")]),
        ("PyTorchJob b", [told(STOP, "b", "1"), told(WALL, "b", "2")]),
        ("PyTorchJob c", [told(STOP, "c", "1"), told(STOP, "c", "2")]),
        ("PyTorchJob d", [told(STOP, "d", "1")._replace(suppressed="we know")]),
    ]
    assert [line for found in blocks(of_jobs) for line in found.lines] == [
        "Blocked: PyTorchJob a, PyTorchJob b (STOP001, WALL001).",
        "    WALL001 cannot be suppressed: correct the source.",
        "    To suppress the rest, add --accept STOP001.",
        "Blocked: PyTorchJob c (STOP001).",
        "    To convert all the same, add --accept STOP001.",
    ]


def test_the_option_that_is_named_unblocks_the_job() -> None:
    text = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  runPolicy: {cleanPods: 1}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Always
      template:
        spec: {containers: [{name: pytorch, image: a, command: [torchrun, t.py]}]}
"""
    given = Input((text_file(text, "a.yaml"),))
    (outcome,) = batch.converted(given.jobs, Options()).outcomes
    (found,) = blocks([(outcome.source.title, outcome.findings)])
    assert found.topics == ("FIELD001", "RESTART001")
    (again,) = batch.converted(given.jobs, Options(accepted=found.acceptable)).outcomes
    assert not again.is_blocked
