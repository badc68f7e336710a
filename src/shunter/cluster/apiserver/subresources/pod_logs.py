"""GET pods/NAME/log: the node's own answer, passed through as it comes.

The node is found from the pod's spec.nodeName and asked over HTTPS at `/containerLogs/NAMESPACE/POD/CONTAINER`, with a
certificate that the cluster's CA signed. Source: k8s.io/kubernetes `registry/core/pod/strategy.go`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from shunter.api.field_errors import forbidden
from shunter.api.field_errors import invalid as invalid_field
from shunter.api.formats.times import moment
from shunter.api.meta import Json
from shunter.api.resources import NODES
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, number
from shunter.cluster.apiserver.status import bad_request, internal, invalid, not_found
from shunter.kube.http.client import AnswerStream, HttpClient, target
from shunter.kube.http.connection import Origin, host_port

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_CONNECT_SECONDS = 10.0
_PASSED_ON = ("follow", "tailLines", "sinceSeconds", "sinceTime", "timestamps", "previous", "limitBytes")


class LogSource(NamedTuple):
    """Where a container's log is; no URL when there is none yet, which reads as an empty log."""

    url: str
    query: Mapping[str, str]


def log_source(backend: Backend, call: Call, served: ServedKind) -> LogSource:
    """Raises 400 when the container is not given or unknown, 404 when the pod is, 422 for numbers that no log has."""
    _check_options(call)
    entry = backend.entry(served, call.target.namespace, call.target.name)
    pod = served.document(entry)
    container = container_name(pod, call)
    node = pod["spec"].get("nodeName", "")
    if not node:
        return LogSource("", {})
    address = node_address(backend, node)
    query = {name: call.query[name] for name in _PASSED_ON if name in call.query}
    return LogSource(f"https://{address}/containerLogs/{entry.namespace}/{entry.name}/{container}", query)


def _check_options(call: Call) -> None:
    """Source: k8s.io/kubernetes `apis/core/validation` (ValidatePodLogOptions). Raises 400 and 422."""
    query, errors = call.query, []
    numbers = {name: number(query, name) for name in ("tailLines", "sinceSeconds", "limitBytes")}
    for name, value in numbers.items():
        if value is not None and name == "tailLines" and value < 0:
            errors.append(invalid_field(name, value, "must be greater than or equal to 0"))
        elif value is not None and name != "tailLines" and value < 1:
            errors.append(invalid_field(name, value, "must be greater than 0"))
    since = query.get("sinceTime", "")
    if since:
        try:
            moment(since)
        except ValueError as error:
            raise bad_request(str(error)) from None
        if numbers["sinceSeconds"] is not None:
            errors.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    if query.get("stream"):
        errors.append(forbidden("stream", "may not be specified"))
    if errors:
        raise invalid("", "PodLogOptions", call.target.name, sorted(errors, key=lambda error: error.field))


def container_name(pod: Json, call: Call) -> str:
    """The container that a request names, or means as the pod has no other. Raises 400 in the original's words (1.36)."""
    spec, name = pod["spec"], call.target.name
    every = [container["name"] for kind in _CONTAINERS for container in spec.get(kind) or ()]
    wanted = call.query.get("container", "")
    if not wanted:
        if len(spec["containers"]) == 1:
            return str(spec["containers"][0]["name"])
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(every)}]")
    if wanted not in every:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted


def node_address(backend: Backend, name: str) -> str:
    """`HOST:PORT` of a node's server. Raises StatusError when there is no such node, or it has none."""
    entry = backend.store.collection("", NODES.plural).get("", name)
    if entry is None:
        raise not_found(NODES, name)
    status = entry.document().get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 10250
    addresses = {address["type"]: address["address"] for address in status.get("addresses") or ()}
    host = next((addresses[type] for type in ("InternalIP", "ExternalIP", "Hostname") if type in addresses), "")
    if not host:
        raise internal(f"no preferred addresses found for node {name}; known addresses: []")
    return host_port(host, port)


class NodeClient:
    """Asks nodes, with the server's own certificate; a node's certificate must be the cluster's too, whatever its name."""

    def __init__(self, pki: Path) -> None:
        self._pki = pki
        self._context: ssl.SSLContext | None = None
        self._clients: dict[str, HttpClient] = {}

    async def get(self, source: LogSource) -> AnswerStream:
        """The node's answer, which the caller reads and closes. Raises StatusError 500 when it cannot be reached."""
        url = urlsplit(source.url)
        if url.netloc not in self._clients:
            origin = Origin(url.hostname or "", url.port or 443, self._tls())
            self._clients[url.netloc] = HttpClient(origin, connect_seconds=_CONNECT_SECONDS)
        try:
            return await self._clients[url.netloc].stream("GET", target(url.path, source.query), ())
        except OSError as error:
            raise internal(f'Get "{source.url}": {error}') from None

    async def open(self, address: str, buffer_bytes: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a node's `HOST:PORT`, on which nothing was said yet. Raises OSError (TimeoutError among them)."""
        host, _, port = address.rpartition(":")
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await asyncio.open_connection(host.strip("[]"), int(port), ssl=self._tls(), limit=buffer_bytes)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context(cafile=str(self._pki / "ca.crt"))
            self._context.check_hostname = False
            self._context.load_cert_chain(self._pki / "server.crt", self._pki / "server.key")
        return self._context

    def close(self) -> None:
        """Cuts requests to nodes, also those under way; not what `open` returned."""
        for client in self._clients.values():
            client.close()
