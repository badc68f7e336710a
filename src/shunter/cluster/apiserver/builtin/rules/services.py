"""What a Service may say, whatever other Services have.

Source: k8s.io/kubernetes 1.36 `apis/core/validation` and `registry/core/service`. One address family, IPv4.
"""

from __future__ import annotations

import ipaddress

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from shunter.api.formats import cidr
from shunter.api.meta import Json
from shunter.api.names import label_faults, label_key_faults, port_faults, port_name_faults, subdomain_faults
from shunter.cluster.apiserver.field_rules import IMMUTABLE, address_errors, faults, label_errors, one_of, unsupported

_LONGEST_AFFINITY = 86400
_TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
_PROTOCOLS = ["SCTP", "TCP", "UDP"]
_DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"]
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
WITH_NODE_PORTS = ("LoadBalancer", "NodePort")
ADDRESSES = ipaddress.IPv4Network("10.96.0.0/16")


def is_accessible(spec: Json) -> bool:
    """Whether it is reached from outside of the cluster."""
    return spec["type"] in WITH_NODE_PORTS or (spec["type"] == "ClusterIP" and bool(spec.get("externalIPs")))


def service_errors(service: Json, old: Json | None) -> list[FieldError]:
    """Whether a clusterIP is in range is looked at when nothing else is wrong."""
    spec = service["spec"]
    errors: list[FieldError] = []
    if old is not None:
        errors += _address_change_errors(spec, old["spec"])
        errors += _class_change_errors(spec, old["spec"])
    errors += _type_errors(spec)
    errors += _load_balancer_errors(service)
    errors += _port_list_errors(spec)
    errors += label_errors(spec.get("selector", {}), "spec.selector")
    errors += one_of("spec.sessionAffinity", spec["sessionAffinity"], ["ClientIP", "None"])
    seconds = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds")
    if seconds is not None and not 0 < seconds <= _LONGEST_AFFINITY:
        detail = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
        errors.append(invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, detail))
    if spec["type"] != "ExternalName":
        errors += _address_errors(spec)
    errors += one_of("spec.type", spec["type"], _TYPES)
    errors += _traffic_errors(spec) + _health_check_errors(spec, old["spec"] if old is not None else None)
    return errors or (_range_errors(spec) if spec["type"] != "ExternalName" else [])


def _address_change_errors(spec: Json, old: Json) -> list[FieldError]:
    if "ExternalName" in (spec["type"], old["type"]) or not old.get("clusterIPs") or not spec.get("clusterIPs"):
        return []
    if spec["clusterIPs"][0] == old["clusterIPs"][0] or spec["clusterIPs"][0] != spec.get("clusterIP"):
        return []
    return [invalid("spec.clusterIPs[0]", spec["clusterIPs"], "may not change once set")]


def has_health_check(spec: Json) -> bool:
    """Whether a port of every node says if a pod of the Service is there: where traffic from outside stays on its node."""
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def _health_check_errors(spec: Json, old: Json | None) -> list[FieldError]:
    asked = spec.get("healthCheckNodePort", 0)
    if asked and not has_health_check(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        return [invalid("spec.healthCheckNodePort", asked, detail)]
    if old is not None and has_health_check(spec) and has_health_check(old) and asked != old.get("healthCheckNodePort", 0):
        return [forbidden("spec.healthCheckNodePort", IMMUTABLE)]
    return []


def _class_change_errors(spec: Json, old: Json) -> list[FieldError]:
    """A load balancer keeps its class."""
    if not spec["type"] == old["type"] == "LoadBalancer" or spec.get("loadBalancerClass") == old.get("loadBalancerClass"):
        return []
    return [invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), "may not change once set")]


def _type_errors(spec: Json) -> list[FieldError]:
    kind, headless = spec["type"], spec.get("clusterIP") == "None"
    errors: list[FieldError] = []
    if not spec.get("ports") and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind == "LoadBalancer":
        errors += [
            invalid(f"spec.ports[{index}].port", port["port"], "may not expose port 10250 externally since it is used by kubelet")
            for index, port in enumerate(spec.get("ports", ()))
            if port.get("port") == 10250
        ]
    if kind in ("LoadBalancer", "NodePort") and headless:
        errors.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        errors += [
            forbidden(f"spec.{name}", "may not be set for ExternalName services")
            for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
            if name in spec
        ]
        name = spec.get("externalName", "").removesuffix(".")
        errors += faults("spec.externalName", name, subdomain_faults(name)) if name else [required("spec.externalName")]
    return errors


def _load_balancer_errors(service: Json) -> list[FieldError]:
    """External addresses, and what only load balancers may have."""
    spec = service["spec"]
    errors: list[FieldError] = []
    for index, text in enumerate(spec.get("externalIPs", ())):
        field = f"spec.externalIPs[{index}]"
        errors += address_errors(field, text) or faults(field, text, _special_address_faults(text))
    balances = spec["type"] == "LoadBalancer"
    if not balances:
        errors += [
            forbidden(f"spec.{name}", "may only be used when `type` is 'LoadBalancer'")
            for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
            if name in spec
        ]
    said = (service["metadata"].get("annotations") or {}).get(_RANGES)
    for field, ranges in (
        ("spec.LoadBalancerSourceRanges", spec.get("loadBalancerSourceRanges") or []),
        (f"metadata.annotations[{_RANGES}]", [] if spec.get("loadBalancerSourceRanges") or not said else said.split(",")),
    ):
        if ranges and not balances:
            errors.append(forbidden(field, "may only be used when `type` is 'LoadBalancer'"))
        if ranges and (balances or field.startswith("spec")):
            for index, text in enumerate(ranges):
                here = f"{field}[{index}]" if field.startswith("spec") else field
                errors += faults(here, text.strip(), cidr.faults(text.strip()))
    return errors


