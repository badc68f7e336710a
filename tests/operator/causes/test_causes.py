"""Why a job does not train: the word, and what it must not claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from job_evidence import (
    NOW,
    ago,
    event,
    failed,
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
from shunter.operator.causes import WORDS, Cause, Evidence, cause
from shunter.operator.causes.held import ORDER
from shunter.operator.interrupted_scaling import RESUMES

Json = dict[str, Any]
NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No preemption victims."
NO_CLAIM = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
GANG = "3/3 tasks in gang unschedulable: pod group is not ready, 2 Pending, 3 minAvailable; Pending: 2 Undetermined"
MOUNT = 'MountVolume.SetUp failed for volume "code" : configmap "train-code" not found'
QUOTA = 'Error creating: pods "j-worker-1" is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2'
BACK_OFF: Json = {"restartCount": 3, "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(20)}}}


def found(job: Json, *pods: Json, **evidence: Any) -> Cause | None:
    return cause(job, Evidence(pods=pods, **evidence), NOW)


def word(job: Json, *pods: Json, **evidence: Any) -> str:
    answer = found(job, *pods, **evidence)
    return answer.word if answer else ""


PODS: dict[str, tuple[Json, str, str]] = {
    "GPUs that no node has": (
        unplaced(NO_GPU),
        "Unschedulable",
        "{}: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    ),
    "a claim that is not there": (unplaced(NO_CLAIM), "MissingClaim", "{}: PersistentVolumeClaim data does not exist"),
    "a claim without a volume": (
        unplaced("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
        "UnboundClaim",
        "{}: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
    ),
    "a gang that is not complete": (unplaced(GANG), "WaitingForGang", f"{{}}: {GANG}"),
    "a PodGroup that is not there, or asks for more pods": (
        {"spec": {"nodeName": "", "schedulingGroup": {"podGroupName": "g"}}},
        "WaitingForGang",
        "{}: scheduler default-scheduler has not looked at the pod, which is of PodGroup g",
    ),
    "what the scheduler of Kubernetes 1.36 adds": (
        unplaced(
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: x"
        ),
        "Unschedulable",
        "{}: 0/1 nodes are available: 1 Insufficient cpu.",
    ),
    "a scheduling gate": (
        {**unplaced("", "SchedulingGated"), "spec": {"nodeName": "", "schedulingGates": [{"name": "x/y"}]}},
        "SchedulingGated",
        "{}: the scheduling gates x/y keep it back",
    ),
    "no scheduler": (
        {"spec": {"nodeName": "", "schedulerName": "volcano"}},
        "NoScheduler",
        "{}: scheduler volcano has not looked at the pod",
    ),
    "a node that is silent": ({}, "NodeNotResponding", "{}: node node-1 has not started the pod"),
    "an environment from a ConfigMap": (
        waiting("CreateContainerConfigError", 'configmap "settings" not found'),
        "MissingConfigMap",
        "{}: ConfigMap settings does not exist",
    ),
    "an environment from a Secret": (
        waiting("CreateContainerConfigError", 'secret "token" not found'),
        "MissingSecret",
        "{}: Secret token does not exist",
    ),
    "a key of a Secret": (
        waiting("CreateContainerConfigError", "couldn't find key password in Secret n/token"),
        "MissingSecret",
        "{}: key password is missing in Secret n/token",
    ),
    "another error of the configuration": (
        waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
        "ConfigError",
        "{}: container pytorch: container has runAsNonRoot and image will run as root",
    ),
    "an image that is not there": (
        waiting("ImagePullBackOff", 'Back-off pulling image "team/train:1"'),
        "ImagePull",
        '{}: image team/train:1 cannot be pulled (ImagePullBackOff: Back-off pulling image "team/train:1")',
    ),
    "an image's name that is none": (
        waiting("InvalidImageName"),
        "ImagePull",
        "{}: image team/train:1 cannot be pulled (InvalidImageName)",
    ),
    "a command that is not there": (
        waiting("RunContainerError", "exec: no such file"),
        "StartError",
        "{}: container pytorch: RunContainerError: exec: no such file",
    ),
    "a loop": (
        {"phase": "Running", **waiting("CrashLoopBackOff", "back-off 20s", **BACK_OFF)},
        "CrashLoop",
        "{}: container pytorch ends again and again with exit code 1",
    ),
    "a loop between two failures": (
        running(since=5, **BACK_OFF),
        "CrashLoop",
        "{}: container pytorch ends again and again with exit code 1",
    ),
}


@pytest.mark.parametrize(("parts", "expected", "sentence"), PODS.values(), ids=PODS)
def test_what_a_pod_says_is_the_cause_of_jobs_of_both_generations(parts: Json, expected: str, sentence: str) -> None:
    first = found(v1_job(), v1_pod("worker", **parts))
    second = found(v2_job(), v2_pod(1, **parts), children=jobset())
    assert first is not None
    assert (first.word, first.sentence) == (expected, sentence.format("worker-0"))
    assert second is not None
    assert (second.word, second.sentence) == (expected, sentence.format("node-1"))


HEALTHY: dict[str, Json] = {
    "being created": waiting("ContainerCreating"),
    "waiting for an init container": waiting("PodInitializing"),
    "just made": {"spec": {"nodeName": ""}, "made": 5},
    "just given to a node": {"made": 5},
    "running": running(),
    "running for long since two restarts": running(since=3600, **BACK_OFF),
    "succeeded": succeeded(20),
}


@pytest.mark.parametrize("parts", HEALTHY.values(), ids=HEALTHY)
def test_a_pod_that_is_merely_slow_is_no_cause(parts: Json) -> None:
    others = [v1_pod("master", **(running() if parts.get("phase") != "Succeeded" else succeeded(10)))]
    assert found(v1_job(), *others, v1_pod("worker", **parts)) is None


MISSING_SOURCE = {
    "a ConfigMap": (MOUNT, "MissingConfigMap"),
    "a Secret": ('MountVolume.SetUp failed for volume "keys" : secret "keys" not found', "MissingSecret"),
    "another": ('MountVolume.SetUp failed for volume "nfs" : mount failed: exit status 32', "VolumeMount"),
}


@pytest.mark.parametrize(("message", "expected"), MISSING_SOURCE.values(), ids=MISSING_SOURCE)
def test_a_volume_that_cannot_be_mounted_is_told_from_the_events(message: str, expected: str) -> None:
    pod = v1_pod("master", **waiting("ContainerCreating"))
    assert word(v1_job(0), pod, events=[event("u-j-master-0", "FailedMount", message)]) == expected


def test_a_volume_that_was_mounted_since_is_no_cause() -> None:
    pod = v1_pod("master", **waiting("ContainerCreating"))
    events = [event("u-j-master-0", "FailedMount", MOUNT, at=60), event("u-j-master-0", "Pulling", "Pulling image", at=30)]
    assert found(v1_job(0), pod, events=events) is None


def test_an_event_of_an_earlier_pod_of_the_same_name_is_no_cause() -> None:
    pod = v1_pod("master", uid="new", **waiting("ContainerCreating"))
    assert found(v1_job(0), pod, events=[event("old", "FailedMount", MOUNT)]) is None


def test_pods_of_an_earlier_trainjob_of_the_same_name_are_not_its_own() -> None:
    assert found(v2_job(), v2_pod(0, made=900, **unplaced(NO_GPU)), children=jobset()) is None
    assert word(v2_job(), v2_pod(0, made=600, **unplaced(NO_GPU)), children=jobset()) == "Unschedulable"


def test_pods_on_their_way_out_are_no_cause() -> None:
    pod = v1_pod("master", **unplaced(NO_GPU))
    pod["metadata"]["deletionTimestamp"] = ago(1)
    assert found(v1_job(0), pod) is None


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


def test_an_autoscaler_that_has_seen_the_pod_is_named() -> None:
    pod = v1_pod("master", **unplaced(NO_GPU))
    answer = found(v1_job(0), pod, events=[event("u-j-master-0", "TriggeredScaleUp", "pod triggered scale-up", type="Normal")])
    assert answer is not None
    assert answer.remedy == "An autoscaler has seen it: a node may come."


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
    message = 'JobSet j was refused: jobsets "j" is forbidden: exceeded quota: q, requested: count/jobsets=1.'
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


def test_pods_that_fail_and_are_made_again_are_a_loop() -> None:
    pods = [v2_pod(0, **failed(1)), v2_pod(0, **failed(1)), v2_pod(0, **running(5))]
    answer = found(v2_job(1), *pods, children=jobset(pods=1))
    assert answer is not None
    assert (answer.word, answer.sentence) == ("CrashLoop", "node-0: its pods fail again and again with exit code 1")
    assert found(v2_job(1), v2_pod(0, **failed(1)), v2_pod(0, **running(5)), children=jobset(pods=1)) is None


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([90, 30], "worker-0: its pods fail again and again with exit code 137", id="twice, the last not long ago"),
        pytest.param([30], "", id="once"),
        pytest.param([90, 70], "", id="twice, and it has run since"),
    ],
)
def test_pods_that_failed_and_are_gone_are_a_loop_by_the_record_of_the_job(times: list[int], expected: str) -> None:
    last = [{"rank": 1, "pod": "j-worker-0", "podUID": f"u{at}", "exitCode": 137, "time": ago(at)} for at in times]
    job = v1_job(rankFailures={"count": len(last), "last": last})
    answer = found(job, v1_pod("master", **running(200)), v1_pod("worker", **running(20)))
    assert (answer.sentence if answer else "") == expected


def test_a_rank_that_starts_after_another_has_succeeded_is_told_at_once() -> None:
    answer = found(v2_job(), v2_pod(0, **succeeded(60)), v2_pod(1, **running(30)), children=jobset())
    assert answer is not None
    assert answer.word == "PeersSucceeded"
    assert answer.sentence == "node-1 started after node-0 had succeeded: they can never have met"


@pytest.mark.parametrize("began", [30, 60])
def test_a_rank_that_was_restarted_after_another_had_succeeded_is_told_at_once(began: int) -> None:
    """Also in the second in which that one ended: then it lost its peer, and its first restart takes no time."""
    answer = found(native_job(), native_pod(0, **succeeded(60)), native_pod(1, **running(began, **AGAIN)))
    assert answer is not None
    assert answer.word == "PeersSucceeded"
    assert answer.sentence == "rank-1 was restarted after rank-0 had succeeded: they cannot meet again"


def test_a_rank_that_was_restarted_before_another_succeeded_has_met_it() -> None:
    assert found(native_job(), native_pod(0, **succeeded(60)), native_pod(1, **running(61, **AGAIN))) is None


def test_a_loop_beside_a_rank_that_has_succeeded_says_that_they_cannot_meet() -> None:
    loop = {"phase": "Running", **waiting("CrashLoopBackOff", **BACK_OFF)}
    answer = found(v2_job(), v2_pod(0, **succeeded(60)), v2_pod(1, **loop), children=jobset())
    assert answer is not None
    assert answer.word == "CrashLoop"
    assert answer.sentence.endswith("with exit code 1; node-0 succeeded already: they cannot meet again")


TORCH: Json = {"spec": {"containers": [{"name": "node", "env": [{"name": "PET_NNODES", "value": "2"}]}]}}
AGAIN = {"restartCount": 1, "lastState": {"terminated": {"exitCode": 1, "finishedAt": ago(31)}}}


def test_a_torch_rank_that_was_restarted_alone_is_told_with_the_runtime_where_that_cannot_be() -> None:
    pods = [v2_pod(0, **running(30, **AGAIN), **TORCH), v2_pod(1, **succeeded(60), **TORCH)]
    answer = found(v2_job(), *pods, children=jobset())
    assert answer is not None
    assert answer.word == "PeersSucceeded"
    assert answer.sentence == "node-1 is done, node-0 was restarted alone and cannot form the group"
    assert answer.remedy == "start the job again, on runtime shunter-torch, which restarts all ranks after a failure."
    replaced = [v2_pod(0, **failed(1), **TORCH), v2_pod(0, **running(30), **TORCH), pods[1]]
    assert found(v2_job(), *replaced, children=jobset()) == answer
    in_one_second = [v2_pod(0, **running(60, **AGAIN), **TORCH), pods[1]]
    assert found(v2_job(), *in_one_second, children=jobset()) == answer
    three = [*pods, v2_pod(2, **succeeded(50), **TORCH)]
    answer = found(v2_job(3), *three, children=jobset(pods=3))
    assert answer is not None
    assert answer.sentence == "node-1, node-2 are done, node-0 was restarted alone and cannot form the group"


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        pytest.param(
            v2_job(),
            [v2_pod(0, **running(30, **AGAIN), **TORCH), v2_pod(1, **running(400), **TORCH)],
            id="whose partners all run",
        ),
        pytest.param(
            v2_job(),
            [v2_pod(0, **running(90, **AGAIN), **TORCH), v2_pod(1, **succeeded(60), **TORCH)],
            id="and met its partner before that was done",
        ),
        pytest.param(
            v2_job(), [v2_pod(0, **running(30), **TORCH), v2_pod(1, **succeeded(60), **TORCH)], id="that was not restarted"
        ),
        pytest.param(v2_job(), [v2_pod(0, **running(30, **AGAIN)), v2_pod(1, **succeeded(60))], id="of no torch group"),
        pytest.param(
            v1_job(kind="MPIJob"),
            [v1_pod("master", **running(30, **AGAIN)), v1_pod("worker", **succeeded(60))],
            id="of an MPIJob",
        ),
    ],
)
def test_no_rank_is_said_to_be_restarted_alone(job: Json, pods: list[Json]) -> None:
    answer = found(job, *pods, children=jobset())
    assert answer is None or "restarted alone" not in answer.sentence


def test_a_torch_rank_that_fails_again_and_again_beside_one_that_is_done_names_the_runtime() -> None:
    loop = {"phase": "Running", **waiting("CrashLoopBackOff", **BACK_OFF), **TORCH}
    answer = found(v2_job(), v2_pod(0, **succeeded(60), **TORCH), v2_pod(1, **loop), children=jobset())
    assert answer is not None
    assert (answer.word, "shunter-torch" in answer.remedy) == ("CrashLoop", True)


def test_ranks_that_run_on_long_after_another_has_succeeded_are_told() -> None:
    answer = found(v1_job(2), v1_pod("worker", 0, **succeeded(300)), v1_pod("worker", 1, **running(400)))
    assert answer is not None
    assert answer.sentence == "worker-1 runs on, worker-0 succeeded at 11:55:00Z"


def test_ranks_that_end_one_after_another_and_servers_that_run_on_are_no_cause() -> None:
    assert found(v2_job(), v2_pod(0, **succeeded(30)), v2_pod(1, **running(400)), children=jobset()) is None
    servers = [v1_pod("worker", 0, **succeeded(300)), v1_pod("ps", 0, **running(400))]
    assert found(v1_job(kind="TFJob"), *servers) is None
    assert found(v1_job(kind="MPIJob"), v1_pod("master", **succeeded(300)), v1_pod("worker", 0, **running(400))) is None


def native_job(**spec: Any) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "u-job", "creationTimestamp": ago(600)},
        "spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, **spec},
        "status": {},
    }


def native_pod(index: int, **parts: Any) -> Json:
    pod = v2_pod(index, **parts)
    pod["spec"]["containers"] = [{"name": "train"}]
    return pod


def test_a_job_of_kubernetes_has_the_same_causes() -> None:
    assert word(native_job(), native_pod(0, **unplaced(NO_GPU))) == "Unschedulable"
    refused = [event("u-job", "FailedCreate", QUOTA)]
    assert word(native_job(), native_pod(0, **running()), events=refused) == "QuotaExceeded"
    assert word(native_job(), native_pod(0, **running()), native_pod(1, **running()), events=refused) == ""
    late = [native_pod(0, **succeeded(60)), native_pod(1, **running(30))]
    assert word(native_job(), *late) == "PeersSucceeded"


@pytest.mark.parametrize("ended_before", [False, True])
def test_a_program_that_is_missing_says_what_it_needs(ended_before: bool) -> None:
    """A kubelet and our node let the container wait, and after a restart only its last end says why."""
    message = 'exec: "tune": executable file not found in $PATH'
    ended = {"exitCode": 128, "reason": "StartError", "message": message, "finishedAt": ago(20)}
    container = (
        waiting("CrashLoopBackOff", "back-off", restartCount=3, lastState={"terminated": ended})
        if ended_before
        else waiting("RunContainerError", message)
    )
    told = found(v1_job(), v1_pod("master", **container))
    assert told is not None
    assert told.word == ("CrashLoop" if ended_before else "StartError")
    assert message in told.sentence
    assert "torchtune needs the Python packages torchtune, torchao and torch" in told.remedy


def test_ranks_that_take_turns_are_not_told_to_have_missed_each_other() -> None:
    late = [native_pod(0, **succeeded(60)), native_pod(1, **running(30))]
    assert found(native_job(parallelism=1), *late) is None


def test_every_word_has_a_meaning_and_a_line_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs/causes.md").read_text()
    assert set(ORDER) <= set(WORDS)
    for each, meaning in WORDS.items():
        assert f"| `{each}` | {meaning} |" in page
