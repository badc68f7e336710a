"""The Service kind: defaults, cluster addresses and node ports, rules.

Addresses are allocated, unique and kept by their Service, but nothing routes them. One address family, IPv4.
Source: k8s.io/kubernetes 1.36 `apis/core/v1` defaults, `registry/core/service`, `apis/core/validation`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from shunter.api.field_errors import FieldError, forbidden, invalid
from shunter.api.meta import Json
from shunter.api.names import label_faults
from shunter.api.resources import SERVICES
from shunter.cluster.apiserver import status
from shunter.cluster.apiserver.builtin.rules.services import (
    ADDRESSES,
    WITH_NODE_PORTS,
    family_errors,
    has_health_check,
    is_accessible,
    service_errors,
)
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.kinds import Kind, Objects

_RESERVED_ADDRESSES = 11
"""The network itself, the API server's own Service, a cluster's DNS: never given out."""
_NODE_PORTS = range(30000, 32768)
_OUT_OF_RANGE = f"provided port is not in the valid range. The range of valid ports is {_NODE_PORTS[0]}-{_NODE_PORTS[-1]}"
_AFFINITY_SECONDS = 10800
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
        returns_deleted=True,
        tracks_generation=False,
        created_by_update=True,
        selectable_fields=("spec.clusterIP", "spec.type"),
        name_faults=label_faults,
        default=_default,
        admit=_admit,
        prepare=_drop_unneeded,
        validate=service_errors,
        review=_review,
        allocate=_allocate,
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
        for ingress in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _admit(service: Json, old: Json | None, objects: Objects) -> None:
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        if "clusterIP" in spec:
            spec.setdefault("clusterIPs", [spec["clusterIP"]])
        return
    if old is not None and old["spec"]["type"] != "ExternalName":
        _keep_addresses(spec, old["spec"])
    if "clusterIP" not in spec and "clusterIPs" not in spec and not family_errors(spec):
        taken = {other["spec"].get("clusterIP") for other in objects.all(SERVICES)}
        spec["clusterIP"] = _free_address(service["metadata"].get("uid", ""), taken)
    if "clusterIP" not in spec:
        return  # validation tells of the rest
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    anywhere = spec["clusterIP"] == "None" and not spec.get("selector")
    family = "IPv6" if ":" in spec["clusterIP"] else "IPv4"
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if anywhere else [family])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if anywhere else "SingleStack")
    if spec["type"] == "NodePort" or (spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts")):
        spec["ports"] = [dict(port) for port in spec.get("ports", ())]  # a patch may share them with the stored object
        _give_node_ports(spec["ports"], objects.all(SERVICES))
    if has_health_check(spec) and not spec.get("healthCheckNodePort"):
        taken = {number for other in (spec, *(one["spec"] for one in objects.all(SERVICES))) for number in _node_ports(other)}
        spec["healthCheckNodePort"] = next(number for number in _NODE_PORTS if number not in taken)


def _keep_addresses(spec: Json, old: Json) -> None:
    """An update that does not mention what was given out keeps it."""
    if spec.get("clusterIP") and spec["clusterIP"] != old.get("clusterIP") and spec.get("clusterIPs") == old.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if not spec.get("clusterIP") and "clusterIP" in old:
        spec["clusterIP"] = old["clusterIP"]
    if spec.get("clusterIP") == old.get("clusterIP"):
        for name in _ADDRESS_FIELDS:
            if name in old:
                spec.setdefault(name, old[name])
    if has_health_check(spec) and has_health_check(old) and "healthCheckNodePort" in old:
        spec.setdefault("healthCheckNodePort", old["healthCheckNodePort"])
    if spec["type"] in ("NodePort", "LoadBalancer"):
        given = {
            (port.get("protocol"), port.get("port")): port["nodePort"] for port in old.get("ports", ()) if "nodePort" in port
        }
        for port in spec.get("ports", ()):
            known = given.get((port.get("protocol"), port.get("port")))
            if known is not None:
                port.setdefault("nodePort", known)


def _free_address(seed: str, taken: set[str | None]) -> str:
    size = ADDRESSES.num_addresses - _RESERVED_ADDRESSES - 1
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    candidates = (str(ADDRESSES[_RESERVED_ADDRESSES + (start + step) % size]) for step in range(size))
    return next(address for address in candidates if address not in taken)


def _give_node_ports(ports: list[Json], services: Iterable[Json]) -> None:
    """Ports of one number, as of TCP and UDP, share one node port."""
    taken = {number for service in services for number in _node_ports(service["spec"])}
    taken |= {port["nodePort"] for port in ports if port.get("nodePort")}
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


def _node_ports(spec: Json) -> Iterator[int]:
    """The ports of nodes that a Service has."""
    yield from (port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _drop_unneeded(service: Json, old: Json | None) -> None:
    """What was given out to a Service of another type, and is not written anew (`dropTypeDependentFields`)."""
    if service["spec"]["type"] == "ExternalName":
        service["spec"].pop("internalTrafficPolicy", None)
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
    if before["type"] in WITH_NODE_PORTS and spec["type"] not in WITH_NODE_PORTS:
        ports = spec.get("ports", ())
        if all(port.get("nodePort", 0) in given for port in ports):
            spec["ports"] = [{name: value for name, value in port.items() if name != "nodePort"} for port in ports]
    if before["type"] == "LoadBalancer" != spec["type"]:
        drop("allocateLoadBalancerNodePorts", "loadBalancerClass")
        service["status"] = {**(service.get("status") or {}), "loadBalancer": {}}
    if is_accessible(before) and not is_accessible(spec):
        drop("externalTrafficPolicy")
    if has_health_check(before) and not has_health_check(spec):
        drop("healthCheckNodePort")


def _review(service: Json, old: Json | None, objects: Objects) -> None:
    """Refuses a node port that another Service has, and one that it names twice itself."""
    before = old["spec"] if old is not None else {}
    own = {0, None, *(port.get("nodePort") for port in before.get("ports", ()))}
    ports = service["spec"].get("ports", ())
    asked = [(port.get("protocol"), port["nodePort"]) if port.get("nodePort") else None for port in ports]
    is_new = any(port.get("nodePort") not in own for port in ports)
    taken = {number for other in _others(service, objects) for number in _node_ports(other)} if is_new else set()
    for index, port in enumerate(asked):
        if port is not None and (port in asked[:index] or (port[1] not in own and port[1] in taken)):
            raise _refused(service, invalid(f"spec.ports[{index}].nodePort", port[1], f"provided port is {_ALLOCATED}"))


def _allocate(service: Json, old: Json | None, objects: Objects) -> None:
    """Refuses an address that another Service has, and a new node port out of range. Looks at others only if the Service asks for
    a new address: most, those of jobs, are headless."""
    spec, before = service["spec"], old["spec"] if old is not None else {}
    address = spec.get("clusterIP", "None")
    is_new = address not in ("None", before.get("clusterIP"))
    if is_new and any(address == other.get("clusterIP") for other in _others(service, objects)):
        detail = f"failed to allocate IP {address}: provided IP is {_ALLOCATED}"
        raise _refused(service, invalid("spec.clusterIPs", spec.get("clusterIPs", [address]), detail))
    own = {0, None, *(port.get("nodePort") for port in before.get("ports", ()))}
    for index, port in enumerate(spec.get("ports", ())):
        number = port.get("nodePort")
        if number not in own and number not in _NODE_PORTS:
            raise _refused(service, invalid(f"spec.ports[{index}].nodePort", number, _OUT_OF_RANGE))
    asked = spec.get("healthCheckNodePort")
    if asked in (None, 0, before.get("healthCheckNodePort")):
        return
    taken = {number for other in _others(service, objects) for number in _node_ports(other)}
    taken |= {port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort")}
    why = _OUT_OF_RANGE if asked not in _NODE_PORTS else f"provided port is {_ALLOCATED}" if asked in taken else ""
    if why:
        raise status.internal(f"failed to allocate requested HealthCheck NodePort {asked}: {why}")


def _others(service: Json, objects: Objects) -> list[Json]:
    """The specs of all other Services."""
    return [one["spec"] for one in objects.all(SERVICES) if one["metadata"].get("uid") != service["metadata"].get("uid")]


def _refused(service: Json, error: FieldError) -> status.StatusError:
    return status.invalid("", SERVICES.kind, service["metadata"].get("name", ""), [error])


def _warnings(service: Json, old: Json | None, objects: Objects) -> list[str]:
    spec = service["spec"]
    said = []
    if spec.get("clusterIP") == "None" and spec.get("sessionAffinity") == "ClientIP":
        said.append("spec.SessionAffinity is ignored for headless services")
    if spec.get("externalIPs"):
        said.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("trafficDistribution") == "PreferClose":
        said.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return said


def _status_errors(service: Json, old: Json | None) -> list[FieldError]:
    if (service["status"].get("loadBalancer") or {}).get("ingress") and service["spec"]["type"] != "LoadBalancer":
        return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]
    return []
