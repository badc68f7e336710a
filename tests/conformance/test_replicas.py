"""Two replicas behind a Service: both answer webhooks, one leads, and nobody is refused while they are replaced or repaired."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conformance.installed import NAMESPACE, SERVICE, Endpoints, Replica, admin, install, is_admitting
from control_plane import ControlPlane
from shunter.api.resources import LEASES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from shunter.kube.client import Client
from shunter.kube.tls.certificates import KeyPair, expires_at, issue, new_authority
from shunter.kube.webhooks.registration import ServiceReference, trust

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

Start = Callable[..., Replica]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    async def prepare(plane: ControlPlane) -> None:
        async with admin(plane) as client:
            await install(client)

    with ControlPlane(tmp_path_factory.mktemp("replicas") / "plane", parts=("jobset",)) as plane:
        asyncio.run(prepare(plane))
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with admin(plane) as client:
        await trust_nobody(client)
        yield client


@pytest.fixture
async def endpoints(client: Client) -> AsyncIterator[Endpoints]:
    async with Endpoints(client) as endpoints:
        yield endpoints


@pytest.fixture
def start(plane: ControlPlane, tmp_path: Path) -> Iterator[Start]:
    """Starts replicas, and stops them in the end."""
    with contextlib.ExitStack() as stack:

        def start(name: str, *, cert_dir: Path | None = None) -> Replica:
            replica = Replica(plane, tmp_path, name, cert_dir=cert_dir)
            stack.callback(replica.stop, kill=True)
            replica.start()
            return replica

        yield start


async def test_both_are_ready_share_a_certificate_and_one_leads(client: Client, endpoints: Endpoints, start: Start) -> None:
    both = [start(name) for name in ("a", "b")]
    for replica in both:
        endpoints.add(replica)
    for replica in both:
        await asyncio.to_thread(replica.wait_ready)
    await until_admitting(client)
    expiries = {replica.metric("shunter_webhook_certificate_expiry_timestamp_seconds") for replica in both}
    assert len(expiries) == 1
    assert min(expiries) > datetime.now(UTC).timestamp() + 80 * 24 * 3600
    leaders = [replica.metric("leader_election_master_status") for replica in both]
    assert sorted(leaders) == [0, 1]
    assert all(replica.metric("rest_client_requests_total") > 10 for replica in both)
    await asyncio.to_thread(both[leaders.index(1)].stop)
    other = both[leaders.index(0)]
    async with asyncio.timeout(30):
        while other.metric("leader_election_master_status") != 1:  # noqa: ASYNC110 -- the condition is the process's
            await asyncio.sleep(0.1)
    assert (await client.get(LEASES, "shunter-operator", NAMESPACE))["spec"]["leaseTransitions"] >= 1


async def test_a_rolling_restart_refuses_nobody(client: Client, endpoints: Endpoints, start: Start) -> None:
    """As a Deployment does it: one ends when its successor is ready; it gets SIGTERM and leaves the Service at once."""
    running = [start(name) for name in ("a", "b")]
    for replica in running:
        endpoints.add(replica)
        await asyncio.to_thread(replica.wait_ready)
    await until_admitting(client)
    async with asked(client) as refusals:
        for name in ("c", "d"):
            fresh = start(name)
            endpoints.add(fresh)
            await asyncio.to_thread(fresh.wait_ready)
            old = running.pop(0)
            stopping = asyncio.create_task(asyncio.to_thread(old.stop))
            await endpoints.remove(old)
            await stopping
            running.append(fresh)
    assert refusals == []


async def test_trust_that_was_taken_away_comes_back(client: Client, endpoints: Endpoints, start: Start) -> None:
    replica = start("a")
    endpoints.add(replica)
    await asyncio.to_thread(replica.wait_ready)
    await until_admitting(client)
    await trust_nobody(client)
    async with asyncio.timeout(20):
        while await is_admitting(client):  # noqa: ASYNC110 -- the condition is the server's
            await asyncio.sleep(0.05)
    await until_admitting(client)
    assert "trusts our certificate now" in replica.log.read_text()


async def test_a_certificate_that_others_renew_is_served_without_a_restart(
    client: Client, endpoints: Endpoints, start: Start, tmp_path: Path
) -> None:
    """As cert-manager does: new files are mounted, and its injector has made the new authority known before."""
    authorities = [new_authority(name) for name in ("one", "two")]
    mounted = tmp_path / "certificate"
    mounted.mkdir()
    mount(mounted, authorities[0])
    await trust_in(client, authorities[0].certificate)
    replica = start("a", cert_dir=mounted)
    endpoints.add(replica)
    await asyncio.to_thread(replica.wait_ready)
    await until_admitting(client)
    async with asked(client) as refusals:
        await trust_in(client, authorities[0].certificate + authorities[1].certificate)
        # API servers read their configurations within a second.
        await asyncio.sleep(2)
        pair = mount(mounted, authorities[1])
        wanted = expires_at(pair.certificate).timestamp()
        async with asyncio.timeout(30):
            while replica.metric("shunter_webhook_certificate_expiry_timestamp_seconds") != wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await trust_in(client, authorities[1].certificate)
        await asyncio.sleep(1)
    assert refusals == []


async def test_an_expired_certificate_is_said(client: Client, endpoints: Endpoints, start: Start, tmp_path: Path) -> None:
    authority = new_authority("one")
    mount(tmp_path, authority, expired=True)
    await trust_in(client, authority.certificate)
    replica = start("a", cert_dir=tmp_path)
    async with asyncio.timeout(30):
        while "certificate has expired" not in replica.readiness()[1]:  # noqa: ASYNC110 -- the condition is the process's
            await asyncio.sleep(0.1)
    mount(tmp_path, authority)
    endpoints.add(replica)
    await asyncio.to_thread(replica.wait_ready)
    await until_admitting(client)


@contextlib.asynccontextmanager
async def asked(client: Client) -> AsyncIterator[list[str]]:
    """Keeps creating jobs, in dry runs; the answers that are the webhooks' fault."""
    refusals: list[str] = []
    stop = asyncio.Event()

    async def ask() -> None:
        while not stop.is_set():
            if not await is_admitting(client):
                refusals.append(f"at {datetime.now(UTC)}")
            await asyncio.sleep(0.02)

    asking = asyncio.create_task(ask())
    yield refusals
    stop.set()
    await asking


async def until_admitting(client: Client, *, seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await is_admitting(client):  # noqa: ASYNC110 -- the condition is the server's
            await asyncio.sleep(0.05)


async def trust_nobody(client: Client) -> None:
    await trust_in(client, b"")


async def trust_in(client: Client, authorities: bytes) -> None:
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for configuration in (await client.list(resource)).items:
            if "jobset" not in configuration["metadata"]["name"]:
                await trust(client, resource, configuration, authorities)


def mount(directory: Path, authority: KeyPair, *, expired: bool = False) -> KeyPair:
    made_at = datetime.now(UTC) - timedelta(days=100 if expired else 0)
    pair = issue(authority, "webhooks", ServiceReference(NAMESPACE, SERVICE).hosts, days=90, now=made_at)
    (directory / "tls.crt").write_bytes(pair.certificate)
    (directory / "tls.key").write_bytes(pair.key)
    return pair
