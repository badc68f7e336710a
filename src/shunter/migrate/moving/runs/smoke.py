"""The stage `smoke`: the converted job runs on the embedded cluster, for one step if its program has an option for that.

It runs in a namespace of its own, with the ConfigMaps, Secrets and PersistentVolumeClaims of the input, and leaves nothing. The
stage `runs` compares what it learns with v1.
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
from shunter.migrate.proof.proving import Proof, StageResult
from shunter.migrate.proof.topics import NOT_STARTED
from shunter.operator.overview import overview

NEEDED = (CONFIG_MAPS, SECRETS, PERSISTENT_VOLUME_CLAIMS, SERVICE_ACCOUNTS)
"""Kinds of the input that pods mount or run as."""
_POLL_SECONDS = 0.2


async def smoke_run(
    proof: Proof,
    client: Client,
    namespace: str,
    others: Iterable[Json],
    trial_options: TrialOptions,
    options: Options,
    *,
    now: datetime,
) -> StageResult:
    """The stage `smoke`. `namespace` is a scratch one (`server.scratch_namespace`); `others` are the other objects of the input;
    `trial_options` limit the job's time."""
    source = proof.conversion.source
    needed = [*_needed(others, source.namespace, namespace)]
    beside = context_of((source,), [obj for _, obj in needed])
    try:
        for resource, obj in needed:
            await client.apply(resource, obj)
        trial_options = replace(trial_options, namespace=namespace)
        job = await start(client, trial_of(source, trial_options, options, beside, now=now))
    except (ApiError, InputError) as error:
        return StageResult("smoke", (Finding(NOT_STARTED, source.title, source.place(), (), error.message, error.remedy),))
    return await _followed(proof, client, job, trial_options.deadline_seconds)


async def _followed(proof: Proof, client: Client, job: Json, seconds: int) -> StageResult:
    source, metadata, began = proof.conversion.source, job["metadata"], time.monotonic()
    while time.monotonic() - began < seconds:
        job = await client.get(TRAIN_JOBS, metadata["name"], metadata["namespace"])
        row = overview(TRAIN_JOBS.typed(job))
        if row.is_finished:
            outcome = f"{row.state} after {time.monotonic() - began:.0f} s"
            if row.state == "Succeeded":
                return StageResult("smoke", (), outcome)
            text = f"{source.title} as a TrainJob: {outcome}: {row.message}"
            return StageResult("smoke", (Finding(NOT_STARTED, source.title, source.place(), (), text),))
        await asyncio.sleep(_POLL_SECONDS)
    return StageResult(
        "smoke", (), f"still running after {seconds} s: name the flag for its number of steps with --steps-arg", was_tried=False
    )


def _needed(others: Iterable[Json], own: str, namespace: str) -> Iterator[tuple[Resource, Json]]:
    """The objects of the job's `own` namespace, cleaned, for `namespace`."""
    for obj in others:
        for resource in NEEDED:
            is_needed = (obj.get("apiVersion"), obj.get("kind")) == (resource.api_version, resource.kind)
            if is_needed and (not own or (obj["metadata"].get("namespace") or own) == own):
                cleaned = clean(obj)
                yield resource, {**cleaned, "metadata": {**cleaned["metadata"], "namespace": namespace}}
