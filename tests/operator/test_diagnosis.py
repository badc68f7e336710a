"""Which line of a log says what went wrong."""

from typing import Any

from shunter.operator.diagnosis import faults


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


def test_containers_being_created_are_no_fault() -> None:
    status = {"name": "pytorch", "state": {"waiting": {"reason": "ContainerCreating"}}}
    assert faults([{"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}}]) == []
