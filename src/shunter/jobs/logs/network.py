"""The network that NCCL chose, read from the beginning of the first rank's log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shunter.api.meta import Json
from shunter.fabrics.nccl_log import chosen_networks
from shunter.jobs.training_pods import training_container, training_pods
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.pods.log_lines import text_lines

HEAD_BYTES = 256 * 1024
"""How much of the log is read: ranks form their first group soon, but a program may first say what it downloads."""
READ_SECONDS = 3.0


async def networks_in_log(client: Client, job: Json, pods: Sequence[Json]) -> tuple[str, ...] | None:
    """`chosen_networks` of the job's first rank; None where it has no log that can be read."""
    for pod in training_pods(job, pods)[:1]:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        try:
            async with asyncio.timeout(READ_SECONDS):
                chunks = client.logs(name, namespace, container=training_container(pod), limit_bytes=HEAD_BYTES)
                return chosen_networks([line async for line in text_lines(chunks)])
        except (ApiError, TimeoutError):
            return None
    return None
