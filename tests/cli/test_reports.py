"""Texts about jobs, and what the demo accepts as a success. Pure: objects in, lines out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shunter.cli.demo import reported_world_sizes
from shunter.cli.reports import age, description, failure_lines, is_about, phase

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (200_000, "2d"), (-5, "0s")],
)
def test_ages_are_shown_in_the_largest_telling_unit(seconds: int, text: str) -> None:
    assert age(NOW, NOW + timedelta(seconds=seconds)) == text


def job() -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 1}}},
        "status": {
            "conditions": [
                {"type": "Created", "status": "True", "reason": "PyTorchJobCreated", "message": "PyTorchJob j is created."},
                {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "PyTorchJob j is failed."},
            ]
        },
    }


def failed_pod(name: str, role: str, at: str) -> dict[str, Any]:
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": "0"}
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": at}}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": ended}]},
    }


PODS = [failed_pod("j-master-0", "master", "2026-01-01T00:00:09Z"), failed_pod("j-worker-0", "worker", "2026-01-01T00:00:01Z")]


def test_the_last_words_are_those_of_the_pod_that_failed_first() -> None:
    lines = failure_lines(job(), PODS, {"worker-0": ["a", "", "the reason"], "master-0": ["a victim"]})
    assert lines == [
        "pod j-worker-0, container pytorch: Error, exit code 1",
        "| a",
        "| the reason",
        "pod j-master-0, container pytorch: Error, exit code 1",
    ]


def test_the_last_words_are_not_the_addresses_of_a_native_stack() -> None:
    native = ["Stack trace:", *(f"  [bt] ({depth}) /lib/libxgboost.so(+0x1cdc86) [0x7fcc74530c86]" for depth in range(20))]
    lines = failure_lines(job(), PODS[1:], {"worker-0": ["Failed to bind socket. system error:Address already in use", *native]})
    assert lines[1:] == ["| Failed to bind socket. system error:Address already in use"]


def test_a_description_lists_pods_by_rank_and_events_by_time() -> None:
    events = [
        {
            "type": "Warning",
            "reason": "Late",
            "message": "m",
            "count": 3,
            "lastTimestamp": "2026-01-01T00:00:02Z",
            "metadata": {},
        },
        {"type": "Normal", "reason": "Early", "message": "m", "lastTimestamp": "2026-01-01T00:00:01Z", "metadata": {}},
    ]
    text = "\n".join(description(job(), PODS, events, {}))
    assert "State    Failed (PyTorchJobFailed)" in text
    assert text.index("j-master-0") < text.index("j-worker-0")
    assert text.index("Early") < text.index("Late")
    assert "(x3)" in text


def test_a_waiting_container_says_more_than_the_phase() -> None:
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    assert phase({"status": {"phase": "Running", "containerStatuses": [waiting]}}) == "CrashLoopBackOff"


def test_world_sizes_are_what_the_ranks_printed_themselves() -> None:
    lines = {
        "master-0": ["noise", "Rank 0/2 initialized (gloo on cpu)"],
        "worker-0": ["Rank 1/2 initialized (gloo on cpu)", "Rank 1/2 initialized (gloo on cpu)"],
    }
    assert reported_world_sizes(lines) == {0: 2, 1: 2}
    assert reported_world_sizes({"master-0": ["Training completed successfully!"]}) == {0: 1}
    assert reported_world_sizes({"master-0": ["Traceback"]}) == {}


def test_limits_are_shown_where_a_job_has_them() -> None:
    limited = job()
    limited["spec"]["runPolicy"] = {"backoffLimit": 0, "activeDeadlineSeconds": 60, "suspend": False}
    assert "  Limits   backoffLimit 0, activeDeadlineSeconds 60" in description(limited, PODS, [], {})
    assert not any("Limits" in line for line in description(job(), PODS, [], {}))


@pytest.mark.parametrize(
    ("kind", "name", "at", "expected"),
    [
        ("Pod", "j-worker-0", "2026-01-01T00:00:05Z", True),
        ("Pod", "j-worker-0", "2025-12-31T23:59:59Z", False),
        ("Pod", "j-worker-worker-0", "2026-01-01T00:00:05Z", False),
        ("Pod", "j-chief-0", "2026-01-01T00:00:05Z", False),
        ("Service", "j-worker-0", "2026-01-01T00:00:05Z", False),
    ],
    ids=["a pod it had", "a pod of a job before it", "a pod of job j-worker", "no role of it", "a service"],
)
def test_events_of_pods_that_are_gone_belong_to_the_job_that_had_them(kind: str, name: str, at: str, expected: bool) -> None:
    mine = job()
    mine["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    event = {"involvedObject": {"kind": kind, "name": name, "uid": "gone"}, "lastTimestamp": at, "metadata": {}}
    assert is_about(mine, [], event) == expected
