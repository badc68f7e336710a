"""v1's definitions at the end, on an API server of their own: they go when nothing needs them, and can come back."""

from __future__ import annotations

import base64
import gzip
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from cluster.api_server import RunningApiServer, start_api_server
from migrate.moving.moves import QUICK, Screen, pytorch_job
from migrate.moving.test_planning import plan
from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS, SECRETS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.discovery import served_versions
from shunter.migrate.moving import applying, closing
from shunter.migrate.moving.finalizing import V1_DEFINITIONS
from shunter.migrate.moving.journal import Journal


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path / "state")
    yield running
    running.stop()


@pytest.fixture
async def client(server: RunningApiServer) -> AsyncIterator[Client]:
    async with connect(kubeconfig.load(server.kubeconfig)) as found:
        yield found


def release(manifest: Json) -> Json:
    """A release as Helm keeps it."""
    said = {"name": "jobs", "manifest": msgspec.yaml.encode(manifest).decode()}
    packed = base64.b64encode(gzip.compress(msgspec.json.encode(said)))
    labels = {"owner": "helm", "name": "jobs", "status": "deployed", "version": "1"}
    metadata = {"name": "sh.helm.release.v1.jobs.v1", "namespace": "default", "labels": labels}
    data = {"release": base64.b64encode(packed).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "helm.sh/release.v1", "data": data}


async def finalized(client: Client, directory: Path) -> dict[str, str]:
    """What became of each definition that did not go."""
    found = await closing.read(client)
    await closing.keep(client, found, directory / "definitions")
    with Journal(directory, "p1", client, "default") as journal:
        await journal.load()
        steps = [ending.step for ending in found if ending.step is not None]
        steps += closing.unfreezing(plan(), journal, found)
        outcomes = await applying.apply(client, steps, journal, Screen(), QUICK)
    assert all(outcome.is_complete for outcome in outcomes)
    return {ending.definition: ending.why for ending in found if ending.step is None}


async def test_definitions_go_and_can_be_applied_again(client: Client, tmp_path: Path) -> None:
    assert await finalized(client, tmp_path) == {}
    assert PYTORCH_JOBS.api_version not in await served_versions(client)
    for name in V1_DEFINITIONS:
        kept: Json = msgspec.yaml.decode((tmp_path / "definitions" / f"{name}.yaml").read_bytes())
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, kept, field_validation="Strict")
    assert PYTORCH_JOBS.api_version in await served_versions(client)


async def test_a_definition_stays_while_there_are_jobs_or_a_release_holds_them(client: Client, tmp_path: Path) -> None:
    await client.create(PYTORCH_JOBS, pytorch_job("bert", "default", suspend=True))
    job = {**pytorch_job("held", "default"), "kind": "TFJob", "spec": {"tfReplicaSpecs": {}}}
    await client.create(SECRETS, release(job))
    assert await finalized(client, tmp_path) == {
        "pytorchjobs.kubeflow.org": "1 of its objects are there: PyTorchJob default/bert",
        "tfjobs.kubeflow.org": "Helm releases hold objects of it and could not be upgraded any more: default/jobs",
    }
    assert await client.get(PYTORCH_JOBS, "bert", "default")
