"""Kubernetes' own Jobs among the training jobs."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import JOBS
from shunter.cli.console import say
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.operator.native_jobs import NOT_OF_JOBSETS, has_ranks, stands_alone


async def native_jobs(client: Client, namespace: str) -> list[Json]:
    """Those that number their pods and are no part of something else. Who may not list them is told so, and sees the others."""
    try:
        page = await client.list(JOBS, namespace, label_selector=NOT_OF_JOBSETS)
    except Forbidden as error:
        say(f"Jobs of batch/v1 are left out: {error.message}")
        return []
    found = (item for item in page.items if has_ranks(item) and stands_alone(item))
    return [{"apiVersion": JOBS.api_version, "kind": JOBS.kind, **item} for item in found]
