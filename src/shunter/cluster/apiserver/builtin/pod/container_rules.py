"""What the containers of a pod may say.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`; the order of faults is the real server's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, not_found, required, too_many
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.names import (
    config_key_faults,
    environment_name_faults,
    header_name_faults,
    label_faults,
    port_faults,
    port_name_faults,
    subdomain_faults,
)
from shunter.api.scheduling.pod_requests import may_overcommit
from shunter.cluster.apiserver.builtin.pod.device_rules import device_errors
from shunter.cluster.apiserver.builtin.pod.field_refs import field_ref_errors, resource_field_errors
from shunter.cluster.apiserver.builtin.pod.file_keys import file_key_errors
from shunter.cluster.apiserver.builtin.pod.security_rules import container_security_errors
from shunter.cluster.apiserver.builtin.pod.volume_rules import relative_path_errors
from shunter.cluster.apiserver.builtin.rules.resources import amount_errors, container_resource_name_errors, huge_page_errors
from shunter.cluster.apiserver.field_rules import faults, negative, one_of, unsupported

_ENVIRONMENT_FIELDS = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
]
NameRule = Callable[[str, str], list[FieldError]]
"""What is wrong with a name of a resource at a field."""
_PROTOCOLS = ["SCTP", "TCP", "UDP"]
_PULL_POLICIES = ["Always", "IfNotPresent", "Never"]
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROPAGATIONS = ["Bidirectional", "HostToContainer", "None"]


class PodContext(NamedTuple):
    """What rules of a container need to know of its pod."""

    volumes: Mapping[str, Json]
    """The volumes that can be mounted, by name."""
    claims: set[str]
    grace_period: int | None
    restart_policy: str
    host_users: bool
    """Whether its users are those of the machine, as they are by default."""


def container_errors(containers: list[Json] | None, pod: PodContext, field: str) -> list[FieldError]:
    """The main containers."""
    if not containers:
        return [required(field)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, container in enumerate(containers):
        here = f"{field}[{index}]"
        errors += common_errors(container, pod, here)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        errors += _lifecycle_and_probe_errors(container, pod, here) + _restart_errors(container, here)
    return errors + _host_port_errors(containers, field)


def init_container_errors(containers: list[Json], mains: list[Json], pod: PodContext, field: str) -> list[FieldError]:
    """Init containers; those that restart always (sidecars) may have probes."""
    errors: list[FieldError] = []
    names = {container.get("name", "") for container in mains}
    for index, container in enumerate(containers):
        here = f"{field}[{index}]"
        errors += common_errors(container, pod, here) + _restart_errors(container, here)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        elif name:
            names.add(name)
        errors += _host_port_errors([container], field)
        if container.get("restartPolicy") == "Always":
            errors += _lifecycle_and_probe_errors(container, pod, here)
        else:
            errors += [
                forbidden(f"{here}.{kind}", "may not be set for init containers without restartPolicy=Always")
                for kind in ("lifecycle", *_PROBES)
                if kind in container
            ]
    return errors


def image_space_errors(containers: list[Json], field: str) -> list[FieldError]:
    """Images of pods, not of templates, must not start or end with space."""
    return [
        invalid(f"{field}[{index}].image", image, "must not have leading or trailing whitespace")
        for index, container in enumerate(containers)
        if (image := container.get("image", "")) != image.strip()
    ]


def resource_errors(
    resources: Json, claims: set[str], field: str, *, name_errors: NameRule = container_resource_name_errors
) -> list[FieldError]:
    """Requests and limits of a container, or of what has other names of resources."""
    errors: list[FieldError] = []
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, amount in limits.items():
        errors += _amount_errors(name, amount, f"{field}.limits[{name}]", name_errors)
    for name, amount in requests.items():
        errors += _amount_errors(name, amount, f"{field}.requests[{name}]", name_errors)
        overcommits = may_overcommit(name)
        if name in limits:
            if parse(amount) != parse(limits[name]) and not overcommits:
                errors.append(invalid(f"{field}.requests", amount, f"must be equal to {name} limit of {limits[name]}"))
            elif parse(amount) > parse(limits[name]):
                errors.append(
                    invalid(f"{field}.requests", amount, f"must be less than or equal to {name} limit of {limits[name]}")
                )
        elif not overcommits:
            errors.append(required(f"{field}.limits", "Limit must be set for non overcommitable resources"))
    asked = {*limits, *requests}
    if any(name.startswith("hugepages-") for name in asked) and not asked & {"cpu", "memory"}:
        errors.append(forbidden(field, "HugePages require cpu or memory"))
    for index, claim in enumerate(resources.get("claims", ())):
        errors += _claim_errors(claim.get("name", ""), claims, f"{field}.claims[{index}]")
    return errors


def _claim_errors(name: str, claims: set[str], field: str) -> list[FieldError]:
    if not name:
        return [required(field)]
    if name in claims:
        return []
    listed = f"must be one of the names in pod.spec.resourceClaims{'' if claims else ' which is empty'}"
    return [FieldError("FieldValueNotFound", field, f'Not found: "{name}": {listed}')]


def _amount_errors(name: str, amount: str, field: str, name_errors: NameRule) -> list[FieldError]:
    errors = name_errors(name, field) + amount_errors(name, amount, field)
    return errors + huge_page_errors(name, amount, field)


def common_errors(container: Json, pod: PodContext, field: str) -> list[FieldError]:
    """What holds for main, init and ephemeral containers alike. Names that occur twice, probes and hooks, restart policies and
    host ports are the callers' to check."""
    name = container.get("name", "")
    errors = faults(f"{field}.name", name, label_faults(name)) if name else [required(f"{field}.name")]
    if not container.get("image"):
        errors.append(required(f"{field}.image"))
    policy = container.get("terminationMessagePolicy", "")
    errors += one_of(f"{field}.terminationMessagePolicy", policy, ["File", "FallbackToLogsOnError"])
    errors += _port_errors(container.get("ports", []), f"{field}.ports")
    errors += _environment_errors(container.get("env", []), f"{field}.env")
    errors += _environment_source_errors(container.get("envFrom", []), f"{field}.envFrom")
    errors += _mount_errors(container, pod.volumes, field) + device_errors(container, pod.volumes, field)
    errors += one_of(f"{field}.imagePullPolicy", container.get("imagePullPolicy", ""), _PULL_POLICIES)
    errors += resource_errors(container["resources"], pod.claims, f"{field}.resources")
    errors += container_security_errors(
        container.get("securityContext", {}), f"{field}.securityContext", host_users=pod.host_users
    )
    errors += _resize_errors(container.get("resizePolicy", []), pod.restart_policy, f"{field}.resizePolicy")
    return errors


