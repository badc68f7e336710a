"""pods/exec, attach and portforward: the URL on the pod's node, and the bytes in both directions.

The protocol after the upgrade is between client and node. Source: k8s.io/kubernetes `registry/core/pod/strategy.go` and
k8s.io/apimachinery `util/proxy`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

import httptools

from shunter.api.formats.digits import whole_number
from shunter.cancelling import cancelled
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call
from shunter.cluster.apiserver.status import StatusError, bad_request, method_not_allowed, plain
from shunter.cluster.apiserver.subresources.pod_logs import NodeClient, container_name, node_address
from shunter.cluster.dial_errors import dial_error
from shunter.kube.http.connection_streams import BUFFER_BYTES, connection_streams
from shunter.kube.http.request import Request, flag
from shunter.kube.http.response import Response

_NODE_NAMES = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
"""What the node calls the options of exec and attach."""
_PASSED_ON = ("sec-websocket-protocol", "sec-websocket-key", "sec-websocket-version", "x-stream-protocol-version")
_HEAD_LIMIT = 64 * 1024
_ANSWER_SECONDS = 30.0
_CHUNK = 64 * 1024


class StreamLocation(NamedTuple):
    """A node's address (`HOST:PORT`), and the path and query on it."""

    address: str
    target: str


def stream_location(backend: Backend, call: Call, served: ServedKind, query_string: str) -> StreamLocation:
    """The location on the node for a request.

    Raises StatusError: 405 for methods other than GET and POST, 404 when there is no such pod, 400 for a container that is not
    given or unknown, or a pod on no node.
    """
    if call.method not in ("GET", "POST"):
        raise method_not_allowed()
    entry = backend.entry(served, call.target.namespace, call.target.name)
    pod = served.document(entry)
    kind = call.target.subresource
    given = parse_qs(query_string, keep_blank_values=True)
    if kind == "portforward":
        path = f"/portForward/{entry.namespace}/{entry.name}"
        ports = ",".join(given.get("ports", []))
        _check_ports(ports)
        query = [("port", ports)] if ports else []
    else:
        path = f"/{kind}/{entry.namespace}/{entry.name}/{container_name(pod, call)}"
        query = [(name, "1") for option, name in _NODE_NAMES.items() if flag(call.query, option)]
        query += [("command", argument) for argument in given.get("command", []) if kind == "exec"]
    node = pod["spec"].get("nodeName", "")
    if not node:
        raise bad_request(f"pod {entry.name} does not have a host assigned")
    return StreamLocation(node_address(backend, node), f"{path}?{urlencode(query)}")


def _check_ports(ports: str) -> None:
    """Raises 400."""
    for port in ports.split(",") if ports else ():
        number = whole_number(port)
        if number is None or number >= 2**16:
            raise bad_request(f'cannot convert to []int32: strconv.ParseUint: parsing "{port}": invalid syntax')


async def proxy(request: Request, location: StreamLocation, nodes: NodeClient) -> Response | None:
    """Passes the upgrade on to the node and carries bytes until one side ends; or returns the node's refusal.

    Raises StatusError: 400 when no upgrade is asked for, 500 when the node cannot be reached.
    """
    if not request.upgrade:
        raise bad_request("Upgrade request required")
    try:
        reader, writer = await nodes.open(location.address, BUFFER_BYTES)
    except OSError as error:
        raise plain(500, f"error dialing backend: {dial_error(location.address, error)}") from None
    try:
        writer.write(_head(request, location))
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = await _read_answer(reader)
        except (OSError, EOFError, asyncio.LimitOverrunError, httptools.HttpParserError) as error:
            raise _unreachable(location, f"no answer: {error or type(error).__name__}") from None
        if answer.status != 101:
            return Response(answer.body, status=answer.status, content_type=answer.headers.get("content-type", "text/plain"))
        client_reader, client_writer = connection_streams(*request.take_over())
        client_writer.write(answer.head)
        await _carry((client_reader, client_writer), (reader, writer))
    finally:
        writer.close()
    return None


def _unreachable(location: StreamLocation, why: str) -> StatusError:
    return plain(500, f"error dialing backend: dial tcp {location.address}: {why}")


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    head: bytes
    body: bytes


class _AnswerParser:
    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        self.is_complete = True


async def _read_answer(reader: asyncio.StreamReader) -> _Answer:
    """The head of the node's answer, and the body when there is no upgrade. Raises EOFError when it ends early."""
    head = await reader.readuntil(b"\r\n\r\n")
    parsed = _AnswerParser()
    parser = httptools.HttpResponseParser(parsed)
    with suppress(httptools.HttpParserUpgrade):
        parser.feed_data(head)
    status: int = parser.get_status_code()
    while status != 101 and not parsed.is_complete and len(parsed.body) < _HEAD_LIMIT:
        data = await reader.read(_CHUNK)
        if not data:
            break
        parser.feed_data(data)
    return _Answer(status, parsed.headers, head, parsed.body)


def _head(request: Request, location: StreamLocation) -> bytes:
    headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        f"{request.method} {location.target} HTTP/1.1\r\nHost: {location.address}\r\n"
        f"Connection: Upgrade\r\nUpgrade: {request.upgrade}\r\n{lines}\r\n"
    ).encode("latin-1")


_Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _carry(client: _Side, node: _Side) -> None:
    """Bytes both ways until either side ends."""
    ways = [asyncio.create_task(_copy(client[0], node[1])), asyncio.create_task(_copy(node[0], client[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancelled(ways)
        client[1].close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
