"""What a pod may say, what of it may change, and what its status may do.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`. Left out are the contents of resource claims.
"""

from __future__ import annotations

import copy

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required, too_long
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults, label_value_faults, subdomain_faults
from shunter.cluster.apiserver.builtin.pod.container_rules import (
    PodContext,
    container_errors,
    image_space_errors,
    init_container_errors,
    resource_errors,
)
from shunter.cluster.apiserver.builtin.pod.file_keys import file_key_volume_errors
from shunter.cluster.apiserver.builtin.pod.operating_systems import operating_system_errors
from shunter.cluster.apiserver.builtin.pod.placement_rules import node_affinity_errors, pod_affinity_errors, spread_errors
from shunter.cluster.apiserver.builtin.pod.pod_level_resources import pod_level_resource_errors
from shunter.cluster.apiserver.builtin.pod.resource_claims import resource_claim_errors
from shunter.cluster.apiserver.builtin.pod.security_rules import pod_security_errors
from shunter.cluster.apiserver.builtin.pod.volume_rules import volume_errors
from shunter.cluster.apiserver.field_rules import (
    address_errors,
    annotation_errors,
    changed,
    faults,
    label_errors,
    one_of,
    unsupported,
)

_RESTART_POLICIES = ["Always", "OnFailure", "Never"]
_DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
_TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
_MUTABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MAX_SECONDS = 2**31 - 1
_LONGEST_HOSTNAME = 64


