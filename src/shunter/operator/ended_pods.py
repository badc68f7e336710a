"""Remembers the resourceVersion at which each pod was first seen to have ended.

The status of a job counts ended pods without naming them, so which of them are new follows only from their order. Times in pods
give no order, since each kubelet has its own clock; resourceVersions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shunter.api.core import Pod
from shunter.kube.cache.store import revision


class EndedPods:
    """Finished pods of one informer, with the resourceVersion at which each was first seen finished. Register `changed` as its
    handler."""

    def __init__(self) -> None:
        self._revisions: dict[str, int] = {}

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        """Remembers at which revision a pod was first seen to have ended, while the pod is there."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._revisions.pop(old.metadata.uid, None)
        if new is not None and new.is_finished:
            self._revisions.setdefault(new.metadata.uid, revision(new.metadata.resource_version))

    @property
    def revisions(self) -> Mapping[str, int]:
        """The resourceVersion of each finished pod, by UID. If a pod was changed before its end was seen, this is the version of
        that change."""
        return MappingProxyType(self._revisions)
