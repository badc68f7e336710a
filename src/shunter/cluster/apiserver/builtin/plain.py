"""Built-in kinds that are only kept, defaulted, checked and served.

Source of the defaults: k8s.io/kubernetes 1.36 `apis/*/v1/defaults.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import (
    ENDPOINT_SLICES,
    LEASES,
    LIMIT_RANGES,
    NETWORK_POLICIES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    RESOURCE_QUOTAS,
    RUNTIME_CLASSES,
    SERVICE_ACCOUNTS,
    Resource,
)
from shunter.cluster.apiserver.builtin.pod.gated_fields import drop_gated_fields
from shunter.cluster.apiserver.builtin.rules.disruption_budgets import disruption_budget_errors, disruption_budget_status_errors
from shunter.cluster.apiserver.builtin.rules.drivers import csi_driver_errors, csi_node_errors, volume_attachment_errors
from shunter.cluster.apiserver.builtin.rules.endpoints import endpoint_slice_errors, endpoints_errors
from shunter.cluster.apiserver.builtin.rules.ingresses import ingress_class_errors, ingress_errors, ingress_status_errors
from shunter.cluster.apiserver.builtin.rules.network_policies import network_policy_errors
from shunter.cluster.apiserver.builtin.rules.nodes import (
    default_node,
    lease_errors,
    node_errors,
    node_status_errors,
    node_warnings,
    prepare_lease,
    prepare_node,
    runtime_class_errors,
)
from shunter.cluster.apiserver.builtin.rules.quotas import limit_range_errors, resource_quota_errors, resource_quota_status_errors
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.kinds import Kind, Objects, StoredField
from shunter.cluster.enforced_policies import ANNOTATION, ENFORCED, PROCESS_NODE

_UNCOUNTED: Any = {"tracks_generation": False}
_MOST_NODES = 10
"""That are named in one warning."""


def kinds() -> list[Kind]:
    """Node, ServiceAccount, Endpoints, EndpointSlice, Lease, LimitRange, ResourceQuota, PodDisruptionBudget, Ingress,
    IngressClass, NetworkPolicy, RuntimeClass, CSIDriver, CSINode, VolumeAttachment. Leases are kept in memory only."""
    return [
        typed(
            NODES,
            short_names=("no",),
            has_status=True,
            selectable_fields=("spec.unschedulable",),
            stored_fields={"spec.unschedulable": StoredField(("spec.unschedulable",), "false")},
            default=default_node,
            prepare=prepare_node,
            validate=node_errors,
            warnings=node_warnings,
            validate_status=node_status_errors,
            **_UNCOUNTED,
        ),
        typed(SERVICE_ACCOUNTS, short_names=("sa",), returns_deleted=True, **_UNCOUNTED),
        typed(
            _resource("", "Endpoints", "endpoints"),
            short_names=("ep",),
            default=_default_endpoints,
            validate=endpoints_errors,
            deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
            created_by_update=True,
            **_UNCOUNTED,
        ),
        typed(
            LEASES,
            durable=False,
            created_by_update=True,
            updates_need_revision=True,
            prepare=prepare_lease,
            validate=lease_errors,
            **_UNCOUNTED,
        ),
        typed(ENDPOINT_SLICES, default=_default_endpoint_slice, prepare=_prepare_endpoint_slice, validate=endpoint_slice_errors),
        typed(
            LIMIT_RANGES,
            short_names=("limits",),
            default=_default_limit_range,
            validate=limit_range_errors,
            created_by_update=True,
            **_UNCOUNTED,
        ),
        typed(
            RESOURCE_QUOTAS,
            short_names=("quota",),
            has_status=True,
            validate=resource_quota_errors,
            validate_status=resource_quota_status_errors,
            returns_deleted=True,
            **_UNCOUNTED,
        ),
        typed(
            POD_DISRUPTION_BUDGETS,
            short_names=("pdb",),
            has_status=True,
            updates_need_revision=True,
            validate=disruption_budget_errors,
            validate_status=disruption_budget_status_errors,
        ),
        typed(
            _resource("networking.k8s.io", "Ingress", "ingresses"),
            short_names=("ing",),
            has_status=True,
            validate=ingress_errors,
            validate_status=ingress_status_errors,
        ),
        typed(
            _cluster_wide("networking.k8s.io", "IngressClass", "ingressclasses"),
            default=_default_ingress_class,
            validate=ingress_class_errors,
        ),
        typed(
            NETWORK_POLICIES,
            short_names=("netpol",),
            default=_default_network_policy,
            validate=network_policy_errors,
            warnings=_not_enforced,
        ),
        typed(
            RUNTIME_CLASSES,
            validate=runtime_class_errors,
            created_by_update=True,
            updates_need_revision=True,
            **_UNCOUNTED,
        ),
        typed(
            _cluster_wide("storage.k8s.io", "CSIDriver", "csidrivers"),
            returns_deleted=True,
            default=_default_csi_driver,
            prepare=_prepare_csi_driver,
            validate=csi_driver_errors,
            warnings=_csi_driver_warnings,
            **_UNCOUNTED,
        ),
        typed(
            _cluster_wide("storage.k8s.io", "CSINode", "csinodes"), validate=csi_node_errors, returns_deleted=True, **_UNCOUNTED
        ),
        typed(
            _cluster_wide("storage.k8s.io", "VolumeAttachment", "volumeattachments"),
            returns_deleted=True,
            has_status=True,
            validate=volume_attachment_errors,
            **_UNCOUNTED,
        ),
    ]


def _not_enforced(policy: Json, old: Json | None, objects: Objects) -> list[str]:
    """Why nodes do not enforce it, each reason once."""
    names: dict[str, list[str]] = {}
    for node in objects.all(NODES):
        says = annotations_of(node).get(ANNOTATION, "" if PROCESS_NODE in (node["metadata"].get("labels") or {}) else ENFORCED)
        if says != ENFORCED:
            names.setdefault(says, []).append(node["metadata"]["name"])
    return [_warning(sorted(group), says) for says, group in sorted(names.items())]


def _warning(names: Sequence[str], says: str) -> str:
    if len(names) == 1:
        node, does, its = f"node {names[0]}", "does", "it enforces"
    else:
        rest = f" and {len(names) - _MOST_NODES} more" if len(names) > _MOST_NODES else ""
        node, does, its = f"nodes {', '.join(names[:_MOST_NODES])}{rest}", "do", "they enforce"
    if not says:
        return f"{node} {does} not say whether {its} NetworkPolicies"
    return f"{node} {does} not enforce NetworkPolicies: {says}"


def _resource(group: str, kind: str, plural: str) -> Resource:
    return Resource(group, "v1", kind, plural)


def _cluster_wide(group: str, kind: str, plural: str) -> Resource:
    return Resource(group, "v1", kind, plural, namespaced=False)


def _prepare_endpoint_slice(endpoint_slice: Json, old: Json | None) -> None:
    """No endpoints are stored as null, as Go does."""
    endpoint_slice["endpoints"] = endpoint_slice.get("endpoints") or None


def _default_endpoints(endpoints: Json) -> None:
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")


def _default_endpoint_slice(endpoint_slice: Json) -> None:
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _default_limit_range(limit_range: Json) -> None:
    """Limits of containers default to the maximum, requests to the limit, else to the minimum."""
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == "Container":
            limits = {**item.get("max", {}), **item.get("default", {})}
            item["default"] = limits
            item["defaultRequest"] = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}


def _default_network_policy(policy: Json) -> None:
    spec = policy["spec"]
    for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
        for port in rule.get("ports", ()):
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _default_ingress_class(ingress_class: Json) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _csi_driver_warnings(driver: Json, old: Json | None, objects: Objects) -> list[str]:
    if old is not None or not driver["spec"].get("tokenRequests") or "serviceAccountTokenInSecrets" in driver["spec"]:
        return []
    advice = "if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"
    return [f"spec.serviceAccountTokenInSecrets is unset; {advice}"]


def _prepare_csi_driver(driver: Json, old: Json | None) -> None:
    """Its generation counts changes only. A new field of the feature VolumeLimitScaling, which is off, is dropped."""
    drop_gated_fields(driver["spec"], old and old["spec"], "preventPodSchedulingIfMissing")
    if old is not None and driver["spec"] != old["spec"]:
        driver["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _default_csi_driver(driver: Json) -> None:
    spec = driver["spec"]
    spec.setdefault("attachRequired", True)
    for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(name, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec["volumeLifecycleModes"] = spec.get("volumeLifecycleModes") or ["Persistent"]
