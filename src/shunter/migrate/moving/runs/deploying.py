"""Makes and removes trial runs: what stands in the way of one, its objects, and the leftovers of earlier ones.

A trial whose command was killed ends by its own deadline; its objects stay, with the time from when on they may go, and the next
`test` or `cleanup` in the namespace removes them.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import JOBSETS, NODES, PODS, RESOURCE_QUOTAS, SERVICES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Forbidden, NotFound
from shunter.migrate.moving.marks import SOURCE, mark
from shunter.migrate.moving.runs import headroom, marks
from shunter.migrate.moving.runs.trial import Trial

IN_THE_WAY = (TRAIN_JOBS, TRAINING_RUNTIMES, JOBSETS, SERVICES, VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS)
"""Kinds of which a trial makes one object of its own name."""


class TrialObstacles(NamedTuple):
    """What would keep a trial from running, as far as it may be looked at."""

    found: tuple[str, ...]
    """Why the trial cannot run; sentences without their full stops."""
    unknown: tuple[str, ...]
    """What could not be looked at, with the reason."""


async def obstacles(client: Client, trial: Trial, pods: Sequence[Json]) -> TrialObstacles:
    """Objects with the trial's name, quotas and nodes without room for its pods. What may not be read stops nobody."""
    found: list[str] = []
    unknown: list[str] = []
    taken: list[str] = []
    for resource in IN_THE_WAY:
        try:
            await client.get(resource, trial.name, trial.namespace)
            taken.append(resource.kind)
        except NotFound:
            continue
        except Forbidden as error:
            unknown.append(f"whether there is a {resource.kind} of its name: {error.message}")
    if taken:
        found.append(f"the name {trial.namespace}/{trial.name} is taken by {', '.join(dict.fromkeys(taken))}")
    try:
        found += headroom.quota_obstacles((await client.list(RESOURCE_QUOTAS, trial.namespace)).items, pods)
    except Forbidden as error:
        unknown.append(f"quotas: {error.message}")
    try:
        nodes, running = (await client.list(NODES)).items, (await client.list(PODS)).items
        found += headroom.node_obstacles(nodes, running, pods)
    except Forbidden as error:
        unknown.append(f"room on the nodes: {error.message}")
    return TrialObstacles(tuple(found), tuple(unknown))


async def start(client: Client, trial: Trial) -> Json:
    """Creates the trial, its runtime first, which then belongs to the TrainJob and goes with it. Raises ApiError as the server
    refuses; nothing is left behind then."""
    if trial.runtime is None:
        return await client.create(TRAIN_JOBS, trial.train_job, field_validation="Strict")
    made = [(TRAINING_RUNTIMES, await client.create(TRAINING_RUNTIMES, trial.runtime, field_validation="Strict"))]
    try:
        job = await client.create(TRAIN_JOBS, trial.train_job, field_validation="Strict")
        made.insert(0, (TRAIN_JOBS, job))
        owner = TRAIN_JOBS.typed({"name": trial.name, "uid": job["metadata"]["uid"]})
        await client.patch(TRAINING_RUNTIMES, trial.name, trial.namespace, {"metadata": {"ownerReferences": [owner]}})
    except ApiError:
        for resource, obj in made:
            await remove(client, resource, obj)
        raise
    return job


async def leftovers(client: Client, namespace: str, now: datetime) -> AsyncIterator[tuple[Resource, Json]]:
    """Objects of trials whose time is over; TrainJobs first. Nothing where they may not be read."""
    for resource in (TRAIN_JOBS, TRAINING_RUNTIMES):
        with contextlib.suppress(Forbidden, NotFound):
            for obj in (await client.list(resource, namespace, label_selector=f"{marks.TRIAL}=true")).items:
                if marks.has_expired(obj, now):
                    yield resource, obj


async def former(client: Client, trial: Trial) -> Json | None:
    """A trial of the same job that has the name, if there is one."""
    job = await client.find(TRAIN_JOBS, trial.name, trial.namespace)
    is_former = job is not None and marks.is_trial(job) and mark(job, SOURCE) == mark(trial.train_job, SOURCE)
    return job if is_former else None


async def remove(client: Client, resource: Resource, obj: Json) -> None:
    """Deletes an object of a trial, and by the cluster's own rules all that belongs to it."""
    metadata = obj["metadata"]
    with contextlib.suppress(NotFound):
        await client.delete(resource, metadata["name"], metadata["namespace"], uid=metadata["uid"], propagation="Background")