def _special_address_faults(text: str) -> list[str]:
    """What no external address may be."""
    address = ipaddress.ip_address(text)
    if address.is_unspecified:
        return [f"may not be unspecified ({text})"]
    if address.is_loopback:
        return ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]
    return ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"] if address.is_link_local else []


def _port_list_errors(spec: Json) -> list[FieldError]:
    ports = spec.get("ports", [])
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        errors += _port_errors(port, names, f"spec.ports[{index}]", needs_name=len(ports) > 1)
    numbers: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        protocol, number, node_port = port.get("protocol", ""), port.get("port", 0), port.get("nodePort", 0)
        if node_port and spec["type"] in ("ClusterIP", "ExternalName"):
            errors.append(forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'"))
        if (protocol, number) in numbers:
            shown = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}
            errors.append(duplicate(f"spec.ports[{index}]", shown))
        numbers.add((protocol, number))
    return errors


def _port_errors(port: Json, names: set[str], field: str, *, needs_name: bool) -> list[FieldError]:
    name, target = port.get("name", ""), port.get("targetPort", 0)
    errors: list[FieldError] = []
    if not name and needs_name:
        errors.append(required(f"{field}.name"))
    elif name:
        errors += faults(f"{field}.name", name, label_faults(name))
        if name in names:
            errors.append(duplicate(f"{field}.name", name))
        names.add(name)
    errors += faults(f"{field}.port", port.get("port", 0), port_faults(port.get("port", 0)))
    errors += one_of(f"{field}.protocol", port.get("protocol", ""), _PROTOCOLS)
    if protocol := port.get("appProtocol"):
        errors += faults(f"{field}.appProtocol", protocol, label_key_faults(protocol))
    found = port_name_faults(target) if isinstance(target, str) else port_faults(target)
    return errors + faults(f"{field}.targetPort", target, found)


def _address_errors(spec: Json) -> list[FieldError]:
    addresses = spec.get("clusterIPs", [])
    errors: list[FieldError] = []
    if addresses and not spec.get("clusterIP"):
        errors.append(invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"))
    elif addresses and addresses[0] != spec["clusterIP"]:
        errors.append(invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`"))
    for index, family in enumerate(spec.get("ipFamilies", ())):
        if family not in ("IPv4", "IPv6"):
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, ["IPv4", "IPv6"]))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in ("PreferDualStack", "RequireDualStack", "SingleStack"):
        supported = ["PreferDualStack", "RequireDualStack", "SingleStack"]
        errors.append(not_supported("spec.ipFamilyPolicy", policy, supported))
    for index, address in enumerate(addresses):
        if address == "None" and index == 0:
            continue
        errors += address_errors(f"spec.clusterIPs[{index}]", address)
    parsed = [found.version for address in addresses if (found := cidr.address(address)) is not None]
    if len(parsed) == len(addresses) and len(set(parsed)) != len(parsed):
        errors.append(invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family"))
    return errors or family_errors(spec)


def family_errors(spec: Json) -> list[FieldError]:
    """Families that there may be twice, or not at all: of a headless Service without selector any, of others IPv4 only."""
    families, addresses = spec.get("ipFamilies", []), spec.get("clusterIPs") or [spec.get("clusterIP", "None")]
    errors = [duplicate(f"spec.ipFamilies[{at}]", one) for at, one in enumerate(families) if one in families[:at]]
    if errors or (addresses[0] == "None" and spec.get("clusterIP") == "None" and not spec.get("selector")):
        return errors
    versions = [found.version if (found := cidr.address(address)) else None for address in addresses]
    for at, (family, version) in enumerate(zip(families, versions, strict=False)):
        if version is not None and family != f"IPv{version}":
            article = "an" if family == "IPv6" else "a"
            detail = f"expected {article} {family} value as indicated by `ipFamilies[{at}]`"
            errors.append(invalid(f"spec.clusterIPs[{at}]", addresses[at], detail))
    if errors:
        return errors
    errors += [
        invalid(f"spec.clusterIPs[{at}]", addresses, "IPv6 is not configured on this cluster")
        for at, version in enumerate(versions)
        if version == 6
    ]
    if errors:
        return errors
    errors += [
        invalid(f"spec.ipFamilies[{at}]", family, "not configured on this cluster")
        for at, family in enumerate(families)
        if family == "IPv6"
    ]
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", "RequireDualStack", detail))
    return errors


def _range_errors(spec: Json) -> list[FieldError]:
    """Whether a clusterIP given in the request is in the range of the cluster."""
    address = spec.get("clusterIP", "None")
    if address == "None" or ipaddress.ip_address(address).version != 4 or ipaddress.IPv4Address(address) in ADDRESSES:
        return []
    detail = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {ADDRESSES}"
    return [invalid("spec.clusterIPs", spec["clusterIPs"], f"failed to allocate IP {address}: {detail}")]


def _traffic_errors(spec: Json) -> list[FieldError]:
    external, internal = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    errors: list[FieldError] = []
    if external is not None and not is_accessible(spec):
        detail = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", external, detail))
    elif external is not None and external not in ("Cluster", "Local"):
        errors.append(unsupported("spec.externalTrafficPolicy", external, ["Cluster", "Local"]))
    if internal is not None and internal not in ("Cluster", "Local"):
        errors.append(unsupported("spec.internalTrafficPolicy", internal, ["Cluster", "Local"]))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(unsupported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return errors
