"""PodGroups, by which gang schedulers know the pods to place together. Both generations of jobs make them.

Sources: Volcano 1.x `scheduling.volcano.sh/v1beta1`, scheduler-plugins 0.3x `scheduling.x-k8s.io/v1alpha1`. Neither is ours: a
cluster serves it when the scheduler is installed.
"""

from __future__ import annotations

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.resources import Resource

VOLCANO_POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
COSCHEDULING_POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")

VOLCANO_SCHEDULER = "volcano"
VOLCANO_GROUP_NAME = "scheduling.k8s.io/group-name"
"""Pod annotation: the PodGroup that the pod belongs to, for Volcano."""
VOLCANO_TASK = "volcano.sh/task-spec"
"""Pod annotation: the role of the pod in its group, for Volcano."""
VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"
"""Annotation that names the queue of a group."""
COSCHEDULING_GROUP = "scheduling.x-k8s.io/pod-group"
"""Pod label: the PodGroup that the pod belongs to, for scheduler-plugins."""

POD_GROUP_MISSING = "PodGroupMissing"
"""Reason, after the kind's own prefix, of the condition Created of a v1 job whose PodGroup cannot be made."""
WAITING_FOR_POD_GROUP = "WaitingForPodGroup"
"""Reason of the same condition while the PodGroup is not admitted; without the kind's prefix."""


class PodGroupStatus(Struct, frozen=True):
    """Written by the gang scheduler, and not by the operator that makes the group."""

    phase: str = ""
    """Volcano's: Pending, Inqueue, Running, Unknown or Completed; empty before the scheduler has seen the group."""


class PodGroup(Struct, frozen=True):
    """A PodGroup of either kind; its spec is compared with the desired one as it stands."""

    metadata: ObjectMeta
    spec: Json = {}
    status: PodGroupStatus = PodGroupStatus()
