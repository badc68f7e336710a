"""The pods of DaemonSets: what each is created as, and which node it is for."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.apps import REVISION_HASH, DaemonSet
from shunter.api.core import Pod, PodSpec
from shunter.api.formats.digits import whole_number
from shunter.api.meta import Json
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.cluster.controllers.workloads.pods import pod_of

TEMPLATE_GENERATION = "pod-template-generation"
_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


class DaemonPodSpec(PodSpec, frozen=True):
    """With the affinity, by which a pod without a node is for one."""

    affinity: Json = {}


class DaemonPod(Pod, frozen=True):
    """A pod with the affinity that says which node it is for, as long as it has none."""

    spec: DaemonPodSpec = DaemonPodSpec()

    @property
    def node(self) -> str:
        """The node that it is on or for; empty if that is unknown."""
        if self.spec.node_name:
            return self.spec.node_name
        rules = [rule for term in _required_terms(self.spec.affinity) for rule in term.get("matchFields") or ()]
        found = next((rule for rule in rules if (rule.get("key"), rule.get("operator")) == ("metadata.name", "In")), None)
        values = found.get("values") or [] if found is not None else []
        return str(values[0]) if len(values) == 1 else ""


def daemon_pod(daemon_set: DaemonSet, owner: Owner, node: str, hash: str) -> Json:
    """The pod for a node."""
    pod = pod_of(daemon_set.spec.template, owner)
    labels = {**pod["metadata"].get("labels", {}), REVISION_HASH: hash}
    if generation := template_generation(daemon_set):
        labels[TEMPLATE_GENERATION] = generation
    pod["metadata"]["labels"] = labels
    spec = with_tolerations(pod["spec"])
    affinity = dict(spec.get("affinity") or {})
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    rule: Json = {"key": "metadata.name", "operator": "In", "values": [node]}
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [{"matchFields": [rule]}]}
    pod["spec"] = {**spec, "affinity": {**affinity, "nodeAffinity": node_affinity}}
    return pod


def with_tolerations(spec: Json) -> Json:
    """A pod's spec with what all daemons tolerate."""
    tolerated = [*_TOLERATED, *([("network-unavailable", "NoSchedule")] if spec.get("hostNetwork") else [])]
    added = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in tolerated]
    own = spec.get("tolerations") or []
    return {**spec, "tolerations": [*own, *(one for one in added if one not in own)]}


def template_generation(daemon_set: DaemonSet) -> str:
    """The number in the annotation deprecated.daemonset.template.generation, by which pods may be of the newest template as well
    as by its hash; empty where there is none."""
    text = daemon_set.metadata.annotations.get(_GENERATION_ANNOTATION, "")
    return text if whole_number(text) is not None else ""


def is_updated(pod: Pod, daemon_set: DaemonSet, hash: str) -> bool:
    """Whether the pod is of the newest template."""
    labels, generation = pod.metadata.labels, template_generation(daemon_set)
    return labels.get(REVISION_HASH) == hash or (generation != "" and labels.get(TEMPLATE_GENERATION) == generation)


def _required_terms(affinity: Json) -> Sequence[Json]:
    required = (affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms: Sequence[Json] = required.get("nodeSelectorTerms") or ()
    return terms
