"""How long a DaemonSet waits before it replaces a pod that failed: not at all at first, then 1 s, doubled up to 15 minutes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from shunter.api.apps import DaemonSet
from shunter.cluster.controllers.daemonset.pod import DaemonPod

FIRST_DELAY = timedelta(seconds=1)
LONGEST_DELAY = timedelta(minutes=15)


class FailureMemory:
    """What failed on each node, for as long as the process lives; kube-controller-manager forgets it with its process too."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, str], tuple[datetime, timedelta]] = {}
        self._held: dict[str, dict[str, datetime]] = {}

    def held(self, daemon_set: DaemonSet, pods: Iterable[DaemonPod], now: datetime) -> dict[str, datetime]:
        """Until when failed pods stay, by uid."""
        owner = daemon_set.metadata.uid
        before = self._held.get(owner, {})
        failed = [pod for pod in pods if pod.status.phase == "Failed" and not pod.is_leaving]
        held = {uid: before.get(uid) or self._hold((owner, pod.node), now) for pod in failed if (uid := pod.metadata.uid)}
        self._held[owner] = held
        return held

    def _hold(self, place: tuple[str, str], now: datetime) -> datetime:
        earliest, delay = self._next.get(place, (now, FIRST_DELAY))
        if now - earliest > 2 * LONGEST_DELAY:
            delay = FIRST_DELAY
        until = max(now, earliest)
        self._next[place] = (until + delay, min(2 * delay, LONGEST_DELAY))
        return until
