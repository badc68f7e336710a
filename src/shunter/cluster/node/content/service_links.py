"""The variables that tell a container where Services are. Pure.

Their names are kubelet's (1.36 `pkg/kubelet/envvars`). The address is not the Service's cluster IP, which nothing routes on this
node, but the Service's name, which resolves to its pods; so it works at every level.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.core import Service
from shunter.api.meta import Json
from shunter.cluster.node.net.names import service_name

API_SERVER = "kubernetes"
"""The Service by which pods know the API server; it is in namespace `default`."""
API_SERVER_NAMESPACE = "default"


def has_variables(service: Service) -> bool:
    """Whether kubelet tells containers about the Service: it has a cluster IP, and is not the API server's own."""
    is_api_server = (service.metadata.namespace, service.metadata.name) == (API_SERVER_NAMESPACE, API_SERVER)
    return service.spec.cluster_ip not in ("", "None") and not is_api_server


def service_variables(services: Iterable[Service]) -> dict[str, str]:
    """What `enableServiceLinks` gives: variables for Services of the pod's namespace."""
    found: dict[str, str] = {}
    for service in services:
        if has_variables(service):
            host = service_name(service.metadata.name, service.metadata.namespace)
            found.update(_variables(service.metadata.name, host, service.spec.ports))
    return found


def api_server_variables(host: str, port: int) -> dict[str, str]:
    """The variables with the API server's address, which every container gets."""
    return _variables(API_SERVER, host, ({"name": "https", "port": port},))


def _variables(service: str, host: str, ports: Iterable[Json]) -> dict[str, str]:
    prefix = _variable(service)
    found = {f"{prefix}_SERVICE_HOST": host}
    for number, port in enumerate(ports):
        protocol, value = port.get("protocol") or "TCP", str(port["port"])
        link = f"{prefix}_PORT_{value}_{protocol}"
        url = f"{protocol.lower()}://{host}:{value}"
        if number == 0:
            found |= {f"{prefix}_SERVICE_PORT": value, f"{prefix}_PORT": url}
        if port.get("name"):
            found[f"{prefix}_SERVICE_PORT_{_variable(port['name'])}"] = value
        found |= {link: url, f"{link}_PROTO": protocol.lower(), f"{link}_PORT": value, f"{link}_ADDR": host}
    return found


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")