def _port_errors(ports: list[Json], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{field}[{index}]"
        name, number, host_port = port.get("name", ""), port.get("containerPort", 0), port.get("hostPort", 0)
        if name:
            found = port_name_faults(name)
            errors += faults(f"{here}.name", name, found)
            if not found and name in names:
                errors.append(duplicate(f"{here}.name", name))
            names.add(name)
        errors += faults(f"{here}.containerPort", number, port_faults(number)) if number else [required(f"{here}.containerPort")]
        if host_port:
            errors += faults(f"{here}.hostPort", host_port, port_faults(host_port))
        errors += one_of(f"{here}.protocol", port.get("protocol", ""), _PROTOCOLS)
    return errors


def _host_port_errors(containers: list[Json], field: str) -> list[FieldError]:
    errors = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in taken:
                errors.append(duplicate(f"{field}[{index}].ports[{at}].hostPort", text))
            taken.add(text)
    return errors


def _environment_errors(variables: list[Json], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        here = f"{field}[{index}]"
        name = variable.get("name", "")
        errors += faults(f"{here}.name", name, environment_name_faults(name)) if name else [required(f"{here}.name")]
        if "valueFrom" in variable:
            errors += _value_source_errors(variable["valueFrom"], variable.get("value", ""), f"{here}.valueFrom")
    return errors


def _value_source_errors(source: Json, value: str, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if "fieldRef" in source:
        errors += field_ref_errors(source["fieldRef"], _ENVIRONMENT_FIELDS, f"{field}.fieldRef")
    if "resourceFieldRef" in source:
        errors += resource_field_errors(source["resourceFieldRef"], f"{field}.resourceFieldRef", in_volume=False)
    if "fileKeyRef" in source:
        errors += file_key_errors(source["fileKeyRef"], f"{field}.fileKeyRef")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            name, key = source[kind].get("name", ""), source[kind].get("key", "")
            errors += faults(f"{field}.{kind}.name", name, subdomain_faults(name))
            errors += faults(f"{field}.{kind}.key", key, config_key_faults(key)) if key else [required(f"{field}.{kind}.key")]
    if not source:
        detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(field, "", detail))
    elif value:
        errors.append(invalid(field, "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        errors.append(invalid(field, "", "may not have more than one field specified at a time"))
    return errors


def _environment_source_errors(sources: list[Json], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, source in enumerate(sources):
        here = f"{field}[{index}]"
        prefix = source.get("prefix", "")
        if prefix:
            errors += faults(f"{here}.prefix", prefix, environment_name_faults(prefix))
        kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in kinds:
            name = source[kind].get("name", "")
            errors += faults(f"{here}.{kind}.name", name, subdomain_faults(name)) if name else [required(f"{here}.{kind}.name")]
        if not kinds:
            errors.append(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(kinds) > 1:
            errors.append(invalid(field, "", "may not have more than one field specified at a time"))
    return errors


def _mount_errors(container: Json, volumes: Mapping[str, Json], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices", ())}
    paths: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts", ())):
        here = f"{field}.volumeMounts[{index}]"
        name, path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{here}.name"))
        if name not in volumes:
            errors.append(not_found(f"{here}.name", name))
        if not path:
            errors.append(required(f"{here}.mountPath"))
        if path in paths:
            errors.append(invalid(f"{here}.mountPath", path, "must be unique"))
        paths.add(path)
        if name in devices:
            errors.append(invalid(f"{here}.name", name, "must not already exist in volumeDevices"))
        if path in devices.values():
            errors.append(invalid(f"{here}.mountPath", path, "must not already exist as a path in volumeDevices"))
        if mount.get("subPath"):
            errors += relative_path_errors(mount["subPath"], f"{field}.volumeMounts.subPath")
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                detail = "subPathExpr and subPath are mutually exclusive"
                errors.append(invalid(f"{here}.subPathExpr", mount["subPathExpr"], detail))
            errors += relative_path_errors(mount["subPathExpr"], f"{field}.volumeMounts.subPathExpr")
        errors += _propagation_errors(mount, container, f"{field}.volumeMounts")
    return errors


def _propagation_errors(mount: Json, container: Json, field: str) -> list[FieldError]:
    """Which mounts below it a container sees, and whether they are read-only, too."""
    errors: list[FieldError] = []
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None and propagation not in _PROPAGATIONS:
        errors.append(unsupported(f"{field}.mountPropagation", propagation, _PROPAGATIONS))
    if propagation == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(forbidden(f"{field}.mountPropagation", detail))
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            errors.append(forbidden(f"{field}.recursiveReadOnly", "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(f"{field}.recursiveReadOnly", detail))
    elif recursive not in (None, "Disabled"):
        errors.append(unsupported(f"{field}.recursiveReadOnly", recursive, ["Disabled", "Enabled", "IfPossible"]))
    return errors


def _resize_errors(policies: list[Json], restart_policy: str, field: str) -> list[FieldError]:
    """What happens to the container when its resources change."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(f"{field}[{index}]", resource))
        seen.add(resource)
        errors += one_of(field, resource, ["cpu", "memory"])
        errors += one_of(field, restart, ["NotRequired", "RestartContainer"])
        if restart_policy == "Never" and restart != "NotRequired":
            errors.append(invalid(field, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return errors


def _lifecycle_and_probe_errors(container: Json, pod: PodContext, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    lifecycle = container.get("lifecycle", {})
    for hook in ("postStart", "preStop"):
        if hook in lifecycle:
            errors += _handler_errors(lifecycle[hook], pod.grace_period, f"{field}.lifecycle.{hook}")
    for kind in _PROBES:
        if kind in container:
            errors += _probe_errors(container[kind], kind, pod.grace_period, f"{field}.{kind}")
    return errors


def _probe_errors(probe: Json, kind: str, grace_period: int | None, field: str) -> list[FieldError]:
    errors = _handler_errors(probe, grace_period, field)
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        errors += negative(f"{field}.{name}", probe.get(name))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(invalid(f"{field}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    if kind != "readinessProbe" and probe.get("successThreshold", 0) != 1:
        errors.append(invalid(f"{field}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
    if kind == "readinessProbe" and grace is not None:
        errors.append(invalid(f"{field}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"))
    return errors


def _handler_errors(handler: Json, grace_period: int | None, field: str) -> list[FieldError]:
    chosen = [kind for kind in _HANDLERS if kind in handler]
    if not chosen:
        return [required(field, "must specify a handler type")]
    first, here = chosen[0], f"{field}.{chosen[0]}"
    errors: list[FieldError] = []
    action = handler[first]
    if first == "exec" and not action.get("command"):
        errors.append(required(f"{here}.command"))
    elif first == "httpGet":
        errors += [] if action.get("path") else [required(f"{here}.path")]
        errors += _port_reference_errors(action.get("port", 0), f"{here}.port")
        scheme = action.get("scheme", "")
        errors += [] if scheme in ("HTTP", "HTTPS") else [unsupported(f"{here}.scheme", scheme, ["HTTP", "HTTPS"])]
        for header in action.get("httpHeaders", ()):
            errors += faults(f"{here}.httpHeaders", header.get("name", ""), header_name_faults(header.get("name", "")))
    elif first in ("tcpSocket", "grpc"):
        errors += _port_reference_errors(action.get("port", 0), f"{here}.port")
    elif first == "sleep" and grace_period is not None and not 0 <= action.get("seconds", 0) <= grace_period:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
        errors.append(invalid(here, action.get("seconds", 0), detail))
    return errors + [forbidden(f"{field}.{kind}", "may not specify more than 1 handler type") for kind in chosen[1:]]


def _port_reference_errors(port: Any, field: str) -> list[FieldError]:
    return faults(field, port, port_name_faults(port) if isinstance(port, str) else port_faults(port))


def _restart_errors(container: Json, field: str) -> list[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", [])
    errors: list[FieldError] = []
    if policy is None:
        if rules:
            errors.append(required(f"{field}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in ("Always", "Never", "OnFailure"):
        errors.append(unsupported(f"{field}.restartPolicy", policy, ["Always", "Never", "OnFailure"]))
    if len(rules) > 20:
        errors.append(too_many(f"{field}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        here = f"{field}.restartPolicyRules[{index}]"
        action = rule.get("action", "")
        if action not in ("Restart", "RestartAllContainers"):
            errors.append(unsupported(f"{here}.action", action, ["Restart", "RestartAllContainers"]))
        codes = rule.get("exitCodes")
        if codes is None:
            errors.append(required(f"{here}.exitCodes", "must be specified"))
        elif codes.get("operator", "") not in ("In", "NotIn"):
            errors.append(unsupported(f"{here}.exitCodes.operator", codes.get("operator", ""), ["In", "NotIn"]))
    return errors
