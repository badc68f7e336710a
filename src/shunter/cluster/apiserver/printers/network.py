"""Printers of services, their endpoints, and what routes to them."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Printer,
    format_labels,
    format_selector,
    name_or_default,
    printer,
    spec_of,
    status_of,
    text,
    wide,
)


def _service_ports(service: Json) -> str:
    return ",".join(_service_port(port) for port in spec_of(service).get("ports") or ()) or "<none>"


def _service_port(port: Json) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _external_address(service: Json) -> str:
    spec = spec_of(service)
    given = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or "<none>"
        case "LoadBalancer":
            return ",".join([*_balancers(service), *given]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


def _slice_ports(endpoint_slice: Json) -> str:
    ports = endpoint_slice.get("ports") or ()
    return _shortened([str(port.get("port") or port.get("name", "*")) for port in ports]) or "<unset>"


def _slice_addresses(endpoint_slice: Json) -> str:
    endpoints = endpoint_slice.get("endpoints") or ()
    return _shortened([address for endpoint in endpoints for address in endpoint.get("addresses") or ()]) or "<unset>"


def _shortened(values: list[str]) -> str:
    more = f" + {len(values) - 3} more..." if len(values) > 3 else ""
    return ",".join(values[:3]) + more


def _endpoints(document: Json) -> str:
    found: list[str] = []
    for subset in document.get("subsets") or ():
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        hosts = [f"[{ip}]" if ":" in ip else ip for ip in addresses]
        found += [f"{host}:{port['port']}" for port in ports for host in hosts] if ports else addresses
    return _shortened(found) if document.get("subsets") else "<none>"


def _hosts(ingress: Json) -> str:
    return _shortened([rule["host"] for rule in spec_of(ingress).get("rules") or () if rule.get("host")]) or "*"


def _balancers(document: Json) -> list[str]:
    """The addresses of the load balancer, each once."""
    entries = (status_of(document).get("loadBalancer") or {}).get("ingress") or ()
    return sorted({address for entry in entries if (address := entry.get("ip") or entry.get("hostname"))})


def _parameters(ingress_class: Json) -> str:
    parameters = spec_of(ingress_class).get("parameters")
    if not parameters:
        return "<none>"
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
    return f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Service"): printer(
        NAME,
        text("Type", "spec.type"),
        text("Cluster-IP", lambda service: [*(spec_of(service).get("clusterIPs") or ()), "<none>"][0]),
        text("External-IP", _external_address),
        text("Port(s)", _service_ports),
        AGE,
        wide("Selector", lambda service: format_labels(spec_of(service).get("selector"))),
    ),
    ("", "Endpoints"): printer(NAME, text("Endpoints", _endpoints), AGE),
    ("discovery.k8s.io", "EndpointSlice"): printer(
        NAME, text("AddressType", "addressType"), text("Ports", _slice_ports), text("Endpoints", _slice_addresses), AGE
    ),
    ("networking.k8s.io", "Ingress"): printer(
        NAME,
        text("Class", "spec.ingressClassName", "<none>"),
        text("Hosts", _hosts),
        text("Address", lambda ingress: ",".join(_balancers(ingress))),
        text("Ports", lambda ingress: "80, 443" if spec_of(ingress).get("tls") else "80"),
        AGE,
    ),
    ("networking.k8s.io", "IngressClass"): printer(
        name_or_default("ingressclass.kubernetes.io/is-default-class"),
        text("Controller", "spec.controller"),
        text("Parameters", _parameters),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): printer(
        NAME, text("Pod-Selector", lambda policy: format_selector(spec_of(policy).get("podSelector"))), AGE
    ),
}
