"""Replicas that share a certificate: at no moment does one serve what the API server does not trust, whoever is killed when."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.api_server import start_api_server
from fault_transport import FaultTransport, Killed, LoseAnswer
from shunter.api.meta import Json
from shunter.api.resources import MUTATING_WEBHOOKS, SECRETS, TRAIN_JOBS, VALIDATING_WEBHOOKS
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.errors import NotFound
from shunter.kube.kubeconfig import Connection
from shunter.kube.tls.certificate_secret import MANAGED_BY, OWNER, CertificateSecret, SecretProblem
from shunter.kube.tls.certificate_sources import SharedCertificate
from shunter.kube.tls.certificates import KeyPair, expires_at, fault_of
from shunter.kube.tls.serving_certificate import LIFETIME, RENEWAL, SETTLING
from shunter.kube.webhooks.registration import Configuration, Place, ServiceReference, Webhook, bundles, register
from shunter.operator.registrar import Registrar, TrustState

pytestmark = pytest.mark.integration

NAMESPACE, SECRET = "default", "shunter-webhook-certificate"
SERVICE = ServiceReference(NAMESPACE, "shunter-webhook")
CONFIGURATIONS = [
    Configuration("mutating", "defaulter.tests", [Webhook("defaulter.tests.shunter.dev", "/default", TRAIN_JOBS)]),
    Configuration("validating", "validator.tests", [Webhook("validator.tests.shunter.dev", "/validate", TRAIN_JOBS)]),
]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Replica:
    """One process's part, as far as certificates go; `served` is what its server shows to new connections."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self.faults = FaultTransport(connect(connection).transport)
        client = Client(self.faults, field_manager="shunter-operator", namespace=NAMESPACE)
        secret = CertificateSecret(client, NAMESPACE, SECRET, SERVICE.hosts, now=clock)
        self._registrar = Registrar(client, CONFIGURATIONS, SharedCertificate(secret), writes="trust")
        self.served: KeyPair | None = None

    async def look(self) -> TrustState:
        return await self._registrar.check(self._serve)

    async def _serve(self, certificate: KeyPair | Path) -> Place:
        assert isinstance(certificate, KeyPair)
        self.served = certificate
        return SERVICE


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    server = start_api_server(tmp_path_factory.mktemp("registrar") / "state")
    yield kubeconfig.load(server.kubeconfig)
    server.stop()


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    """With the webhooks installed that trust nobody, and no Secret."""
    async with connect(connection, component="install") as client:
        await register(client, CONFIGURATIONS, SERVICE, authority=b"")
        for configuration in CONFIGURATIONS:
            await trust_nobody(client, configuration)
        yield client
        with contextlib.suppress(NotFound):
            await client.delete(SECRETS, SECRET, NAMESPACE)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def replicas(connection: Connection, clock: Clock) -> AsyncIterator[list[Replica]]:
    both = [Replica(connection, clock) for _ in range(2)]
    yield both
    for replica in both:
        await replica.faults.close()


async def test_replicas_that_start_together_share_one_certificate(client: Client, clock: Clock, replicas: list[Replica]) -> None:
    await asyncio.gather(*(look_until_quiet(replica) for replica in replicas))
    assert replicas[0].served == replicas[1].served
    await assert_accepted(client, clock, replicas)


async def test_a_year_of_rotation_refuses_no_request(client: Client, clock: Clock, replicas: list[Replica]) -> None:
    """Each replica looks on some days only, in any order."""
    chance = random.Random(4)
    await asyncio.gather(*(look_until_quiet(replica) for replica in replicas))
    seen = set()
    for _ in range(400):
        clock.now += timedelta(days=1)
        for replica in chance.sample(replicas, 2):
            if chance.random() < 0.5:
                await replica.look()
                await assert_accepted(client, clock, replicas)
        await assert_accepted(client, clock, replicas)
        seen |= {replica.served for replica in replicas}
    assert len(seen) == 1 + timedelta(days=400) // (LIFETIME - RENEWAL)
    secret = await stored(client)
    assert len(secret["data"]) in (3, 5), "nothing of earlier certificates is left"


@pytest.mark.parametrize("writes", range(1, 8))
async def test_a_replica_may_be_killed_after_any_write(
    client: Client, connection: Connection, clock: Clock, replicas: list[Replica], writes: int
) -> None:
    """From nothing through a rotation: its successor finds what it needs, and the other replica is trusted all the time."""
    dying, other = replicas
    dying.faults.kill_after(writes)
    with pytest.raises(Killed):
        await live(dying, clock=clock)
    await look_until_quiet(other)
    await assert_accepted(client, clock, [other])
    successor = Replica(connection, clock)
    await live(successor, other, clock=clock)
    await assert_accepted(client, clock, [other, successor])
    assert successor.served == other.served
    await successor.faults.close()


