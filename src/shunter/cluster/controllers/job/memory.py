"""How deleted pods ended: the back-off between failures counts them too.

Kept in memory only, as in Kubernetes: a restarted controller creates the next pod without delay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.cluster.controllers.job.backoff import Finish, finish_of
from shunter.cluster.controllers.job.pods import is_tracked


class FinishMemory:
    """Remembers, by Job uid and pod uid, the end of every pod it was shown before the pod was counted."""

    def __init__(self) -> None:
        self._finishes: dict[str, dict[str, Finish]] = {}

    def past(self, job: Job, pods: Iterable[Pod], now: datetime) -> Mapping[str, Finish]:
        """Takes in the pods of the Job that have ended, and returns all it knows about the Job's pods."""
        if job.outcome is not None:
            self.forget(job.metadata.uid)
            return {}
        known = self._finishes.setdefault(job.metadata.uid, {})
        for pod in pods:
            if pod.metadata.is_controlled_by(job.metadata.uid) and is_tracked(pod) and (finish := finish_of(pod, job, now)):
                known[pod.metadata.uid] = finish
        return dict(known)

    def forget(self, job_uid: str) -> None:
        """Drops what is known of the pods of a Job; nothing happens where nothing is."""
        self._finishes.pop(job_uid, None)
