"""Creates and removes trial runs, and finds obstacles to them.

If the command is killed, the trial ends by its deadline; its objects have an expiry time, after which the next `test` or
`cleanup` in the namespace removes them.
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
from shunter.migrate.moving.annotations import SOURCE, mark
from shunter.migrate.moving.runs import headroom, trial_labels
from shunter.migrate.moving.runs.trial import Trial

NAMED_AS_TRIAL = (TRAIN_JOBS, TRAINING_RUNTIMES, JOBSETS, SERVICES, VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS)
"""Kinds of the objects that have the trial's name."""


class TrialObstacles(NamedTuple):
    """The obstacles to a trial."""

    found: tuple[str, ...]
    """Why the trial cannot run; sentences without their full stops."""
    unknown: tuple[str, ...]
    """What could not be checked, with the reason."""


async def obstacles(client: Client, trial: Trial, pods: Sequence[Json]) -> TrialObstacles:
    """The obstacles: existing objects with the trial's name, quotas, and nodes without capacity for its pods."""
    found: list[str] = []
    unknown: list[str] = []
    taken: list[str] = []
    for resource in NAMED_AS_TRIAL:
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
    """Creates the trial: first its runtime, which then gets the TrainJob as its owner. If the server rejects one, the objects
    created so far are deleted, and ApiError is raised."""
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
    """Expired objects of trials, TrainJobs first; none if they may not be read."""
    for resource in (TRAIN_JOBS, TRAINING_RUNTIMES):
        with contextlib.suppress(Forbidden, NotFound):
            for obj in (await client.list(resource, namespace, label_selector=f"{trial_labels.TRIAL}=true")).items:
                if trial_labels.has_expired(obj, now):
                    yield resource, obj


async def former(client: Client, trial: Trial) -> Json | None:
    """An earlier trial of the same job with this name, if there is one."""
    job = await client.find(TRAIN_JOBS, trial.name, trial.namespace)
    is_former = job is not None and trial_labels.is_trial(job) and mark(job, SOURCE) == mark(trial.train_job, SOURCE)
    return job if is_former else None


async def remove(client: Client, resource: Resource, obj: Json) -> None:
    """Deletes an object of a trial; garbage collection deletes its dependents."""
    metadata = obj["metadata"]
    with contextlib.suppress(NotFound):
        await client.delete(resource, metadata["name"], metadata["namespace"], uid=metadata["uid"], propagation="Background")
