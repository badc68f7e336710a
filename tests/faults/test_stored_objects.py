"""A cluster that is taken over holds what another operator's webhooks let through: everything that upstream was recorded storing.

It is stored here past our webhooks. Then our operator starts, and every object can be labelled, suspended, resumed, relieved of
its finalizers and deleted, in each of the cascade modes, and no reconcile fails by a bug.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

import pytest

from faults.operators import Operator, running, until
from player.case import Case, cases
from player.outcomes import RECORDINGS
from player.shape import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, NAMESPACES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource
from shunter.api.training.kinds import JOB_KINDS
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError, NotFound
from shunter.kube.kubeconfig import Connection
from shunter.kube.tls.certificates import issue, new_authority
from shunter.kube.webhooks.registration import Url, manifest
from shunter.kube.webhooks.server import WebhookServer
from shunter.operator.process import routes, webhook_configurations

pytestmark = pytest.mark.timeout(600)

FOLDERS = ("admission-v1", "admission-v2", "v1", "v1-volcano", "v1-coscheduling", "v2")
RUNTIMES = {resource.kind: resource for resource in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)}
KINDS = {**{kind.resource.kind: kind.resource for kind in JOB_KINDS}, TRAIN_JOBS.kind: TRAIN_JOBS, **RUNTIMES}
HELD = "example.com/held"
STAMP = "2026-11-21T12:00:00Z"
MODES: tuple[Literal["Background", "Foreground", "Orphan"], ...] = ("Background", "Foreground", "Orphan")
EVERY_MODE = bool(os.environ.get("EVERY_MODE"))
"""Deletes every object in every mode; else each in one of them, in turns."""
AT_ONCE = 16
LONGEST_NAME = 253
HOST = "127.0.0.1"


class Stored(NamedTuple):
    """An object as upstream stored it, under a name that no other recording has, and the namespace of its recording."""

    namespace: str
    resource: Resource
    body: Json

    @property
    def name(self) -> str:
        name: str = self.body["metadata"]["name"]
        return name

    @property
    def place(self) -> str:
        return self.namespace if self.resource.namespaced else ""

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.namespace}/{self.name}"


def stored_objects(mode: str) -> Iterator[Stored]:
    """What the recordings say that upstream stored, runtimes before their jobs."""
    number = 0
    for folder in FOLDERS:
        for case in cases(RECORDINGS / folder):
            for stored in _of_case(case, f"s-{mode.lower()}-{case.name}"):
                number += 1
                if EVERY_MODE or stored.resource.kind in RUNTIMES or MODES[number % len(MODES)] == mode:
                    yield stored


def _of_case(case: Case, namespace: str) -> Iterator[Stored]:
    known = set()
    for step in case.steps:
        if step.verb != "apply":
            continue
        for obj, answer in zip(step.argument, step.recorded["answers"], strict=True):
            place = answer["object"]
            if obj["kind"] not in KINDS or answer["code"] != 201 or place in known:
                continue
            known.add(place)
            body = _timed(
                step.recorded.get("new", {}).get(place)
                or {**obj, "metadata": {"name": f"generated-{len(known)}", **obj["metadata"]}}
            )
            metadata = {field: value for field, value in body["metadata"].items() if field in ("name", "labels", "annotations")}
            yield Stored(
                namespace,
                KINDS[obj["kind"]],
                _under_own_name({**body, "metadata": {**metadata, "finalizers": [HELD]}}, namespace),
            )


def _under_own_name(body: Json, namespace: str) -> Json:
    """Shared runtimes have no namespace, so their names, and references to them, get one in front."""
    body.pop("status", None)
    if body["kind"] == CLUSTER_TRAINING_RUNTIMES.kind:
        body["metadata"]["name"] = f"{namespace}-{body['metadata']['name']}"[:LONGEST_NAME]
    reference = (body.get("spec") or {}).get("runtimeRef") or {}
    if reference.get("kind", CLUSTER_TRAINING_RUNTIMES.kind) == CLUSTER_TRAINING_RUNTIMES.kind and "name" in reference:
        reference = {**reference, "name": f"{namespace}-{reference['name']}"[:LONGEST_NAME]}
        body = {**body, "spec": {**body["spec"], "runtimeRef": reference}}
    return body


def _timed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_timed(item) for item in value]
    return STAMP if value == "<time>" else value


@asynccontextmanager
async def registered(client: Client, operator: Operator) -> AsyncIterator[None]:
    """All webhooks of the operator, for all namespaces."""
    authority = new_authority("stored")
    server = WebhookServer(HOST, 0, issue(authority, HOST, [HOST]), routes(operator.manager))
    await server.start()
    serve = asyncio.create_task(server.run())
    made = []
    try:
        for configuration in webhook_configurations():
            body = manifest(configuration, Url(f"https://{HOST}:{server.port}"), authority=authority.certificate)
            body["metadata"]["name"] = f"stored-{body['metadata']['name']}"
            await client.create(configuration.resource, body)
            made.append((configuration.resource, body["metadata"]["name"]))
        yield
    finally:
        for resource, name in made:
            await client.delete(resource, name)
        serve.cancel()
        await asyncio.gather(serve, return_exceptions=True)


async def asked(client: Client) -> None:
    """Returns when the webhooks are asked: API servers notice new ones within a second or so."""
    void = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "void"}, "spec": {"jaxReplicaSpecs": {}}}
    jax = KINDS["JAXJob"]
    async with asyncio.timeout(30):
        while True:
            try:
                await client.create(jax, void, "default", dry_run=True)
            except ApiError as error:
                if "denied the request" in error.message:
                    return
            await asyncio.sleep(0.1)


def suspended(stored: Stored, value: bool) -> Json:
    is_v1 = stored.resource != TRAIN_JOBS
    return {"spec": {"runPolicy": {"suspend": value}} if is_v1 else {"suspend": value}}


async def lead(client: Client, stored: Stored, mode: Literal["Background", "Foreground", "Orphan"]) -> list[str]:
    """Does to one object what has to be possible; what of it was not."""
    patches: list[tuple[str, Json]] = [("label", {"metadata": {"labels": {"a": "b"}}})]
    if stored.resource.kind not in RUNTIMES:
        patches += [("suspend", suspended(stored, True)), ("resume", suspended(stored, False))]
    refused = []
    for what, patch in patches:
        try:
            await client.patch(stored.resource, stored.name, stored.place, patch)
        except ApiError as error:
            refused.append(f"{stored}: {what}: {error.message}")
    try:
        await client.delete(stored.resource, stored.name, stored.place, propagation=mode)
        await client.patch(stored.resource, stored.name, stored.place, {"metadata": {"finalizers": None}})
        while True:
            await client.get(stored.resource, stored.name, stored.place)
            await asyncio.sleep(0.5)
    except NotFound:
        pass
    except ApiError as error:
        refused.append(f"{stored}: delete {mode}: {error.message}")
    return refused


@pytest.mark.parametrize("mode", MODES)
async def test_all_that_upstream_stored_can_be_changed_and_deleted(
    server: Connection, mode: Literal["Background", "Foreground", "Orphan"], caplog: pytest.LogCaptureFixture
) -> None:
    client = connect(server, component="test")
    objects = list(stored_objects(mode))
    await store(client, objects)
    operator = Operator(server)
    async with running(operator), registered(client, operator):
        await asked(client)
        await until(lambda: operator.is_synced, seconds=120)
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(stored: Stored) -> list[str]:
            async with limit:
                return await lead(client, stored, mode)

        jobs = [stored for stored in objects if stored.resource.kind not in RUNTIMES]
        runtimes = [stored for stored in objects if stored.resource.kind in RUNTIMES]
        found = [problem for group in (jobs, runtimes) for told in await asyncio.gather(*map(one, group)) for problem in told]
    await client.close()
    assert len(jobs) > 100
    assert not found, f"{len(found)} of {len(objects)}:\n" + "\n".join(found[:30])
    bugs = [record.getMessage() for record in caplog.records if record.exc_info]
    assert not bugs, "\n".join(bugs[:10])


@pytest.mark.skipif(EVERY_MODE, reason="every object is done in every mode")
def test_no_object_is_left_out_and_every_mode_has_its_share() -> None:
    def of(mode: str) -> list[str]:
        done = [one for one in stored_objects(mode) if one.resource.kind not in RUNTIMES]
        return [str(one).replace(f"s-{mode.lower()}-", "") for one in done]

    in_turns = [name for mode in MODES for name in of(mode)]
    assert len(in_turns) == len({*in_turns})
    assert {*in_turns} == {*every_job()}
    assert min(len(of(mode)) for mode in MODES) > 100


def every_job() -> Iterator[str]:
    for folder in FOLDERS:
        for case in cases(RECORDINGS / folder):
            for stored in _of_case(case, case.name):
                if stored.resource.kind not in RUNTIMES:
                    yield str(stored)


async def store(client: Client, objects: list[Stored]) -> None:
    """Past our webhooks, which nobody has registered yet."""
    for namespace in dict.fromkeys(stored.namespace for stored in objects):
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for stored in objects:
        await client.create(stored.resource, stored.body, stored.place)
