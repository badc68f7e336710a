"""A pod that has failed and goes leaves its cause behind: in events of its job, once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import pytest

from plan_texts import reasons
from running_job import RunningJob
from shunter.api.core import Pod
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import PODS
from shunter.api.training.job import JobStatus
from shunter.kube.controllers.plan import ContainerLog, Note
from shunter.operator.ended_pods import EndedPods
from shunter.operator.pod_places import Members
from shunter.operator.training.children import children_of
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS, framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.policies import restart

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


def told(notes: list[Note], reason: str) -> list[str]:
    return [note.message for note in notes if note.reason == reason]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=[framework.info.resource.kind for framework in FRAMEWORKS])
@pytest.mark.parametrize("restart_policy", ["Never", "OnFailure", "ExitCode"])
@pytest.mark.parametrize("backoff_limit", [None, 0], ids=["no limit", "no restart"])
@pytest.mark.parametrize("clean_up", ["All", "Running", "None"])
def test_each_failure_is_told_once_before_its_pod_goes(
    framework: AnyFramework, restart_policy: str, backoff_limit: int | None, clean_up: str
) -> None:
    job = RunningJob(framework, restart_policy)
    world = job.world
    policy = {"cleanPodPolicy": clean_up, **({"backoffLimit": backoff_limit} if backoff_limit is not None else {})}
    world.job["spec"]["runPolicy"] = policy
    for name in sorted(world.all(PODS)):
        if "-worker-0" in name:
            world.set_pod(name, "Failed", exit_code=3)
    world.settle()
    container = next(iter(world.all(PODS).values()))["spec"]["containers"][0]["name"]
    is_gone = "job-worker-0" not in world.all(PODS) or world.all(PODS)["job-worker-0"].get("status") is None
    place = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}
    rank = Members(world.job, ()).of({"metadata": {"labels": place}}).rank
    assert told(world.told, "RankFailed") == [f"rank {rank}, pod job-worker-0, container {container}: Error, exit code 3"]
    record = world.job["status"]["rankFailures"]
    assert (record["count"], [one["pod"] for one in record["last"]]) == (1, ["job-worker-0"])
    if is_gone:
        assert told(world.told, "ExitedWithCode") == ["Pod: team-a.job-worker-0 exited with code 3"]
    assert [note.last_words for note in world.told if note.last_words] == [ContainerLog("team-a", "job-worker-0", container)]


def failed(observed: Observed, name: str, status: Json) -> Observed:
    """With this status of one pod, which has failed."""
    pods = [
        msgspec.convert(
            {"metadata": {**msgspec.to_builtins(pod.metadata), "uid": f"uid-of-{name}"}, "status": {"phase": "Failed", **status}},
            Pod,
        )
        if pod.metadata.name == name
        else pod
        for pod in observed.children.pods
    ]
    return msgspec.structs.replace(observed, children=children_of(observed.job, pods, observed.children.services))


ENDED = {"name": "pytorch", "state": {"terminated": {"exitCode": 0}}}
SIDECAR = {"name": "sidecar", "state": {"terminated": {"exitCode": 2, "reason": "Error", "message": "no proxy"}}}


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ({"containerStatuses": [ENDED, SIDECAR]}, "rank 1, pod bert-worker-0, container sidecar: Error, exit code 2: no proxy"),
        (
            {"initContainerStatuses": [{**SIDECAR, "name": "init-pytorch"}]},
            "rank 1, pod bert-worker-0, container init-pytorch: Error, exit code 2: no proxy",
        ),
        (
            {"reason": "Evicted", "message": "The node was low on resource: memory."},
            "rank 1, pod bert-worker-0: Evicted: The node was low on resource: memory.",
        ),
    ],
    ids=["a sidecar", "an init container", "evicted"],
)
def test_the_cause_is_told_whatever_failed(make_job: MakeJob, observe: Observe, now: datetime, status: Json, cause: str) -> None:
    """Also where the container that trains has no exit code to tell."""
    job = make_job(role={"restartPolicy": "Never"}, policy={"cleanPodPolicy": "All"})
    made = plan(PYTORCH, failed(observe(job), "bert-worker-0", status), now)
    assert told([*made.events], "RankFailed") == [cause]


def test_a_pod_that_restarted_too_often_leaves_what_it_said_before(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """It waits for its next start: its last words are those of the run before."""
    job = make_job(policy={"cleanPodPolicy": "All", "backoffLimit": 1})
    observed = observe(job)
    last = {"terminated": {"exitCode": 7, "reason": "Error", "finishedAt": "2026-11-21T11:59:00Z"}}
    waits = {"name": "pytorch", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last}
    made = plan(PYTORCH, failed(observed, "bert-worker-0", {"phase": "Running", "containerStatuses": [waits]}), now)
    (note,) = (note for note in made.events if note.reason == "RankFailed")
    assert note.message == "rank 1, pod bert-worker-0, container pytorch: Error, exit code 7 after 2 restarts"
    assert note.last_words == ContainerLog("team-a", "bert-worker-0", "pytorch", previous=True)


def test_of_many_that_fail_at_once_the_first_tells_its_last_words(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    job = make_job({"Worker": 40}, role={"restartPolicy": "Never"}, policy={"cleanPodPolicy": "All"})
    made = plan(PYTORCH, observe(job, {"*": "Failed"}), now)
    causes = [note for note in made.events if note.reason == "RankFailed"]
    assert len(causes) == 20
    assert [bool(note.last_words) for note in causes] == [True] + [False] * 19


@pytest.mark.parametrize(("seconds", "is_recorded"), [(1, True), (60, False)])
def test_what_failed_about_when_the_job_did_is_recorded_though_it_is_seen_later(
    make_job: MakeJob, observe: Observe, now: datetime, seconds: int, is_recorded: bool
) -> None:
    """On a real cluster a rank that had lost its peer was seen first, and the job failed by it: its cause was not recorded."""

    def ended(moment: datetime) -> Json:
        state = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": rfc3339(moment)}}
        return {"containerStatuses": [{"name": "pytorch", "state": state}]}

    job = make_job(role={"restartPolicy": "Never"}, policy={"cleanPodPolicy": "None"})
    first = plan(PYTORCH, failed(observe(job), "bert-master-0", ended(now)), now)
    assert first.status is not None
    job = msgspec.structs.replace(job, status=msgspec.convert(first.status.desired, JobStatus))
    assert job.status.is_finished
    late = plan(
        PYTORCH, failed(observe(job), "bert-worker-0", ended(now + timedelta(seconds=seconds))), now + timedelta(seconds=70)
    )
    assert told([*late.events], "RankFailed") == (
        ["rank 1, pod bert-worker-0, container pytorch: Error, exit code 3"] if is_recorded else []
    )
    assert late.status is not None
    recorded = late.status.desired["rankFailures"]
    assert [one["pod"] for one in recorded["last"]] == ["bert-master-0", *["bert-worker-0"] * is_recorded]
    assert late.status.desired["completionTime"] == first.status.desired["completionTime"]


@pytest.mark.parametrize(("seconds", "is_recorded"), [(2, True), (3, False), (4, False)])
def test_what_ends_because_its_pod_is_deleted_is_no_failure(
    make_job: MakeJob, observe: Observe, now: datetime, seconds: int, is_recorded: bool
) -> None:
    """cleanPodPolicy deletes what still runs of a failed job; a program that does not end in time is killed."""
    state = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": rfc3339(now + timedelta(seconds=seconds))}}
    job = make_job(role={"restartPolicy": "Never"}, policy={"cleanPodPolicy": "None"})
    cause = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": rfc3339(now)}}
    first = plan(
        PYTORCH, failed(observe(job), "bert-master-0", {"containerStatuses": [{"name": "pytorch", "state": cause}]}), now
    )
    assert first.status is not None
    job = msgspec.structs.replace(job, status=msgspec.convert(first.status.desired, JobStatus))
    observed = failed(observe(job), "bert-worker-0", {"containerStatuses": [{"name": "pytorch", "state": state}]})
    deleted = {"deletion_timestamp": now + timedelta(seconds=3 + 30), "deletion_grace_period_seconds": 30}
    pods = [
        msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **deleted))
        if pod.metadata.name == "bert-worker-0"
        else pod
        for pod in observed.children.pods
    ]
    observed = msgspec.structs.replace(observed, children=children_of(job, pods, observed.children.services))
    late = plan(PYTORCH, observed, now + timedelta(seconds=40))
    assert bool(told([*late.events], "RankFailed")) == is_recorded


@pytest.mark.parametrize(("seconds", "counts"), [(2, False), (-2, True)], ids=["after it was asked to end", "before"])
def test_a_rank_that_ends_as_asked_has_not_failed_when_its_pod_is_removed(seconds: int, counts: bool) -> None:
    """The removal moves deletionTimestamp; torchrun ends with 1 when it is told to end."""
    world = RunningJob(PYTORCH, "Never").world
    body, asked = world.all(PODS)["job-worker-0"], world.now
    deleted = {"deletionTimestamp": rfc3339(asked + timedelta(seconds=30)), "deletionGracePeriodSeconds": 30}
    world.objects[PODS, "job-worker-0"] = {**body, "metadata": {**body["metadata"], **deleted}}
    world.look()
    removed = {"deletionTimestamp": rfc3339(asked + timedelta(seconds=5)), "deletionGracePeriodSeconds": 0}
    end = {"exitCode": 1, "reason": "Error", "finishedAt": rfc3339(asked + timedelta(seconds=seconds))}
    status = {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": {"terminated": end}}]}
    world.objects[PODS, "job-worker-0"] = {**body, "metadata": {**body["metadata"], **removed}, "status": status}
    world.look()
    assert bool(told(world.told, "RankFailed")) == counts


@pytest.mark.parametrize(
    "framework", [one for one in FRAMEWORKS if one.reports_all_exits], ids=lambda one: one.info.resource.kind
)
def test_each_exit_is_told_once_whatever_the_clocks_of_nodes_say(framework: AnyFramework) -> None:
    job = RunningJob(framework, "Never", workers=3)
    world = job.world
    for number, clock in ((2, 60), (1, 0)):  # in this order the operator sees them end
        world.set_pod(f"job-worker-{number}", "Succeeded", finished_at=world.now + timedelta(seconds=clock))
        world.settle()
    exits = [f"Pod: team-a.job-worker-{number} exited with code 0" for number in (2, 1)]
    assert told(world.told, "ExitedWithCode") == exits


def test_an_end_that_was_missed_is_new_whatever_was_written_of_earlier_ones() -> None:
    """Pods that a list brings, after a watch that had expired or to another leader, have ended when they are first seen."""
    ended = EndedPods()
    pods = {name: _ended(name, revision) for name, revision in (("a", 3), ("b", 5), ("missed", 7))}
    for pod in pods.values():
        ended.changed(None, pod)
    pods["a"] = _ended("a", 9)
    ended.changed(_ended("a", 3), pods["a"])
    new = restart.newly_finished("pytorch", [*pods.values()], counted=2, ended=ended.revisions)
    assert [pod.metadata.name for pod in new] == ["missed"]


def _ended(name: str, revision: int) -> Pod:
    status = {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": {"terminated": {"exitCode": 1}}}]}
    metadata = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": str(revision)}
    return msgspec.convert({"metadata": metadata, "status": status}, Pod)


def test_exits_are_told_once(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    status = {"replicaStatuses": {"Master": {"active": 1}, "Worker": {"succeeded": 1}}}
    made = plan(PYTORCH, observe(make_job(status=status), {"bert-worker-0": "Succeeded"}), now)
    assert "ExitedWithCode" not in reasons(made)
