"""Why a job does not train: what the job itself says, refusals, and which cause comes first."""

from __future__ import annotations

from typing import Any

import pytest

from found_causes import BACK_OFF, NO_CLAIM, NO_GPU, QUOTA, Json, found, native_job, native_pod, word
from job_evidence import (
    ago,
    event,
    jobset,
    running,
    succeeded,
    unplaced,
    v1_job,
    v1_pod,
    v2_job,
    v2_pod,
    waiting,
)
from shunter.operator.causes import Cause
from shunter.operator.interrupted_scaling import RESUMES


def test_pods_of_an_earlier_trainjob_of_the_same_name_are_not_its_own() -> None:
    assert found(v2_job(), v2_pod(0, made=900, **unplaced(NO_GPU)), children=jobset()) is None
    assert word(v2_job(), v2_pod(0, made=600, **unplaced(NO_GPU)), children=jobset()) == "Unschedulable"


def test_a_cause_that_many_pods_share_is_one_sentence() -> None:
    pods = [v1_pod("worker", index, **unplaced(NO_GPU)) for index in range(4)]
    answer = found(v1_job(4), *pods)
    assert answer is not None
    assert answer.sentence.startswith("worker-0 and 3 more: 0/3 nodes")
    assert str(answer).endswith("Insufficient nvidia.com/gpu. Request less in the pod template, free resources, or add a node.")


def test_what_never_passes_by_itself_heads_what_may() -> None:
    """A master that fails because its workers cannot come is a victim."""
    loop = {"phase": "Running", **waiting("CrashLoopBackOff", **BACK_OFF)}
    answer = found(
        v1_job(2), v1_pod("master", **loop), v1_pod("worker", 0, **unplaced(NO_GPU)), v1_pod("worker", 1, **unplaced(NO_CLAIM))
    )
    assert answer is not None
    assert answer.word == "MissingClaim"
    assert answer.sentence == "worker-1: PersistentVolumeClaim data does not exist; 1 other pod has another cause"


REFUSED = {
    "quota": (QUOTA, "QuotaExceeded"),
    "quota that wants requests": ("Error creating: pods is forbidden: failed quota: q: must specify limits.cpu", "QuotaExceeded"),
    "account": (
        'Error creating: pods "x" is forbidden: error looking up service account n/trainer: serviceaccount "trainer" not found',
        "MissingServiceAccount",
    ),
    "security": ('Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest": ...', "PodSecurity"),
    "priority": ("Error creating: pods is forbidden: no PriorityClass with name high was found", "MissingPriorityClass"),
    "another": ("Error creating: admission webhook says no", "Refused"),
}


@pytest.mark.parametrize(("message", "expected"), REFUSED.values(), ids=REFUSED)
def test_pods_that_may_not_be_made_are_told_from_events_of_the_job_and_of_the_jobs_below_it(message: str, expected: str) -> None:
    assert word(v1_job(), v1_pod("master", **running()), events=[event("u-j", "FailedCreatePod", message)]) == expected
    assert word(v2_job(), v2_pod(0, **running()), children=jobset(), events=[event("u-job", "FailedCreate", message)]) == expected
    jobs_refused = [event("u-jobset", "JobCreationFailed", message)]
    assert word(v2_job(), children=jobset()[:1], events=jobs_refused) == expected


def test_a_refusal_that_was_made_good_since_is_no_cause() -> None:
    all_there = [v1_pod("master", **running()), v1_pod("worker", **running())]
    assert found(v1_job(), *all_there, events=[event("u-j", "FailedCreatePod", QUOTA)]) is None
    both = [v2_pod(0, **running()), v2_pod(1, **running())]
    assert found(v2_job(), *both, children=jobset(), events=[event("u-job", "FailedCreate", QUOTA)]) is None


def test_a_refusal_before_the_newest_pod_says_nothing_about_one_that_is_missing_now() -> None:
    pods = [v1_pod("master", made=20, **running())]
    assert found(v1_job(), *pods, events=[event("u-j", "FailedCreatePod", QUOTA, at=60)]) is None
    assert word(v1_job(), *pods, events=[event("u-j", "FailedCreatePod", QUOTA, at=10)]) == "QuotaExceeded"


def test_a_refusal_of_an_earlier_job_of_the_same_name_is_no_cause() -> None:
    assert found(v1_job(), events=[event("u-before", "FailedCreatePod", QUOTA)]) is None
    stale = jobset()
    stale[0]["metadata"]["ownerReferences"][0]["uid"] = "u-before"
    assert found(v2_job(), children=stale, events=[event("u-job", "FailedCreate", QUOTA)]) is None


CONDITIONS = {
    "a gang in v1": (v1_job(), "Created", "True", "WaitingForPodGroup", "WaitingForGang"),
    "a PodGroup that cannot be made": (v1_job(), "Created", "True", "PyTorchJobPodGroupMissing", "PodGroupMissing"),
    "a runtime that is not there": (v2_job(), "Created", "False", "RuntimeNotFound", "RuntimeNotFound"),
    "an MPIJob that cannot be made": (v1_job(kind="MPIJob"), "Created", "False", "MPIJobFaulty", "Faulty"),
    "an autoscaler that is refused": (v1_job(), "Created", "False", "PyTorchJobAutoscalerRefused", "AutoscalerRefused"),
    "a plain new job": (v1_job(), "Created", "True", "PyTorchJobCreated", ""),
}


