"""Printers of the core group and of what belongs to a cluster rather than to a workload."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from shunter.api.meta import Json
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Cells,
    Printer,
    access_modes,
    age,
    column,
    format_labels,
    since,
    wide,
)


def _name(document: Json) -> str:
    name: str = document["metadata"]["name"]
    return name


def _spec(document: Json) -> Json:
    return document.get("spec") or {}


def _status(document: Json) -> Json:
    return document.get("status") or {}


def _namespace(document: Json, now: datetime) -> Cells:
    return [_name(document), _status(document).get("phase", ""), age(document, now)]


def _config_map(document: Json, now: datetime) -> Cells:
    return [_name(document), len(document.get("data") or ()) + len(document.get("binaryData") or ()), age(document, now)]


def _secret(document: Json, now: datetime) -> Cells:
    return [_name(document), document.get("type", ""), len(document.get("data") or ()), age(document, now)]


def _only_age(document: Json, now: datetime) -> Cells:
    return [_name(document), age(document, now)]


def _service(document: Json, now: datetime) -> Cells:
    spec = _spec(document)
    addresses = spec.get("clusterIPs") or ()
    ports = ",".join(_service_port(port) for port in spec.get("ports") or ())
    return [
        _name(document),
        spec.get("type", ""),
        addresses[0] if addresses else "<none>",
        _external_address(document),
        ports or "<none>",
        age(document, now),
        format_labels(spec.get("selector")),
    ]


def _service_port(port: Json) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _external_address(service: Json) -> str:
    spec = _spec(service)
    given = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or "<none>"
        case "LoadBalancer":
            ingress = (_status(service).get("loadBalancer") or {}).get("ingress") or ()
            balancers = [entry.get("ip") or entry.get("hostname", "") for entry in ingress]
            return ",".join([*balancers, *given]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


_ROLE = "node-role.kubernetes.io/"


def _node(document: Json, now: datetime) -> Cells:
    status = _status(document)
    ready = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if _spec(document).get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = document["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role" and value}
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        _name(document),
        ",".join(words),
        ",".join(sorted(roles)) or "<none>",
        age(document, now),
        info.get("kubeletVersion", ""),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _node_address(status: Json, type: str) -> str:
    return next((a["address"] for a in status.get("addresses") or () if a.get("type") == type), "<none>")


def _event(document: Json, now: datetime) -> Cells:
    regarding = document.get("involvedObject") or {}
    series = document.get("series")
    first = since(document.get("firstTimestamp") or document.get("eventTime"), now)
    last = since(document["lastTimestamp"], now) if document.get("lastTimestamp") else first
    count = document.get("count") or 1
    if series:
        last, count = since(series.get("lastObservedTime"), now), series.get("count", count)
    source = document.get("source") or {}
    component = source.get("component") or document.get("reportingComponent") or ""
    instance = source.get("host") or document.get("reportingInstance") or ""
    kind, name = regarding.get("kind", "").lower(), regarding.get("name", "")
    return [
        last,
        document.get("type", ""),
        document.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        regarding.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        document.get("message", "").strip(),
        first,
        count,
        _name(document),
    ]


def _volume_claim(document: Json, now: datetime) -> Cells:
    spec, status = _spec(document), _status(document)
    bound = bool(spec.get("volumeName"))
    return [
        _name(document),
        "Terminating" if document["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        age(document, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _volume(document: Json, now: datetime) -> Cells:
    spec, status = _spec(document), _status(document)
    claim = spec.get("claimRef")
    return [
        _name(document),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if document["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        status.get("reason", ""),
        age(document, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _endpoint_slice(document: Json, now: datetime) -> Cells:
    ports = [str(port["port"]) if port.get("port") else "*" for port in document.get("ports") or ()]
    addresses = [address for endpoint in document.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return [
        _name(document),
        document.get("addressType", ""),
        _shortened(ports) or "<unset>",
        _shortened(addresses) or "<unset>",
        age(document, now),
    ]


def _shortened(values: list[str]) -> str:
    more = f" + {len(values) - 3} more..." if len(values) > 3 else ""
    return ",".join(values[:3]) + more


def _endpoints(document: Json, now: datetime) -> Cells:
    found: list[str] = []
    for subset in document.get("subsets") or ():
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [f"{ip}:{port['port']}" for port in ports for ip in addresses] if ports else addresses
    return [_name(document), _shortened(found) or "<none>", age(document, now)]


def _lease(document: Json, now: datetime) -> Cells:
    return [_name(document), _spec(document).get("holderIdentity", ""), age(document, now)]


def _priority_class(document: Json, now: datetime) -> Cells:
    return [
        _name(document),
        document.get("value", 0),
        bool(document.get("globalDefault")),
        age(document, now),
        document.get("preemptionPolicy", ""),
    ]


def _runtime_class(document: Json, now: datetime) -> Cells:
    return [_name(document), document.get("handler", ""), age(document, now)]


def _storage_class(document: Json, now: datetime) -> Cells:
    annotations = document["metadata"].get("annotations") or {}
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        _name(document) + (" (default)" if default else ""),
        document.get("provisioner", ""),
        document.get("reclaimPolicy", "Delete"),
        document.get("volumeBindingMode", "Immediate"),
        bool(document.get("allowVolumeExpansion")),
        age(document, now),
    ]


def _webhooks(document: Json, now: datetime) -> Cells:
    return [_name(document), len(document.get("webhooks") or ()), age(document, now)]


def _binding(document: Json, now: datetime) -> Cells:
    role = document.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in document.get("subjects") or ():
        name = subject.get("name", "")
        shown = f"{subject.get('namespace', '')}/{name}" if subject.get("kind") == "ServiceAccount" else name
        subjects.setdefault(subject.get("kind", ""), []).append(shown)
    users, groups, accounts = (", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [_name(document), f"{role.get('kind', '')}/{role.get('name', '')}", age(document, now), users, groups, accounts]


def _resource_quota(document: Json, now: datetime) -> Cells:
    hard, used = _status(document).get("hard") or {}, _status(document).get("used") or {}
    shown: dict[bool, list[str]] = {False: [], True: []}
    for name in sorted(hard):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [_name(document), ", ".join(shown[False]), ", ".join(shown[True]), age(document, now)]


def _columns(*names: Any) -> tuple[Any, ...]:
    return tuple(column(name) if isinstance(name, str) else name for name in names)


_BINDING = Printer(_columns(NAME, "Role", AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding)
_WEBHOOKS = Printer(_columns(NAME, column("Webhooks", "integer"), AGE), _webhooks)
_EVENT = Printer(
    _columns(
        "Last Seen",
        "Type",
        "Reason",
        "Object",
        wide("Subobject"),
        wide("Source"),
        "Message",
        wide("First Seen"),
        wide("Count"),
        NAME._replace(priority=1),
    ),
    _event,
)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Namespace"): Printer(_columns(NAME, "Status", AGE), _namespace),
    ("", "ConfigMap"): Printer(_columns(NAME, "Data", AGE), _config_map),
    ("", "Secret"): Printer(_columns(NAME, "Type", "Data", AGE), _secret),
    ("", "ServiceAccount"): Printer(_columns(NAME, AGE), _only_age),
    ("", "Service"): Printer(_columns(NAME, "Type", "Cluster-IP", "External-IP", "Port(s)", AGE, wide("Selector")), _service),
    ("", "Node"): Printer(
        _columns(
            NAME,
            "Status",
            "Roles",
            AGE,
            "Version",
            wide("Internal-IP"),
            wide("External-IP"),
            wide("OS-Image"),
            wide("Kernel-Version"),
            wide("Container-Runtime"),
        ),
        _node,
    ),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "PersistentVolumeClaim"): Printer(
        _columns(
            NAME,
            "Status",
            "Volume",
            "Capacity",
            "Access Modes",
            "StorageClass",
            "VolumeAttributesClass",
            AGE,
            wide("VolumeMode"),
        ),
        _volume_claim,
    ),
    ("", "PersistentVolume"): Printer(
        _columns(
            NAME,
            "Capacity",
            "Access Modes",
            "Reclaim Policy",
            "Status",
            "Claim",
            "StorageClass",
            "VolumeAttributesClass",
            "Reason",
            AGE,
            wide("VolumeMode"),
        ),
        _volume,
    ),
    ("", "Endpoints"): Printer(_columns(NAME, "Endpoints", AGE), _endpoints),
    ("", "ResourceQuota"): Printer(_columns(NAME, "Request", "Limit", AGE), _resource_quota),
    ("discovery.k8s.io", "EndpointSlice"): Printer(_columns(NAME, "AddressType", "Ports", "Endpoints", AGE), _endpoint_slice),
    ("coordination.k8s.io", "Lease"): Printer(_columns(NAME, "Holder", AGE), _lease),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        _columns(NAME, column("Value", "integer"), column("Global-Default", "boolean"), AGE, wide("PreemptionPolicy")),
        _priority_class,
    ),
    ("node.k8s.io", "RuntimeClass"): Printer(_columns(NAME, "Handler", AGE), _runtime_class),
    ("storage.k8s.io", "StorageClass"): Printer(
        _columns(NAME, "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", AGE), _storage_class
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
}
