"""Kueue's objects: a queue that admits the job as a whole, or lets it wait. Pure."""

from __future__ import annotations

from typing import Final

from shunter.api.meta import Json
from shunter.api.scheduling.kueue import GROUP, VERSIONS
from shunter.api.scheduling.pod_requests import GPU
from shunter.fabrics import INSTANCE_LABEL
from shunter.fabrics.settings import EFA_RESOURCE
from shunter.sizing.fits import MachineChoice
from shunter.sizing.manifests.requests import efa_count, memory_mib, pod_resources
from shunter.sizing.options import ManifestOptions

API_VERSION: Final = f"{GROUP}/{VERSIONS[0]}"


def queues(choice: MachineChoice, options: ManifestOptions) -> list[Json]:
    """ResourceFlavor, ClusterQueue and LocalQueue, with quota for one such job at a time."""
    name = options.name
    flavor: Json = {"nodeTaints": [{"key": GPU, "effect": "NoSchedule"}]}
    flavor["tolerations"] = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    if choice.instance.is_type:
        flavor["nodeLabels"] = {INSTANCE_LABEL: choice.instance.name}
    quotas = _quotas(choice)
    resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quotas.items()]
    group = {"coveredResources": list(quotas), "flavors": [{"name": name, "resources": resources}]}
    return [
        _object("ResourceFlavor", {"name": name}, flavor),
        _object(
            "ClusterQueue",
            {"name": name},
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": options.namespace}},
                "queueingStrategy": "BestEffortFIFO",
                "resourceGroups": [group],
            },
        ),
        _object("LocalQueue", {"name": name, "namespace": options.namespace}, {"clusterQueue": name}),
    ]


def _quotas(choice: MachineChoice) -> dict[str, str]:
    """What all pods of the job request together. Kueue admits nothing that requests a resource without quota."""
    quotas = {}
    if choice.instance.memory_mib:
        cpu = int(pod_resources(choice)["requests"]["cpu"].removesuffix("m"))
        quotas = {"cpu": f"{choice.nodes * cpu}m", "memory": f"{choice.nodes * memory_mib(choice)}Mi"}
    quotas[GPU] = str(choice.gpus)
    if efa := efa_count(choice):
        quotas[EFA_RESOURCE] = str(choice.nodes * efa)
    return quotas


def _object(kind: str, metadata: Json, spec: Json) -> Json:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
