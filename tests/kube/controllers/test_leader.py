"""Leader election: never two leaders, whatever the clocks and the network do."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypedDict

import pytest

from fault_transport import Delay, FaultTransport, LoseAnswer, Refuse
from kube.peer import Peer
from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.controllers.leader import LeaderElection, LeaderOptions

LEASE = ("/apis/coordination.k8s.io/v1/leases", "n", "test")
MOMENT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


class Times(TypedDict, total=False):
    """Of LeaderOptions, in seconds."""

    retry_period: float
    renew_deadline: float
    lease_duration: float


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


def spec(peer: Peer) -> Json:
    found: Json = peer.objects[LEASE]["spec"]
    return found


def leads(election: LeaderElection) -> bool:
    return election.is_leader


async def test_the_first_to_come_leads(peer: Peer, client: Client, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    assert not leads(one)
    await one.acquire()
    assert leads(one)
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


async def test_a_candidate_asks_again_when_the_lease_runs_out_and_not_later(client: Client, clock: Clock) -> None:
    options = LeaderOptions(name="test", namespace="n", identity="two", retry_period=9)
    one, two = new_election(client, clock, "one"), LeaderElection(client, options, clock=clock, now=clock.date)
    await one.acquire()
    assert not await two._attempt()
    assert 9 <= two._pause() <= 15
    clock.now += 14.5
    assert two._pause() == pytest.approx(0.5)
    clock.now += 0.5
    assert await two._attempt()


async def test_the_leader_stops_before_its_lease_runs_out(client: Client, clock: Clock) -> None:
    one = new_election(client, clock, "one")
    await one.acquire()
    clock.now += 9.9
    assert leads(one)
    clock.now += 0.2
    assert not leads(one)
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


async def test_a_renewal_that_is_never_answered_does_not_cost_the_lead(
    peer: Peer, client: Client, faults: FaultTransport, eventually: Callable[[Callable[[], object]], Awaitable[object]]
) -> None:
    """As when one of several API servers loses its power: the next attempt reaches another."""
    times: Times = {"retry_period": 0.05, "renew_deadline": 1.0, "lease_duration": 2.0}
    one = LeaderElection(client, LeaderOptions(name="test", namespace="n", identity="one", **times))
    await one.acquire()
    before = spec(peer)["renewTime"]
    faults.inject(Delay(60), method="PUT", path="/leases")
    holding = asyncio.create_task(one.hold())
    await eventually(lambda: holding.done() or spec(peer)["renewTime"] != before)
    assert one.is_leader
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


async def test_a_candidate_asks_again_where_it_gets_no_answer(client: Client, faults: FaultTransport) -> None:
    faults.inject(Delay(60), method="GET", path="/leases")
    times: Times = {"retry_period": 0.05, "renew_deadline": 0.2, "lease_duration": 1.0}
    await asyncio.wait_for(LeaderElection(client, LeaderOptions(name="test", namespace="n", **times)).acquire(), 5)


@pytest.mark.parametrize(
    "times",
    [
        {"renew_deadline": 15.0, "lease_duration": 10.0},
        {"renew_deadline": 15.0},
        {"retry_period": 10.0},
        {"retry_period": 0.0},
    ],
    ids=["a deadline after the end", "a deadline at the end", "one attempt", "no pause"],
)
def test_times_with_which_two_could_lead_or_none_are_refused(times: Times) -> None:
    with pytest.raises(InputError, match=r"leaderElection: retryPeriod .*s, renewDeadline .*s, leaseDuration .*s: each must be"):
        LeaderOptions(name="test", namespace="n", **times)


async def test_a_part_of_a_second_counts_as_a_whole_one_to_others(peer: Peer, client: Client) -> None:
    """Rounded down, a lease would end before its holder's deadline."""
    times: Times = {"renew_deadline": 10.2, "lease_duration": 10.4}
    await LeaderElection(client, LeaderOptions(name="test", namespace="n", **times)).acquire()
    assert spec(peer)["leaseDurationSeconds"] == 11


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
