"""The API server on a disk without room: what it refuses, what goes through, and that nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from cluster.api_server import RunningApiServer, start_api_server
from cluster.apiserver.http_client import Api, client
from full_disk import SmallDisk
from shunter.api.meta import Json

pytestmark = pytest.mark.integration

MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
def api_server(small_disk: SmallDisk) -> Iterator[RunningApiServer]:
    running = start_api_server(small_disk.path / "state")
    yield running
    running.stop()


def config_map(name: str, **data: str) -> Json:
    return {"metadata": {"name": name}, "data": data}


async def names(api: Api) -> set[str]:
    return {item["metadata"]["name"] for item in (await api.get(MAPS))["items"]}


async def test_nothing_new_is_stored_while_there_is_little_room_and_all_else_goes_on(api: Api, small_disk: SmallDisk) -> None:
    await api.create(MAPS, config_map("held") | {"metadata": {"name": "held", "finalizers": ["test/hold"]}})
    small_disk.fill(leave=20 * 2**20)
    refused = await api.request("POST", MAPS, config_map("new"))
    assert (refused.code, refused.body["reason"]) == (507, "InsufficientStorage")
    assert refused.body["message"].startswith(f"the disk of {small_disk.path}/state has ")
    assert "MiB left; below 32 MiB nothing new is stored. Free space on it" in refused.body["message"]
    applied = {"kind": "ConfigMap", "apiVersion": "v1", **config_map("new")}
    by_apply = await api.request("PATCH", f"{MAPS}/new?fieldManager=x", applied, "application/apply-patch+yaml")
    assert by_apply.code == 507
    assert (await api.request("POST", f"{MAPS}?dryRun=All", config_map("new"))).code == 201
    await api.create(LEASES, {"metadata": {"name": "in-memory"}, "spec": {}})
    assert (await api.merge(f"{MAPS}/held", {"data": {"a": "b"}})).code == 200
    assert (await api.request("DELETE", f"{MAPS}/held")).code == 200
    assert (await api.merge(f"{MAPS}/held", {"metadata": {"finalizers": None}})).code == 200
    assert "held" not in await names(api)
    small_disk.make_room()
    await api.create(MAPS, config_map("new"))


async def test_objects_can_be_deleted_on_a_disk_without_a_byte(
    api: Api, api_server: RunningApiServer, small_disk: SmallDisk
) -> None:
    for number in range(100):
        await api.create(MAPS, config_map(f"m{number}", x="x" * 2000))
    small_disk.fill()
    assert small_disk.free == 0
    for number in range(90):
        assert (await api.request("DELETE", f"{MAPS}/m{number}")).code == 200
    assert (await api.merge(f"{MAPS}/m95", {"data": {"x": "changed"}})).code == 200
    os.kill(api_server.process.pid, signal.SIGKILL)
    api_server.process.wait()
    small_disk.make_room()
    again = start_api_server(small_disk.path / "state")
    try:
        async with client(again) as api:
            assert {name for name in await names(api) if name.startswith("m")} == {f"m{number}" for number in range(90, 100)}
            assert (await api.get(f"{MAPS}/m95"))["data"] == {"x": "changed"}
            await api.create(MAPS, config_map("new"))
    finally:
        again.stop()


async def test_what_a_full_disk_does_not_take_is_refused_and_the_server_goes_on_after_it(api: Api, small_disk: SmallDisk) -> None:
    await api.create(MAPS, config_map("m", x=""))
    small_disk.fill()
    acknowledged, refused = "", None
    for number in range(200):
        answer = await api.merge(f"{MAPS}/m", {"data": {"x": f"{number:03d}" + "x" * 300_000}})
        if answer.code != 200:
            refused = answer
            break
        acknowledged = answer.body["data"]["x"]
    assert refused is not None, "the reserve never ends"
    assert (refused.code, refused.body["reason"]) == (507, "InsufficientStorage")
    assert refused.body["message"].startswith(f"the disk of {small_disk.path}/state is full: the write is not stored.")
    assert (await api.get(f"{MAPS}/m"))["data"]["x"] == acknowledged
    small_disk.make_room()
    assert (await api.merge(f"{MAPS}/m", {"data": {"x": "after"}})).code == 200
    await api.create(MAPS, config_map("new"))
