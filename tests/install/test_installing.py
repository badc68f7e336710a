"""`install` and `uninstall` against an API server: in order, idempotent, and careful with what others made."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.api_server import RunningApiServer
from fault_transport import FaultTransport, Killed, RecordingTransport
from install.screen import Remembered
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_TRAINING_RUNTIMES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    JOBSETS,
    LEASES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    SECRETS,
    SERVICE_ACCOUNTS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cluster.apiserver.definitions import custom_resource_definitions
from shunter.errors import EnvironmentProblem, InputError
from shunter.install.changes import MADE_BY_US, RESOURCES
from shunter.install.installing import Installation, install, made_by_us
from shunter.install.removing import uninstall
from shunter.install.values import checked
from shunter.kube import kubeconfig
from shunter.kube.client import Client
from shunter.kube.controllers.leader import LeaderElection, LeaderOptions
from shunter.kube.discovery import served_versions
from shunter.kube.errors import NotFound
from shunter.kube.tls.certificate_secret import CertificateSecret
from shunter.kube.transport import HttpTransport

pytestmark = pytest.mark.integration

NAMESPACE = "shunter-system"
CONTAINER = {"name": "main", "image": "python"}


def wanted(*, crds: Iterable[Json] = (), **values: Any) -> Installation:
    """Without CRDs, unless it is about them: the server brings them, and they are large."""
    return Installation(checked(values), namespace=NAMESPACE, crds=crds)


async def stored(client: Client) -> dict[str, Json]:
    """Everything that an installation of ours made, without what the server counts."""
    found = {}
    served = await served_versions(client)
    for resource in RESOURCES:
        if resource.api_version not in served:
            continue
        for obj in (await client.list(resource, label_selector=MADE_BY_US)).items:
            metadata = obj["metadata"]
            kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
            body = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
            found[f"{resource.kind} {metadata.get('namespace', '')}/{metadata['name']}"] = {**body, **kept}
    return found


async def test_what_was_installed_is_unchanged_the_second_time(client: Client, screen: Remembered) -> None:
    await install(client, wanted(), screen)
    assert screen.titles("created")[0] == f"Namespace {NAMESPACE}"
    assert screen.total == len(screen.changes)
    again = Remembered()
    await install(client, wanted(), again)
    assert {change.verb for change in again.changes} == {"unchanged"}
    assert len(again.changes) == len(wanted().objects())


async def test_a_dry_run_changes_nothing_and_says_what_the_real_one_does(client: Client) -> None:
    limited: Json = {"namespaces": ["default"], "replicas": 1, "networkPolicy": {"enabled": False}}
    for values in ({}, limited):
        before = await stored(client)
        dry, real = Remembered(), Remembered()
        await install(client, wanted(**values), dry, dry_run=True)
        assert await stored(client) == before
        await install(client, wanted(**values), real)
        assert dry.changes == real.changes


async def test_an_upgrade_says_which_fields_change_and_takes_away_what_is_no_longer_wanted(
    client: Client, screen: Remembered
) -> None:
    await install(client, wanted(), Remembered())
    await install(client, wanted(namespaces=["default"], image={"tag": "next"}), screen)
    changed = {change.title: change.details for change in screen.changes if change.verb == "changed"}
    assert changed[f"Deployment {NAMESPACE}/shunter-operator"] == (
        "spec.template.spec.containers[0].args",
        "spec.template.spec.containers[0].image",
    )
    assert screen.titles("deleted") == [
        "ClusterRoleBinding shunter-operator-controller",
        "ClusterRole shunter-operator-controller",
    ]
    assert "RoleBinding default/shunter-operator-controller" in screen.titles("created")


async def test_an_upgrade_leaves_the_authority_that_the_operator_wrote(client: Client) -> None:
    await install(client, wanted(), Remembered())
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for obj in (await client.list(resource)).items:
            hooks = [{"name": hook["name"], "clientConfig": {"caBundle": "QUJD"}} for hook in obj["webhooks"]]
            await client.patch(resource, obj["metadata"]["name"], "", {"webhooks": hooks}, type="strategic")
    await install(client, wanted(image={"tag": "next"}), Remembered())
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for obj in (await client.list(resource)).items:
            assert {hook["clientConfig"]["caBundle"] for hook in obj["webhooks"]} == {"QUJD"}


async def test_an_object_that_was_there_before_is_brought_up_to_date_but_never_deleted(client: Client) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "shunter-view"},
        "rules": [],
    }
    await client.create(CLUSTER_ROLES, role)
    await install(client, wanted(), Remembered())
    assert (await client.get(CLUSTER_ROLES, "shunter-view"))["rules"] != []
    await install(client, wanted(userRoles={"enabled": False}), Remembered())
    assert await client.get(CLUSTER_ROLES, "shunter-view")
    await uninstall(client, Remembered(), namespace=NAMESPACE)
    assert await client.get(CLUSTER_ROLES, "shunter-view")


async def test_a_namespace_that_was_there_before_is_left_as_it_is(client: Client, screen: Remembered) -> None:
    """Others' pods in it may be none that `restricted` lets in."""
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    before = await client.create(NAMESPACES, namespace)
    await install(client, wanted(), screen)
    assert screen.titles("skipped") == [f"Namespace {NAMESPACE}"]
    assert await client.get(NAMESPACES, NAMESPACE) == before
    await uninstall(client, Remembered(), namespace=NAMESPACE)
    assert await client.get(NAMESPACES, NAMESPACE) == before


