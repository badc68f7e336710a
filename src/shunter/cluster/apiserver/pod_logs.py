"""GET pods/NAME/log: the node's own answer, passed through as it comes.

The node is found from the pod's spec.nodeName and asked over HTTPS at `/containerLogs/NAMESPACE/POD/CONTAINER`, with a
certificate that the cluster's CA signed. Source: k8s.io/kubernetes `registry/core/pod/strategy.go`.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import aiohttp

from shunter.api.meta import Json
from shunter.api.resources import NODES
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.registry import Served
from shunter.cluster.apiserver.requests import Call
from shunter.cluster.apiserver.status import bad_request, internal, not_found

_PASSED_ON = ("follow", "tailLines", "sinceSeconds", "sinceTime", "timestamps", "previous", "limitBytes")


class LogSource(NamedTuple):
    """Where a container's log is; no URL when there is none yet, which reads as an empty log."""

    url: str
    query: Mapping[str, str]


def log_source(backend: Backend, call: Call, served: Served) -> LogSource:
    """Raises 400 when the container is not given or unknown, 404 when the pod is."""
    entry = backend.entry(served, call.target.namespace, call.target.name)
    pod = served.document(entry)
    container = _container(pod, call)
    node = pod["spec"].get("nodeName", "")
    if not node:
        return LogSource("", {})
    address = _node_address(backend, node)
    query = {name: call.query[name] for name in _PASSED_ON if name in call.query}
    return LogSource(f"https://{address}/containerLogs/{entry.namespace}/{entry.name}/{container}", query)


def _container(pod: Json, call: Call) -> str:
    spec, name = pod["spec"], call.target.name
    containers: list[str] = [container["name"] for container in spec.get("containers") or ()]
    init_containers = [container["name"] for container in spec.get("initContainers") or ()]
    wanted = call.query.get("container", "")
    if not wanted:
        if len(containers) == 1:
            return containers[0]
        choices = f"choose one of: [{' '.join(containers)}]"
        if init_containers:
            choices += f" or one of the init containers: [{' '.join(init_containers)}]"
        raise bad_request(f"a container name must be specified for pod {name}, {choices}")
    if wanted not in containers and wanted not in init_containers:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def _node_address(backend: Backend, name: str) -> str:
    entry = backend.store.collection("", NODES.plural).get("", name)
    if entry is None:
        raise not_found(NODES, name)
    status = entry.document().get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 10250
    addresses = {address["type"]: address["address"] for address in status.get("addresses") or ()}
    host = next((addresses[type] for type in ("InternalIP", "ExternalIP", "Hostname") if type in addresses), "")
    if not host:
        raise internal(f"no preferred addresses found for node {name}; known addresses: []")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class NodeClient:
    """Asks nodes, with the server's own certificate; a node's certificate must be the cluster's too, whatever its name."""

    def __init__(self, pki: Path) -> None:
        self._pki = pki
        self._session: aiohttp.ClientSession | None = None

    async def get(self, source: LogSource) -> aiohttp.ClientResponse:
        """The node's answer, which the caller reads and closes. Raises StatusError 500 when it cannot be reached."""
        if self._session is None:
            context = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
            context.check_hostname = False
            context.load_cert_chain(self._pki / "server.crt", self._pki / "server.key")
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0), timeout=timeout)
        try:
            return await self._session.get(source.url, params=source.query)
        except aiohttp.ClientError as error:
            raise internal(f'Get "{source.url}": {error}') from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
