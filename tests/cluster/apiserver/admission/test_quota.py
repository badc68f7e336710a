"""ResourceQuotas: what is refused, and that requests that come together do not slip through."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.apiserver.http_client import Answer, Api


def pod(name: str, *, resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources or {}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def quota(api: Api, namespace: str, hard: dict[str, str], **spec: Any) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    await api.create(f"/api/v1/namespaces/{namespace}/resourcequotas", body)


async def post(api: Api, namespace: str, body: dict[str, Any], plural: str = "pods") -> Answer:
    return await api.request("POST", f"/api/v1/namespaces/{namespace}/{plural}", body)


async def test_of_pods_that_come_together_only_as_many_are_let_in_as_there_is_room_for(api: Api, namespace: str) -> None:
    await quota(api, namespace, {"pods": "3"})
    answers = await asyncio.gather(*(post(api, namespace, pod(f"p{number}")) for number in range(20)))
    assert sorted(answer.code for answer in answers) == [201] * 3 + [403] * 17
    refused = next(answer.body for answer in answers if answer.code == 403)
    assert refused["reason"] == "Forbidden"
    assert refused["message"].endswith("is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3")


async def test_a_pod_that_is_gone_or_has_ended_makes_room(api: Api, namespace: str) -> None:
    await quota(api, namespace, {"pods": "1"})
    assert (await post(api, namespace, pod("a"))).code == 201
    await api.merge(f"/api/v1/namespaces/{namespace}/pods/a/status", {"status": {"phase": "Succeeded"}})
    assert (await post(api, namespace, pod("b"))).code == 201
    assert (await post(api, namespace, pod("c"))).code == 403
    assert (await api.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/b?gracePeriodSeconds=0")).code == 200
    assert (await post(api, namespace, pod("c"))).code == 201


async def test_what_a_quota_counts_has_to_be_said(api: Api, namespace: str) -> None:
    await quota(api, namespace, {"requests.cpu": "1", "limits.memory": "1Gi"})
    refused = await post(api, namespace, pod("a", resources={"limits": {"cpu": "1"}}))
    assert refused.body["message"] == 'pods "a" is forbidden: failed quota: q: must specify limits.memory for: c'
    over = await post(api, namespace, pod("a", resources={"requests": {"cpu": "1500m"}, "limits": {"memory": "512Mi"}}))
    assert over.body["message"] == (
        'pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=0, limited: requests.cpu=1'
    )


@pytest.mark.parametrize(
    ("scopes", "spec", "code"),
    [
        (["BestEffort"], {}, 403),
        (["NotBestEffort"], {}, 201),
        (["Terminating"], {"activeDeadlineSeconds": 5}, 403),
        (["NotTerminating"], {"activeDeadlineSeconds": 5}, 201),
    ],
)
async def test_scopes(api: Api, namespace: str, scopes: list[str], spec: dict[str, Any], code: int) -> None:
    await quota(api, namespace, {"pods": "0"}, scopes=scopes)
    assert (await post(api, namespace, pod("a", **spec))).code == code


async def test_any_kind_is_counted_and_claims_by_their_size_when_they_grow(api: Api, namespace: str) -> None:
    await quota(api, namespace, {"count/configmaps": "1", "requests.storage": "2Gi"})
    assert (await post(api, namespace, {"metadata": {"name": "a"}}, "configmaps")).code == 201
    refused = await post(api, namespace, {"metadata": {"name": "b"}}, "configmaps")
    assert "requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1" in refused.body["message"]
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
    }
    assert (await post(api, namespace, claim, "persistentvolumeclaims")).code == 201
    refused = await post(api, namespace, {**claim, "metadata": {"name": "d"}}, "persistentvolumeclaims")
    assert "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=2Gi" in refused.body["message"]
    again = await api.merge(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/c", {"metadata": {"labels": {"a": "b"}}})
    assert again.code == 200, "an object that asks for no more is let through"


async def test_a_claim_does_not_grow_beyond_a_quota(api: Api, namespace: str) -> None:
    storage_class = {"metadata": {"name": namespace}, "provisioner": "p.example.com", "allowVolumeExpansion": True}
    await api.create("/apis/storage.k8s.io/v1/storageclasses", storage_class)
    await quota(api, namespace, {"requests.storage": "3Gi"})
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": namespace, "resources": {"requests": {"storage": "2Gi"}}}
    await post(api, namespace, {"metadata": {"name": "c"}, "spec": spec}, "persistentvolumeclaims")
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/c"
    await api.merge(f"{path}/status", {"status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}})
    refused = await api.merge(path, {"spec": {"resources": {"requests": {"storage": "4Gi"}}}})
    assert "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi" in refused.body["message"]
    assert (await api.merge(path, {"spec": {"resources": {"requests": {"storage": "3Gi"}}}})).code == 200


async def test_what_is_there_already_counts_when_it_is_created_again(api: Api, namespace: str) -> None:
    await quota(api, namespace, {"count/configmaps": "1"})
    assert (await post(api, namespace, {"metadata": {"name": "a"}}, "configmaps")).code == 201
    assert (await post(api, namespace, {"metadata": {"name": "a"}}, "configmaps")).code == 403


async def test_a_dry_run_is_refused_too_and_takes_nothing(api: Api, namespace: str) -> None:
    await quota(api, namespace, {"pods": "1"})
    for _ in range(2):
        answer = await api.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod("a"))
        assert answer.code == 201
    assert (await post(api, namespace, pod("a"))).code == 201
    answer = await api.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod("b"))
    assert answer.code == 403
