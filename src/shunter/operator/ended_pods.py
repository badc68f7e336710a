"""Since which write pods have ended: remembered, as later writes hide it.

The status of a job counts pods that have ended, it does not name them. Which of them are new, only an order can tell. The moments
in pods are none: each kubelet has its own clock and sends its news when it can. The API server's revisions are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shunter.api.core import Pod
from shunter.kube.cache.store import revision


class EndedPods:
    """Those of the pods of one informer, whose handler `changed` is."""

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
        """By the pods' UIDs. Of a pod that was changed between its end and the first sight of it, that of the change."""
        return MappingProxyType(self._revisions)
