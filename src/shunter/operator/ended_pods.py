"""The order in which pods were seen to end.

The status of a job counts pods that have ended, it does not name them. Which of them are new, only an order can tell, and the
moments in pods are no such order: each kubelet has its own clock and sends its news when it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shunter.api.core import Pod


class Endings:
    """Of the pods of one informer, whose handler `changed` is."""

    def __init__(self) -> None:
        self._order: dict[str, int] = {}
        self._last = 0

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        """Remembers that a pod has ended while the pod is there. Nobody knows when one ended that is first seen so."""
        is_same = old is not None and new is not None and old.metadata.uid == new.metadata.uid
        if old is not None and not is_same:
            self._order.pop(old.metadata.uid, None)
        if old is not None and new is not None and is_same and new.is_finished and not old.is_finished:
            self._last += 1
            self._order.setdefault(new.metadata.uid, self._last)

    @property
    def order(self) -> Mapping[str, int]:
        """From the UIDs of pods that were seen to end to numbers that grow with each of them."""
        return MappingProxyType(self._order)
