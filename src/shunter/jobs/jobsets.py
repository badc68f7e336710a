"""Reads the JobSets of TrainJobs, one list for all of them: how many pods they request, and how often all were recreated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ConnectionProblem
from shunter.operator.overview import is_finished, is_v2, leaves_nodes_to_runtime
from shunter.operator.restarts import is_jobset_of


class _Metadata(TypedDict, total=False):
    name: str
    namespace: str
    ownerReferences: list[Json]


class _PodCount(TypedDict, total=False):
    parallelism: int


class _Template(TypedDict, total=False):
    spec: _PodCount


class _ReplicatedJob(TypedDict, total=False):
    name: str
    replicas: int
    template: _Template


class _Spec(TypedDict, total=False):
    failurePolicy: Json
    replicatedJobs: list[_ReplicatedJob]


class _Status(TypedDict, total=False):
    restarts: int
    restartsCountTowardsMax: int


class JobSetFields(TypedDict, total=False):
    """The fields that are needed: of thousands of JobSets the pod templates are not worth decoding."""

    metadata: _Metadata
    spec: _Spec
    status: _Status


async def jobsets_of_all(client: Client, jobs: Sequence[Json], namespace: str) -> dict[str, Json]:
    """The JobSets of TrainJobs that are unfinished, or leave the number of nodes to their runtime, by the uid of the job; none if
    JobSets may not be listed."""
    relevant = [job for job in jobs if is_v2(job) and (leaves_nodes_to_runtime(job) or not is_finished(job))]
    by_key = {(job["metadata"]["namespace"], job["metadata"]["name"]): job for job in relevant}
    if not by_key:
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
        job = by_key.get((jobset["metadata"].get("namespace", ""), jobset["metadata"]["name"]))
        if job is not None and is_jobset_of(job, jobset):
            found[job["metadata"]["uid"]] = jobset
    return found