async def test_an_answer_that_is_lost_changes_nothing(client: Client, clock: Clock, replicas: list[Replica]) -> None:
    replicas[0].faults.inject(LoseAnswer(), method="PATCH", times=3, every=2)
    await look_until_quiet(replicas[0])
    await look_until_quiet(replicas[1])
    assert replicas[0].served == replicas[1].served
    await assert_accepted(client, clock, replicas)


@pytest.mark.parametrize("damage", ["deleted", "emptied", "another key"])
async def test_a_secret_that_is_lost_or_damaged_is_restored_from_memory(
    client: Client, clock: Clock, replicas: list[Replica], damage: str
) -> None:
    for replica in replicas:
        await look_until_quiet(replica)
    before = (await stored(client))["data"]
    other_key = base64.b64encode(b"-----BEGIN PRIVATE KEY-----").decode()
    if damage == "deleted":
        await client.delete(SECRETS, SECRET, NAMESPACE)
    else:
        data = dict.fromkeys(before, "") if damage == "emptied" else {"tls.key": other_key}
        await client.patch(SECRETS, SECRET, NAMESPACE, {"data": data})
    await look_until_quiet(replicas[1])
    await assert_accepted(client, clock, replicas)
    assert (await stored(client))["data"] == before


async def test_after_a_long_absence_a_new_certificate_is_made(
    client: Client, connection: Connection, clock: Clock, replicas: list[Replica]
) -> None:
    await look_until_quiet(replicas[0])
    clock.now += 2 * LIFETIME
    await look_until_quiet(replicas[1])
    await assert_accepted(client, clock, replicas[1:])


async def test_trust_that_somebody_took_away_comes_back(client: Client, clock: Clock, replicas: list[Replica]) -> None:
    await look_until_quiet(replicas[0])
    for configuration in CONFIGURATIONS:
        await trust_nobody(client, configuration)
    await look_until_quiet(replicas[0])
    await assert_accepted(client, clock, replicas[:1])


@pytest.mark.parametrize(
    ("metadata", "whose"),
    [
        ({}, "not created by this operator"),
        ({"annotations": {"cert-manager.io/certificate-name": "webhook"}}, "cert-manager's"),
    ],
)
async def test_a_secret_of_somebody_else_is_left_as_it_is(
    client: Client, replicas: list[Replica], metadata: Json, whose: str
) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": NAMESPACE, **metadata}, "data": {}}
    before = await client.create(SECRETS, body)
    with pytest.raises(SecretProblem, match=whose) as caught:
        await replicas[0].look()
    assert f"{MANAGED_BY}={OWNER}" in caught.value.message
    assert "--webhook-cert-dir" in caught.value.remedy
    assert await stored(client) == before


async def test_configurations_that_are_not_there_are_named(client: Client, replicas: list[Replica]) -> None:
    await client.delete(VALIDATING_WEBHOOKS, "validator.tests")
    assert "ValidatingWebhookConfiguration validator.tests does not exist" in (await replicas[0].look()).problem


async def live(*replicas: Replica, clock: Clock) -> None:
    """Until they have rotated once."""
    for step in (timedelta(), LIFETIME - RENEWAL, SETTLING):
        clock.now += step
        for replica in replicas:
            await look_until_quiet(replica)


async def look_until_quiet(replica: Replica) -> None:
    """Looks until nothing needs to be written."""
    while True:
        written = replica.faults.writes
        try:
            await replica.look()
        except Exception as error:
            if isinstance(error, SecretProblem):
                raise
            continue
        if replica.faults.writes == written:
            return


async def assert_accepted(client: Client, clock: Clock, replicas: list[Replica]) -> None:
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for configuration in (await client.list(resource)).items:
            for bundle in bundles(configuration):
                for replica in replicas:
                    assert replica.served is not None
                    expiry = expires_at(replica.served.certificate)
                    assert fault_of(replica.served, bundle, SERVICE.hosts, clock.now) == "", f"{clock.now}, good until {expiry}"


async def stored(client: Client) -> Json:
    return await client.get(SECRETS, SECRET, NAMESPACE)


async def trust_nobody(client: Client, configuration: Configuration) -> None:
    (webhook,) = configuration.webhooks
    patch = {"webhooks": [{"name": webhook.name, "clientConfig": {"caBundle": None}}]}
    await client.patch(configuration.resource, configuration.name, "", patch, type="strategic")
