"""Printers of the core group and of what belongs to a cluster rather than to a workload."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json
from shunter.api.selectors import notation
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    NAME_COLUMN,
    Printer,
    Shown,
    at_time,
    boolean,
    human_duration,
    integer,
    name_of,
    printer,
    since,
    spec_of,
    status_of,
    text,
    wide,
)

_ROLE = "node-role.kubernetes.io/"


def _node_state(node: Json) -> str:
    ready = next((c for c in status_of(node).get("conditions") or () if c["type"] == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if spec_of(node).get("unschedulable") else word


def _node_roles(node: Json) -> str:
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role" and value}
    return ",".join(sorted(roles)) or "<none>"


def _kernel(node: Json) -> str:
    architecture = _node_info(node, "architecture")
    return (_node_info(node, "kernelVersion") or "<unknown>") + (f" ({architecture})" if architecture else "")


def _node_info(node: Json, field: str) -> str:
    return str((status_of(node).get("nodeInfo") or {}).get(field) or "")


def _node_address(node: Json, type: str) -> str:
    return next((a["address"] for a in status_of(node).get("addresses") or () if a.get("type") == type), "<none>")


def _first_seen(event: Json, now: datetime) -> str:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Json, now: datetime) -> str:
    if series := event.get("series"):
        return since(series.get("lastObservedTime"), now)
    return since(event["lastTimestamp"], now) if event.get("lastTimestamp") else _first_seen(event, now)


def _times_seen(event: Json) -> object:
    return (event.get("series") or {}).get("count", event.get("count") or 1)


def _regarding(event: Json) -> str:
    regarding = event.get("involvedObject") or {}
    kind, name = regarding.get("kind", "").lower(), regarding.get("name", "")
    return f"{kind}/{name}" if name else kind


def _event_source(event: Json) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


def _webhook_count(configuration: Json) -> int:
    return len(configuration.get("webhooks") or ())


def _parameter_kind(policy: Json) -> str:
    kind = policy["spec"].get("paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind is not None else "<unset>"


def _parameter(binding: Json) -> str:
    reference = binding["spec"].get("paramRef") or {}
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return notation(reference["selector"]) if "selector" in reference else "<unset>"


def _role(binding: Json) -> str:
    role = binding.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def _subjects(binding: Json, kind: str) -> str:
    subjects = [subject for subject in binding.get("subjects") or () if subject.get("kind") == kind]
    prefixes = [f"{subject.get('namespace', '')}/" if kind == "ServiceAccount" else "" for subject in subjects]
    return ", ".join(f"{prefix}{subject.get('name', '')}" for prefix, subject in zip(prefixes, subjects, strict=True))


def _used(quota: Json, *, limits: bool) -> str:
    hard, used = status_of(quota).get("hard") or {}, status_of(quota).get("used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


_BINDING = printer(
    NAME,
    text("Role", _role),
    AGE,
    wide("Users", lambda binding: _subjects(binding, "User")),
    wide("Groups", lambda binding: _subjects(binding, "Group")),
    wide("ServiceAccounts", lambda binding: _subjects(binding, "ServiceAccount")),
)
_POLICY_BINDING = printer(NAME, text("PolicyName", "spec.policyName"), text("ParamRef", _parameter), AGE)
_WEBHOOKS = printer(NAME, integer("Webhooks", _webhook_count), AGE)
_EVENT = printer(
    at_time("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    text("Object", _regarding),
    wide("Subobject", "involvedObject.fieldPath"),
    wide("Source", _event_source),
    text("Message", lambda event: event.get("message", "").strip()),
    at_time("First Seen", _first_seen, priority=1),
    wide("Count", _times_seen),
    Shown(NAME_COLUMN._replace(priority=1), lambda event, now: name_of(event)),
)


def _decision(request: Json) -> str:
    status = status_of(request)
    kinds = {condition["type"] for condition in status.get("conditions") or ()}
    words = ["Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"]
    words += ["Failed"] if "Failed" in kinds else []
    return ",".join([*words, "Issued"] if status.get("certificate") else words)


def _requested_duration(request: Json) -> str:
    seconds = spec_of(request).get("expirationSeconds")
    return "<none>" if seconds is None else human_duration(seconds)


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Namespace"): printer(NAME, text("Status", "status.phase"), AGE),
    ("", "ConfigMap"): printer(NAME, text("Data", lambda it: len(it.get("data") or ()) + len(it.get("binaryData") or ())), AGE),
    ("", "Secret"): printer(NAME, text("Type", "type"), text("Data", lambda secret: len(secret.get("data") or ())), AGE),
    ("", "ServiceAccount"): printer(NAME, AGE),
    ("", "Node"): printer(
        NAME,
        text("Status", _node_state),
        text("Roles", _node_roles),
        AGE,
        text("Version", "status.nodeInfo.kubeletVersion"),
        wide("Internal-IP", lambda node: _node_address(node, "InternalIP")),
        wide("External-IP", lambda node: _node_address(node, "ExternalIP")),
        wide("OS-Image", lambda node: _node_info(node, "osImage") or "<unknown>"),
        wide("Kernel-Version", _kernel),
        wide("Container-Runtime", lambda node: _node_info(node, "containerRuntimeVersion") or "<unknown>"),
    ),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "ResourceQuota"): printer(
        NAME,
        text("Request", lambda quota: _used(quota, limits=False)),
        text("Limit", lambda quota: _used(quota, limits=True)),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): printer(NAME, text("Holder", "spec.holderIdentity"), AGE),
    ("scheduling.k8s.io", "PriorityClass"): printer(
        NAME,
        integer("Value", "value"),
        boolean("Global-Default", "globalDefault"),
        AGE,
        text("PreemptionPolicy", "preemptionPolicy"),
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): printer(
        NAME,
        AGE,
        text("SignerName", "spec.signerName", "<none>"),
        text("Requestor", "spec.username"),
        text("RequestedDuration", _requested_duration),
        text("Condition", _decision),
    ),
    ("node.k8s.io", "RuntimeClass"): printer(NAME, text("Handler", "handler"), AGE),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): printer(
        NAME,
        integer("Validations", lambda policy: len(policy["spec"].get("validations") or ())),
        text("ParamKind", _parameter_kind),
        AGE,
    ),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): printer(
        NAME,
        integer("Mutations", lambda policy: len(policy["spec"].get("mutations") or ())),
        text("ParamKind", _parameter_kind),
        AGE,
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _POLICY_BINDING,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
}
