"""Printers of services, their endpoints, and what routes to them."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json, annotations_of
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Cells,
    Printer,
    age,
    columns,
    format_labels,
    format_selector,
    name_of,
    spec_of,
    status_of,
    wide,
)


def _service(document: Json, now: datetime) -> Cells:
    spec = spec_of(document)
    addresses = spec.get("clusterIPs") or ()
    ports = ",".join(_service_port(port) for port in spec.get("ports") or ())
    return [
        name_of(document),
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


def _balancers(document: Json) -> list[str]:
    """The addresses of the load balancer, each once."""
    entries = (status_of(document).get("loadBalancer") or {}).get("ingress") or ()
    return sorted({address for entry in entries if (address := entry.get("ip") or entry.get("hostname"))})


def _endpoint_slice(document: Json, now: datetime) -> Cells:
    ports = [str(port.get("port") or port.get("name", "*")) for port in document.get("ports") or ()]
    addresses = [address for endpoint in document.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return [
        name_of(document),
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
        hosts = [f"[{ip}]" if ":" in ip else ip for ip in addresses]
        found += [f"{host}:{port['port']}" for port in ports for host in hosts] if ports else addresses
    return [name_of(document), _shortened(found) if document.get("subsets") else "<none>", age(document, now)]


def _ingress(document: Json, now: datetime) -> Cells:
    spec = spec_of(document)
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    return [
        name_of(document),
        spec.get("ingressClassName", "<none>"),
        _shortened(hosts) or "*",
        ",".join(_balancers(document)),
        "80, 443" if spec.get("tls") else "80",
        age(document, now),
    ]


def _ingress_class(document: Json, now: datetime) -> Cells:
    spec = spec_of(document)
    parameters = spec.get("parameters")
    shown = "<none>"
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    default = annotations_of(document).get("ingressclass.kubernetes.io/is-default-class") == "true"
    return [name_of(document) + (" (default)" if default else ""), spec.get("controller", ""), shown, age(document, now)]


def _network_policy(document: Json, now: datetime) -> Cells:
    return [name_of(document), format_selector(spec_of(document).get("podSelector")), age(document, now)]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Service"): Printer(columns(NAME, "Type", "Cluster-IP", "External-IP", "Port(s)", AGE, wide("Selector")), _service),
    ("", "Endpoints"): Printer(columns(NAME, "Endpoints", AGE), _endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Printer(columns(NAME, "AddressType", "Ports", "Endpoints", AGE), _endpoint_slice),
    ("networking.k8s.io", "Ingress"): Printer(columns(NAME, "Class", "Hosts", "Address", "Ports", AGE), _ingress),
    ("networking.k8s.io", "IngressClass"): Printer(columns(NAME, "Controller", "Parameters", AGE), _ingress_class),
    ("networking.k8s.io", "NetworkPolicy"): Printer(columns(NAME, "Pod-Selector", AGE), _network_policy),
}
