"""What a pod gets of its service account when it is created, as the admission plugin of kube-apiserver does it."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator

import pytest
import pytest_asyncio

from cluster.api_server import RunningApiServer, start_api_server
from cluster.apiserver.http_client import Api
from shunter.api.meta import Json
from shunter.cluster.apiserver.admission.service_account import MOUNT_PATH, mount_token

pytestmark = pytest.mark.integration

_namespaces = itertools.count()
SOURCES = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
]


@pytest.fixture(scope="module")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path_factory.mktemp("accounts"), service_accounts=True)
    yield running
    running.stop()


@pytest_asyncio.fixture
async def path(api: Api) -> str:
    """Of a namespace without accounts."""
    name = f"accounts-{next(_namespaces)}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/api/v1/namespaces/{name}"


async def with_account(api: Api, path: str, name: str = "default", **fields: object) -> None:
    await api.create(f"{path}/serviceaccounts", {"metadata": {"name": name}, **fields})


def pod(spec: Json) -> Json:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}], **spec}}


async def test_every_container_of_a_pod_finds_the_token_of_the_default_account(api: Api, path: str) -> None:
    await with_account(api, path)
    first = {"name": "first", "image": "x", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    volumes = [{"name": "data", "emptyDir": {}}]
    spec = (await api.create(f"{path}/pods", pod({"initContainers": [first], "volumes": volumes})))["spec"]
    _, access = spec["volumes"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert re.fullmatch("kube-api-access-[a-z0-9]{5}", access["name"])
    assert access == {"name": access["name"], "projected": {"sources": SOURCES, "defaultMode": 420}}
    mount = {"name": access["name"], "readOnly": True, "mountPath": MOUNT_PATH}
    assert spec["initContainers"][0]["volumeMounts"] == [{"name": "data", "mountPath": "/data"}, mount]
    assert spec["containers"][0]["volumeMounts"] == [mount]


@pytest.mark.parametrize(
    ("account", "spec", "has_token"),
    [
        pytest.param({}, {}, True, id="nobody says anything"),
        pytest.param({"automountServiceAccountToken": False}, {}, False, id="the account wants none"),
        pytest.param({"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, True, id="the pod wins"),
        pytest.param({}, {"automountServiceAccountToken": False}, False, id="the pod wants none"),
    ],
)
async def test_who_gets_a_token(api: Api, path: str, account: Json, spec: Json, has_token: bool) -> None:
    await with_account(api, path, "runner", **account)
    created = await api.create(f"{path}/pods", pod({"serviceAccountName": "runner", **spec}))
    assert ("volumes" in created["spec"]) == has_token


async def test_image_pull_secrets_come_from_the_account_unless_the_pod_has_its_own(api: Api, path: str) -> None:
    await with_account(api, path, imagePullSecrets=[{"name": "registry"}])
    first = await api.create(f"{path}/pods", pod({}))
    own = {**pod({"imagePullSecrets": [{"name": "mine"}]}), "metadata": {"name": "q"}}
    second = await api.create(f"{path}/pods", own)
    assert first["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert second["spec"]["imagePullSecrets"] == [{"name": "mine"}]


async def test_a_pod_of_an_account_that_does_not_exist_is_refused(api: Api, path: str) -> None:
    answer = await api.request("POST", f"{path}/pods", pod({"serviceAccountName": "nobody"}))
    namespace = path.rpartition("/")[2]
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.body["message"] == (
        f'pods "p" is forbidden: error looking up service account {namespace}/nobody: serviceaccount "nobody" not found'
    )
    assert answer.body["details"] == {"name": "p", "kind": "pods"}


async def test_a_pod_of_a_new_namespace_waits_for_its_default_account(api: Api, path: str) -> None:
    creating = asyncio.create_task(api.create(f"{path}/pods", pod({})))
    listed = await api.get(f"{path}/pods")
    await with_account(api, path)
    assert (await creating)["spec"]["serviceAccountName"] == "default"
    assert listed["items"] == []


async def test_an_update_brings_no_token(api: Api, path: str) -> None:
    await with_account(api, path, "runner", automountServiceAccountToken=False)
    await api.create(f"{path}/pods", pod({"serviceAccountName": "runner"}))
    await api.merge(f"{path}/serviceaccounts/runner", {"automountServiceAccountToken": True})
    answer = await api.merge(f"{path}/pods/p", {"metadata": {"labels": {"a": "b"}}})
    assert answer.code == 200
    assert "volumes" not in answer.body["spec"]


OWN = {"name": "mine", "mountPath": MOUNT_PATH}
READY = {"name": "kube-api-access-x7f2q", "projected": {"sources": SOURCES}}


@pytest.mark.parametrize(
    ("spec", "mounts", "volumes"),
    [
        pytest.param(
            {"containers": [{"name": "c", "volumeMounts": [OWN]}], "volumes": [{"name": "mine"}]},
            [["mine"]],
            ["mine"],
            id="its place is taken",
        ),
        pytest.param(
            {"containers": [{"name": "c", "volumeMounts": [OWN]}, {"name": "d"}], "volumes": [{"name": "mine"}, READY]},
            [["mine"], ["kube-api-access-x7f2q"]],
            ["mine", "kube-api-access-x7f2q"],
            id="the volume of another pod's spec is used again",
        ),
    ],
)
def test_what_is_there_already_stays(spec: Json, mounts: list[list[str]], volumes: list[str]) -> None:
    mount_token(spec)
    assert [[mount["name"] for mount in one["volumeMounts"]] for one in spec["containers"]] == mounts
    assert [volume["name"] for volume in spec["volumes"]] == volumes
