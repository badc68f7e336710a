"""Kinds that the server does not serve, or by another schema, hold up no others, are told about, and are served once all is
right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import yaml

from cluster.api_server import start_api_server
from control_plane import ControlPlane
from faults.operators import Operator, running, until
from player.pod_groups import install_pod_groups
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    JOBSETS,
    NAMESPACES,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.scheduling.podgroups import VOLCANO_POD_GROUPS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube import kubeconfig
from shunter.kube.cache.reflector import Timing
from shunter.kube.client import Client, connect
from shunter.kube.errors import NotFound
from shunter.kube.kubeconfig import Connection

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
TEAM = "team-a"
SOON = Timing(longest_wait_for_kind=0.2)
RUNTIME = {
    "replicatedJobs": [
        {
            "name": "node",
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "python"}]}}},
            },
        }
    ]
}


@pytest.fixture
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """An API server of its own: others would miss the kinds that these tests take away."""
    if request.config.getoption("--cluster") == "real":
        with ControlPlane(tmp_path / "plane", parts=()) as plane:
            yield kubeconfig.load(plane.kubeconfig)
    else:
        server = start_api_server(tmp_path / "state")
        yield kubeconfig.load(server.kubeconfig)
        server.stop()


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    """Of a server that has none of our kinds."""
    async with connect(connection) as client:
        for definition in (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items:
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        yield client


async def test_kinds_that_exist_are_served_and_the_others_once_they_exist(
    connection: Connection, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await define(client, PYTORCH_JOBS)
    async with running(Operator(connection, timing=SOON)) as operator:
        template = {"spec": {"containers": [{"name": "pytorch", "image": "python"}]}}
        spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}}
        await client.create(PYTORCH_JOBS, {**head(PYTORCH_JOBS), "spec": spec})
        await there(client, SERVICES, "a-master-0")
        await until(lambda: operator.is_synced)
        said = "The server does not serve trainjobs.trainer.kubeflow.org (trainer.kubeflow.org/v1alpha1). Install its"
        assert said in caplog.text
        others = (TRAIN_JOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES, JOBSETS)
        await asyncio.gather(*(define(client, resource) for resource in others))
        await submit(client)
        await there(client, JOBSETS, "a")


async def test_a_trainjob_says_that_jobset_is_missing_and_goes_on_when_it_is_installed(
    connection: Connection, client: Client
) -> None:
    await asyncio.gather(*(apply_definition(client, path) for path in CRDS.glob("*.trainer.kubeflow.org.yaml")))
    async with running(Operator(connection, timing=SOON)):
        await submit(client)
        conditions: list[Json] = []
        events: list[Json] = []

        async def is_told() -> bool:
            found = await client.get(TRAIN_JOBS, "a", TEAM)
            conditions[:] = (found.get("status") or {}).get("conditions") or []
            events[:] = (await client.list(EVENTS, TEAM)).items
            return bool(conditions and events)

        await eventually(is_told)
        assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [("Created", "False", "JobSetNotInstalled")]
        assert "jobsets.jobset.x-k8s.io" in conditions[0]["message"]
        assert [event["reason"] for event in events] == ["TrainJobResourcesCreationFailed"]
        assert not await exists(client, CONFIG_MAPS, "a-runtime-snapshot")
        await define(client, JOBSETS)
        await there(client, JOBSETS, "a")
        await forgotten(client)


async def test_a_gang_waits_for_its_scheduler_and_other_jobs_do_not(connection: Connection, client: Client) -> None:
    await define_trainer(client)
    async with running(Operator(connection, timing=SOON)):
        await submit(client, podGroupPolicy={"volcano": {}})
        assert await obstacle(client) == "PodGroupNotInstalled"
        assert not await exists(client, JOBSETS, "a")
        await install_pod_groups(client)
        await there(client, VOLCANO_POD_GROUPS, "a")
        await there(client, JOBSETS, "a")
        await forgotten(client)


async def test_a_runtime_that_comes_later_or_was_stored_under_another_schema_is_told_and_taken_once_it_is_right(
    connection: Connection, client: Client
) -> None:
    await define_trainer(client)
    lenient = yaml.load((CRDS / "trainingruntimes.trainer.kubeflow.org.yaml").read_text(), yaml.CSafeLoader)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for version in lenient["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": schema}
    await client.patch(CUSTOM_RESOURCE_DEFINITIONS, lenient["metadata"]["name"], "", {"spec": lenient["spec"]})
    async with running(Operator(connection, timing=SOON)):
        await client.create(TRAIN_JOBS, {**head(TRAIN_JOBS), "spec": {"runtimeRef": {"name": "a", "kind": "TrainingRuntime"}}})
        assert await obstacle(client) == "RuntimeNotFound"
        await client.create(
            TRAINING_RUNTIMES, {**head(TRAINING_RUNTIMES), "spec": {"template": {"spec": {"replicatedJobs": "x"}}}}
        )
        assert await obstacle(client, other_than="RuntimeNotFound") == "RuntimeInvalid"
        assert not await exists(client, CONFIG_MAPS, "a-runtime-snapshot")
        await client.patch(TRAINING_RUNTIMES, "a", TEAM, {"spec": {"template": {"spec": RUNTIME}}})
        await there(client, JOBSETS, "a")
        await forgotten(client)
        await client.delete(TRAINING_RUNTIMES, "a", TEAM)
        await client.patch(JOBSETS, "a", TEAM, {"spec": {"suspend": True}})
        await until_resumed(client)


async def define_trainer(client: Client) -> None:
    """The trainer's kinds, and JobSet's."""
    await asyncio.gather(*(apply_definition(client, path) for path in CRDS.glob("*.trainer.kubeflow.org.yaml")))
    await define(client, JOBSETS)


async def conditions_of(client: Client) -> list[Json]:
    found: list[Json] = ((await client.get(TRAIN_JOBS, "a", TEAM)).get("status") or {}).get("conditions") or []
    return found


async def obstacle(client: Client, *, other_than: str = "") -> str:
    """Why the job's objects are not made; waits until it says so."""
    reasons: list[str] = []

    async def is_told() -> bool:
        reasons[:] = [one["reason"] for one in await conditions_of(client) if one["type"] == "Created"]
        return reasons not in ([], [other_than])

    await eventually(is_told)
    return reasons[0]


