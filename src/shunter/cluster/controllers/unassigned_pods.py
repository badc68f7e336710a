"""Pods that are deleted before they have a node, and that a finalizer keeps, as a Job does until it has counted them: no node
says that they have ended (kube-controller-manager: pod garbage collection, which looks every 20 seconds)."""

from __future__ import annotations

from datetime import datetime

from shunter.api.core import Pod
from shunter.api.resources import PODS
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import NOTHING, Patch, Plan, Ref

WAIT_SECONDS = 20.0
"""Until then the finalizer may be removed from the pod as it is."""


def register(manager: Manager) -> None:
    """Adds the controller, which looks at the pods of all owners."""
    pods = manager.informer(PODS, Pod)
    manager.controller("unassigned-pods", FunctionReconciler(pods.store.get, plan), primary=pods, workers=1)


def plan(pod: Pod, now: datetime) -> Plan:
    """Says that the pod has failed."""
    if pod.metadata.deletion_timestamp is None or pod.spec.node_name or pod.is_finished:
        return NOTHING
    left = WAIT_SECONDS - (now - pod.metadata.deletion_timestamp).total_seconds()
    if left > 0:
        return Plan(requeue_after=left)
    return Plan(writes=(Patch(ref=Ref.of(PODS, pod.metadata), patch={"status": {"phase": "Failed"}}, subresource="status"),))
