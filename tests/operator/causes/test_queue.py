"""What Kueue says of a job in a queue. Workloads are shaped as Kueue's own; messages are those that its scheduler writes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from job_evidence import NOW, ago, condition, jobset, v1_job, v2_job, workload
from shunter.operator.causes import Cause, Evidence, Position, cause

Json = dict[str, Any]
SHORT = "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed"
TOO_MUCH = (
    "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets "
    "requests (0) + current podset request (100) > maximum capacity (9)"
)


def queued(job: Json) -> Json:
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    return job


V1 = queued(v1_job(policy={"suspend": True}))
V2 = queued(v2_job(spec={"suspend": True}))


def found(*workloads: Json, job: Json = V1, position: Position | None = None, **evidence: Any) -> Cause | None:
    return cause(job, Evidence(workloads=workloads, position=position, **evidence), NOW)


def pending(message: str, reason: str = "Pending") -> Json:
    return condition("QuotaReserved", "False", reason, message)


SAID = {
    "too little quota": (workload(pending(SHORT)), "WaitingForQuota", f"it waits in queue team-a: {SHORT}"),
    "more than there ever is": (workload(pending(TOO_MUCH)), "QuotaTooSmall", f"it waits in queue team-a: {TOO_MUCH}"),
    "a borrowing limit": (
        workload(pending("couldn't assign flavors to pod set main: borrowing limit for cpu in flavor f exceeded")),
        "WaitingForQuota",
        "it waits in queue team-a: couldn't assign flavors to pod set main: borrowing limit for cpu in flavor f exceeded",
    ),
    "no such queue": (
        workload(pending("LocalQueue team-a doesn't exist", "Inadmissible")),
        "Inadmissible",
        "it waits in queue team-a: LocalQueue team-a doesn't exist",
    ),
    "not looked at yet": (workload(), "Queued", "it waits in queue team-a: Kueue has not reported a reason yet"),
    "an admission check": (
        workload(
            condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue gpu"),
            admissionChecks=[
                {"name": "provision", "state": "Pending", "message": "waiting for nodes"},
                {"name": "done", "state": "Ready", "message": ""},
            ],
        ),
        "WaitingForAdmissionCheck",
        "queue team-a has reserved quota for it; admission checks: provision is Pending (waiting for nodes)",
    ),
    "deactivated": (
        workload(condition("Evicted", "True", "Deactivated", "exceeding the maximum number of re-queuing retries"), active=False),
        "Deactivated",
        "Workload pytorchjob-j-12345 in queue team-a is deactivated: exceeding the maximum number of re-queuing retries",
    ),
    "preempted": (
        workload(
            pending(SHORT),
            condition("Evicted", "True", "Preempted", "Preempted to accommodate a workload"),
            condition("Preempted", "True", "InClusterQueue", "Preempted to accommodate workload x of higher priority"),
        ),
        "WaitingForQuota",
        f"it waits in queue team-a: {SHORT}. It was requeued: Preempted to accommodate workload x of higher priority",
    ),
    "admitted": (workload(condition("Admitted", "True", "Admitted", "The workload is admitted")), "", ""),
}


@pytest.mark.parametrize("job", [V1, V2], ids=["v1", "v2"])
@pytest.mark.parametrize(("object", "word", "sentence"), SAID.values(), ids=SAID)
def test_a_job_in_a_queue_says_what_the_queue_says(object: Json, word: str, sentence: str, job: Json) -> None:
    answer = found(object, job=job)
    assert (answer.word if answer else "") == word
    assert (answer.sentence if answer else "") == sentence


@pytest.mark.parametrize(("object", "word", "sentence"), SAID.values(), ids=SAID)
def test_a_queued_job_is_never_told_to_be_resumed_by_hand(object: Json, word: str, sentence: str) -> None:
    """Kueue suspends it again at once."""
    assert '"suspend"' not in str(found(object))


def test_the_place_in_the_queue_is_told_counted_from_one() -> None:
    answer = found(workload(pending(SHORT)), position=Position(in_queue=2, in_cluster_queue=5))
    assert answer is not None
    assert answer.sentence == f"it waits in queue team-a (number 2 in it, number 5 in its ClusterQueue): {SHORT}"


def test_when_it_is_considered_again_is_told() -> None:
    again = (NOW + timedelta(seconds=90)).isoformat()
    answer = found(workload(pending(SHORT), requeueState={"count": 2, "requeueAt": again}))
    assert answer is not None
    assert answer.sentence.endswith("4 more needed. It is considered again at 12:01:30Z")


def test_the_workload_of_another_job_and_of_an_earlier_run_are_not_its_own() -> None:
    other = workload(pending(TOO_MUCH), owner="u-other", name="other")
    before = workload(condition("Finished", "True", "Succeeded", "done"), name="before")
    going = workload(pending(TOO_MUCH), name="going")
    going["metadata"]["deletionTimestamp"] = ago(1)
    answer = found(other, before, workload(pending(SHORT)), going)
    assert answer is not None
    assert SHORT in answer.sentence
    alone = found(other)
    assert alone is not None
    assert alone.word == "NoQueue"


def test_a_trainjob_whose_jobset_waits_in_the_queue_says_so() -> None:
    """Kueue without its integration for TrainJobs suspends the JobSet, which has the label, too."""
    job = queued(v2_job())
    answer = cause(job, Evidence(workloads=[workload(pending(SHORT), owner="u-jobset")], children=jobset(suspend=True)), NOW)
    assert answer is not None
    assert answer.word == "WaitingForQuota"


def test_a_queue_without_kueue_is_told_with_the_way_out() -> None:
    answer = cause(V1, Evidence(workloads=None), NOW)
    assert answer is not None
    assert (answer.word, "does not serve Kueue's Workloads" in answer.sentence) == ("NoQueue", True)


def test_a_new_job_gives_kueue_time_to_make_its_workload() -> None:
    young = queued(v1_job(policy={"suspend": True}))
    young["metadata"]["creationTimestamp"] = ago(3)
    answer = cause(young, Evidence(workloads=[]), NOW)
    assert answer is not None
    assert answer.word == "Queued"


def test_workloads_that_may_not_be_read_are_said_not_to_have_been() -> None:
    answer = cause(V1, Evidence(workloads=[], unread=("workloads",)), NOW)
    assert answer is not None
    assert "the state in Kueue is unknown" in answer.sentence


def test_a_job_with_a_queue_that_was_admitted_is_looked_at_like_any_other() -> None:
    assert cause(queued(v1_job()), Evidence(workloads=[workload(pending(SHORT))]), NOW) is None
