"""Karpenter's objects on AWS: a pool of one type of machine, for one gang. Pure.

Karpenter's defaults are for services: it replaces nodes after 30 days (`expireAfter: 720h`) and moves pods to pack them. A pool
for training has neither.
"""

from __future__ import annotations

from typing import Final

from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import GPU
from shunter.fabrics import INSTANCE_LABEL
from shunter.sizing.fits import MachineChoice
from shunter.sizing.manifests.placeholders import Placeholders
from shunter.sizing.manifests.requests import efa_count
from shunter.sizing.options import ManifestOptions

GROUP: Final = "karpenter.k8s.aws"


def node_pool(choice: MachineChoice, options: ManifestOptions, placeholders: Placeholders) -> Json:
    """A NodePool that can grow to the machines of the choice and shrinks to none when they are empty."""
    pool: Json = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": options.name}}
    capacity = ["spot"] if options.spot else ["on-demand"]
    if options.reservation:
        capacity = ["reserved", *capacity]
    requirements = [
        _is_in(INSTANCE_LABEL, choice.instance.name),
        _is_in("karpenter.sh/capacity-type", *capacity),
    ]
    if efa_count(choice) or options.zone:
        zone = placeholders.filled(pool, "spec.template.spec.requirements[2].values[0]", "--zone", options.zone)
        requirements.append(_is_in("topology.kubernetes.io/zone", zone))
    pool["spec"] = {
        "template": {
            "spec": {
                "nodeClassRef": {"group": GROUP, "kind": "EC2NodeClass", "name": options.name},
                "requirements": requirements,
                "taints": [{"key": GPU, "effect": "NoSchedule"}],
                "expireAfter": "Never",
            }
        },
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
        "limits": {GPU: choice.gpus},
    }
    return pool


def node_class(choice: MachineChoice, options: ManifestOptions, placeholders: Placeholders) -> Json:
    """The EC2NodeClass of the pool: role, image, subnets and security groups are the user's."""
    made: Json = {"apiVersion": f"{GROUP}/v1", "kind": "EC2NodeClass", "metadata": {"name": options.name}}
    spec: Json = {"role": placeholders.filled(made, "spec.role", "--role", options.role)}
    image = placeholders.filled(made, "spec.amiSelectorTerms[0]", "--ami", options.ami, prefix="ami-")
    if "@" in image:
        spec["amiSelectorTerms"] = [{"alias": image}]
    else:
        spec |= {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": image}]}
    subnets = options.subnets or (placeholders.filled(made, "spec.subnetSelectorTerms[0].id", "--subnet", "", prefix="subnet-"),)
    groups = options.security_groups or (
        placeholders.filled(made, "spec.securityGroupSelectorTerms[0].id", "--security-group", "", prefix="sg-"),
    )
    spec["subnetSelectorTerms"] = [{"id": subnet} for subnet in subnets]
    spec["securityGroupSelectorTerms"] = [{"id": group} for group in groups]
    if options.reservation:
        spec["capacityReservationSelectorTerms"] = [{"id": options.reservation}]
    if choice.instance.nvme_gb:
        spec["instanceStorePolicy"] = "RAID0"
    made["spec"] = spec
    return made


def _is_in(key: str, *values: str) -> Json:
    return {"key": key, "operator": "In", "values": list(values)}
