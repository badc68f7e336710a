"""Pods in which something failed are remembered until the job's record has the failure."""

from __future__ import annotations

import msgspec
import pytest

from rank_pods import MakeTrainJob, pod
from shunter.api.core import Pod, PodStatus
from shunter.api.meta import Json, ObjectMeta
from shunter.api.rank_failures import MOST_KEPT
from shunter.api.resources import TRAIN_JOBS
from shunter.api.trainer.trainjob import TrainJob, TrainJobStatus
from shunter.kube.cache.store import Store
from shunter.kube.controllers.plan import Key, Ref
from shunter.operator.rank_failures import notes, recorded
from shunter.operator.trainer.failed_pods import FAILED_INDEX, FailedPods, failed_of, train_job_of_failed
from shunter.operator.trainer.views import RankPod

REF = Ref(TRAIN_JOBS, "team-a", "mnist", "u1")


def test_pods_that_went_with_a_complete_job_are_given_once(make_trainjob: MakeTrainJob) -> None:
    complete = {"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "lastTransitionTime": "2026-11-21T11:40:00Z"}
    job, store = make_trainjob(status={"conditions": [complete]}), Store[RankPod]({FAILED_INDEX: failed_of})
    pods = FailedPods(store)
    pods.changed(pod(finished="2026-11-21T11:39:59Z"), None)
    assert len(pods.of(job)) == 1
    assert pods.of(job) == ()


def failed_pods(store: Store[RankPod]) -> FailedPods:
    store.add_index(FAILED_INDEX, failed_of)
    return FailedPods(store)


def as_decoded(pod: RankPod) -> Pod:
    """With the types that its parts have once it is made; those of the class are what is read."""
    return pod


def test_of_a_pod_without_failure_only_its_name_is_kept() -> None:
    kept = pod(exit_code=None)
    decoded = as_decoded(kept)
    assert decoded.status == PodStatus()
    assert decoded.metadata == ObjectMeta(
        name="mnist-node-0-1-x", namespace="team-a", uid="mnist-node-0-1-x", creation_timestamp=pod().metadata.creation_timestamp
    )
    assert [*train_job_of_failed(kept)] == []
    assert [*failed_of(kept)] == []


def test_a_pod_that_has_succeeded_concerns_nobody() -> None:
    assert (*train_job_of_failed(pod(exit_code=0)),) == ()


def test_a_pod_with_a_failure_concerns_its_job() -> None:
    assert (*train_job_of_failed(pod()),) == (Key("team-a", "mnist"),)
    assert "team" not in as_decoded(pod()).metadata.labels


def test_a_pod_that_was_replaced_before_anybody_looked_is_remembered_until_it_is_recorded(make_trainjob: MakeTrainJob) -> None:
    store: Store[RankPod] = Store()
    pods, job = failed_pods(store), make_trainjob()
    there, gone = pod("there"), pod("gone")
    for one in (there, gone, pod("healthy", exit_code=None), pod("earlier", created="2026-11-21T10:00:00Z")):
        pods.changed(*store.put(one))
    pods.changed(*store.remove(Key("team-a", "gone")))
    pods.changed(*store.remove(Key("team-a", "healthy")))
    assert pods.of(job) == (gone, there)
    assert pods.of(job) == (gone, there)
    record = msgspec.convert(
        {"rankFailures": {"count": 1, "last": [{"pod": "gone", "podUID": "gone", "container": "node"}]}}, TrainJobStatus
    )
    assert pods.of(msgspec.structs.replace(job, status=record)) == (there,)
    assert pods.of(job) == (there,)


def test_a_rank_that_was_killed_is_known_after_its_pod_is_removed(make_trainjob: MakeTrainJob) -> None:
    """Of a removed pod nothing tells whether a container was killed before or by the deletion."""
    store: Store[RankPod] = Store()
    pods, job = failed_pods(store), make_trainjob()
    killed, removed = pod("k", exit_code=137), pod("k", exit_code=137, removed="2026-11-21T12:00:09Z")
    for one in (killed, removed):
        pods.changed(*store.put(one))
    assert pods.of(job) == (killed, removed)
    assert [new.failure.pod for new in recorded(None, pods.of(job), lambda _: 1)[1]] == ["k"]
    pods.changed(*store.remove(Key("team-a", "k")))
    assert [new.failure.pod for new in recorded(None, pods.of(job), lambda _: 1)[1]] == ["k"]


def failures(pods: FailedPods, job: TrainJob) -> list[str]:
    """The pods whose failures would be recorded now."""
    return [new.failure.pod for new in recorded(job.status.rank_failures, pods.of(job), lambda _: 1)[1]]


def test_a_failure_counts_once_while_its_pod_is_removed(make_trainjob: MakeTrainJob) -> None:
    """Finalizers keep the removed version in the cache, beside the one before it."""
    store: Store[RankPod] = Store()
    pods, job = failed_pods(store), make_trainjob()
    for one in (pod("f"), pod("f", removed="2026-11-21T12:00:09Z")):
        pods.changed(*store.put(one))
    assert failures(pods, job) == ["f"]
    record = recorded(None, pods.of(job), lambda _: 1)[0]
    job = msgspec.structs.replace(job, status=TrainJobStatus(rank_failures=record))
    assert failures(pods, job) == []
    pods.changed(*store.remove(Key("team-a", "f")))
    assert failures(pods, job) == []


@pytest.mark.parametrize("is_end_seen", [True, False], ids=["its end was seen before", "its end was not seen before"])
@pytest.mark.parametrize(("finished", "counts"), [("2026-11-21T12:00:02Z", False), ("2026-11-21T11:59:58Z", True)])
def test_a_rank_that_ends_as_asked_has_not_failed_when_its_pod_is_removed(
    make_trainjob: MakeTrainJob, finished: str, counts: bool, is_end_seen: bool
) -> None:
    """Deleted at 12:00:00. The removal moves deletionTimestamp; torchrun ends with 1 when it is told to end."""
    store: Store[RankPod] = Store()
    pods, job, deleted = failed_pods(store), make_trainjob(), "2026-11-21T12:00:30Z"
    pods.changed(*store.put(pod("t", exit_code=None, deleted=deleted)))
    if is_end_seen:
        pods.changed(*store.put(pod("t", finished=finished, deleted=deleted)))
    pods.changed(*store.put(pod("t", finished=finished, removed="2026-11-21T12:00:09Z")))
    assert failures(pods, job) == ["t"] * counts
    assert failures(pods, job) == ["t"] * counts, "at the second look"
    pods.changed(*store.remove(Key("team-a", "t")))
    assert failures(pods, job) == ["t"] * counts, "when the pod is gone"


def test_a_rank_that_its_deletion_killed_has_not_failed(make_trainjob: MakeTrainJob) -> None:
    store: Store[RankPod] = Store()
    pods, job = failed_pods(store), make_trainjob()
    for one in (pod("v", exit_code=None), pod("v", exit_code=137, removed="2026-11-21T12:00:09Z")):
        pods.changed(*store.put(one))
    pods.changed(*store.remove(Key("team-a", "v")))
    assert recorded(None, pods.of(job), lambda _: 1)[1] == ()


def restarted(run: int, *, is_waiting: bool = False) -> RankPod:
    """A pod whose container has failed that often, and is started again in place."""
    state: Json = {"waiting": {"reason": "CrashLoopBackOff"}} if is_waiting else {"running": {}}
    last = {"terminated": {"exitCode": 1, "finishedAt": "2026-11-21T12:00:00Z"}}
    container = {"name": "node", "state": state, "lastState": last, "restartCount": run - is_waiting}
    labels = {"jobset.sigs.k8s.io/jobset-name": "mnist"}
    made: Json = {
        "metadata": {
            "name": "r",
            "namespace": "team-a",
            "uid": "r",
            "creationTimestamp": "2026-11-21T11:30:00Z",
            "labels": labels,
        },
        "spec": {"restartPolicy": "Never"},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }
    return msgspec.json.decode(msgspec.json.encode(made), type=RankPod)


def test_runs_that_fail_in_place_between_two_looks_all_count(make_trainjob: MakeTrainJob) -> None:
    """As with restartPolicyRules of a container (Kubernetes 1.34), whose pods have restartPolicy Never."""
    store: Store[RankPod] = Store()
    pods, job = failed_pods(store), make_trainjob()
    for run in (1, 2, 3):
        for is_waiting in (True, False):
            pods.changed(*store.put(restarted(run, is_waiting=is_waiting)))
    record, new = recorded(None, pods.of(job), lambda _: 1)
    assert record is not None
    assert (record.count, [one.failure.restart for one in new]) == (3, [0, 1, 2])
    logs = [(log.container, log.previous) if (log := note.last_words) else None for note in notes(REF, [new[2]])]
    assert logs == [("node", True)]
    assert notes(REF, [new[0]])[0].last_words is None, "the log of a run that two others followed is gone"
    job = msgspec.structs.replace(job, status=TrainJobStatus(rank_failures=record))
    assert failures(pods, job) == []
    pods.changed(*store.remove(Key("team-a", "r")))
    assert failures(pods, job) == []


def test_a_preemption_counts_though_the_rank_ends_well_before_anybody_looks(make_trainjob: MakeTrainJob) -> None:
    store: Store[RankPod] = Store()
    pods, job = failed_pods(store), make_trainjob()
    taken = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    running = pod("p", exit_code=None, deleted="2026-11-21T12:00:30Z", conditions=[taken])
    for one in (running, pod("p", exit_code=0, deleted="2026-11-21T12:00:30Z", conditions=[taken])):
        pods.changed(*store.put(one))
    pods.changed(*store.remove(Key("team-a", "p")))
    (new,) = recorded(None, pods.of(job), lambda _: 1)[1]
    assert (new.failure.reason, new.failure.container) == ("PreemptionByScheduler", "")


def test_what_nobody_records_is_remembered_of_the_last_runs_only(make_trainjob: MakeTrainJob) -> None:
    """As in a replica that does not lead."""
    store: Store[RankPod] = Store()
    pods = failed_pods(store)
    for run in range(1, 10 * MOST_KEPT):
        pods.changed(*store.put(restarted(run)))
    assert len(pods.of(make_trainjob())) == MOST_KEPT + 1


def test_nothing_is_remembered_of_a_job_that_is_gone(make_trainjob: MakeTrainJob) -> None:
    store: Store[RankPod] = Store()
    pods = failed_pods(store)
    store.put(pod())
    pods.changed(*store.remove(Key("team-a", "mnist-node-0-1-x")))
    pods.forget(Key("team-a", "mnist"))
    assert pods.of(make_trainjob()) == ()
