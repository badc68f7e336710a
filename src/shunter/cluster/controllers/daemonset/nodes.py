"""On which nodes a daemon belongs: on those that its pod would be scheduled to, were there room."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from shunter.api.apps import DaemonSet
from shunter.api.core import Node
from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.daemonset.pod import with_tolerations
from shunter.cluster.controllers.scheduler import fit
from shunter.cluster.controllers.scheduler.pod import PodSpec, SchedulablePod


class Place(NamedTuple):
    """Whether a node should have the daemon's pod, and whether one that is there may stay."""

    should_run: bool
    may_stay: bool


def place(daemon_set: DaemonSet, node: Node) -> Place:
    """Whether the node gets and keeps a pod, from name, node selector, required affinity and tolerations of the template, as
    kube-controller-manager decides; free room does not matter. With an untolerated NoSchedule taint no pod comes, but one that is
    there may stay."""
    spec = with_tolerations(daemon_set.spec.template.get("spec") or {})
    pod = SchedulablePod(metadata=ObjectMeta(), spec=msgspec.convert(spec, PodSpec))
    named = pod.spec.node_name
    if named not in ("", node.metadata.name) or not fit.is_chosen(pod, node):
        return Place(False, False)
    if not fit.untolerated(pod, node, ("NoSchedule", "NoExecute")):
        return Place(True, True)
    return Place(False, not fit.untolerated(pod, node, ("NoExecute",)))
