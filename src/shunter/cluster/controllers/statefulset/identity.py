"""What is a pod's own in a StatefulSet: its ordinal, its name, its claims."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable

from shunter.api.apps import REVISION_HASH, StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.cluster.controllers.workloads.pods import pod_of

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
_NAME = re.compile(r"(.*)-([0-9]+)")


def ordinal(stateful_set: StatefulSet, pod: Pod) -> int | None:
    """The pod's number; None for a pod whose name is not one of this StatefulSet's."""
    found = _NAME.fullmatch(pod.metadata.name)
    return int(found[2]) if found and found[1] == stateful_set.metadata.name else None


def ordinals(stateful_set: StatefulSet) -> range:
    """The numbers of the pods that there should be."""
    start = stateful_set.spec.ordinals.start
    return range(start, start + stateful_set.spec.replicas)


def identity_labels(name: str, number: int) -> dict[str, str]:
    """The labels by which Services and users select a single pod: its name and its number."""
    return {POD_NAME: name, POD_INDEX: str(number)}


def claim_name(template: Json, stateful_set: StatefulSet, number: int) -> str:
    """`data-db-0`: of the claim template, the StatefulSet, and the pod's number."""
    return f"{template['metadata']['name']}-{stateful_set.metadata.name}-{number}"


def claims_of(stateful_set: StatefulSet, number: int) -> Iterable[Json]:
    """The claims of one pod, as they are created."""
    for template in stateful_set.spec.volume_claim_templates:
        source = template["metadata"]
        labels = {**(source.get("labels") or {}), **(stateful_set.spec.selector.match_labels or {})}
        metadata: Json = {
            "name": claim_name(template, stateful_set, number),
            "namespace": stateful_set.metadata.namespace,
            "labels": labels,
        }
        if source.get("annotations"):
            metadata["annotations"] = source["annotations"]
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": copy.deepcopy(template["spec"])}


def pod_with_identity(stateful_set: StatefulSet, owner: Owner, template: Json, revision: str, number: int) -> Json:
    """The pod with this number, of a template that a revision has."""
    pod = pod_of(template, owner)
    metadata, spec = pod["metadata"], pod["spec"]
    name = f"{stateful_set.metadata.name}-{number}"
    del metadata["generateName"]
    metadata["name"] = name
    metadata["labels"] = {**metadata.get("labels", {}), **identity_labels(name, number), REVISION_HASH: revision}
    spec["hostname"] = name
    if stateful_set.spec.service_name:
        spec["subdomain"] = stateful_set.spec.service_name
    claimed = {
        template["metadata"]["name"]: {"claimName": claim_name(template, stateful_set, number)}
        for template in stateful_set.spec.volume_claim_templates
    }
    if claimed:
        others = [volume for volume in spec.get("volumes") or () if volume["name"] not in claimed]
        spec["volumes"] = [{"name": key, "persistentVolumeClaim": value} for key, value in claimed.items()] + others
    return pod
