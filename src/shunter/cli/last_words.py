"""The last log lines of the container that failed first: what somebody who is called at night wants to read."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.cli.reports import READ_LINES
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.log_lines import text_lines
from shunter.operator.diagnosis import faults
from shunter.operator.overview import member


async def last_words(client: Client, job: Json, pods: list[Json]) -> dict[str, list[str]]:
    """By label of the pod; empty when nothing failed. A container that was restarted since is asked for the run before."""
    found = faults(pods)
    if not found or not found[0].container:
        return {}
    fault = found[0]
    pod = next(pod for pod in pods if pod["metadata"]["name"] == fault.pod)
    ran_before = fault.is_waiting and fault.exit_code is not None
    chunks = client.logs(
        fault.pod, job["metadata"]["namespace"], container=fault.container, previous=ran_before, tail_lines=READ_LINES
    )
    try:
        lines = [line async for line in text_lines(chunks)]
    except ApiError as error:
        lines = [f"(no log: {error.message})"]
    return {member(job, pod).label: lines}
