"""Printers of the core group and of what belongs to a cluster rather than to a workload."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json
from shunter.api.selectors import notation
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Cells,
    Printer,
    age,
    column,
    columns,
    name_of,
    since,
    spec_of,
    status_of,
    wide,
)


def _namespace(document: Json, now: datetime) -> Cells:
    return [name_of(document), status_of(document).get("phase", ""), age(document, now)]


def _config_map(document: Json, now: datetime) -> Cells:
    return [name_of(document), len(document.get("data") or ()) + len(document.get("binaryData") or ()), age(document, now)]


def _secret(document: Json, now: datetime) -> Cells:
    return [name_of(document), document.get("type", ""), len(document.get("data") or ()), age(document, now)]


def _only_age(document: Json, now: datetime) -> Cells:
    return [name_of(document), age(document, now)]


_ROLE = "node-role.kubernetes.io/"


def _node(document: Json, now: datetime) -> Cells:
    status = status_of(document)
    ready = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if spec_of(document).get("unschedulable"):
        words.append("SchedulingDisabled")
    labels = document["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role" and value}
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(document),
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
        name_of(document),
    ]


def _lease(document: Json, now: datetime) -> Cells:
    return [name_of(document), spec_of(document).get("holderIdentity", ""), age(document, now)]


def _priority_class(document: Json, now: datetime) -> Cells:
    return [
        name_of(document),
        document.get("value", 0),
        bool(document.get("globalDefault")),
        age(document, now),
        document.get("preemptionPolicy", ""),
    ]


def _runtime_class(document: Json, now: datetime) -> Cells:
    return [name_of(document), document.get("handler", ""), age(document, now)]


def _webhooks(document: Json, now: datetime) -> Cells:
    return [name_of(document), len(document.get("webhooks") or ()), age(document, now)]


def _admission_policy(document: Json, now: datetime) -> Cells:
    spec = document["spec"]
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind is not None else "<unset>"
    return [name_of(document), len(spec.get("validations") or ()), shown, age(document, now)]


def _policy_binding(document: Json, now: datetime) -> Cells:
    reference = document["spec"].get("paramRef") or {}
    shown = "<unset>"
    if reference.get("name"):
        shown = f"{reference.get('namespace') or '*'}/{reference['name']}"
    elif "selector" in reference:
        shown = notation(reference["selector"])
    return [name_of(document), document["spec"].get("policyName", ""), shown, age(document, now)]


def _binding(document: Json, now: datetime) -> Cells:
    role = document.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in document.get("subjects") or ():
        name = subject.get("name", "")
        shown = f"{subject.get('namespace', '')}/{name}" if subject.get("kind") == "ServiceAccount" else name
        subjects.setdefault(subject.get("kind", ""), []).append(shown)
    users, groups, accounts = (", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [name_of(document), f"{role.get('kind', '')}/{role.get('name', '')}", age(document, now), users, groups, accounts]


def _resource_quota(document: Json, now: datetime) -> Cells:
    hard, used = status_of(document).get("hard") or {}, status_of(document).get("used") or {}
    shown: dict[bool, list[str]] = {False: [], True: []}
    for name in sorted(hard):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [name_of(document), ", ".join(shown[False]), ", ".join(shown[True]), age(document, now)]


_BINDING = Printer(columns(NAME, "Role", AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")), _binding)
_WEBHOOKS = Printer(columns(NAME, column("Webhooks", "integer"), AGE), _webhooks)
_POLICY = Printer(columns(NAME, column("Validations", "integer"), "ParamKind", AGE), _admission_policy)
_POLICY_BINDING = Printer(columns(NAME, "PolicyName", "ParamRef", AGE), _policy_binding)
_EVENT = Printer(
    columns(
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
    ("", "Namespace"): Printer(columns(NAME, "Status", AGE), _namespace),
    ("", "ConfigMap"): Printer(columns(NAME, "Data", AGE), _config_map),
    ("", "Secret"): Printer(columns(NAME, "Type", "Data", AGE), _secret),
    ("", "ServiceAccount"): Printer(columns(NAME, AGE), _only_age),
    ("", "Node"): Printer(
        columns(
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
    ("", "ResourceQuota"): Printer(columns(NAME, "Request", "Limit", AGE), _resource_quota),
    ("coordination.k8s.io", "Lease"): Printer(columns(NAME, "Holder", AGE), _lease),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        columns(NAME, column("Value", "integer"), column("Global-Default", "boolean"), AGE, "PreemptionPolicy"),
        _priority_class,
    ),
    ("node.k8s.io", "RuntimeClass"): Printer(columns(NAME, "Handler", AGE), _runtime_class),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _POLICY,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _POLICY_BINDING,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
}
