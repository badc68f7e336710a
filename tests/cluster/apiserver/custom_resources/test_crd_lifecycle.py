"""The life of a CustomResourceDefinition: served at once, changed live, gone with all its objects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cluster.api_server import start_api_server
from cluster.apiserver.http_client import Api, client

pytestmark = pytest.mark.integration

Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(group: str, *versions: str, storage: str = "v1") -> Json:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}}},
    }
    return {
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
            "versions": [
                {"name": name, "served": True, "storage": name == storage, "schema": {"openAPIV3Schema": schema}}
                for name in versions or ("v1",)
            ],
        },
    }


def thing(name: str, group: str, version: str = "v1", **metadata: Any) -> Json:
    return {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": {"name": name, **metadata}, "spec": {"size": 1}}


async def until_gone(api: Api, path: str) -> None:
    async with asyncio.timeout(10):
        while (await api.request("GET", path)).code != 404:  # noqa: ASYNC110 (nobody here can set an event)
            await asyncio.sleep(0.01)


async def test_a_kind_is_served_and_discovered_as_soon_as_its_definition_is_acknowledged(api: Api, namespace: str) -> None:
    created = await api.create(DEFINITIONS, definition("served.io"))
    conditions = {c["type"]: c["status"] for c in created["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert created["status"]["storedVersions"] == ["v1"]
    await api.create(f"/apis/served.io/v1/namespaces/{namespace}/things", thing("a", "served.io"))
    groups = await api.get("/apis")
    assert "served.io" in [group["name"] for group in groups["groups"]]
    document = await api.get("/openapi/v3/apis/served.io/v1")
    assert document["components"]["schemas"]["io.served.v1.Thing"]["x-kubernetes-group-version-kind"] == [
        {"group": "served.io", "version": "v1", "kind": "Thing"}
    ]


async def test_a_patch_cannot_give_another_uid(api: Api, namespace: str) -> None:
    await api.create(DEFINITIONS, definition("identity.io"))
    path = f"/apis/identity.io/v1/namespaces/{namespace}/things"
    await api.create(path, thing("a", "identity.io"))
    refused = await api.merge(f"{path}/a", {"metadata": {"uid": "other"}, "spec": {"size": 2}})
    assert refused.code == 422
    assert refused.body["message"] == (
        'Thing.identity.io "a" is invalid: metadata.uid: Invalid value: "other": field is immutable'
    )
    assert (await api.get(f"{path}/a"))["spec"]["size"] == 1


async def test_a_changed_schema_rules_the_next_write(api: Api, namespace: str) -> None:
    await api.create(DEFINITIONS, definition("changed.io"))
    path = f"/apis/changed.io/v1/namespaces/{namespace}/things"
    await api.create(path, thing("a", "changed.io"))
    refused = await api.merge(f"{path}/a", {"spec": {"size": 5}})
    assert refused.code == 422
    stored = await api.get(f"{DEFINITIONS}/things.changed.io")
    spec = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["size"]["maximum"] = 10
    answer = await api.request("PUT", f"{DEFINITIONS}/things.changed.io", stored)
    assert answer.code == 200, answer.body
    assert (await api.merge(f"{path}/a", {"spec": {"size": 5}})).code == 200


async def test_versions_are_faces_of_one_object(api: Api, namespace: str) -> None:
    await api.create(DEFINITIONS, definition("faces.io", "v1alpha1", "v1"))
    await api.create(f"/apis/faces.io/v1alpha1/namespaces/{namespace}/things", thing("a", "faces.io", "v1alpha1"))
    v1 = await api.get(f"/apis/faces.io/v1/namespaces/{namespace}/things/a")
    alpha = await api.get(f"/apis/faces.io/v1alpha1/namespaces/{namespace}/things/a")
    assert (v1["apiVersion"], alpha["apiVersion"]) == ("faces.io/v1", "faces.io/v1alpha1")
    assert v1["metadata"]["uid"] == alpha["metadata"]["uid"]
    group = await api.get("/apis/faces.io")
    assert group["preferredVersion"]["version"] == "v1"


async def test_deleting_a_definition_deletes_its_objects_first(api: Api, namespace: str) -> None:
    await api.create(DEFINITIONS, definition("gone.io"))
    path = f"/apis/gone.io/v1/namespaces/{namespace}/things"
    await api.create(path, thing("free", "gone.io"))
    await api.create(path, thing("held", "gone.io", finalizers=["ex.io/hold"]))
    async with api.watch(f"{path}?watch=1&timeoutSeconds=30") as events:
        assert [(await events.next())["type"] for _ in range(2)] == ["ADDED", "ADDED"]
        answer = await api.request("DELETE", f"{DEFINITIONS}/things.gone.io")
        assert answer.code == 200
        await until_gone(api, f"{path}/free")
        marked = ""
        while marked != "held":
            marked = (await events.next())["object"]["metadata"]["name"]
        held = await api.get(f"{path}/held")
        assert "deletionTimestamp" in held["metadata"]
        terminating = await api.get(f"{DEFINITIONS}/things.gone.io")
        assert "Terminating" in [c["type"] for c in terminating["status"]["conditions"]]
        await api.merge(f"{path}/held", {"metadata": {"finalizers": None}})
    await until_gone(api, f"{DEFINITIONS}/things.gone.io")
    assert (await api.request("GET", path)).code == 404


async def test_nothing_outlives_a_definition_that_is_being_deleted(api: Api, namespace: str) -> None:
    await api.create(DEFINITIONS, definition("late.io"))
    path = f"/apis/late.io/v1/namespaces/{namespace}/things"
    await api.create(path, thing("held", "late.io", finalizers=["ex.io/hold"]))
    await api.request("DELETE", f"{DEFINITIONS}/things.late.io")
    refused = await api.request("POST", path, thing("new", "late.io"))
    assert (refused.code, refused.body["reason"]) == (405, "MethodNotAllowed")
    assert refused.body["message"] == "create not allowed while custom resource definition is terminating"
    applied = await api.request(
        "PATCH", f"{path}/applied?fieldManager=t", thing("applied", "late.io"), "application/apply-patch+yaml"
    )
    assert applied.code == 201
    await until_gone(api, f"{path}/applied")
    await api.merge(f"{path}/held", {"metadata": {"finalizers": None}})
    await until_gone(api, f"{DEFINITIONS}/things.late.io")


async def test_definitions_and_objects_survive_a_restart_and_deletions_go_on(tmp_path: Path) -> None:
    server = start_api_server(tmp_path)
    path = "/apis/kept.io/v1/namespaces/default/things"
    async with client(server) as api:
        for group in ("kept.io", "going.io"):
            await api.create(DEFINITIONS, definition(group))
            held = thing("a", group, finalizers=["ex.io/hold"])
            await api.create(f"/apis/{group}/v1/namespaces/default/things", held)
        await api.request("DELETE", f"{DEFINITIONS}/things.going.io")
    server.stop()
    server = start_api_server(tmp_path)
    try:
        async with client(server) as api:
            assert (await api.get(f"{path}/a"))["spec"] == {"size": 1}
            going = "/apis/going.io/v1/namespaces/default/things/a"
            await api.merge(going, {"metadata": {"finalizers": None}})
            await until_gone(api, f"{DEFINITIONS}/things.going.io")
    finally:
        server.stop()


@pytest.mark.parametrize("name", ["pytorchjobs.kubeflow.org", "trainjobs.trainer.kubeflow.org", "jobsets.jobset.x-k8s.io"])
async def test_the_packaged_definitions_are_there_from_the_start(api: Api, name: str) -> None:
    found = await api.get(f"{DEFINITIONS}/{name}")
    assert {c["type"] for c in found["status"]["conditions"]} == {"NamesAccepted", "Established"}
