"""Remembers when the deletion of pods was requested.

The kubelet's final deletion of a pod, without a grace period, moves deletionTimestamp (BeforeDelete of Kubernetes 1.36). Without
the first one, containers that ended because of the deletion could not be distinguished from those that failed before it.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.core import Pod


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
        if new is not None and new.metadata.deletion_timestamp is not None and not is_removed(new):
            asked = _Deletion(new.metadata.deletion_timestamp, new.metadata.deletion_grace_period_seconds)
            self._first.setdefault(new.metadata.uid, asked)

    def with_first_deletion(self, pod: Pod) -> Pod:
        """The pod with its first deletion, if that was seen."""
        first = self._first.get(pod.metadata.uid)
        if first is None or not is_removed(pod):
            return pod
        metadata = msgspec.structs.replace(
            pod.metadata, deletion_timestamp=first.timestamp, deletion_grace_period_seconds=first.grace_seconds
        )
        return Pod(metadata, pod.spec, pod.status)


def is_removed(pod: Pod) -> bool:
    """Whether the pod is deleted without a grace period, as by the kubelet once its containers have ended."""
    return pod.metadata.deletion_timestamp is not None and not pod.metadata.deletion_grace_period_seconds
