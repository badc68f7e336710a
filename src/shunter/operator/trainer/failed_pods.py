"""The pods of TrainJobs in which something failed, until their jobs' records have it: also those that JobSet or a Job replaced
before anybody looked.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.core import Pod
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.plan import Key
from shunter.operator.deletions import Deletions, is_removed
from shunter.operator.rank_failures import without_counted
from shunter.operator.trainer.status import COMPLETE, find
from shunter.operator.trainer.views import RankPod

FAILED_INDEX = "failed"


def train_job_of_failed(pod: RankPod) -> Iterable[Key]:
    """The TrainJob that a pod concerns: none while nothing failed in it."""
    return (Key(pod.metadata.namespace, pod.jobset),) if pod.jobset and pod.has_failure else ()


def failed_of(pod: RankPod) -> Iterable[str]:
    """The index of pods in which something failed by their job."""
    return (str(key) for key in train_job_of_failed(pod))


class FailedPods:
    """Those that are there, from the cache (`store` has the index FAILED_INDEX), and those that went, from memory."""

    def __init__(self, store: Store[RankPod]) -> None:
        self._store = store
        self._deletions = Deletions()
        self._gone: dict[Key, dict[str, Pod]] = {}
        """By UID: pods that went, and the last version of a pod before one that hides how it ended."""

    def changed(self, old: RankPod | None, new: RankPod | None) -> None:
        """For the informer: remembers a pod that goes, and one of which a removal hides how it ended."""
        before = self._deletions.restored(old) if old is not None else None
        self._deletions.changed(old, new)
        if old is None or before is None:
            return
        is_same = new is not None and new.metadata.uid == old.metadata.uid
        if new is not None and is_same and (is_removed(before) or not is_removed(self._deletions.restored(new))):
            return
        for key in train_job_of_failed(old):
            self._gone.setdefault(key, {}).setdefault(old.metadata.uid, before)

    def of(self, job: TrainJob) -> tuple[Pod, ...]:
        """Those of this job, and not of an earlier one of its name, each once: what its record has of those that went is
        forgotten."""
        key, record = key_of(job), job.status.rank_failures
        complete = find(job.status.conditions, COMPLETE)
        if complete is not None and complete.is_true:
            self.forget(key)
        there = {pod.metadata.uid: self._deletions.restored(pod) for pod in self._store.by_index(FAILED_INDEX, str(key))}
        gone = {
            uid: pod
            for uid, pod in self._gone.pop(key, {}).items()
            if _is_of(job, pod) and (uid in there or without_counted((pod,), record))
        }
        if gone:
            self._gone[key] = gone
        return tuple(pod for pod in {**there, **gone}.values() if _is_of(job, pod))

    def forget(self, key: Key) -> None:
        """The job is gone, or over."""
        self._gone.pop(key, None)


def _is_of(job: TrainJob, pod: Pod) -> bool:
    made, pod_made = job.metadata.creation_timestamp, pod.metadata.creation_timestamp
    return made is None or pod_made is None or pod_made >= made
