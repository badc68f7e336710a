"""Gang scheduling by Volcano: a PodGroup, and an annotation on the pods that belong to it.

The scheduler itself is named by the runtime, as upstream leaves it.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json, annotations_of
from shunter.api.scheduling.podgroups import VOLCANO_GROUP_NAME, VOLCANO_POD_GROUPS, VOLCANO_QUEUE
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import PodGroupPolicy
from shunter.operator.trainer.model import Model
from shunter.operator.trainer.plugin import AdmissionContext, Companion, ForeignField, Plugin
from shunter.operator.trainer.plugins.pod_group import pod_group

TIER_NAME = ForeignField(VOLCANO_POD_GROUPS, ("spec", "networkTopology", "highestTierName"))
DEFAULT_TIER = 1
"""What the schema of runtimes fills in for highestTierAllowed."""
DEFAULT_SCHEDULER = "default-scheduler"
SYSTEM_PRIORITY_CLASSES = ("system-cluster-critical", "system-node-critical")


class Volcano(Plugin):
    """Acts where the runtime has `podGroupPolicy.volcano`."""

    companions = (Companion(VOLCANO_POD_GROUPS),)

    def apply(self, model: Model) -> None:
        """Annotates the pods of all replicated jobs with the name of their PodGroup, which is the job's."""
        if model.pod_groups is not None and model.pod_groups.volcano is not None:
            model.pod_annotations[VOLCANO_GROUP_NAME] = model.job.metadata.name

    def objects(self, model: Model) -> list[Json]:
        """The PodGroup: its queue is the JobSet's annotation, its PriorityClass that of the last replicated job which names one.
        Of the two limits of the topology `highestTierName` goes before, as Volcano takes one only."""
        policy = model.pod_groups.volcano if model.pod_groups else None
        if policy is None:
            return []
        spec: Json = {}
        queue = model.annotations.get(VOLCANO_QUEUE)
        if queue:
            spec["queue"] = queue
        classes = [name for pods in model.pod_sets if (name := (pods.template.get("spec") or {}).get("priorityClassName"))]
        if classes:
            spec["priorityClassName"] = classes[-1]
        topology = policy.network_topology
        if topology is not None:
            spec["networkTopology"] = {"mode": topology.mode}
            if topology.highest_tier_name:
                spec["networkTopology"]["highestTierName"] = topology.highest_tier_name
            elif topology.highest_tier_allowed is not None:
                spec["networkTopology"]["highestTierAllowed"] = topology.highest_tier_allowed
        return [pod_group(model, VOLCANO_POD_GROUPS, spec)]

    def priority_classes(self, pod_groups: PodGroupPolicy | None, template: Json) -> list[str]:
        """The priority classes of the replicated jobs in order; one of Kubernetes' own ends the list, as upstream stops looking
        there."""
        names: list[str] = []
        if pod_groups is None or pod_groups.volcano is None:
            return names
        for replicated_job in templates.replicated_jobs(template):
            name = templates.pod_spec(replicated_job).get("priorityClassName")
            if name in SYSTEM_PRIORITY_CLASSES:
                break
            if name:
                names.append(name)
        return names

    def foreign_fields(self, pod_groups: PodGroupPolicy | None) -> list[ForeignField]:
        """`highestTierName` of PodGroups where the runtime sets it: not every release of Volcano has it."""
        topology = pod_groups.volcano.network_topology if pod_groups and pod_groups.volcano else None
        return [TIER_NAME] if topology is not None and topology.highest_tier_name else []

    def warnings(self, context: AdmissionContext) -> list[str]:
        """Pods that Volcano does not place are no part of the gang, whatever their PodGroup says."""
        if context.pod_groups is None or context.pod_groups.volcano is None:
            return []
        jobs = [
            str(job.get("name", ""))
            for job in templates.replicated_jobs(context.template)
            if templates.pod_spec(job).get("schedulerName") in (None, "", DEFAULT_SCHEDULER)
        ]
        if not jobs:
            return []
        text = (
            f"spec.podGroupPolicy.volcano of the runtime: pods of {', '.join(jobs)} have no schedulerName of Volcano, so the "
            "default scheduler places them one by one, and some may run without the others; set schedulerName: volcano in the "
            "runtime's pod templates"
        )
        return [text]

    def errors(self, context: AdmissionContext) -> list[FieldError]:
        """A topology that the cluster's Volcano cannot take, an empty name of a queue, and PriorityClasses that do not exist."""
        if context.pod_groups is None or context.pod_groups.volcano is None:
            return []
        faults = _topology_faults(context)
        annotations = annotations_of(context.template)
        if annotations.get(VOLCANO_QUEUE) == "":
            faults.append(invalid(f"spec.annotations[{VOLCANO_QUEUE}]", "", "Volcano queue name must not be empty"))
        for name in self.priority_classes(context.pod_groups, context.template):
            answer = context.missing_priority_classes.get(name)
            if answer is not None:
                detail = f'PriorityClass "{name}" doesn\'t exist: {answer}'
                faults.append(invalid("spec.templateSpec.priorityClassName", name, detail))
        return faults


def _topology_faults(context: AdmissionContext) -> list[FieldError]:
    """What the cluster's Volcano cannot do, or would refuse in a PodGroup."""
    topology = context.pod_groups.volcano.network_topology if context.pod_groups and context.pod_groups.volcano else None
    if topology is None or not topology.highest_tier_name:
        return []
    field, faults = "spec.podGroupPolicy.volcano.networkTopology.highestTierName", []
    if TIER_NAME in context.missing_fields:
        detail = (
            "PodGroups of the cluster's Volcano have no such field; set highestTierAllowed in the runtime, or upgrade Volcano"
        )
        faults.append(invalid(field, topology.highest_tier_name, detail))
    if topology.highest_tier_allowed not in (None, DEFAULT_TIER):
        detail = "Volcano accepts either this or highestTierAllowed; remove one of them from the runtime"
        faults.append(invalid(field, topology.highest_tier_name, detail))
    return faults
