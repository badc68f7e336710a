"""What a namespace gets, and that it goes with all that is in it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from cluster.api_server import RunningApiServer
from shunter.api.meta import MetadataOnly, ObjectMeta
from shunter.api.resources import CONFIG_MAPS, NAMESPACES
from shunter.cluster.controllers.namespaces import NamespaceRemover, Observed, plan
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.controllers.plan import Create, Patch

NAMESPACE = MetadataOnly(metadata=ObjectMeta(name="team-a"))


def test_new_namespace_gets_its_account_and_the_authority() -> None:
    writes = plan(Observed(namespace=NAMESPACE), "PEM").writes
    assert all(isinstance(write, Create) for write in writes)
    bodies = [write.body for write in writes if isinstance(write, Create)]
    assert [(body["kind"], body["metadata"]["name"]) for body in bodies] == [
        ("ConfigMap", "kube-root-ca.crt"),
        ("ServiceAccount", "default"),
    ]
    assert bodies[0]["data"] == {"ca.crt": "PEM"}


def test_changed_authority_is_put_right() -> None:
    (write,) = plan(Observed(namespace=NAMESPACE, has_account=True, root_ca="old"), "PEM").writes
    assert isinstance(write, Patch)
    assert write.patch == {"data": {"ca.crt": "PEM"}}


def test_complete_namespace_gets_nothing() -> None:
    assert plan(Observed(namespace=NAMESPACE, has_account=True, root_ca="PEM"), "PEM").writes == ()


def test_namespace_being_deleted_gets_nothing() -> None:
    going = MetadataOnly(metadata=ObjectMeta(name="team-a", deletion_timestamp=datetime(2026, 11, 21, tzinfo=UTC)))
    assert plan(Observed(namespace=going), "PEM").writes == ()


@pytest.mark.integration
async def test_a_namespace_stays_until_all_that_is_in_it_is_gone(api_server: RunningApiServer) -> None:
    client = connect(kubeconfig.load(api_server.kubeconfig))
    held = {"metadata": {"name": "held", "namespace": "going", "finalizers": ["example.com/wait"]}}
    await client.create(NAMESPACES, {"metadata": {"name": "going"}})
    await client.create(CONFIG_MAPS, held)
    await client.create(CONFIG_MAPS, {"metadata": {"name": "free", "namespace": "going"}})
    await client.delete(NAMESPACES, "going")
    remover = NamespaceRemover(client)
    running = asyncio.create_task(remover.run())
    remover.changed(None, await client.get(NAMESPACES, "going", view=MetadataOnly))
    async with asyncio.timeout(30):
        while (left := await names(client)) != ["held"]:
            assert "held" in left
        assert (await client.get(NAMESPACES, "going"))["status"]["phase"] == "Terminating"
        await client.patch(CONFIG_MAPS, "held", "going", {"metadata": {"finalizers": None}})
        while "going" in [one.metadata.name for one in (await client.list(NAMESPACES, view=MetadataOnly)).items]:
            pass
    running.cancel()
    await client.close()


async def names(client: Client) -> list[str]:
    found = await client.list(CONFIG_MAPS, "going", view=MetadataOnly)
    return sorted(one.metadata.name for one in found.items)
