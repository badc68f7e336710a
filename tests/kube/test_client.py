"""The client: what it sends, what it makes of answers, and what it sends again."""

from contextlib import aclosing

import pytest

from fault_transport import Disconnect, FaultTransport, LoseAnswer, RecordingTransport, Refuse
from kube.peer import Peer
from shunter.api.core import ConfigMap
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, PODS
from shunter.errors import InputError
from shunter.kube.cache.watch_events import Change
from shunter.kube.client import Client
from shunter.kube.errors import (
    Conflict,
    ConnectionProblem,
    NotFound,
    ServerProblem,
    TooManyRequests,
)

COLLECTION = "/api/v1/configmaps"


def config_map(name: str = "a", **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": data}


async def test_an_object_goes_in_as_json_and_comes_out_as_json_or_as_a_view(client: Client) -> None:
    created = await client.create(CONFIG_MAPS, config_map(x="1"))
    assert created["metadata"]["namespace"] == "n"
    read = await client.get(CONFIG_MAPS, "a", "n", view=ConfigMap)
    assert (read.data, read.metadata.uid) == ({"x": "1"}, created["metadata"]["uid"])


async def test_patch_changes_only_what_it_names(client: Client) -> None:
    await client.create(CONFIG_MAPS, config_map(x="1", y="2"))
    patched = await client.patch(CONFIG_MAPS, "a", "n", {"data": {"x": None, "z": "3"}})
    assert patched["data"] == {"y": "2", "z": "3"}


async def test_preconditions_are_conflicts(client: Client) -> None:
    await client.create(CONFIG_MAPS, config_map())
    with pytest.raises(Conflict):
        await client.patch(CONFIG_MAPS, "a", "n", {"metadata": {"resourceVersion": "1"}})
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", "n", uid="other")


async def test_writes_carry_manager_dry_run_and_validation(client: Client, recorded: RecordingTransport) -> None:
    await client.apply(CONFIG_MAPS, config_map(), dry_run=True, field_validation="Strict", field_manager="me")
    assert recorded.requests[0].params == {
        "fieldManager": "me",
        "dryRun": "All",
        "fieldValidation": "Strict",
        "force": "true",
    }


async def test_a_server_is_not_asked_for_warnings_that_nobody_reads(client: Client, recorded: RecordingTransport) -> None:
    await client.create(CONFIG_MAPS, config_map())
    assert recorded.requests[0].params["fieldValidation"] == "Ignore"


async def test_a_long_list_is_read_page_by_page(peer: Peer, client: Client, recorded: RecordingTransport) -> None:
    for number in range(1203):
        await peer.put(COLLECTION, config_map(f"c{number:04}"))
    page = await client.list(CONFIG_MAPS, view=ConfigMap)
    assert [item.metadata.name for item in page.items] == [f"c{number:04}" for number in range(1203)]
    assert len(recorded.requests) == 3


async def test_a_list_leaves_objects_that_do_not_fit_the_view_to_the_caller(peer: Peer, client: Client) -> None:
    await peer.put(COLLECTION, config_map("good"))
    await peer.put(COLLECTION, {**config_map("bad"), "data": {"x": 1}})
    pages = [page async for page in client.pages(CONFIG_MAPS, view=ConfigMap)]
    assert [item.metadata.name for item in pages[0].items] == ["good"]
    assert [(bad.key, "data" in bad.error) for bad in pages[0].malformed] == [(("n", "bad"), True)]


async def test_null_means_what_absent_means_wherever_an_object_is_read(peer: Peer, client: Client) -> None:
    await peer.put(COLLECTION, {**config_map("a"), "data": None})
    got = await client.get(CONFIG_MAPS, "a", "n", view=ConfigMap)
    page = await client.list(CONFIG_MAPS, view=ConfigMap)
    async with aclosing(client.watch(CONFIG_MAPS, view=ConfigMap, send_initial_events=True)) as watch:
        seen = await anext(watch)
    assert isinstance(seen, Change)
    assert [one.data for one in (got, *page.items, seen.object)] == [{}, {}, {}]


@pytest.mark.parametrize("name", ["", "..", "a/b", "a%2fb"])
async def test_a_name_that_would_lead_elsewhere_is_refused(client: Client, name: str) -> None:
    with pytest.raises(InputError):
        await client.get(PODS, name, "n")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_busy_server_is_asked_again_whatever_the_verb(
    client: Client, faults: FaultTransport, recorded: RecordingTransport, method: str
) -> None:
    faults.inject(Refuse(429, "TooManyRequests", retry_after=0), method=method, times=2)
    if method == "GET":
        await client.list(CONFIG_MAPS)
    else:
        await client.create(CONFIG_MAPS, config_map())
    assert [request.status for request in recorded.requests] == [429, 429, 200 if method == "GET" else 201]


@pytest.mark.parametrize("fault", [Refuse(500), Refuse(503), Disconnect()], ids=["500", "503", "no answer"])
async def test_reads_are_repeated_after_a_failure(client: Client, faults: FaultTransport, fault: Refuse | Disconnect) -> None:
    faults.inject(fault, times=3)
    assert (await client.list(CONFIG_MAPS)).items == []


@pytest.mark.parametrize("fault", [Refuse(500), Refuse(503), LoseAnswer()], ids=["500", "503", "answer lost"])
async def test_a_write_that_may_have_been_carried_out_is_not_repeated(
    client: Client, faults: FaultTransport, recorded: RecordingTransport, fault: Refuse | LoseAnswer
) -> None:
    faults.inject(fault, method="POST")
    with pytest.raises((ServerProblem, ConnectionProblem)):
        await client.create(CONFIG_MAPS, config_map())
    assert len(recorded.writes) == 1


async def test_retries_end(client: Client, faults: FaultTransport, recorded: RecordingTransport) -> None:
    faults.inject(Refuse(429), times=100)
    with pytest.raises(TooManyRequests):
        await client.list(CONFIG_MAPS)
    assert len(recorded.requests) == 4


async def test_no_server_is_said_with_address_and_remedy(client: Client, peer: Peer) -> None:
    await peer.stop()
    with pytest.raises(ConnectionProblem, match=r"no answer from http://127\.0\.0\.1:\d+: .* Is the cluster running"):
        await client.get(NAMESPACES, "default")


async def test_logs_ask_for_what_was_wanted_and_no_more(client: Client, recorded: RecordingTransport) -> None:
    with pytest.raises(NotFound, match='pods "p" not found'):
        async for _ in client.logs("p", "n", container="pytorch", follow=True, tail_lines=0):
            pass
    (request,) = recorded.requests
    assert request.path == "/api/v1/namespaces/n/pods/p/log"
    assert request.params == {"container": "pytorch", "follow": "true", "tailLines": "0"}


async def test_update_replaces_the_whole_object(client: Client) -> None:
    created = await client.create(CONFIG_MAPS, config_map(x="1"))
    updated = await client.update(CONFIG_MAPS, {**created, "data": {"y": "2"}})
    assert updated["data"] == {"y": "2"}
    with pytest.raises(Conflict):
        await client.update(CONFIG_MAPS, created)
