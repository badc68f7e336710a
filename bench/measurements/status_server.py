"""The operator's status server against a real kube-apiserver and etcd: jobs whose programs report as fast as they are answered.

Nothing is mocked on the way: TLS, tokens that the API server issued and reviews, and server-side apply of what is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import ssl
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import uvloop

import usage
from embedded import objects
from figures import Figure, percentile
from measurements.operator import NAMESPACE, PATIENCE_SECONDS, Plane, each, named, plane
from shunter.api.meta import Json
from shunter.api.resources import SERVICE_ACCOUNTS, TRAIN_JOBS
from shunter.cluster.free_ports import free_port
from shunter.kube.cache.watch_events import Change
from shunter.operator.trainer.statusserver.place import audience

SETTLING_SECONDS = 2.0
"""Until the last writes are done and seen."""
LEFT_ALONE = "kueue.x-k8s.io/multikueue"
"""A manager whose jobs the operator does not reconcile: nothing but their progress is measured."""


@dataclass
class Sent:
    """What came of the load; latencies in seconds."""

    accepted: int = 0
    refused: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)


def measure(settings: dict[str, Any]) -> list[Figure]:
    """Reports accepted a second, and how often the API server is written to for one job."""
    found: list[Figure] = uvloop.run(_measure(settings))
    return found


async def _measure(settings: dict[str, Any]) -> list[Figure]:
    names = [f"job-{number}" for number in range(settings["jobs"])]
    async with plane() as cluster:
        job = objects()["train_job"]
        job = {**job, "spec": {**job["spec"], "managedBy": LEFT_ALONE}}
        await cluster.create(TRAIN_JOBS, (named(job, name) for name in names))
        tokens = await issued(cluster, names)
        port = free_port()
        flags = [
            "--no-leader-elect",
            "--webhook-host=127.0.0.1",
            "--webhook-port=0",
            "--feature-gates=TrainJobStatus=true",
            f"--status-server-port={port}",
        ]
        async with cluster.operator(flags) as operator:
            await until_listening(port)
            await load(port, names, tokens, clients=settings["clients"], seconds=settings["warm_up_seconds"])
            writes: Counter[str] = Counter()
            counting = asyncio.create_task(count_writes(cluster, writes))
            await asyncio.sleep(SETTLING_SECONDS)
            writes.clear()
            before = usage.processor_seconds([operator.pid])
            started = time.perf_counter()
            sent = await load(port, names, tokens, clients=settings["clients"], seconds=settings["seconds"])
            seconds = time.perf_counter() - started
            busy = usage.processor_seconds([operator.pid]) - before
            await asyncio.sleep(SETTLING_SECONDS)
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)
            if sent.refused:
                raise RuntimeError(f"{len(sent.refused)} reports were refused: {sent.refused[0]}")
            note = f"{len(names)} jobs, {settings['clients']} connections, {seconds:.1f} s; operator used {busy:.1f} s of CPU"
            # One write may be on its way at each end of the time.
            most = max(max(writes.values()) - 1, 0) / seconds
            return [
                Figure("reports accepted", sent.accepted / seconds, "reports/s", note),
                Figure("report answered, p99", 1000 * percentile(sent.latencies, 0.99), "ms"),
                Figure("writes of the busiest job", most, "writes/s", f"{writes.total() / seconds:.0f} writes/s of all jobs"),
                Figure("peak memory, reports", operator.peak_memory(), "MiB"),
            ]


async def issued(cluster: Plane, names: Sequence[str]) -> dict[str, str]:
    """A token for the pods of each job."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer", "namespace": NAMESPACE}}
    await cluster.client.apply(SERVICE_ACCOUNTS, account)
    tokens: dict[str, str] = {}

    async def issue(name: str) -> None:
        spec = {"audiences": [audience(NAMESPACE, name)], "expirationSeconds": 3600}
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await cluster.client.create(SERVICE_ACCOUNTS, request, NAMESPACE, subresource="token", name="trainer")
        tokens[name] = answer["status"]["token"]

    await each(names, issue)
    return tokens


async def count_writes(cluster: Plane, writes: Counter[str]) -> None:
    """Every report differs from the last, so every write is a change that is seen. A server hangs up on watchers that are slow,
    as this one is under its own load; it goes on where it was."""
    version = (await cluster.client.list(TRAIN_JOBS, NAMESPACE)).resource_version
    while True:
        async for event in cluster.client.watch(TRAIN_JOBS, NAMESPACE, resource_version=version):
            if isinstance(event, Change):
                metadata: Json = event.object["metadata"]
                version = metadata["resourceVersion"]
                writes[metadata["name"]] += 1


async def until_listening(port: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=unverified())
                writer.close()
                return
            await asyncio.sleep(0.1)


async def load(port: int, names: Sequence[str], tokens: dict[str, str], *, clients: int, seconds: float) -> Sent:
    """Each client goes round its share of the jobs, on one connection, and reports as soon as it was answered."""
    sent = Sent()
    numbers = itertools.count()
    until = time.perf_counter() + seconds
    shares = [names[number::clients] or names for number in range(clients)]
    await asyncio.gather(*(_client(port, share, tokens, numbers, until, sent) for share in shares))
    return sent


async def _client(
    port: int, names: Sequence[str], tokens: dict[str, str], numbers: itertools.count[int], until: float, sent: Sent
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=unverified())
    heads = {
        name: (
            f"POST /apis/{audience(NAMESPACE, name)} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {tokens[name]}\r\n"
            "Content-Type: application/json\r\n"
        )
        for name in names
    }
    for name in itertools.cycle(names):
        started = time.perf_counter()
        if started > until:
            break
        metrics = [{"name": "step", "value": str(next(numbers))}, {"name": "loss", "value": "0.125"}]
        status = {"lastUpdatedTime": "2026-11-21T10:00:00.123456+00:00", "progressPercentage": 50, "metrics": metrics}
        body = json.dumps({"trainerStatus": status})
        writer.write(f"{heads[name]}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:"))
        answer = await reader.readexactly(length)
        if head.startswith(b"HTTP/1.1 200"):
            sent.accepted += 1
            sent.latencies.append(time.perf_counter() - started)
        else:
            sent.refused.append(answer.decode())
    writer.close()


def unverified() -> ssl.SSLContext:
    """The certificate is not what is measured."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
