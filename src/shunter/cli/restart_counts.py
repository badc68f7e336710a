"""Reads how often the pods of TrainJobs were all made anew: one list of JobSets for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem
from shunter.operator.overview import is_v2, overview
from shunter.operator.restarts import Restarts, is_jobset_of, restarts


class _Metadata(TypedDict, total=False):
    name: str
    namespace: str
    ownerReferences: list[Json]


class _Spec(TypedDict, total=False):
    failurePolicy: Json


class _Status(TypedDict, total=False):
    restarts: int
    restartsCountTowardsMax: int


class JobSetFields(TypedDict, total=False):
    """What is looked at: of thousands of JobSets the pod templates are not worth decoding."""

    metadata: _Metadata
    spec: _Spec
    status: _Status


async def restarts_of_all(client: Client, jobs: Sequence[Json], namespace: str) -> dict[str, Restarts]:
    """By the uid of the job, of those that are not finished and were restarted; none where JobSets may not be listed."""
    live = {(job["metadata"]["namespace"], job["metadata"]["name"]): job for job in jobs if is_v2(job)}
    live = {key: job for key, job in live.items() if not overview(job).is_finished}
    if not live:
        return {}
    try:
        view: Any = JobSetFields
        page = await client.list(JOBSETS, namespace, view=view)
    except ConnectionProblem:
        raise
    except ApiError:
        return {}
    found = {}
    for jobset in page.items:
        job = live.get((jobset["metadata"].get("namespace", ""), jobset["metadata"]["name"]))
        if job is not None and is_jobset_of(job, jobset) and (counts := restarts(jobset)) is not None:
            found[job["metadata"]["uid"]] = counts
    return found