@pytest.mark.parametrize(("job", "type", "status", "reason", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_what_the_operator_says_in_a_condition_is_taken_over(
    job: Json, type: str, status: str, reason: str, expected: str
) -> None:
    job["status"] = {"conditions": [{"type": type, "status": status, "reason": reason, "message": "its words"}]}
    answer = found(job)
    assert (answer.word if answer else "") == expected
    assert answer is None or answer.sentence == "its words"


def test_a_quota_in_the_condition_of_a_trainjob_is_a_quota() -> None:
    message = 'JobSet j was rejected: jobsets "j" is forbidden: exceeded quota: q, requested: count/jobsets=1.'
    job = v2_job(conditions=[{"type": "Created", "status": "False", "reason": "ObjectRefused", "message": message}])
    assert word(job) == "QuotaExceeded"


def test_a_suspension_that_is_refused_is_told_before_that_the_job_is_suspended() -> None:
    refused = {"type": "Created", "status": "False", "reason": "SuspensionRefused", "message": "its pods run on"}
    assert word(v2_job(spec={"suspend": True}, conditions=[refused])) == "SuspensionRefused"
    left_over = {"type": "Created", "status": "True", "reason": "PyTorchJobPodGroupMissing", "message": "no Volcano"}
    assert word(v1_job(policy={"suspend": True}, conditions=[left_over])) == "Suspended"


STOPPED = {
    "suspended v1": (v1_job(policy={"suspend": True}), "Suspended", "spec.runPolicy.suspend is true"),
    "suspended v2": (v2_job(spec={"suspend": True}), "Suspended", "spec.suspend is true"),
    "left to another": (
        v1_job(policy={"managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}),
        "ManagedByOther",
        "left to kueue.x-k8s.io/multikueue",
    ),
    "runs elsewhere, as its manager says": (
        v1_job(policy={"managedBy": "kueue.x-k8s.io/multikueue"}, conditions=[{"type": "Running", "status": "True"}]),
        "",
        "",
    ),
    "ours by name": (v1_job(policy={"managedBy": "kubeflow.org/training-operator"}), "", ""),
    "going on": (v2_job(), "", ""),
}


@pytest.mark.parametrize(("job", "expected", "sentence"), STOPPED.values(), ids=STOPPED)
def test_a_job_that_is_not_to_run_says_so_with_the_field(job: Json, expected: str, sentence: str) -> None:
    answer = found(job)
    assert (answer.word if answer else "") == expected
    assert sentence in (answer.sentence if answer else "")


def interrupted(mark: str = "7", **spec: Any) -> Json:
    """A job that `scale` suspended with generation 7 of its spec, and did not resume."""
    job = v2_job(3, spec={"suspend": True, **spec})
    job["metadata"] |= {"generation": 7, "annotations": {RESUMES: mark}}
    return job


def test_a_job_whose_scaling_was_interrupted_says_so_and_how_to_finish_it() -> None:
    assert found(interrupted()) == Cause(
        "ScaleInterrupted",
        "shunter scale suspended it to give it 3 nodes, and was interrupted before it resumed it",
        "finish that with: shunter scale j --nodes 3 -n n",
    )


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(interrupted("6"), "Suspended", id="its owner has changed the job since"),
        pytest.param(interrupted(managedBy="kueue.x-k8s.io/multikueue"), "ManagedByOther", id="it is another controller's"),
        pytest.param(interrupted(suspend=False), "", id="it was resumed by hand"),
    ],
)
def test_an_interrupted_scaling_is_told_only_while_it_is_what_the_job_waits_for(job: Json, expected: str) -> None:
    assert word(job) == expected


def test_a_suspended_job_says_how_to_resume_it() -> None:
    answer = found(v1_job(policy={"suspend": True}))
    assert answer is not None
    patch = '{"spec":{"runPolicy":{"suspend":false}}}'
    assert answer.remedy == f"resume it with: kubectl patch pytorchjob j -n n --type=merge -p '{patch}'"


def test_a_finished_job_has_no_cause_whatever_its_pods_say() -> None:
    job = v1_job(conditions=[{"type": "Failed", "status": "True"}])
    assert found(job, v1_pod("master", **unplaced(NO_GPU))) is None


def test_a_job_that_is_being_deleted_says_what_it_waits_for() -> None:
    job = v1_job()
    job["metadata"]["deletionTimestamp"] = ago(5)
    job["metadata"]["finalizers"] = ["foregroundDeletion"]
    answer = found(job, v1_pod("master", **running()))
    assert answer is not None
    assert (answer.word, "waits for its 1 pod to end" in answer.sentence) == ("Deleting", True)


def test_a_job_of_kubernetes_has_the_same_causes() -> None:
    assert word(native_job(), native_pod(0, **unplaced(NO_GPU))) == "Unschedulable"
    refused = [event("u-job", "FailedCreate", QUOTA)]
    assert word(native_job(), native_pod(0, **running()), events=refused) == "QuotaExceeded"
    assert word(native_job(), native_pod(0, **running()), native_pod(1, **running()), events=refused) == ""
    late = [native_pod(0, **succeeded(60)), native_pod(1, **running(30))]
    assert word(native_job(), *late) == "PeersSucceeded"
