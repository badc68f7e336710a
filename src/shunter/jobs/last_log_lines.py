"""The last log lines of the containers that failed first.

Those of a deleted pod come from a follower of its log, or from the event RankFailed in which the operator kept them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from shunter.api.meta import Json
from shunter.api.resources import CORE_EVENTS
from shunter.jobs.failures import NO_LOG, READ_LINES
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.pods.log_lines import text_lines
from shunter.operator.diagnosis import RANK_FAILED, Fault, faults, recorded_failure, together
from shunter.operator.pod_places import place

MOST = 8
"""Ranks whose last log lines are read: one of those that failed together is the cause of the others."""

Written = Mapping[tuple[str, str], Sequence[str]]
"""The last lines of containers, by the names of pod and container."""


async def last_log_lines(client: Client, job: Json, pods: Sequence[Json], written: Written | None = None) -> dict[str, list[str]]:
    """The lines, by the label of the pod; empty if nothing failed. Of a container that was restarted since, the log of its
    previous run is read. If a log is gone, the lines in `written` replace it."""
    failed = [fault for fault in together(faults(pods))[:MOST] if fault.container and fault.exit_code is not None]
    read = await asyncio.gather(*(_lines(client, job, fault, written or {}) for fault in failed))
    by_name = {pod["metadata"]["name"]: place(job, pod).label for pod in pods}
    return {by_name[fault.pod]: lines for fault, lines in reversed(list(zip(failed, read, strict=True)))}


async def _lines(client: Client, job: Json, fault: Fault, written: Written) -> list[str]:
    ran_before = fault.is_waiting and fault.exit_code is not None
    chunks = client.logs(
        fault.pod, job["metadata"]["namespace"], container=fault.container, previous=ran_before, tail_lines=READ_LINES
    )
    try:
        return [line async for line in text_lines(chunks)]
    except ApiError as error:
        followed = list(written.get((fault.pod, fault.container), ()))
        return followed or await _recorded(client, job, fault) or [f"{NO_LOG}{error.message})"]


async def _recorded(client: Client, job: Json, fault: Fault) -> list[str]:
    """The log lines that the operator recorded of this container; empty if there are none, or they may not be read."""
    metadata = job["metadata"]
    try:
        about_job = await client.list(CORE_EVENTS, metadata["namespace"], field_selector=f"involvedObject.uid={metadata['uid']}")
    except ApiError:
        return []
    for event in about_job.items:
        message, lines = recorded_failure(event)
        if event.get("reason") == RANK_FAILED and f"pod {fault.pod}, container {fault.container}:" in message and lines:
            return lines
    return []
