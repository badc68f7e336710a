"""The rung `smoke`: the converted job runs on the embedded cluster, for one step where its program can be told so.

In a namespace of its own, with the ConfigMaps, Secrets and claims of the input, so that nothing of it is left and nothing else is
touched. Whether it learns what v1 learned is for `runs` to say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    SECRETS,
    SERVICE_ACCOUNTS,
    TRAIN_JOBS,
    Resource,
)
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.migrate.conversion.cleaning import clean
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.findings import Finding
from shunter.migrate.moving.runs.deploying import start
from shunter.migrate.moving.runs.trial import TrialOptions, trial_of
from shunter.migrate.options import Options
from shunter.migrate.proof.ladder import Ladder, Step
from shunter.migrate.proof.topics import NOT_STARTED
from shunter.operator.overview import overview

NEEDED = (CONFIG_MAPS, SECRETS, PERSISTENT_VOLUME_CLAIMS, SERVICE_ACCOUNTS)
"""Kinds of the input that pods mount or run as."""
_PAUSE = 0.2
"""Seconds between two looks at the job."""


async def tried(
    ladder: Ladder,
    client: Client,
    namespace: str,
    others: Iterable[Json],
    trial_options: TrialOptions,
    options: Options,
    *,
    now: datetime,
) -> Step:
    """The rung `smoke`. `namespace` is a scratch one (`server.scratch_namespace`); `others` are the other objects of the input;
    the job may take as long as `trial_options` give it."""
    source = ladder.conversion.source
    needed = [*_needed(others, source.namespace, namespace)]
    beside = context_of((source,), [obj for _, obj in needed])
    try:
        for resource, obj in needed:
            await client.apply(resource, obj)
        trial_options = replace(trial_options, namespace=namespace)
        job = await start(client, trial_of(source, trial_options, options, beside, now=now))
    except (ApiError, InputError) as error:
        return Step("smoke", (Finding(NOT_STARTED, source.title, source.place(), (), error.message, error.remedy),))
    return await _followed(ladder, client, job, trial_options.deadline_seconds)


async def _followed(ladder: Ladder, client: Client, job: Json, seconds: int) -> Step:
    source, metadata, began = ladder.conversion.source, job["metadata"], time.monotonic()
    while time.monotonic() - began < seconds:
        job = await client.get(TRAIN_JOBS, metadata["name"], metadata["namespace"])
        seen = overview({**job, "apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind})
        if seen.is_finished:
            took = f"{seen.state} after {time.monotonic() - began:.0f} s"
            if seen.state == "Succeeded":
                return Step("smoke", (), took)
            text = f"{source.title} as a TrainJob: {took}: {seen.message}"
            return Step("smoke", (Finding(NOT_STARTED, source.title, source.place(), (), text),))
        await asyncio.sleep(_PAUSE)
    return Step("smoke", (), f"still running after {seconds} s: name its flag for one step with --steps-arg", was_tried=False)


def _needed(others: Iterable[Json], own: str, namespace: str) -> Iterator[tuple[Resource, Json]]:
    """The objects of the job's `own` namespace, as their users wrote them, for `namespace`."""
    for obj in others:
        for resource in NEEDED:
            is_needed = (obj.get("apiVersion"), obj.get("kind")) == (resource.api_version, resource.kind)
            if is_needed and (not own or (obj["metadata"].get("namespace") or own) == own):
                cleaned = clean(obj)
                yield resource, {**cleaned, "metadata": {**cleaned["metadata"], "namespace": namespace}}
