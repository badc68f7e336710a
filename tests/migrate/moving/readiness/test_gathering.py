"""Facts of a real API server: with every right, and with nearly none."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from migrate.moving.moves import pytorch_job
from shunter.api.resources import NAMESPACES, SERVICE_ACCOUNTS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.kube.client import Client, connect
from shunter.kube.credentials import StaticCredentials
from shunter.kube.kubeconfig import Connection
from shunter.migrate.moving.readiness.assessment import Assessment, all_checks, assessed
from shunter.migrate.moving.readiness.gathering import dry_run, gather
from shunter.migrate.options import Options

pytestmark = pytest.mark.integration


@pytest.fixture
async def namespace(client: Client) -> str:
    name = f"r-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await client.create(PYTORCH_JOBS, pytorch_job("bert", name, suspend=True))
    return name


@pytest.fixture
async def nobody(client: Client, connection: Connection, namespace: str) -> AsyncIterator[Client]:
    """A user without any rights of their own."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": namespace}}
    await client.create(SERVICE_ACCOUNTS, account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create(SERVICE_ACCOUNTS, request, namespace, subresource="token", name="nobody")
    headers = [("Authorization", f"Bearer {answer['status']['token']}")]
    async with connect(replace(connection, credentials=StaticCredentials(headers))) as found:
        yield found


async def assessed_by(client: Client, namespace: str) -> Assessment:
    return assessed(await gather(client, [namespace], Options(suspend=True)), all_checks())


async def test_a_cluster_whose_webhooks_nobody_serves_is_blocked_by_that_alone(client: Client, namespace: str) -> None:
    found = await assessed_by(client, namespace)
    blocking = [result.check for result in found.results if result.impact == "blocking"]
    assert (found.verdict, blocking) == ("BLOCKED", ["trainer_webhooks"])


async def test_a_namespace_counts_once_however_often_it_is_named(client: Client, namespace: str) -> None:
    facts = await gather(client, [namespace, "", namespace], Options(suspend=True))
    assert (len(facts.batch.outcomes), facts.namespaces) == (1, (namespace,))


async def test_a_namespace_that_is_not_there_is_named(client: Client) -> None:
    with pytest.raises(InputError, match='namespaces "r-nowhere" not found') as refused:
        await gather(client, ["r-nowhere"], Options(suspend=True))
    assert "-n NAMESPACE" in refused.value.remedy


async def test_a_kind_that_is_not_there_in_a_version_that_is_served_is_a_fact(client: Client, namespace: str) -> None:
    trains = PYTORCH_JOBS._replace(kind="PyTorchTrain", plural="pytorchtrains")
    answer = await dry_run(client, {trains.api_version}, trains, {}, namespace)
    assert answer is not None
    assert answer.code == 404


async def test_who_may_read_nothing_still_gets_a_result_for_every_check(nobody: Client, namespace: str) -> None:
    found = await assessed_by(nobody, namespace)
    results = {result.check: result for result in found.results}
    assert results.keys() == all_checks().keys()
    assert results["kubernetes_version"].status == "passed"
    assert results["v2_definitions"].why == "customresourcedefinitions.apiextensions.k8s.io may not be listed"
    assert results["helm_releases"].status == "unknown"
    assert results["conversions"].status == "unknown"
    assert results["permissions"].impact == "blocking"
    assert found.verdict == "BLOCKED"
