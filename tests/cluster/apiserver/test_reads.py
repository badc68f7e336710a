"""Lists page by page, at a moment of the past, and over namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.api_server import start_api_server
from cluster.apiserver.http_client import Api, client

pytestmark = pytest.mark.integration


def names(listed: dict) -> list[str]:  # type: ignore[type-arg]
    return [item["metadata"]["name"] for item in listed["items"]]


async def test_pages_show_one_moment_whatever_happens_between_them(api: Api, config_maps: str) -> None:
    for name in "abcde":
        await api.create(config_maps, {"metadata": {"name": name}})
    first = await api.get(f"{config_maps}?limit=2")
    await api.request("DELETE", f"{config_maps}/c")
    await api.create(config_maps, {"metadata": {"name": "bb"}})
    await api.merge(f"{config_maps}/d", {"data": {"x": "later"}})
    second = await api.get(f"{config_maps}?limit=2&continue={first['metadata']['continue']}")
    third = await api.get(f"{config_maps}?limit=2&continue={second['metadata']['continue']}")
    assert [names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert "continue" not in third["metadata"]
    revisions = {page["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(revisions) == 1
    assert "data" not in second["items"][1], "the change came after the first page"


async def test_selected_pages_do_not_guess_what_remains(api: Api, config_maps: str) -> None:
    for name in "abc":
        await api.create(config_maps, {"metadata": {"name": name, "labels": {"x": "y"}}})
    page = await api.get(f"{config_maps}?limit=2&labelSelector=x=y")
    assert "remainingItemCount" not in page["metadata"]
    rest = await api.get(f"{config_maps}?limit=2&labelSelector=x=y&continue={page['metadata']['continue']}")
    assert names(rest) == ["c"]


async def test_an_exact_list_is_that_of_its_revision(api: Api, config_maps: str) -> None:
    created = await api.create(config_maps, {"metadata": {"name": "a"}, "data": {"v": "1"}})
    await api.merge(f"{config_maps}/a", {"data": {"v": "2"}})
    revision = created["metadata"]["resourceVersion"]
    listed = await api.get(f"{config_maps}?resourceVersion={revision}&resourceVersionMatch=Exact")
    assert listed["items"][0]["data"] == {"v": "1"}
    assert listed["metadata"]["resourceVersion"] == revision


async def test_pages_end_with_410_when_their_moment_is_forgotten(tmp_path: Path) -> None:
    server = start_api_server(tmp_path)
    async with client(server) as api:
        for name in "ab":
            await api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}})
        page = await api.get("/api/v1/namespaces/default/configmaps?limit=1")
    server.stop()
    server = start_api_server(tmp_path)
    try:
        async with client(server) as api:
            token = page["metadata"]["continue"]
            answer = await api.request("GET", f"/api/v1/namespaces/default/configmaps?limit=1&continue={token}")
    finally:
        server.stop()
    assert (answer.code, answer.body["reason"]) == (410, "Expired")
    assert answer.body["message"].startswith("The provided continue parameter is too old")


async def test_a_future_revision_is_too_large(api: Api, config_maps: str) -> None:
    answer = await api.request("GET", f"{config_maps}?resourceVersion=99999999")
    assert (answer.code, answer.body["reason"], answer.headers["Retry-After"]) == (504, "Timeout", "1")
    assert answer.body["message"].startswith("Timeout: Too large resource version: 99999999, current: ")


async def test_lists_over_all_namespaces_are_sorted(api: Api, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    for name in ("b", "a"):
        await api.create(path, {"metadata": {"name": name}})
    listed = await api.get("/api/v1/secrets")
    keys = [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in listed["items"]]
    assert keys == sorted(keys)


async def test_pages_over_namespaces_whose_names_begin_alike_show_every_object_once(api: Api, namespace: str) -> None:
    namespaces = [namespace, f"{namespace}-b"]
    await api.create("/api/v1/namespaces", {"metadata": {"name": namespaces[1]}})
    for one in namespaces:
        for name in ("a", "b"):
            labels = {"pages": namespace}
            await api.create(f"/api/v1/namespaces/{one}/secrets", {"metadata": {"name": name, "labels": labels}})
    shown: list[tuple[str, str]] = []
    token = ""
    while token or not shown:
        page = await api.get(f"/api/v1/secrets?labelSelector=pages={namespace}&limit=1&continue={token}")
        shown += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
        token = page["metadata"].get("continue", "")
    assert sorted(shown) == [(one, name) for one in namespaces for name in ("a", "b")]
