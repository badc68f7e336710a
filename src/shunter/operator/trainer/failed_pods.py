"""Pods of TrainJobs in which something failed, kept until the job's record has the failure, even if they were replaced."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.core import Pod
from shunter.api.meta import true_condition
from shunter.api.rank_failures import MOST_KEPT
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.plan import Key
from shunter.operator.deleted_pods import Deletions
from shunter.operator.rank_failures import is_hidden, without_counted
from shunter.operator.trainer.status import COMPLETE
from shunter.operator.trainer.views import RankPod

FAILED_INDEX = "failed"


def train_job_of_failed(pod: RankPod) -> Iterable[Key]:
    """The TrainJob that a pod concerns: none while nothing failed in it."""
    return (Key(pod.metadata.namespace, pod.jobset),) if pod.jobset and pod.has_failure else ()


def failed_of(pod: RankPod) -> Iterable[str]:
    """The index of pods in which something failed by their job."""
    return (str(key) for key in train_job_of_failed(pod))


class FailedPods:
    """Failed pods from the cache (`store` has the index FAILED_INDEX), and from memory those that have left it since: a job is
    reconciled some time after its pods change."""

    def __init__(self, store: Store[RankPod]) -> None:
        self._store = store
        self._deletions = Deletions()
        self._earlier: dict[Key, dict[str, tuple[Pod, ...]]] = {}
        """By UID: versions of pods that showed a failure, each of which the next one hides, or after which the pod went."""

    def changed(self, old: RankPod | None, new: RankPod | None) -> None:
        """For the informer: remembers a pod that goes, and one that no longer tells of a failure."""
        before = self._deletions.with_first_deletion(old) if old is not None else None
        self._deletions.changed(old, new)
        if old is None or before is None:
            return
        is_same = new is not None and new.metadata.uid == old.metadata.uid
        after = self._deletions.with_first_deletion(new) if new is not None and is_same else None
        for key in train_job_of_failed(old):
            if is_hidden(before, after):
                versions = self._earlier.setdefault(key, {})
                versions[old.metadata.uid] = (*versions.get(old.metadata.uid, ()), before)[-MOST_KEPT:]

    def of(self, job: TrainJob) -> tuple[Pod, ...]:
        """The failed pods of this job, in order, possibly several versions of one. Earlier versions are forgotten once the job's
        record has them, or the job is complete."""
        key, record = key_of(job), job.status.rank_failures
        earlier = {
            uid: kept
            for uid, versions in self._earlier.pop(key, {}).items()
            if (kept := tuple(without_counted((pod for pod in versions if _is_of(job, pod)), record)))
        }
        if earlier and true_condition(job.status.conditions, COMPLETE) is None:
            self._earlier[key] = earlier
        there = (
            self._deletions.with_first_deletion(pod) for pod in self._store.by_index(FAILED_INDEX, str(key)) if _is_of(job, pod)
        )
        return (*(pod for versions in earlier.values() for pod in versions), *there)

    def forget(self, key: Key) -> None:
        """The job is gone, or over."""
        self._earlier.pop(key, None)


def _is_of(job: TrainJob, pod: Pod) -> bool:
    made, pod_made = job.metadata.creation_timestamp, pod.metadata.creation_timestamp
    return made is None or pod_made is None or pod_made >= made
