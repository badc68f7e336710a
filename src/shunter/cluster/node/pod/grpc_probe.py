"""The question of a `grpc` probe: grpc.health.v1.Health/Check, over as much of HTTP/2 as one call takes.

Headers of the answer are not decoded: a server whose health is known says it in a message, and one that sends none is not
healthy.

Source: RFC 9113, the gRPC protocol over HTTP/2; the words are those of kubelet 1.36 (pkg/probe/grpc).
"""

from __future__ import annotations

import asyncio
import struct

from shunter.cluster.dial_errors import dial_error
from shunter.cluster.node.runtime.launcher import Launcher
from shunter.kube.http.connection import host_port

USER_AGENT = "kube-probe/1.36"

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GO_AWAY = 0, 1, 3, 4, 6, 7
_END_STREAM, _ACK, _END_HEADERS, _PADDED = 0x1, 0x1, 0x4, 0x8
_STREAM = 1
_STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_SERVING = 1


async def health_complaint(launcher: Launcher, address: str, port: int, service: str, *, timeout: float) -> str:
    """What is wrong with a service (empty: the server as a whole), in kubelet's words; empty when it serves. Connecting and
    asking take no more than `timeout` seconds together."""
    deadline = asyncio.get_running_loop().time() + timeout
    target = host_port(address, port)
    try:
        connection = await launcher.connect(address, port, timeout)
    except TimeoutError:
        return f'timeout: failed to connect service "{target}" within {timeout:g}s: context deadline exceeded'
    except OSError as error:
        return f'error: failed to connect service at "{target}": {dial_error(target, error)}'
    try:
        async with asyncio.timeout_at(deadline):
            reader, writer = await asyncio.open_connection(sock=connection)
            try:
                status = await _status(reader, writer, target, service)
            finally:
                writer.close()
    except TimeoutError:
        return f"timeout: health rpc did not complete within {timeout:g}s"
    except (OSError, asyncio.IncompleteReadError) as error:
        return f"error: health rpc probe failed: {error}"
    if status is None:
        return "error: health rpc probe failed: the server does not know the service, or not grpc.health.v1.Health"
    return "" if status == _SERVING else f'service unhealthy (responded with "{_named(status)}")'


def _named(status: int) -> str:
    return _STATUSES[status] if status < len(_STATUSES) else str(status)


async def _status(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str, service: str) -> int | None:
    """The number that the server answers with; None where it sends no message."""
    writer.write(_PREFACE + _frame(_SETTINGS, 0, 0) + _request(authority, service))
    message = b""
    while True:
        header = await reader.readexactly(9)
        length, (kind, flags, stream) = int.from_bytes(header[:3], "big"), struct.unpack("!BBI", header[3:])
        payload = await reader.readexactly(length)
        if kind == _SETTINGS and not flags & _ACK:
            writer.write(_frame(_SETTINGS, _ACK, 0))
        elif kind == _PING and not flags & _ACK:
            writer.write(_frame(_PING, _ACK, 0, payload))
        elif kind == _DATA and stream == _STREAM:
            message += payload[1 : len(payload) - payload[0]] if flags & _PADDED else payload
        is_last = kind in (_DATA, _HEADERS) and stream == _STREAM and flags & _END_STREAM
        if is_last or kind == _GO_AWAY or (kind == _RST_STREAM and stream == _STREAM):
            return _answered(message)


def _answered(message: bytes) -> int | None:
    """The status in a HealthCheckResponse, whose one field has the number 1; a message without it says 0."""
    if len(message) < 5:
        return None
    body = message[5:]
    return body[1] if body[:1] == b"\x08" and len(body) > 1 else 0


def _request(authority: str, service: str) -> bytes:
    headers = {
        ":method": "POST", ":scheme": "http", ":path": "/grpc.health.v1.Health/Check", ":authority": authority,
        "content-type": "application/grpc", "user-agent": USER_AGENT, "te": "trailers",
    }  # fmt: skip
    # Literals without indexing (RFC 7541, 6.2.2).
    block = b"".join(b"\0" + _text(name) + _text(value) for name, value in headers.items())
    name = service.encode()
    body = b"\x0a" + _varint(len(name)) + name if name else b""
    call = b"\0" + struct.pack("!I", len(body)) + body
    return _frame(_HEADERS, _END_HEADERS, _STREAM, block) + _frame(_DATA, _END_STREAM, _STREAM, call)


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack("!BBI", kind, flags, stream) + payload


def _text(text: str) -> bytes:
    """A string with its length as an integer that begins with seven bits (RFC 7541, 5.2)."""
    encoded, most = text.encode(), 0x7F
    size = len(encoded)
    return (bytes([size]) if size < most else bytes([most]) + _varint(size - most)) + encoded


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first: of HPACK as of protocol buffers."""
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
