"""Whatever is sent to the embedded API server: no answer is 5xx, no connection is cut, no log has a traceback, and whatever was
accepted is seen by those who watch it.

1,000 requests by default; `make fuzz` sends 20,000. `FUZZ_SEED` plays one seed alone.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from cluster.api_server import RunningApiServer, start_api_server
from fuzz.mutations import Sent, requests, unchanged
from shunter.api.batch import Job
from shunter.api.core import ConfigMap, Pod, Service
from shunter.api.jobset import JobSet
from shunter.api.meta import MetadataOnly
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    JOBSETS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    SERVICES,
    STORAGE_CLASSES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.trainer.trainjob import TrainJob
from shunter.cluster.controllers.autoscaling.views import Autoscaler
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.cluster.controllers.volumes.views import Claim, StorageClass, Volume
from shunter.kube.answers import decoded_page
from shunter.operator.trainer.views import Runtime
from shunter.operator.training.frameworks import FRAMEWORKS

TOTAL = int(os.environ.get("FUZZ_REQUESTS", "1000"))
SEEDS = [int(os.environ["FUZZ_SEED"])] if "FUZZ_SEED" in os.environ else [1, 2, 3, 4]
AT_ONCE = 8
SECONDS = 10.0
AS_RECORDED = (
    "failed to create typed patch object",
    "failed to create manager for existing fields",
    "resourceVersion: Invalid value",
    "strconv.ParseUint: parsing",
    "unknown patch type:",
    "resourceVersion should not be set on objects to be created",
    "list element types are not identical",
    "map: map[",
)
"""What kube-apiserver answers with 500 as well; the vectors hold us to it."""

WATCHED: list[tuple[Resource, Any]] = [
    (JOBS, Job), (JOBSETS, JobSet), (PODS, Pod), (PODS, SchedulablePod), (SERVICES, Service), (CONFIG_MAPS, ConfigMap),
    (NODES, MetadataOnly), (PERSISTENT_VOLUMES, Volume), (PERSISTENT_VOLUME_CLAIMS, Claim), (STORAGE_CLASSES, StorageClass),
    (HORIZONTAL_POD_AUTOSCALERS, Autoscaler), (TRAIN_JOBS, TrainJob), (TRAINING_RUNTIMES, Runtime),
    (CLUSTER_TRAINING_RUNTIMES, Runtime), *((framework.info.resource, framework.info.view) for framework in FRAMEWORKS),
]  # fmt: skip
"""What controllers and the operator watch, and as what they see it."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    """An API server with all controllers and the scheduler."""
    running = start_api_server(tmp_path_factory.mktemp("fuzz"))
    command = [sys.executable, "-m", "shunter.cluster.agent", "--state-dir", str(running.state.root), "--no-node"]
    with open(running.state.logs / "agent.log", "ab") as log:
        agent = subprocess.Popen(command, stdout=log, stderr=log)
    yield running
    agent.terminate()
    agent.wait(timeout=15)
    running.stop()


@pytest.mark.timeout(60 + TOTAL / 10)
@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_that_is_sent_breaks_anything(server: RunningApiServer, seed: int) -> None:
    faults: list[str] = []
    connector = aiohttp.TCPConnector(ssl=server.tls, limit=AT_ONCE)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session:
        namespace = f"fuzz-{seed}"
        await session.post("/api/v1/namespaces", json={"metadata": {"name": namespace}})
        left = chain(unchanged(), requests(Random(seed), TOTAL // len(SEEDS)))

        async def send() -> None:
            for sent in left:
                if fault := await _fault(session, sent, namespace):
                    faults.append(fault)

        await asyncio.gather(*(send() for _ in range(AT_ONCE)))
        faults += [fault async for fault in _unseen(session)]
    faults += _tracebacks(server.state.logs)
    assert not faults, f"seed {seed}, {len(faults)} faults:\n" + "\n".join(faults[:10])


async def _fault(session: aiohttp.ClientSession, sent: Sent, namespace: str) -> str:
    """What is wrong with the answer to a request; nothing when it is one."""
    path, body = sent.path.replace("{ns}", namespace), sent.body and sent.body.replace(b"{ns}", namespace.encode())
    headers = {"Accept": sent.accept, **({"Content-Type": sent.content_type} if body is not None else {})}
    about = f"{sent.method} {path} {sent.content_type} {(body or b'')[:1500]!r}"
    try:
        async with asyncio.timeout(SECONDS), session.request(sent.method, _url(path), data=body, headers=headers) as response:
            text = (await response.read()).decode(errors="replace")
    except (aiohttp.ClientError, TimeoutError) as error:
        return f"{error!r}: {about}"
    if response.status < 500 or any(words in text for words in AS_RECORDED):
        return ""
    return f"{response.status} {text[:300]}: {about}"


def _url(path: str) -> Any:
    from yarl import URL

    return URL(path, encoded=True)


async def _unseen(session: aiohttp.ClientSession) -> Any:
    """Objects that were accepted and that somebody who watches them cannot see."""
    for resource, view in WATCHED:
        async with session.get(resource.path("")) as response:
            body = await response.read()
        for bad in decoded_page(body, view).malformed:
            yield f"{resource.kind} {bad.key} is not seen as {view.__name__}: {bad.error}"


def _tracebacks(logs: Path) -> list[str]:
    """The tracebacks in any log, each from its first line on."""
    found = []
    for log in sorted(logs.glob("*.log")):
        text = log.read_text(errors="replace")
        found += [f"{log.name}: {text[max(0, at - 200) : at + 3000]}" for at in _all(text, "Traceback (most recent call last)")]
        found += [f"{log.name}: {line}" for line in text.splitlines() if "is left out: it is not as" in line]
        log.write_text("")
    return found


def _all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
