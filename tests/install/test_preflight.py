"""What speaks against installing, before anything is written."""

from __future__ import annotations

import asyncio

import pytest

from install.installations import NAMESPACE, stored, wanted
from install.screen import Remembered
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBSETS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    VALIDATING_WEBHOOKS,
)
from shunter.api.training.kinds import JOB_KINDS
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.errors import EnvironmentProblem, InputError
from shunter.install.installing import install
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions

pytestmark = pytest.mark.integration


async def test_without_jobset_nothing_is_written_and_the_way_out_is_said(client: Client) -> None:
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, "jobsets.jobset.x-k8s.io")
    for _ in range(400):
        if JOBSETS.api_version not in await served_versions(client):
            break
        await asyncio.sleep(0.05)
    with pytest.raises(EnvironmentProblem, match=r"JobSet is not installed.*kinds\.TrainJob=false"):
        await install(client, wanted(), Remembered())
    assert await stored(client) == {}
    await install(client, wanted(kinds={"TrainJob": False}), Remembered())
    assert await client.get(DEPLOYMENTS, "shunter-operator", NAMESPACE)


@pytest.mark.parametrize(
    ("called", "named"),
    [
        pytest.param(
            {"service": {"name": "training-operator", "namespace": "kubeflow"}}, "kubeflow/training-operator", id="service"
        ),
        pytest.param({"url": "https://192.0.2.1:9443/"}, "https://192.0.2.1:9443/", id="url"),
    ],
)
async def test_where_another_operator_answers_nothing_is_written(client: Client, called: Json, named: str) -> None:
    hook = {"name": "a.b.c", "clientConfig": called, "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    await client.create(
        VALIDATING_WEBHOOKS,
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validator.training-operator.kubeflow.org"},
            "webhooks": [hook],
        },
    )
    with pytest.raises(EnvironmentProblem, match=rf"calls .*{named}: another operator"):
        await install(client, wanted(), Remembered())
    assert await stored(client) == {}
    await install(client, wanted(kinds={kind.resource.kind: False for kind in JOB_KINDS}), Remembered())


@pytest.mark.parametrize(
    ("metadata", "manager"),
    [
        (
            {"annotations": {"meta.helm.sh/release-name": "jobs", "meta.helm.sh/release-namespace": "ops"}},
            "Helm release ops/jobs",
        ),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "platform"}}, "Flux Kustomization platform"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "platform:apps/Deployment:x/y"}}, "Argo CD application platform"),
    ],
    ids=["helm", "flux", "argo-cd"],
)
async def test_what_another_tool_looks_after_is_left_to_it(client: Client, metadata: Json, manager: str) -> None:
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    body = {**account, "metadata": {"name": "shunter-operator", "namespace": NAMESPACE, **metadata}}
    await client.create(SERVICE_ACCOUNTS, body)
    with pytest.raises(EnvironmentProblem, match=f"belongs to {manager}"):
        await install(client, wanted(), Remembered())
    assert await stored(client) == {}


async def test_what_is_being_deleted_is_waited_for_by_who_installs(client: Client) -> None:
    """A definition may be held back for long by its jobs, and would go after the installation that brought it up to date."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "shunter-view", "finalizers": ["tests.shunter.dev/held"]},
    }
    await client.create(CLUSTER_ROLES, role)
    await client.delete(CLUSTER_ROLES, "shunter-view")
    with pytest.raises(EnvironmentProblem, match="ClusterRole shunter-view is being deleted"):
        await install(client, wanted(), Remembered())
    assert await stored(client) == {}


async def test_the_mpi_operators_definition_is_left_to_it(client: Client) -> None:
    """Theirs has the name of ours, and its objects would be lost."""
    (ours,) = (crd for crd in packaged_crds() if crd["metadata"]["name"] == "mpijobs.kubeflow.org")
    theirs = {"versions": [{**ours["spec"]["versions"][0], "name": "v2beta1"}]}
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, "mpijobs.kubeflow.org")
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, {**ours, "spec": {**ours["spec"], **theirs}})
    with pytest.raises(EnvironmentProblem, match=r"mpijobs\.kubeflow\.org stores its objects as v2beta1") as problem:
        await install(client, wanted(crds=[ours]), Remembered())
    assert "--set kinds.MPIJob=false" in problem.value.remedy
    assert await stored(client) == {}
    await install(client, wanted(crds=[ours], kinds={"MPIJob": False}), Remembered())
    kept = await client.get(CUSTOM_RESOURCE_DEFINITIONS, "mpijobs.kubeflow.org")
    assert [version["name"] for version in kept["spec"]["versions"]] == ["v2beta1"]


async def test_a_namespace_that_is_not_there_is_named_before_anything_is_written(client: Client) -> None:
    with pytest.raises(InputError, match=r"namespaces: the cluster has no namespace 'team-a'"):
        await install(client, wanted(namespaces=["team-a"]), Remembered())
    assert await stored(client) == {}