async def test_a_run_that_was_cut_off_is_completed_by_the_next(client: Client, server: RunningApiServer) -> None:
    counted = RecordingTransport(client.transport)
    await install(Client(counted), wanted(), Remembered())
    complete = await stored(client)
    for missing in (1, 6, 11, 16, 21):
        await uninstall(client, Remembered(), namespace=NAMESPACE)
        faults = FaultTransport(HttpTransport(kubeconfig.load(server.kubeconfig)))
        faults.kill_after(len(counted.writes) - missing)
        async with Client(faults) as dying:
            with pytest.raises(Killed):
                await install(dying, wanted(), Remembered())
        await install(client, wanted(), Remembered())
        assert await stored(client) == complete


async def test_an_uninstallation_that_was_cut_off_is_completed_by_the_next(client: Client, server: RunningApiServer) -> None:
    await install(client, wanted(), Remembered())
    faults = FaultTransport(HttpTransport(kubeconfig.load(server.kubeconfig)))
    faults.kill_after(40)
    async with Client(faults) as dying:
        with pytest.raises(Killed):
            await uninstall(dying, Remembered(), namespace=NAMESPACE)
    await uninstall(client, Remembered(), namespace=NAMESPACE)
    assert await stored(client) == {}


async def test_monitors_come_when_the_cluster_knows_them(client: Client, screen: Remembered) -> None:
    await install(client, wanted(), screen)
    assert screen.notes == ["no monitors: the cluster does not serve monitoring.coreos.com/v1"]
    for kind in ("ServiceMonitor", "PodMonitor"):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, open_definition("monitoring.coreos.com", kind))
    with_monitors = Remembered()
    await install(client, wanted(), with_monitors)
    assert with_monitors.titles("created") == [
        f"ServiceMonitor {NAMESPACE}/shunter-operator",
        f"PodMonitor {NAMESPACE}/shunter-kubeflow-jobs",
        f"PodMonitor {NAMESPACE}/shunter-trainjobs",
    ]


def open_definition(group: str, kind: str) -> Json:
    plural = kind.lower() + "s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


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
    (ours,) = (crd for crd in custom_resource_definitions() if crd["metadata"]["name"] == "mpijobs.kubeflow.org")
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
    for crd in custom_resource_definitions():
        if crd["metadata"]["name"] != "jobsets.jobset.x-k8s.io":
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, crd["metadata"]["name"])
    await install(client, wanted(crds=custom_resource_definitions()), Remembered())
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
    assert f"namespace {NAMESPACE} stays: it holds pods guest" in screen.notes
    assert await client.get(PODS, "guest", NAMESPACE)
    assert list(await stored(client)) == [f"Namespace /{NAMESPACE}"]


async def test_the_namespace_stays_while_it_holds_jobs(client: Client, screen: Remembered) -> None:
    """They may have no pods: suspended ones, and finished ones."""
    await install(client, wanted(), Remembered())
    await remove_webhooks(client)
    await client.create(PYTORCH_JOBS, pytorch_job("suspended", namespace=NAMESPACE))
    await uninstall(client, screen, namespace=NAMESPACE)
    assert f"namespace {NAMESPACE} stays: it holds 1 PyTorchJob" in screen.notes
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


async def test_definitions_of_which_some_are_gone_stop_neither_install_nor_uninstall(client: Client) -> None:
    """As when `uninstall --crds` was cut off, or jobs hold back one of them: the group is served still."""
    name = f"{CLUSTER_TRAINING_RUNTIMES.plural}.{CLUSTER_TRAINING_RUNTIMES.group}"
    (runtimes,) = (crd for crd in custom_resource_definitions() if crd["metadata"]["name"] == name)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    await until_gone(client, CUSTOM_RESOURCE_DEFINITIONS, name)
    await install(client, wanted(crds=[runtimes]), Remembered())
    assert await client.get(DEPLOYMENTS, "shunter-operator", NAMESPACE)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    await until_gone(client, CUSTOM_RESOURCE_DEFINITIONS, name)
    await uninstall(client, Remembered(), namespace=NAMESPACE, crds=True)
    assert await made_by_us(client, await served_versions(client)) == []


async def until_gone(client: Client, resource: Resource, name: str) -> None:
    async with asyncio.timeout(20):
        with contextlib.suppress(NotFound):
            while True:
                await client.get(resource, name)
                await asyncio.sleep(0.05)


async def remove_webhooks(client: Client) -> None:
    """Nobody answers them here."""
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for obj in (await client.list(resource)).items:
            await client.delete(resource, obj["metadata"]["name"])


def pytorch_job(name: str, *, namespace: str = "default") -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "python"}]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"template": template}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
