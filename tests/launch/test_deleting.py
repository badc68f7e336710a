"""What a job that is being deleted is said to wait for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from shunter.launch.deleting import waits_for

JOB: dict[str, Any] = {"kind": "PyTorchJob", "metadata": {"name": "j", "namespace": "n", "finalizers": ["foregroundDeletion"]}}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": {"nodeName": "node-7"}}


def leaving(name: str, until: str = "2026-01-01T12:00:20Z") -> dict[str, Any]:
    return pod(name, deletionTimestamp=until, deletionGracePeriodSeconds=30)


def test_pods_that_may_still_end_are_named_with_their_grace_period() -> None:
    subject, text = waits_for(JOB, [leaving(f"p{number}") for number in range(5)], NOON, now=False)
    assert subject == "pods"
    assert "waits for pods p0, p1, p2 and 2 more to terminate." in text
    assert "killed 30 s after it" in text
    assert "--now" in text
    assert (
        "30 s after it (terminationGracePeriodSeconds); --now is shortening that to 1 s."
        in waits_for(JOB, [leaving("p")], NOON, now=True)[1]
    )
    hurried = {**leaving("p"), "metadata": {**leaving("p")["metadata"], "deletionGracePeriodSeconds": 1}}
    assert "--now" not in waits_for(JOB, [hurried], NOON, now=True)[1]


def test_a_program_whose_first_process_passes_sigterm_on_is_not_said_to_ignore_it() -> None:
    metadata = {**JOB["metadata"], "annotations": {"shunter.dev/program": "train.py"}}
    _, text = waits_for({**JOB, "metadata": metadata}, [leaving("p")], NOON, now=False)
    assert text.startswith("PyTorchJob n/j waits for pod p to terminate: after SIGTERM they have 30 s to save (termination")
    assert "ignores" not in text


def test_pods_that_should_have_ended_are_their_nodes_matter() -> None:
    subject, text = waits_for(JOB, [leaving("p", "2026-01-01T11:59:00Z")], NOON, now=False)
    assert subject == "late"
    assert "node node-7 does not report it" in text


def test_pods_that_were_on_no_node_are_not_a_nodes_matter() -> None:
    nowhere = {**leaving("q", "2026-01-01T11:59:00Z"), "spec": {}}
    assert waits_for(JOB, [nowhere], NOON, now=False)[1] == (
        "PyTorchJob n/j waits for pod q, which should have terminated: the cluster has not removed what was on no node. "
        "See: shunter describe j -n n"
    )
    assert "node node-7 does not report it" in waits_for(JOB, [nowhere, leaving("p", "2026-01-01T11:59:00Z")], NOON, now=False)[1]


def test_without_pods_it_is_finalizers_or_the_cluster() -> None:
    assert waits_for(JOB, [pod("stays")], NOON, now=False)[0] == "cascade"
    kept = {**JOB, "metadata": {**JOB["metadata"], "finalizers": ["foregroundDeletion", "example.com/mine"]}}
    assert waits_for(kept, [], NOON, now=False) == (
        "finalizers",
        "PyTorchJob n/j waits for the controller of its finalizer example.com/mine.",
    )
