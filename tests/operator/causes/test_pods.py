"""What holds up a pod: its status, events about its volumes, and containers that fail again and again."""

from __future__ import annotations

import pytest

from found_causes import BACK_OFF, MOUNT, NO_CLAIM, NO_GPU, Json, found, word
from job_evidence import (
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

GANG = "3/3 tasks in gang unschedulable: pod group is not ready, 2 Pending, 3 minAvailable; Pending: 2 Undetermined"
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
        "{}: scheduler default-scheduler has not processed the pod, which belongs to PodGroup g",
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
        "{}: scheduler volcano has not processed the pod",
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


def test_pods_on_their_way_out_are_no_cause() -> None:
    pod = v1_pod("master", **unplaced(NO_GPU))
    pod["metadata"]["deletionTimestamp"] = ago(1)
    assert found(v1_job(0), pod) is None


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
