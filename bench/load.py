"""A load of POST requests over many connections, cheap enough that the client is not what is measured.

Each client is one TLS connection that sends its next request when the answer to the last one is complete, as a controller
would. Of an answer only status and length are read.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import uvloop

from embedded import Cluster
from figures import percentile


class Sent(NamedTuple):
    """What came of a load: names whose creation was acknowledged, and how long each of them took, in seconds."""

    acknowledged: list[str]
    latencies: list[float]
    seconds: float
    refused: list[str]
    """First lines of answers that were no success."""

    @property
    def per_second(self) -> float:
        return len(self.acknowledged) / self.seconds

    def percentile(self, share: float) -> float:
        """Latency in milliseconds that this share of the requests stayed within."""
        return 1000 * percentile(self.latencies, share)


def create(cluster: Cluster, path: str, template: Any, prefix: str, number: int, *, clients: int) -> Sent:
    """Creates objects named PREFIX-0, PREFIX-1, ... RuntimeError unless all of them were accepted."""
    sent = post(cluster, path, template, (f"{prefix}-{one}" for one in range(number)), clients=clients)
    if len(sent.acknowledged) != number:
        raise RuntimeError(f"{len(sent.acknowledged)} of {number} created at {path}; refused: {sent.refused[:3]}")
    return sent


def post(cluster: Cluster, path: str, template: Any, names: Iterator[str], *, clients: int) -> Sent:
    """Sends the template with each name in place of NAME, until there are no more or the server is gone."""
    sent: Sent = uvloop.run(_post(cluster, path, json.dumps(template).encode(), names, clients))
    return sent


async def _post(cluster: Cluster, path: str, template: bytes, names: Iterator[str], clients: int) -> Sent:
    sent = Sent([], [], 0.0, [])
    connections = [await asyncio.open_connection(*cluster.address, ssl=cluster.tls) for _ in range(clients)]
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {cluster.token}\r\nContent-Type: application/json\r\n"
    started = time.perf_counter()
    await asyncio.gather(*(_client(*connection, head.encode(), template, names, sent) for connection in connections))
    seconds = time.perf_counter() - started
    for _, writer in connections:
        writer.close()
    return sent._replace(seconds=seconds)


async def _client(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    head: bytes,
    template: bytes,
    names: Iterator[str],
    sent: Sent,
) -> None:
    for name in names:
        body = template.replace(b"NAME", name.encode())
        started = time.perf_counter()
        try:
            writer.write(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(answer))
        except (OSError, asyncio.IncompleteReadError):
            return
        if answer.startswith(b"HTTP/1.1 201"):
            sent.latencies.append(time.perf_counter() - started)
            sent.acknowledged.append(name)
        else:
            sent.refused.append(answer.partition(b"\r\n")[0].decode())


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    raise ValueError("the server answered without a length")
