"""Which line of a log says what went wrong."""

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.operator.diagnosis import by_cause, faults, is_victim


def terminated(code: int, at: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": at}}


def test_the_first_container_to_fail_is_named_first() -> None:
    pods = [
        {"metadata": {"name": name}, "status": {"containerStatuses": [{"name": "pytorch", "state": terminated(1, at)}]}}
        for name, at in (("late", "2026-01-01T00:00:09Z"), ("early", "2026-01-01T00:00:01Z"))
    ]
    assert [fault.pod for fault in faults(pods)] == ["early", "late"]


def test_what_was_killed_in_the_second_of_a_failure_is_no_cause_of_it() -> None:
    """The pods of a Job that fails are deleted at once; times have whole seconds."""
    at = "2026-01-01T00:00:01Z"
    pods = [
        {"metadata": {"name": name}, "status": {"containerStatuses": [{"name": "pytorch", "state": terminated(code, at)}]}}
        for name, code in (("killed", 137), ("told to end", 143), ("failed", 3))
    ]
    assert faults(pods)[0].pod == "failed"


def out_of_memory(at: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": at}}


@pytest.mark.parametrize("grace", [None, 30, 0], ids=["there", "being deleted", "removed"])
@pytest.mark.parametrize("second", [10, 11], ids=["same second", "a second later"])
def test_what_ran_out_of_memory_is_no_victim_of_a_deletion_or_failure_in_the_same_second(grace: int | None, second: int) -> None:
    at, deleted = "2026-01-01T00:00:10Z", {}
    if grace is not None:
        requested = f"2026-01-01T00:00:{10 + grace}Z"
        deleted = {"deletionTimestamp": requested, "deletionGracePeriodSeconds": grace}
    pods = [
        {
            "metadata": {"name": name, **metadata},
            "status": {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": state}]},
        }
        for name, state, metadata in (
            ("out of memory", out_of_memory(at), deleted),
            ("failed", terminated(1, f"2026-01-01T00:00:{second}Z"), {}),
        )
    ]
    cause = by_cause(faults(pods), lambda _: "")[0]
    assert (cause.pod, cause.is_by_deletion) == ("out of memory", False)


def test_a_crash_loop_says_how_the_last_run_ended() -> None:
    status = {
        "name": "pytorch",
        "restartCount": 2,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}},
        "lastState": terminated(139, "2026-01-01T00:00:01Z"),
    }
    found = faults([{"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}}])
    assert [str(fault) for fault in found] == [
        "pod p, container pytorch: Error, exit code 139 (segmentation fault) after 2 restarts"
    ]


def test_a_pod_that_its_node_ended_is_told_of_as_a_whole() -> None:
    """The kill that its containers got is not what went wrong."""
    killed = {"name": "pytorch", "state": terminated(137, "2026-01-01T00:00:02Z")}
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory.", "containerStatuses": [killed]}
    pods = [
        {
            "metadata": {"name": "victim"},
            "status": {"containerStatuses": [{"name": "pytorch", "state": terminated(1, "2026-01-01T00:00:03Z")}]},
        },
        {"metadata": {"name": "evicted"}, "status": status},
    ]
    assert [str(fault) for fault in faults(pods)] == [
        "pod evicted: Evicted: The node was low on memory.",
        "pod victim, container pytorch: Error, exit code 1",
    ]


@pytest.mark.parametrize("waiting", [{"reason": "ContainerCreating"}, {"reason": ""}, {}], ids=["created", "empty", "no reason"])
def test_containers_being_created_are_no_fault(waiting: Json) -> None:
    status = {"name": "pytorch", "state": {"waiting": waiting}}
    assert faults([{"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}}]) == []


def test_what_ended_by_the_deletion_of_its_pod_is_no_cause() -> None:
    """A Job that fails deletes its other pods. They are listed until they have ended and the Job has counted them."""

    def pod(name: str, code: int, second: int, **metadata: Any) -> Json:
        state = terminated(code, f"2026-01-01T00:00:{second:02d}Z")
        return {
            "metadata": {"name": name, **metadata},
            "status": {"phase": "Failed", "containerStatuses": [{"name": "node", "state": state}]},
        }

    def deleted(second: int, grace: int) -> dict[str, Any]:
        return {"deletionTimestamp": f"2026-01-01T00:00:{second:02d}Z", "deletionGracePeriodSeconds": grace}

    pods = [
        pod("failed", 3, 12),
        pod("killed", 137, 12, **deleted(12, 0)),  # at once
        pod("failed late", 1, 14, **deleted(42, 30)),  # while it was stopping
        pod("failed before", 5, 11, **deleted(42, 30)),
        pod("killed before", 137, 10, **deleted(42, 30)),
        pod("out of memory", 137, 13),
    ]
    assert {fault.pod: is_victim(fault, "") for fault in faults(pods)} == {
        "failed": False,
        "killed": True,
        "failed late": True,
        "failed before": False,
        "killed before": False,
        "out of memory": False,
    }
    assert by_cause(faults(pods[:3]), lambda _: "")[0].pod == "failed"