async def forgotten(client: Client) -> None:
    async def is_forgotten() -> bool:
        return not await conditions_of(client)

    await eventually(is_forgotten)


async def until_resumed(client: Client) -> None:
    """A JobSet that somebody else suspends is resumed from the snapshot, without the runtime."""

    async def is_resumed() -> bool:
        return not (await client.get(JOBSETS, "a", TEAM))["spec"]["suspend"]

    await eventually(is_resumed)


async def submit(client: Client, **runtime: Json) -> None:
    body = {**head(TRAINING_RUNTIMES), "spec": {"template": {"spec": RUNTIME}, **runtime}}
    await client.create(TRAINING_RUNTIMES, body)
    spec = {"runtimeRef": {"name": "a", "kind": TRAINING_RUNTIMES.kind}}
    await client.create(TRAIN_JOBS, {**head(TRAIN_JOBS), "spec": spec})


def head(resource: Resource) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a", "namespace": TEAM}}


async def define(client: Client, resource: Resource) -> None:
    await apply_definition(client, CRDS / f"{resource.plural}.{resource.group}.yaml")


async def apply_definition(client: Client, path: Path) -> None:
    """Returns when its kind is served."""
    definition = yaml.load(path.read_text(), yaml.CSafeLoader)
    await client.apply(CUSTOM_RESOURCE_DEFINITIONS, definition)
    spec = definition["spec"]
    resource = Resource(spec["group"], spec["versions"][0]["name"], spec["names"]["kind"], spec["names"]["plural"])

    async def is_served() -> bool:
        try:
            await client.list(resource)
        except NotFound:
            return False
        return True

    await eventually(is_served)


async def there(client: Client, resource: Resource, name: str) -> None:
    async def is_there() -> bool:
        return await exists(client, resource, name)

    await eventually(is_there)


async def exists(client: Client, resource: Resource, name: str) -> bool:
    try:
        await client.get(resource, name, TEAM)
    except NotFound:
        return False
    return True


async def eventually(condition: Callable[[], Awaitable[bool]], *, seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 -- the condition is the server's
            await asyncio.sleep(0.05)
