"""What a write counts and keeps: metadata.generation, what no client may set, and nothing of a dry run."""

from __future__ import annotations

import pytest

from cluster.apiserver.http_client import Api, Json

pytestmark = pytest.mark.integration

LABELS = {"app": "a"}
DEPLOYMENT = {
    "metadata": {"name": "a", "generation": 9, "labels": LABELS},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


async def test_the_generation_counts_changes_of_anything_but_metadata_and_status(api: Api, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    created = await api.create(path, DEPLOYMENT)
    assert created["metadata"]["generation"] == 1
    changes: list[tuple[str, Json, int]] = [
        ("/a", {"metadata": {"labels": {"b": "c"}}}, 1),
        ("/a", {"spec": {"replicas": 1}}, 1),
        ("/a", {"spec": {"replicas": 2}}, 2),
        ("/a/status", {"status": {"observedGeneration": 1}}, 2),
        ("/a/status", {"spec": {"replicas": 3}}, 2),
        ("/a", {"metadata": {"generation": 1}, "spec": {"replicas": 3}}, 3),
    ]
    for place, change, generation in changes:
        assert (await api.merge(f"{path}{place}", change)).body["metadata"]["generation"] == generation, change


async def test_a_kind_without_status_counts_no_generation(api: Api, config_maps: str) -> None:
    created = await api.create(config_maps, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    changed = (await api.merge(f"{config_maps}/a", {"data": {"x": "2"}})).body
    assert [one["metadata"].get("generation") for one in (created, changed)] == [None, None]


async def test_uid_and_creation_time_stay(api: Api, config_maps: str) -> None:
    created = (await api.create(config_maps, {"metadata": {"name": "a"}}))["metadata"]
    change = {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}, "data": {"x": "1"}}
    changed = (await api.merge(f"{config_maps}/a", change)).body["metadata"]
    assert {name: changed[name] for name in ("uid", "creationTimestamp")} == {
        name: created[name] for name in ("uid", "creationTimestamp")
    }


async def test_a_dry_run_answers_as_the_write_would_and_stores_nothing(api: Api, config_maps: str) -> None:
    dry = "?dryRun=All"
    kept = await api.create(config_maps, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    created = await api.create(f"{config_maps}{dry}", {"metadata": {"name": "b"}})
    updated = await api.request("PUT", f"{config_maps}/a{dry}", {**kept, "data": {"x": "2"}})
    patched = await api.merge(f"{config_maps}/a{dry}", {"data": {"x": "3"}})
    deleted = await api.request("DELETE", f"{config_maps}/a{dry}")
    assert created["metadata"]["name"] == "b"
    assert [(one.code, one.body["data"]["x"]) for one in (updated, patched)] == [(200, "2"), (200, "3")]
    assert (deleted.code, deleted.body["status"]) == (200, "Success")
    assert [one["metadata"]["name"] for one in (await api.get(config_maps))["items"]] == ["a"]
    assert await api.get(f"{config_maps}/a") == kept
