"""A patch of status passes over what it leaves as it is, and must come to the same as a patch that replaces everything."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.apiserver.http_client import Answer, Api
from shunter.kube.merge_patch import merge_patch

Json = dict[str, Any]

_TEMPLATE = {"spec": {"containers": [{"name": "pytorch", "image": "i", "resources": {"limits": {"cpu": "1000m"}}}]}}
OBJECTS: dict[str, Json] = {
    "/api/v1/namespaces/{}/pods": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]},
    },
    "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs": {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"labels": {"app": "a"}},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": _TEMPLATE}}},
    },
}
_CONDITION = {"type": "Created", "status": "True", "lastTransitionTime": "2026-11-21T10:00:00Z"}


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"status": {"conditions": [_CONDITION]}}, id="a condition"),
        pytest.param({"status": {"startTime": "2026-11-21T10:00:00.5+01:00"}}, id="a time that is written in another form"),
        pytest.param({"status": {"startTime": "soon"}}, id="a time that is none"),
        pytest.param({"status": {"conditions": [{"type": 1}]}}, id="a value of the wrong type"),
        pytest.param({"status": {"unheardOf": {"a": 1}, "conditions": [_CONDITION]}}, id="an unknown field"),
        pytest.param({"status": {"conditions": None, "phase": None}}, id="a status without what is required"),
        pytest.param({"status": {"conditions": [_CONDITION]}, "spec": {"activeDeadlineSeconds": 5}}, id="a spec, left alone"),
        pytest.param({"status": {"conditions": [_CONDITION]}, "metadata": {"labels": {"app": None, "b": "1"}}}, id="labels"),
        pytest.param({"metadata": {"finalizers": ["a/b"], "ownerReferences": []}}, id="metadata only"),
        pytest.param({"metadata": {"labels": {"a b": "1"}}}, id="labels that are none"),
        pytest.param({}, id="nothing"),
    ],
)
@pytest.mark.parametrize(
    ("path", "media"),
    [
        pytest.param(path, f"application/{kind}-patch+json", id=f"{kind} patch of {path.rpartition('/')[2]}")
        for path in OBJECTS
        for kind in ("merge", "strategic-merge")
        if kind == "merge" or path.startswith("/api/")
    ],
)
async def test_status_patch_comes_to_the_same_as_replacing_everything(
    api: Api, namespace: str, path: str, media: str, patch: Json
) -> None:
    path, template = path.format(namespace), OBJECTS[path]
    for name in ("patched", "replaced"):
        await api.create(path, {**template, "metadata": {**template["metadata"], "name": name}})
    current = await api.get(f"{path}/replaced")
    operations = [{"op": "add", "path": f"/{name}", "value": value} for name, value in merge_patch(current, patch).items()]
    replaced = await api.request("PATCH", f"{path}/replaced/status", operations, "application/json-patch+json")
    patched = await api.request("PATCH", f"{path}/patched/status", patch, media)
    assert patched.code == replaced.code
    if replaced.code == 200:
        assert comparable(patched) == comparable(replaced)
    assert comparable_object(await api.get(f"{path}/patched")) == comparable_object(await api.get(f"{path}/replaced"))


async def test_refused_status_patch_leaves_no_trace_in_the_next(api: Api, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    template = OBJECTS["/api/v1/namespaces/{}/pods"]
    before = await api.create(path, {**template, "metadata": {"name": "p", "labels": {"app": "a"}}})
    refused = await api.merge(
        f"{path}/p/status", {"metadata": {"labels": {"app": "b", "a b": ""}}, "status": {"phase": "Failed"}}
    )
    assert refused.code == 422
    assert await api.get(f"{path}/p") == before
    accepted = await api.merge(f"{path}/p/status", {"status": {"message": "m"}})
    assert accepted.body["metadata"]["labels"] == {"app": "a"}
    assert accepted.body["status"] == {**before["status"], "message": "m"}


def comparable(answer: Answer) -> Json:
    return {**comparable_object(answer.body), "warnings": answer.warnings}


def comparable_object(body: Json) -> Json:
    """Without what tells two objects apart, or one moment from the next."""
    metadata = {name: value for name, value in body["metadata"].items() if name not in _OWN}
    metadata["managedFields"] = [{**entry, "time": ""} for entry in metadata.get("managedFields", ())]
    return {**body, "metadata": metadata}


_OWN = ("name", "uid", "resourceVersion", "creationTimestamp")