def template_errors(template: Json, field: str) -> list[FieldError]:
    """A pod template."""
    metadata, spec = template["metadata"], template["spec"]
    errors = label_errors(metadata.get("labels", {}), f"{field}.labels")
    errors += annotation_errors(metadata.get("annotations", {}), f"{field}.annotations")
    errors += pod_spec_errors(spec, f"{field}.spec", pod_name="", is_pod=False)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden(f"{field}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return errors


def pod_errors(pod: Json, old: Json | None) -> list[FieldError]:
    """A pod, and what an update changes of it."""
    spec = pod["spec"]
    errors = pod_spec_errors(spec, "spec", pod_name=pod["metadata"].get("name", ""), is_pod=True)
    if not spec.get("serviceAccountName"):
        errors += [
            forbidden(
                f"spec.volumes[{index}].projected.sources[{at}].serviceAccountToken",
                "must not be specified when serviceAccountName is not set",
            )
            for index, volume in enumerate(spec.get("volumes", ()))
            for at, source in enumerate(volume.get("projected", {}).get("sources") or ())
            if "serviceAccountToken" in source
        ]
    errors += image_space_errors(spec.get("containers") or [], "spec.containers")
    errors += image_space_errors(spec.get("initContainers", []), "spec.initContainers")
    if old is not None:
        return errors + _update_errors(spec, old["spec"])
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors


def pod_spec_errors(spec: Json, field: str, *, pod_name: str, is_pod: bool) -> list[FieldError]:
    """A pod spec, of a pod or of a template."""
    volumes, errors = volume_errors(spec.get("volumes", []), pod_name, f"{field}.volumes")
    claims = {claim.get("name", "") for claim in spec.get("resourceClaims", ())}
    grace_period, policy = spec.get("terminationGracePeriodSeconds"), spec.get("restartPolicy", "")
    context = PodContext(volumes, claims, grace_period, policy, spec.get("hostUsers") is not False)
    containers = spec.get("containers") or []
    errors += container_errors(containers, context, f"{field}.containers")
    errors += init_container_errors(spec.get("initContainers", []), containers, context, f"{field}.initContainers")
    if "resources" in spec:
        errors += pod_level_resource_errors(spec, claims, f"{field}.resources")
    errors += file_key_volume_errors(spec, field) + operating_system_errors(spec, field)
    if spec.get("hostNetwork"):
        errors += _host_network_errors(containers, f"{field}.containers", is_pod=is_pod)
    errors += one_of(f"{field}.restartPolicy", spec.get("restartPolicy", ""), _RESTART_POLICIES)
    errors += one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy", ""), _DNS_POLICIES)
    errors += label_errors(spec.get("nodeSelector", {}), f"{field}.nodeSelector")
    errors += pod_security_errors(spec, field)
    errors += node_affinity_errors(spec.get("affinity", {}).get("nodeAffinity", {}), f"{field}.affinity.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        errors += pod_affinity_errors(spec.get("affinity", {}).get(name, {}), f"{field}.affinity.{name}")
    errors += _dns_config_errors(spec, field)
    errors += _name_list_errors(spec.get("schedulingGates", []), f"{field}.schedulingGates")
    errors += spread_errors(spec.get("topologySpreadConstraints", []), f"{field}.topologySpreadConstraints")
    for name in ("serviceAccountName", "nodeName"):
        if value := spec.get(name):
            errors += faults(f"{field}.{name}", value, subdomain_faults(value))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_SECONDS:
        errors.append(invalid(f"{field}.activeDeadlineSeconds", deadline, f"must be between 1 and {_MAX_SECONDS}, inclusive"))
    for name in ("hostname", "subdomain"):
        if value := spec.get(name):
            errors += faults(f"{field}.{name}", value, label_faults(value))
    errors += toleration_errors(spec.get("tolerations", []), f"{field}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases", ())):
        here = f"{field}.hostAliases[{index}]"
        errors += address_errors(f"{here}.ip", alias.get("ip", ""))
        for at, name in enumerate(alias.get("hostnames", ())):
            errors += faults(f"{here}.hostnames[{at}]", name, subdomain_faults(name))
    errors += resource_claim_errors(spec.get("resourceClaims", []), f"{field}.resourceClaims")
    for index, gate in enumerate(spec.get("readinessGates", ())):
        kind = gate.get("conditionType", "")
        errors += faults(f"{field}.readinessGates[{index}].conditionType", kind, label_key_faults(kind))
    errors += _hostname_errors(spec, field)
    if overhead := spec.get("overhead"):
        errors += resource_errors({"limits": overhead}, set(), f"{field}.overhead")
    for name in ("priorityClassName", "runtimeClassName"):
        if value := spec.get(name):
            errors += faults(f"{field}.{name}", value, subdomain_faults(value))
    if "preemptionPolicy" in spec:
        errors += one_of(f"{field}.preemptionPolicy", spec["preemptionPolicy"], ["PreemptLowerPriority", "Never"])
    return errors


def toleration_errors(tolerations: list[Json], field: str) -> list[FieldError]:
    """The errors of the tolerations of a pod or a RuntimeClass. No operator means `Equal`; `Lt` and `Gt` are refused with a text
    that lists them as choices."""
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        here = f"{field}[{index}]"
        key, operator, value = (toleration.get(name, "") for name in ("key", "operator", "value"))
        effect = toleration.get("effect", "")
        if key:
            errors += faults(f"{here}.key", key, label_key_faults(key))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{here}.operator", operator, detail))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            errors.append(invalid(f"{here}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
        if operator in ("", "Equal"):
            if found := label_value_faults(value):
                errors.append(invalid(f"{here}.operator", value, ";".join(found)))
        elif operator == "Exists":
            if value:
                errors.append(invalid(f"{here}.operator", value, "value must be empty when `operator` is 'Exists'"))
        elif operator in ("Lt", "Gt"):
            errors.append(unsupported(f"{here}.operator", operator, ["Equal", "Exists", "Lt", "Gt"]))
        else:
            errors.append(unsupported(f"{here}.operator", operator, ["Equal", "Exists"]))
        if effect and effect not in _TAINT_EFFECTS:
            errors.append(unsupported(f"{here}.effect", effect, _TAINT_EFFECTS))
    return errors


def pod_status_errors(pod: Json, old: Json | None) -> list[FieldError]:
    """What a status write may not do: bring terminated containers back to life, change the class of service."""
    assert old is not None
    status, before, spec = pod["status"], old["status"], old["spec"]
    errors: list[FieldError] = []
    for index, condition in enumerate(status.get("conditions", ())):
        kind = condition.get("type", "")
        if kind not in ("PodScheduled", "Ready", "Initialized"):
            errors += faults(f"status.conditions[{index}].Type", kind, label_key_faults(kind))
    errors += changed("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    addresses = status.get("podIPs") or []
    for index, address in enumerate(addresses):
        errors += address_errors(
            f"status.podIPs[{index}].ip" if "ip" not in address else f"status.podIPs[{index}]", address.get("ip", "")
        )
    sidecars = {container["name"] for container in spec.get("initContainers", ()) if container.get("restartPolicy") == "Always"}
    for name in ("containerStatuses", "initContainerStatuses"):
        errors += _revived(status.get(name, []), before.get(name, []), spec, sidecars, f"status.{name}")
    return errors


def _revived(new: list[Json], old: list[Json], spec: Json, sidecars: set[str], field: str) -> list[FieldError]:
    policies = {
        container["name"]: container.get("restartPolicy", spec.get("restartPolicy", "Always"))
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ()))
    }
    errors = []
    for index, was in enumerate(old):
        terminated = was.get("state", {}).get("terminated")
        name = was.get("name", "")
        policy = policies.get(name, "Never")
        if terminated is None or name in sidecars or policy == "Always":
            continue
        if policy == "OnFailure" and terminated.get("exitCode", 0) != 0:
            continue
        now = next((status for status in new if status.get("name", "") == name), None)
        if now is not None and "terminated" not in now.get("state", {}):
            errors.append(forbidden(f"{field}[{index}].state", "may not be transitioned to non-terminated state"))
    return errors


