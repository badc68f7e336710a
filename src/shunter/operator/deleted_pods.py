"""When the deletion of a pod was requested, and which of its containers ended because of it.

The kubelet's final deletion of a pod, without a grace period, moves deletionTimestamp (BeforeDelete of Kubernetes 1.36). Without
the first one, containers that ended because of the deletion could not be distinguished from those that failed before it.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.core import Pod, TerminatedState
from shunter.api.meta import ObjectMeta

_STOPPED = (137, 143)
"""Exit codes of containers that received SIGKILL or SIGTERM."""


class _Deletion(NamedTuple):
    timestamp: datetime
    grace_seconds: int | None


class Deletions:
    """The first deletion (timestamp and grace period) of each pod of one informer. Register `changed` as its handler."""

    def __init__(self) -> None:
        self._first: dict[str, _Deletion] = {}
        """As it was first seen, by the pod's UID."""

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        """Remembers the deletion of a pod while the pod is there."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._first.pop(old.metadata.uid, None)
        if new is not None and new.metadata.deletion_timestamp is not None and not is_removed(new.metadata):
            asked = _Deletion(new.metadata.deletion_timestamp, new.metadata.deletion_grace_period_seconds)
            self._first.setdefault(new.metadata.uid, asked)

    def with_first_deletion(self, pod: Pod) -> Pod:
        """The pod with its first deletion, if that was seen."""
        first = self._first.get(pod.metadata.uid)
        if first is None or not is_removed(pod.metadata):
            return pod
        metadata = msgspec.structs.replace(
            pod.metadata, deletion_timestamp=first.timestamp, deletion_grace_period_seconds=first.grace_seconds
        )
        return Pod(metadata, pod.spec, pod.status)


def is_stopped(exit_code: int | None, reason: str) -> bool:
    """Whether a container was stopped from outside: by SIGKILL or SIGTERM, unless it ran out of memory."""
    return exit_code in _STOPPED and reason != "OOMKilled"


def is_ended_by_deletion(metadata: ObjectMeta, ended: TerminatedState) -> bool:
    """Whether a container ended because its pod had been deleted. Times have whole seconds: in the second of the deletion a
    container that was stopped counts as ended by it. So it does where nothing tells that second."""
    requested = metadata.deletion_requested
    if requested is None:
        return False
    if is_removed(metadata):
        return is_stopped(ended.exit_code, ended.reason)
    if ended.finished_at is None or ended.finished_at == requested:
        return is_stopped(ended.exit_code, ended.reason)
    return ended.finished_at > requested


def is_removed(metadata: ObjectMeta) -> bool:
    """Whether a pod is deleted without a grace period, as by the kubelet once its containers have ended."""
    return metadata.deletion_timestamp is not None and not metadata.deletion_grace_period_seconds
