"""`install` against an API server: in order, idempotent, and careful with what others made."""

from __future__ import annotations

import pytest

from cluster.api_server import RunningApiServer
from fault_transport import RecordingTransport
from install.installations import NAMESPACE, killed_after, stored, until_gone, wanted
from install.screen import Remembered
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLES,
    CLUSTER_TRAINING_RUNTIMES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    VALIDATING_WEBHOOKS,
)
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.install.installing import install, installed_objects
from shunter.install.removing import uninstall
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions

pytestmark = pytest.mark.integration


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
        async with killed_after(len(counted.writes) - missing, server) as dying:
            await install(dying, wanted(), Remembered())
        await install(client, wanted(), Remembered())
        assert await stored(client) == complete


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


async def test_definitions_of_which_some_are_gone_stop_neither_install_nor_uninstall(client: Client) -> None:
    """As when `uninstall --crds` was cut off, or jobs hold back one of them: the group is served still."""
    name = f"{CLUSTER_TRAINING_RUNTIMES.plural}.{CLUSTER_TRAINING_RUNTIMES.group}"
    (runtimes,) = (crd for crd in packaged_crds() if crd["metadata"]["name"] == name)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    await until_gone(client, CUSTOM_RESOURCE_DEFINITIONS, name)
    await install(client, wanted(crds=[runtimes]), Remembered())
    assert await client.get(DEPLOYMENTS, "shunter-operator", NAMESPACE)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    await until_gone(client, CUSTOM_RESOURCE_DEFINITIONS, name)
    await uninstall(client, Remembered(), namespace=NAMESPACE, crds=True)
    assert await installed_objects(client, await served_versions(client)) == []