def _update_errors(spec: Json, old: Json) -> list[FieldError]:
    for name in ("containers", "initContainers"):
        if len(spec.get(name) or ()) != len(old.get(name) or ()):
            return [forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
    errors: list[FieldError] = []
    deadline, previous = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if deadline is None and previous is not None:
        errors.append(invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value"))
    elif deadline is not None and previous is not None and previous < deadline:
        return [invalid("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value")]
    new_tolerations = [_timeless(toleration) for toleration in spec.get("tolerations", ())]
    if any(_timeless(toleration) not in new_tolerations for toleration in old.get("tolerations", ())):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        errors.append(forbidden("spec.tolerations", detail))
    gates = {gate["name"] for gate in old.get("schedulingGates", ())}
    for index, gate in enumerate(spec.get("schedulingGates", ())):
        if gate["name"] not in gates:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            errors.append(forbidden(f"spec.schedulingGates[{index}].name", detail))
    if _immutable_part(spec, old) != old:
        errors.append(forbidden("spec", f"pod updates may not change fields other than {_MUTABLE}"))
    return errors


def _immutable_part(spec: Json, old: Json) -> Json:
    """The new spec with everything that may change put back as it was."""
    part = copy.deepcopy(spec)
    for name in ("containers", "initContainers"):
        for container, before in zip(part.get(name) or (), old.get(name) or (), strict=True):
            container["image"] = before.get("image")
    mutable = ["activeDeadlineSeconds", "tolerations", "schedulingGates"]
    if old.get("schedulingGates"):
        mutable.append("nodeSelector")
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        mutable.append("terminationGracePeriodSeconds")
    for name in mutable:
        part.pop(name, None)
        if name in old:
            part[name] = old[name]
    return part


def _timeless(toleration: Json) -> Json:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _host_network_errors(containers: list[Json], field: str, *, is_pod: bool) -> list[FieldError]:
    return [
        invalid(f"{field}[{index}].ports[{at}].hostPort", host_port, "must match `containerPort` when `hostNetwork` is true")
        for index, container in enumerate(containers)
        for at, port in enumerate(container.get("ports", ()))
        if ((host_port := port.get("hostPort", 0)) or is_pod) and host_port != port.get("containerPort", 0)
    ]


def _dns_config_errors(spec: Json, field: str) -> list[FieldError]:
    config, here = spec.get("dnsConfig"), f"{field}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(here, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            return [required(f"{here}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")]
    if config is None:
        return []
    servers, errors = config.get("nameservers", []), []
    if len(servers) > 3:
        errors.append(invalid(f"{here}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        errors += address_errors(f"{here}.nameservers[{index}]", server)
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            errors.append(required(f"{here}.options[{index}]", "must not be empty"))
    return errors


def _name_list_errors(gates: list[Json], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += faults(f"{field}[{index}]", name, label_key_faults(name))
        if name in seen:
            errors.append(duplicate(f"{field}[{index}]", name))
        seen.add(name)
    return errors


def _hostname_errors(spec: Json, field: str) -> list[FieldError]:
    """The errors of the host name that a pod is given instead of its own."""
    name, here = spec.get("hostnameOverride"), f"{field}.hostnameOverride"
    if name is None:
        return []
    errors = [
        forbidden(here, f"may not be specified when {other} is true")
        for other in ("setHostnameAsFQDN", "hostNetwork")
        if spec.get(other)
    ]
    if len(name) > _LONGEST_HOSTNAME:
        errors.append(too_long(here, _LONGEST_HOSTNAME))
    return errors + faults(here, name, subdomain_faults(name))
