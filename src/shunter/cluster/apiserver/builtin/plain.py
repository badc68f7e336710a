"""Built-in kinds that are kept and served but mean nothing to this cluster's own processes, or need no rules of their own."""

from __future__ import annotations

from shunter.api.resources import ENDPOINT_SLICES, LEASES, NODES, SERVICE_ACCOUNTS, Resource
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.kinds import Kind


def kinds() -> list[Kind]:
    return [
        typed(NODES, short_names=("no",), has_status=True, selectable_fields=("spec.unschedulable",), tracks_generation=False),
        typed(SERVICE_ACCOUNTS, short_names=("sa",), tracks_generation=False),
        typed(Resource("", "v1", "Endpoints", "endpoints"), short_names=("ep",), tracks_generation=False),
        typed(LEASES, durable=False, tracks_generation=False),
        typed(ENDPOINT_SLICES),
        typed(Resource("", "v1", "LimitRange", "limitranges"), short_names=("limits",), tracks_generation=False),
        typed(
            Resource("", "v1", "ResourceQuota", "resourcequotas"),
            short_names=("quota",),
            has_status=True,
            tracks_generation=False,
        ),
        typed(
            Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
            short_names=("pdb",),
            has_status=True,
        ),
        typed(Resource("networking.k8s.io", "v1", "Ingress", "ingresses"), short_names=("ing",), has_status=True),
        typed(Resource("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False)),
        typed(Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"), short_names=("netpol",)),
        typed(Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False), tracks_generation=False),
        typed(Resource("storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False), tracks_generation=False),
        typed(Resource("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False), tracks_generation=False),
        typed(
            Resource("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False),
            has_status=True,
            tracks_generation=False,
        ),
    ]
