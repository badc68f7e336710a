"""Pods that are deleted before they have a node, and that somebody keeps, as a Job does until it has counted them: no node says
that they have ended (kube-controller-manager: pod garbage collection, which looks every 20 seconds)."""

from __future__ import annotations

from datetime import datetime

from shunter.api.core import Pod
from shunter.api.resources import PODS
from shunter.kube.cache.store import Store
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import NOTHING, Failure, Key, Patch, Plan, Ref

WAIT_SECONDS = 20.0
"""Until then whoever keeps the pod may let go of it as it is."""


def register(manager: Manager) -> None:
    """Adds the controller, which looks at the pods of all owners."""
    pods = manager.informer(PODS, Pod)
    manager.controller("unassigned-pods", UnassignedPods(pods.store), primary=pods, workers=1)


def plan(pod: Pod, now: datetime) -> Plan:
    """Says that the pod has failed."""
    if pod.metadata.deletion_timestamp is None or pod.spec.node_name or pod.is_finished:
        return NOTHING
    left = WAIT_SECONDS - (now - pod.metadata.deletion_timestamp).total_seconds()
    if left > 0:
        return Plan(requeue_after=left)
    return Plan(writes=(Patch(ref=Ref.of(PODS, pod.metadata), patch={"status": {"phase": "Failed"}}, subresource="status"),))


class UnassignedPods:
    """Looks at each pod by itself."""

    def __init__(self, pods: Store[Pod]) -> None:
        self._pods = pods

    def observe(self, key: Key) -> Pod | None:
        """The pod, whatever its state; None when it is gone."""
        return self._pods.get(key)

    def plan(self, observed: Pod, now: datetime) -> Plan:
        """The phase Failed for a pod that was deleted before it had a node, WAIT_SECONDS after its deletionTimestamp; until then
        when to look again."""
        return plan(observed, now)

    def plan_failure(self, observed: Pod, failure: Failure, now: datetime) -> Plan:
        """Nothing: a refused status is only tried again."""
        return NOTHING
