"""Pods without a node: what their scheduler says of them and of their gang."""

from __future__ import annotations

from found_causes import NO_GPU, Json, found, word
from job_evidence import (
    event,
    unplaced,
    v1_job,
    v1_pod,
)


def test_an_autoscaler_that_has_seen_the_pod_is_named() -> None:
    pod = v1_pod("master", **unplaced(NO_GPU))
    answer = found(v1_job(0), pod, events=[event("u-j-master-0", "TriggeredScaleUp", "pod triggered scale-up", type="Normal")])
    assert answer is not None
    assert answer.remedy == "A node autoscaler has reacted: a node may be added."


NO_CPU = "0/1 nodes are available: 1 Insufficient cpu."
WAITS = "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled"


def ganged(index: int, message: str, group: str = "g") -> Json:
    pod = v1_pod("worker", index, **unplaced(message))
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return pod


def test_a_gang_that_has_no_room_is_one_cause_and_not_that_of_one_pod() -> None:
    """Each of its pods would find room alone; so says kube-scheduler 1.36 with its gate GangScheduling."""
    answer = found(v1_job(2), ganged(0, WAITS), ganged(1, NO_CPU))
    assert answer is not None
    assert (answer.word, answer.who, answer.rest) == ("WaitingForGang", "worker-0 and 1 more", "")
    assert answer.text == f"PodGroup g cannot be placed as a whole: worker-1 does not fit with the others: {NO_CPU}"
    assert answer.remedy.startswith("Request less")


def test_pods_of_which_none_finds_room_wait_for_no_gang() -> None:
    assert word(v1_job(2), ganged(0, NO_CPU), ganged(1, NO_CPU)) == "Unschedulable"
    assert word(v1_job(2), ganged(0, WAITS, "other"), ganged(1, NO_CPU)) == "Unschedulable"
