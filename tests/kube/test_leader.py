"""Leader election: never two leaders, whatever the clocks and the network do."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube.peer import Peer
from shunter.kube.client import Client
from shunter.kube.faults import FaultTransport, LoseAnswer, Refuse
from shunter.kube.leader import LeaderElection, LeaderOptions

LEASE = ("/apis/coordination.k8s.io/v1/leases", "n", "test")
MOMENT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = 500.0

    def __call__(self) -> float:
        return self.now

    def date(self) -> datetime:
        return MOMENT + timedelta(seconds=self.now - 500)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def new_election(client: Client, clock: Clock, identity: str) -> LeaderElection:
    options = LeaderOptions(name="test", namespace="n", identity=identity, retry_period=0.05)
    return LeaderElection(client, options, clock=clock, now=clock.date)


def spec(peer: Peer) -> dict[str, Any]:
    return peer.objects[LEASE]["spec"]


async def test_the_first_to_come_leads(peer: Peer, client: Client, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    assert not one.is_leader
    await one.acquire()
    assert one.is_leader
    assert spec(peer) == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-21T10:00:00.000000Z",
        "renewTime": "2026-11-21T10:00:00.000000Z",
        "leaseTransitions": 0,
    }


async def test_a_lease_is_taken_over_only_when_it_did_not_change_for_its_duration(
    peer: Peer, client: Client, clock: Clock
) -> None:
    one, two = new_election(client, clock, "one"), new_election(client, clock, "two")
    await one.acquire()
    assert not await two._attempt()
    clock.now += 9
    assert await one._attempt()
    clock.now += 9
    assert not await two._attempt()
    clock.now += 14.9
    assert not await two._attempt()
    clock.now += 0.2
    assert not one.is_leader
    assert await two._attempt()
    assert spec(peer)["holderIdentity"] == "two"
    assert spec(peer)["leaseTransitions"] == 1
    assert not await one._attempt()


async def test_the_leader_stops_before_its_lease_runs_out(client: Client, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    await one.acquire()
    clock.now += 9.9
    assert one.is_leader
    clock.now += 0.2
    assert not one.is_leader
    await asyncio.wait_for(one.hold(), 1)


async def test_a_lost_answer_does_not_cost_the_lead(client: Client, faults: FaultTransport, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    await one.acquire()
    faults.inject(LoseAnswer(), method="PUT")
    clock.now += 1
    assert not await one._attempt()
    assert not await one._attempt()
    assert await one._attempt()
    assert one.is_leader


async def test_a_renewal_that_fails_leaves_the_lead_until_its_time(client: Client, faults: FaultTransport, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    await one.acquire()
    faults.inject(Refuse(500), method="PUT", times=3)
    holding = asyncio.create_task(one.hold())
    await asyncio.sleep(0.1)
    assert one.is_leader
    assert not holding.done()
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


async def test_a_leader_that_finds_another_holder_gives_up_at_once(peer: Peer, client: Client, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    await one.acquire()
    taken = {**peer.objects[LEASE], "spec": {**spec(peer), "holderIdentity": "two"}}
    await peer.put(LEASE[0], taken)
    await asyncio.wait_for(one.hold(), 1)
    assert not one.is_leader


async def test_a_released_lease_is_free_at_once(peer: Peer, client: Client, clock: Clock) -> None:
    one, two = new_election(client, clock, "one"), new_election(client, clock, "two")
    await one.acquire()
    await one.release()
    assert not one.is_leader
    assert spec(peer)["holderIdentity"] == ""
    assert await two._attempt()


async def test_a_lease_is_released_after_a_renewal_whose_answer_was_not_awaited(
    peer: Peer, client: Client, faults: FaultTransport, clock: Clock
) -> None:
    one = new_election(client, clock, "one")
    await one.acquire()
    clock.now += 1
    faults.inject(LoseAnswer(), method="PUT")
    await one._attempt()
    await one.release()
    assert spec(peer)["holderIdentity"] == ""


async def test_two_candidates_at_the_same_moment_make_one_leader(client: Client, clock: Clock) -> None:
    elections = [new_election(client, clock, str(number)) for number in range(5)]
    await asyncio.gather(*(election._attempt() for election in elections))
    assert sum(election.is_leader for election in elections) == 1


async def test_release_by_who_does_not_lead_changes_nothing(peer: Peer, client: Client, clock: Clock) -> None:
    await new_election(client, clock, "one").acquire()
    await new_election(client, clock, "two").release()
    assert spec(peer)["holderIdentity"] == "one"
