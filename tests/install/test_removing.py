"""uninstall: what goes, what stays and is named, and that a run which was cut off is completed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cluster.api_server import RunningApiServer
from install.installations import CONTAINER, NAMESPACE, killed_after, pytorch_job, remove_webhooks, stored, wanted
from install.screen import Remembered
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_TRAINING_RUNTIMES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    SECRETS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.errors import InputError
from shunter.install.changes import MADE_BY_US
from shunter.install.installing import Installation, install
from shunter.install.removing import uninstall
from shunter.install.values import checked
from shunter.kube.client import Client
from shunter.kube.controllers.leader import LeaderElection, LeaderOptions
from shunter.kube.errors import NotFound
from shunter.kube.tls.certificate_secret import CertificateSecret

pytestmark = pytest.mark.integration


async def test_an_uninstallation_that_was_cut_off_is_completed_by_the_next(client: Client, server: RunningApiServer) -> None:
    await install(client, wanted(), Remembered())
    async with killed_after(40, server) as dying:
        await uninstall(dying, Remembered(), namespace=NAMESPACE)
    await uninstall(client, Remembered(), namespace=NAMESPACE)
    assert await stored(client) == {}


async def test_uninstalling_leaves_definitions_and_jobs_and_says_so(client: Client, screen: Remembered) -> None:
    await install(client, wanted(), Remembered())
    await remove_webhooks(client)
    await client.create(PYTORCH_JOBS, pytorch_job("running"))
    await uninstall(client, screen, namespace=NAMESPACE)
    assert screen.notes[0] == "1 PyTorchJob remain, with their pods; no operator reconciles them any longer"
    assert await client.get(PYTORCH_JOBS, "running", "default")
    for resource in (DEPLOYMENTS, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS, CLUSTER_TRAINING_RUNTIMES, VALIDATING_WEBHOOKS):
        assert (await client.list(resource, label_selector=MADE_BY_US)).items == []
    with pytest.raises(NotFound):
        await client.get(NAMESPACES, NAMESPACE)


async def test_definitions_with_jobs_go_only_when_both_are_asked_for(client: Client) -> None:
    # As on a cluster that had none: the embedded one brings its own.
    for crd in packaged_crds():
        if crd["metadata"]["name"] != "jobsets.jobset.x-k8s.io":
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, crd["metadata"]["name"])
    await install(client, wanted(crds=packaged_crds()), Remembered())
    await remove_webhooks(client)
    await client.create(PYTORCH_JOBS, pytorch_job("running"))
    with pytest.raises(InputError, match="deleting the CRDs would delete 1 PyTorchJob"):
        await uninstall(client, Remembered(), namespace=NAMESPACE, crds=True)
    assert await client.get(DEPLOYMENTS, "shunter-operator", NAMESPACE)
    await uninstall(client, Remembered(), namespace=NAMESPACE, crds=True, with_jobs=True)
    assert [crd["metadata"]["name"] for crd in (await client.list(CUSTOM_RESOURCE_DEFINITIONS)).items] == [
        "jobsets.jobset.x-k8s.io"
    ]


async def test_the_namespace_stays_while_it_holds_what_others_made(client: Client, screen: Remembered) -> None:
    await install(client, wanted(), Remembered())
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guest"}, "spec": {"containers": [CONTAINER]}}
    await client.create(PODS, pod, NAMESPACE)
    await uninstall(client, screen, namespace=NAMESPACE)
    assert f"kept namespace {NAMESPACE}: it contains pods guest" in screen.notes
    assert await client.get(PODS, "guest", NAMESPACE)
    assert list(await stored(client)) == [f"Namespace /{NAMESPACE}"]


async def test_the_namespace_stays_while_it_holds_jobs(client: Client, screen: Remembered) -> None:
    """They may have no pods: suspended ones, and finished ones."""
    await install(client, wanted(), Remembered())
    await remove_webhooks(client)
    await client.create(PYTORCH_JOBS, pytorch_job("suspended", namespace=NAMESPACE))
    await uninstall(client, screen, namespace=NAMESPACE)
    assert f"kept namespace {NAMESPACE}: it contains 1 PyTorchJob" in screen.notes
    assert await client.get(PYTORCH_JOBS, "suspended", NAMESPACE)


async def test_the_installation_of_another_namespace_is_named_and_left(client: Client) -> None:
    await install(client, Installation(checked({}), namespace="training", crds=()), Remembered())
    before = await stored(client)
    with pytest.raises(InputError, match="the operator is installed in namespace training, not in shunter-system") as problem:
        await uninstall(client, Remembered(), namespace=NAMESPACE)
    assert problem.value.remedy == "Add --namespace training."
    assert await stored(client) == before


async def test_a_namespace_that_an_earlier_installation_had_to_leave_stays(client: Client) -> None:
    await install(client, Installation(checked({}), namespace="training", crds=()), Remembered())
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guest"}, "spec": {"containers": [CONTAINER]}}
    await client.create(PODS, pod, "training")
    await uninstall(client, Remembered(), namespace="training")
    await install(client, wanted(), Remembered())
    await uninstall(client, Remembered(), namespace=NAMESPACE)
    assert await client.get(PODS, "guest", "training")
    assert list(await stored(client)) == ["Namespace /training"]


async def test_a_namespace_that_stays_keeps_neither_the_certificate_nor_the_lease(client: Client) -> None:
    """Whatever they are called, and as the operator writes them; other Secrets and Leases are others'."""
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    parts: list[tuple[Resource, Json]] = [(SECRETS, {}), (LEASES, {"spec": {}})]
    for resource, body in parts:
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        await client.create(resource, {**head, "metadata": {"name": "theirs", "namespace": NAMESPACE}, **body})
    await install(client, wanted(), Remembered())
    operator = Client(client.transport, field_manager="shunter-operator", namespace=NAMESPACE)
    await CertificateSecret(operator, NAMESPACE, "ours", ["a.svc"], now=lambda: datetime.now(UTC)).sync([])
    await LeaderElection(operator, LeaderOptions(name="our-lease", namespace=NAMESPACE)).acquire()
    await uninstall(client, Remembered(), namespace=NAMESPACE)
    for resource in (SECRETS, LEASES):
        assert [obj["metadata"]["name"] for obj in (await client.list(resource, NAMESPACE)).items] == ["theirs"]


async def test_where_nothing_was_installed_there_is_nothing_to_take_away(client: Client, screen: Remembered) -> None:
    await uninstall(client, screen, namespace=NAMESPACE)
    assert screen.notes == ["nothing installed by `shunter install`; use kubectl or Helm to remove what they applied"]
    assert screen.changes == []
