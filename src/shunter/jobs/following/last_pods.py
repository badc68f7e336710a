"""The pods of a job's last attempt, which show why it failed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shunter.api.meta import Json
from shunter.operator.diagnosis import faults
from shunter.operator.pod_places import label_number, place

RESTART_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
"""Label of a JobSet's pods: how often all pods had been recreated before."""


def last_pods(job: Json, pods: Sequence[Json], deleted: Collection[str]) -> list[Json]:
    """One pod for each place in the job, from the last restart of all pods: the newest failed one or, if none failed, the newest.
    A pod in `deleted` (uids), whose log can no longer be read, only if no other failed in its place."""
    latest: dict[str, Json] = {}
    for pod in sorted(pods, key=lambda pod: _order(pod, deleted)):
        latest[place(job, pod).label] = pod
    last = max((_attempt(pod) for pod in latest.values() if faults([pod])), default=0)
    return [pod for pod in latest.values() if _attempt(pod) >= last]


def _order(pod: Json, deleted: Collection[str]) -> tuple[bool, bool, int, str]:
    metadata = pod["metadata"]
    exists = metadata["uid"] not in deleted
    return bool(faults([pod])), exists, _attempt(pod), str(metadata.get("creationTimestamp", ""))


def _attempt(pod: Json) -> int:
    return label_number(pod["metadata"].get("labels") or {}, RESTART_ATTEMPT)
