"""The Service kind: defaults, cluster addresses and node ports, rules.

Addresses are allocated, unique and kept by their Service, but nothing routes them. One address family, IPv4.
Source: k8s.io/kubernetes 1.36 `apis/core/v1` defaults, `registry/core/service`, `apis/core/validation`.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from shunter.api.meta import Json
from shunter.api.names import label_faults, port_faults, port_name_faults, subdomain_faults
from shunter.api.resources import SERVICES
from shunter.cluster.apiserver import status
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import address_errors, faults, label_errors, one_of, unsupported
from shunter.cluster.apiserver.kinds import Kind, Objects

_ADDRESSES = ipaddress.IPv4Network("10.96.0.0/16")
_RESERVED_ADDRESSES = 11
"""The network itself, the API server's own Service, a cluster's DNS: never given out."""
_NODE_PORTS = range(30000, 32768)
_AFFINITY_SECONDS = 10800
_LONGEST_AFFINITY = 86400
_TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
_WITH_NODE_PORTS = ("LoadBalancer", "NodePort")
_PROTOCOLS = ["SCTP", "TCP", "UDP"]
_ADDRESS_FIELDS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_ALLOCATED = "already allocated"


def kind() -> Kind:
    """Addresses are given out of 10.96.0.0/16, node ports of 30000 to 32767. An update that does not mention them keeps them, and
    a PUT creates what is not there."""
    return typed(
        SERVICES,
        short_names=("svc",),
        categories=("all",),
        has_status=True,
        tracks_generation=False,
        created_by_update=True,
        selectable_fields=("spec.clusterIP", "spec.type"),
        name_faults=label_faults,
        default=_default,
        admit=_admit,
        prepare=_drop_unneeded,
        validate=_validate,
        review=_review,
        warnings=_warnings,
        validate_status=_status_errors,
    )


def _default(service: Json) -> None:
    spec = service["spec"]
    if spec.setdefault("sessionAffinity", "None") == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", _AFFINITY_SECONDS)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer") or spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _admit(service: Json, old: Json | None, objects: Objects) -> None:
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        if "clusterIP" in spec:
            spec.setdefault("clusterIPs", [spec["clusterIP"]])
        return
    if old is not None and old["spec"]["type"] != "ExternalName":
        _keep_addresses(spec, old["spec"])
    if "clusterIP" not in spec and "clusterIPs" in spec:
        spec["clusterIP"] = spec["clusterIPs"][0]
    if "clusterIP" not in spec:
        taken = {other["spec"].get("clusterIP") for other in objects.all(SERVICES)}
        spec["clusterIP"] = _free_address(service["metadata"].get("uid", ""), taken)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    anywhere = spec["clusterIP"] == "None" and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if anywhere else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if anywhere else "SingleStack")
    if spec["type"] == "NodePort" or (spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts")):
        spec["ports"] = [dict(port) for port in spec.get("ports", ())]  # a patch may share them with the stored object
        _give_node_ports(spec["ports"], objects.all(SERVICES))


def _keep_addresses(spec: Json, old: Json) -> None:
    """An update that does not mention what was given out keeps it."""
    if spec.get("clusterIP") and spec["clusterIP"] != old.get("clusterIP") and spec.get("clusterIPs") == old.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if "clusterIP" not in spec and "clusterIPs" not in spec:
        for name in _ADDRESS_FIELDS:
            if name in old:
                spec.setdefault(name, old[name])
    if spec["type"] in ("NodePort", "LoadBalancer"):
        given = {
            (port.get("protocol"), port.get("port")): port["nodePort"] for port in old.get("ports", ()) if "nodePort" in port
        }
        for port in spec.get("ports", ()):
            known = given.get((port.get("protocol"), port.get("port")))
            if known is not None:
                port.setdefault("nodePort", known)


def _free_address(seed: str, taken: set[str | None]) -> str:
    size = _ADDRESSES.num_addresses - _RESERVED_ADDRESSES - 1
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    candidates = (str(_ADDRESSES[_RESERVED_ADDRESSES + (start + step) % size]) for step in range(size))
    return next(address for address in candidates if address not in taken)


def _give_node_ports(ports: list[Json], services: Iterable[Json]) -> None:
    """Ports of one number, as of TCP and UDP, share one node port."""
    taken = {port.get("nodePort") for service in services for port in service["spec"].get("ports", ())}
    taken |= {port.get("nodePort") for port in ports}
    free = (number for number in _NODE_PORTS if number not in taken)
    shared: dict[int | None, int] = {}
    for port in ports:
        if port.get("nodePort"):
            shared.setdefault(port.get("port"), port["nodePort"])
    for port in ports:
        if not port.get("nodePort"):
            number = port.get("port")
            if number not in shared:
                shared[number] = next(free)
            port["nodePort"] = shared[number]


def _drop_unneeded(service: Json, old: Json | None) -> None:
    """What was given out to a Service of another type, and is not written anew (`dropTypeDependentFields`)."""
    if old is None:
        return
    spec, before = service["spec"], old["spec"]

    def drop(*names: str) -> None:
        for name in names:
            if name in spec and spec[name] == before.get(name):
                del spec[name]

    if spec["type"] == "ExternalName" != before["type"]:
        if spec.get("clusterIPs") == before.get("clusterIPs"):
            drop("clusterIP", "clusterIPs")
        drop("ipFamilies", "ipFamilyPolicy")
    given = {0, *(port.get("nodePort", 0) for port in before.get("ports", ()))}
    if before["type"] in _WITH_NODE_PORTS and spec["type"] not in _WITH_NODE_PORTS:
        ports = spec.get("ports", ())
        if all(port.get("nodePort", 0) in given for port in ports):
            spec["ports"] = [{name: value for name, value in port.items() if name != "nodePort"} for port in ports]
    if before["type"] == "LoadBalancer" != spec["type"]:
        drop("allocateLoadBalancerNodePorts", "loadBalancerClass")
        service["status"] = {**(service.get("status") or {}), "loadBalancer": {}}
    if _is_accessible(before) and not _is_accessible(spec):
        drop("externalTrafficPolicy")


def _is_accessible(spec: Json) -> bool:
    """Whether it is reached from outside of the cluster."""
    return spec["type"] in _WITH_NODE_PORTS or (spec["type"] == "ClusterIP" and bool(spec.get("externalIPs")))


def _review(service: Json, old: Json | None, objects: Objects) -> None:
    """Refuses an address or a node port that another Service has. Looks at others only if the Service asks for a new one: most,
    those of jobs, are headless."""
    spec, before = service["spec"], old["spec"] if old is not None else {}
    address = spec.get("clusterIP", "None")
    is_new_address = address not in ("None", before.get("clusterIP"))
    own = {0, None, *(port.get("nodePort") for port in before.get("ports", ()))}
    new_ports = [(index, port["nodePort"]) for index, port in enumerate(spec.get("ports", ())) if port.get("nodePort") not in own]
    if not (is_new_address or new_ports):
        return
    others = [one["spec"] for one in objects.all(SERVICES) if one["metadata"].get("uid") != service["metadata"].get("uid")]
    errors: list[FieldError] = []
    if is_new_address and any(address == other.get("clusterIP") for other in others):
        detail = f"failed to allocate IP {address}: provided IP is {_ALLOCATED}"
        errors.append(invalid("spec.clusterIPs", spec.get("clusterIPs", [address]), detail))
    taken = {port.get("nodePort") for other in others for port in other.get("ports", ())}
    errors += [
        invalid(f"spec.ports[{index}].nodePort", number, f"provided port is {_ALLOCATED}")
        for index, number in new_ports
        if number in taken
    ]
    if errors:
        raise status.invalid("", SERVICES.kind, service["metadata"].get("name", ""), errors[:1])


def _validate(service: Json, old: Json | None) -> list[FieldError]:
    spec = service["spec"]
    errors: list[FieldError] = []
    if old is not None:
        errors += _address_change_errors(spec, old["spec"])
    errors += _type_errors(spec)
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
    errors += _traffic_errors(spec)
    return errors or (_range_errors(spec) if spec["type"] != "ExternalName" else [])


def _address_change_errors(spec: Json, old: Json) -> list[FieldError]:
    if "ExternalName" in (spec["type"], old["type"]) or not old.get("clusterIPs") or not spec.get("clusterIPs"):
        return []
    if spec["clusterIPs"][0] == old["clusterIPs"][0]:
        return []
    return [invalid("spec.clusterIPs[0]", spec["clusterIPs"], "may not change once set")]


def _warnings(service: Json, old: Json | None, objects: Objects) -> list[str]:
    spec = service["spec"]
    if spec.get("clusterIP") == "None" and spec.get("sessionAffinity") == "ClientIP":
        return ["spec.SessionAffinity is ignored for headless services"]
    return []


def _status_errors(service: Json, old: Json | None) -> list[FieldError]:
    if (service["status"].get("loadBalancer") or {}).get("ingress") and service["spec"]["type"] != "LoadBalancer":
        return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]
    return []


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


def _port_list_errors(spec: Json) -> list[FieldError]:
    ports = spec.get("ports", [])
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        errors += _port_errors(port, names, f"spec.ports[{index}]", needs_name=len(ports) > 1)
    node_ports: set[tuple[str, int]] = set()
    numbers: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        protocol, number, node_port = port.get("protocol", ""), port.get("port", 0), port.get("nodePort", 0)
        if node_port and spec["type"] in ("ClusterIP", "ExternalName"):
            errors.append(forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'"))
        elif node_port and (protocol, node_port) in node_ports:
            errors.append(duplicate(f"spec.ports[{index}].nodePort", node_port))
        elif node_port and node_port not in _NODE_PORTS:
            detail = f"provided port is not in the valid range. The range of valid ports is {_NODE_PORTS[0]}-{_NODE_PORTS[-1]}"
            errors.append(invalid(f"spec.ports[{index}].nodePort", node_port, detail))
        if (protocol, number) in numbers:
            shown = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}
            errors.append(duplicate(f"spec.ports[{index}]", shown))
        node_ports.add((protocol, node_port))
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
    found = port_name_faults(target) if isinstance(target, str) else port_faults(target)
    return errors + faults(f"{field}.targetPort", target, found)


def _address_errors(spec: Json) -> list[FieldError]:
    addresses = spec.get("clusterIPs", [])
    errors: list[FieldError] = []
    if addresses and addresses[0] != spec.get("clusterIP"):
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
    return errors


def _range_errors(spec: Json) -> list[FieldError]:
    """Whether a clusterIP given in the request is in the range of the cluster."""
    address = spec.get("clusterIP", "None")
    if address == "None" or ipaddress.ip_address(address).version != 4 or ipaddress.IPv4Address(address) in _ADDRESSES:
        return []
    detail = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {_ADDRESSES}"
    return [invalid("spec.clusterIPs", spec["clusterIPs"], f"failed to allocate IP {address}: {detail}")]


def _traffic_errors(spec: Json) -> list[FieldError]:
    external, internal = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    errors: list[FieldError] = []
    if external is not None and not _is_accessible(spec):
        detail = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", external, detail))
    elif external is not None and external not in ("Cluster", "Local"):
        errors.append(unsupported("spec.externalTrafficPolicy", external, ["Cluster", "Local"]))
    if internal is not None and internal not in ("Cluster", "Local"):
        errors.append(unsupported("spec.internalTrafficPolicy", internal, ["Cluster", "Local"]))
    return errors
