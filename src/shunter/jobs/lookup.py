"""The training jobs of a cluster, of every kind, and the pods of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from shunter.api.meta import Json
from shunter.api.resources import JOBS, PODS, Resource
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden, NotFound
from shunter.operator.native_jobs import NOT_OF_JOBSETS, has_ranks, is_standalone
from shunter.operator.overview import SHOWN_RESOURCES, is_pod_of, pod_selector

OnRefusal = Callable[[str], None]
"""Called with a text about what is left out of a list, and why."""


def ignore(_: str) -> None:
    """Drops the text: for callers that accept an incomplete list."""


async def all_jobs(
    client: Client, namespace: str, among: Sequence[Resource] = (), *, on_refusal: OnRefusal = ignore
) -> list[tuple[Resource, Json]]:
    """Jobs of all kinds, or of those in `among`. Kinds that may not be listed are left out; Forbidden if that are all but Jobs of
    batch/v1."""
    resources = among or SHOWN_RESOURCES
    found = await asyncio.gather(*(_unless_forbidden(client, resource, namespace) for resource in resources))
    refused = [(resource, error) for resource, error in zip(resources, found, strict=True) if isinstance(error, Forbidden)]
    if refused and {JOBS, *(resource for resource, _ in refused)} >= set(resources):
        raise refused[0][1]
    for resource, error in refused:
        on_refusal(f"{resource.kind}s{' of batch/v1' if resource == JOBS else ''} are left out: {error.message}")
    listed = ((resource, jobs) for resource, jobs in zip(resources, found, strict=True) if not isinstance(jobs, Forbidden))
    return [(resource, job) for resource, jobs in listed for job in jobs]


async def _unless_forbidden(client: Client, resource: Resource, namespace: str) -> list[Json] | Forbidden:
    try:
        return await jobs_of(client, resource, namespace)
    except Forbidden as error:
        return error


async def jobs_of(client: Client, resource: Resource, namespace: str) -> list[Json]:
    """The jobs of one kind; none if the cluster does not serve it. Of Jobs of batch/v1 only Indexed ones that do not belong to
    another object."""
    selector = NOT_OF_JOBSETS if resource == JOBS else ""
    try:
        page = await client.list(resource, namespace, label_selector=selector)
    except NotFound:
        return []
    jobs = [resource.typed(item) for item in page.items]
    return [job for job in jobs if has_ranks(job) and is_standalone(job)] if resource == JOBS else jobs


async def find(
    client: Client, requested: str, namespace: str, *, among: Sequence[Resource] = (), on_refusal: OnRefusal = ignore
) -> tuple[Resource, Json]:
    """The only job of this name, of the kinds in `among` if there are any. InputError if there is none (with the namespace that
    has one, or a similar name), or more than one."""
    refusals: list[str] = []
    jobs = await all_jobs(client, namespace, among, on_refusal=refusals.append)
    for refusal in refusals:
        on_refusal(refusal)
    matches = _named(requested, jobs)
    if len(matches) == 1:
        return matches[0]
    what = among[0].kind if len(among) == 1 else "job"
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    if not matches:
        elsewhere = await _elsewhere(client, requested, among) if namespace else []
        close = nearest(requested.rpartition("/")[2], [job["metadata"]["name"] for _, job in jobs])
        remedy = f"Add -n {' or -n '.join(elsewhere)}." if elsewhere else did_you_mean(close, "List them with: shunter jobs")
        listed = " of a kind that you may list" if refusals else ""
        raise InputError(f"there is no {what} {requested!r} {where}{listed}.", remedy)
    name = matches[0][1]["metadata"]["name"]
    titles = ", ".join(f"{resource.kind.lower()}/{name} -n {job['metadata']['namespace']}" for resource, job in matches)
    raise InputError(f"there are {len(matches)} jobs {name!r}: {titles}.", "Name one of them like this.")


def _named(requested: str, jobs: Sequence[tuple[Resource, Json]]) -> list[tuple[Resource, Json]]:
    """The jobs of this name, and of the kind before it if there is one."""
    kind, _, name = requested.rpartition("/")
    return [
        (resource, job)
        for resource, job in jobs
        if job["metadata"]["name"] == name and kind.lower() in ("", resource.kind.lower(), resource.plural)
    ]


async def _elsewhere(client: Client, requested: str, among: Sequence[Resource]) -> list[str]:
    """The namespaces that have a job of this name; none if they may not be listed."""
    try:
        jobs = await all_jobs(client, "", among)
    except Forbidden:
        return []
    return sorted({job["metadata"]["namespace"] for _, job in _named(requested, jobs)})


def resource_of_kind(kind: str, among: Sequence[Resource] = SHOWN_RESOURCES) -> Resource:
    """The resource of a kind of jobs, of those in `among`. InputError for another kind."""
    found = next((resource for resource in among if resource.kind == kind), None)
    if found is None:
        raise InputError(f"{kind[:80]!r} is not one of {', '.join(resource.kind for resource in among)}.")
    return found


async def get_job(client: Client, resource: Resource, namespace: str, name: str) -> Json:
    """The job, with its kind and apiVersion. NotFound if it is deleted."""
    return resource.typed(await client.get(resource, name, namespace))


async def pods_of(client: Client, job: Json) -> list[Json]:
    """The present pods of this job. Raises ApiError if they cannot be listed."""
    page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
    return own_pods(job, page.items)


def own_pods(job: Json, pods: Sequence[Json]) -> list[Json]:
    """The pods that belong to this job, in their order, and not to another, or an earlier one, of the same name."""
    return [pod for pod in pods if is_pod_of(job, pod)]
