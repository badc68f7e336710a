"""A replica is ready when an admission request has come through, and says why not."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from cluster.api_server import RunningApiServer, start_api_server
from fault_transport import Disconnect, FaultTransport, RecordingTransport, Refuse
from shunter.api.meta import Json
from shunter.api.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    MUTATING_WEBHOOKS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    VALIDATING_WEBHOOKS,
)
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.errors import InputError
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.controllers.leader import LeaderOptions
from shunter.kube.controllers.manager import Manager
from shunter.kube.errors import ApiError, NotFound
from shunter.kube.kubeconfig import Connection
from shunter.kube.webhooks.canary import ANNOTATION, NAME, canary
from shunter.kube.webhooks.registration import ServiceReference, register
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse
from shunter.operator import webhooks
from shunter.operator.kinds import EVERYTHING
from shunter.operator.process import COMPONENT, routes, webhook_configurations
from shunter.operator.trainer import controllers as trainer
from shunter.operator.trainer.admission import validator_path
from shunter.operator.training.frameworks import FRAMEWORKS
from shunter.operator.webhooks import WebhookOptions, Webhooks

pytestmark = pytest.mark.integration

BY_URL = WebhookOptions("127.0.0.1", 0, is_registered_by_us=True)
NEVER = 3600.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path_factory.mktemp("webhooks") / "state")
    yield running
    running.stop()


@pytest.fixture
def connection(server: RunningApiServer) -> Connection:
    return kubeconfig.load(server.kubeconfig)


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    """Of a server where no webhooks are registered."""
    async with connect(connection) as client:
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            for configuration in (await client.list(resource)).items:
                await client.delete(resource, configuration["metadata"]["name"])
        yield client


class Replica:
    """The webhooks of one process. `faults` happen to its requests; its certificate is made as if it were `days` from now. One
    path may be `unknown` to the server that is asked, as to a replica of an earlier release."""

    def __init__(
        self, connection: Connection, options: WebhookOptions = BY_URL, *, check_seconds: float = NEVER, unknown: str = ""
    ) -> None:
        self.faults = FaultTransport(connect(connection).transport)
        self.sent = RecordingTransport(self.faults)
        self.client = Client(self.sent, field_manager=COMPONENT)
        self.manager = Manager(self.client, component=COMPONENT, owns_process=False)
        self.days = 0
        self.webhooks = Webhooks(
            self.client,
            options,
            {path: handler for path, handler in routes(self.manager).items() if path != unknown},
            webhook_configurations(),
            EVERYTHING,
            now=lambda: datetime.now(UTC) + timedelta(days=self.days),
            check_seconds=check_seconds,
        )

    @property
    def trouble(self) -> str:
        return self.webhooks.why_not_ready()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Replica]:
        task = asyncio.create_task(self.webhooks.run())
        yield self
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self.faults.close()


async def until(condition: Callable[[], object], *, seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 -- the condition is the server's
            await asyncio.sleep(0.01)


async def test_ready_once_the_api_server_has_asked_about_every_kind(connection: Connection, client: Client) -> None:
    replica = Replica(connection)
    assert replica.trouble == "the webhooks have not been called yet"
    async with replica.running():
        await until(lambda: not replica.trouble)
        asked = [request for request in replica.sent.requests if request.params.get("dryRun") == "All"]
        judged = {framework.info.resource.plural for framework in FRAMEWORKS if framework.info.is_judged_at_admission}
        assert {request.path.rpartition("/")[2] for request in asked} == {*judged, "trainjobs"}
        with pytest.raises(NotFound):
            await client.get(PYTORCH_JOBS, NAME, "default")
    assert replica.trouble == "the webhook server does not listen"


async def test_an_expired_certificate_is_said_and_replaced(connection: Connection, client: Client) -> None:
    replica = Replica(connection)
    replica.days = -100
    async with replica.running():
        await until(lambda: "certificate has expired" in replica.trouble)
        replica.days = 0
        await until(lambda: not replica.trouble)


@pytest.mark.parametrize("damage", ["wrong address", "wrong authority", "deleted"])
async def test_a_registration_that_somebody_broke_is_mended(connection: Connection, client: Client, damage: str) -> None:
    (other,) = [one for one in webhook_configurations() if one.resource == MUTATING_WEBHOOKS]
    async with Replica(connection, check_seconds=0.05).running() as replica:
        await until(lambda: not replica.trouble)
        before = await client.get(other.resource, other.name)
        if damage == "deleted":
            await client.delete(other.resource, other.name)
        else:
            broken = {"url": "https://127.0.0.1:1/default"} if damage == "wrong address" else {"caBundle": None}
            patch = {"webhooks": [{"name": other.webhooks[0].name, "clientConfig": broken}]}
            await client.patch(other.resource, other.name, "", patch, type="strategic")
        async with asyncio.timeout(20):
            while True:
                with contextlib.suppress(NotFound):
                    if (await client.get(other.resource, other.name))["webhooks"] == before["webhooks"]:
                        break
        await until(lambda: not replica.trouble)


async def test_webhooks_that_are_not_asked_are_not_ready(connection: Connection, client: Client) -> None:
    """As when a namespaceSelector leaves out the namespace that is to be served."""
    async with Replica(connection, check_seconds=0.05).running() as replica:
        await until(lambda: not replica.trouble)
        (mutating,) = [one for one in webhook_configurations() if one.resource == MUTATING_WEBHOOKS]
        selector = {"matchLabels": {"never": "there"}}
        patch = {"webhooks": [{"name": mutating.webhooks[0].name, "namespaceSelector": selector}]}
        await client.patch(mutating.resource, mutating.name, "", patch, type="strategic")
        await until(lambda: replica.trouble)
        assert replica.trouble == (
            "a new TrainJob in namespace default is not given to the mutating webhooks; are their configurations installed?"
        )


async def test_a_rollout_that_brings_a_kind_does_not_wait_for_replicas_that_do_not_know_it(
    connection: Connection, client: Client
) -> None:
    """They leave only when the new ones are ready."""
    async with Replica(connection, unknown=validator_path(TRAIN_JOBS)).running() as replica:
        await until(lambda: not replica.trouble)
        with pytest.raises(ApiError, match=r"failed calling webhook.*could not find the requested resource"):
            await client.create(TRAIN_JOBS, canary(TRAIN_JOBS, "default", {"runtimeRef": {"name": NAME}}), dry_run=True)


async def test_a_replica_claims_to_be_ready_while_none_is_and_not_for_long(
    connection: Connection, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Service leads only to who is ready: somebody must be first. One that then is not asked either is not ready."""
    monkeypatch.setattr(webhooks, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(webhooks, "CLAIM_RETRY_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "CLAIM_SECONDS", 0.3)
    service = ServiceReference("default", "shunter-webhook")
    await register(client, webhook_configurations(), service, authority=b"")
    async with Replica(connection, WebhookOptions("127.0.0.1", 0, service=service.name, secret="claimed")).running() as replica:
        await until(lambda: not replica.trouble)
        monkeypatch.setattr(webhooks, "CLAIM_SECONDS", 3600.0)
        claimed_at = replica.webhooks._claimed_at
        assert claimed_at is not None
        monkeypatch.setattr(replica.webhooks, "_claimed_at", claimed_at - 3600.0)
        await until(lambda: 'service "shunter-webhook" not found' in replica.trouble)


async def test_who_was_ready_stays_so_while_the_api_server_is_away(connection: Connection, client: Client) -> None:
    async with Replica(connection, check_seconds=0.01).running() as replica:
        await until(lambda: not replica.trouble)
        replica.faults.inject(Disconnect(), times=100)
        sent = len(replica.sent.requests)
        await until(lambda: len(replica.sent.requests) > sent + 20)
        assert replica.trouble == ""


async def test_who_was_never_ready_says_that_the_api_server_is_away(connection: Connection, client: Client) -> None:
    replica = Replica(connection)
    replica.faults.inject(Disconnect(), times=1000)
    async with replica.running():
        await until(lambda: "injected: connection refused" in replica.trouble)


async def test_a_role_that_lacks_the_canary_is_named(connection: Connection, client: Client) -> None:
    replica = Replica(connection)
    message = "trainjobs.trainer.kubeflow.org is forbidden"
    replica.faults.inject(Refuse(403, "Forbidden", message), method="POST", path="/trainjobs", times=1000)
    async with replica.running():
        await until(lambda: replica.trouble == f"a dry run of a new TrainJob in namespace default: {message}")


async def test_a_kind_that_is_not_there_is_not_asked_about(connection: Connection, client: Client) -> None:
    name = f"{PYTORCH_JOBS.plural}.{PYTORCH_JOBS.group}"
    definition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    try:
        async with Replica(connection).running() as replica:
            await until(lambda: not replica.trouble)
    finally:
        fresh = {"apiVersion": definition["apiVersion"], "kind": definition["kind"], "spec": definition["spec"]}
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, {**fresh, "metadata": {"name": name}})


async def test_nobody_gets_past_the_webhooks_by_looking_like_a_canary(connection: Connection, client: Client) -> None:
    """What is meant to be stored is judged as ever."""
    async with Replica(connection).running() as replica:
        await until(lambda: not replica.trouble)
        for dry_run, why in ((True, "webhook canary"), (False, "not found")):
            job = canary(TRAIN_JOBS, "default", {"runtimeRef": {"name": "nobody"}})
            assert job["metadata"]["annotations"][ANNOTATION]
            with pytest.raises(ApiError, match=why):
                await client.create(TRAIN_JOBS, job, dry_run=dry_run)


async def test_without_registration_listening_is_all_that_can_be_asked(connection: Connection, client: Client) -> None:
    async with Replica(connection, WebhookOptions("127.0.0.1", 0)).running() as replica:
        await until(lambda: not replica.trouble)
        assert replica.sent.requests == []


async def test_a_replica_that_does_not_lead_answers_from_warm_caches(connection: Connection, client: Client) -> None:
    runtime = {
        "apiVersion": TRAINING_RUNTIMES.api_version,
        "kind": TRAINING_RUNTIMES.kind,
        "metadata": {"name": "warm", "namespace": "default"},
        "spec": {"template": {"spec": {"replicatedJobs": [replicated_job()]}}},
    }
    await client.create(TRAINING_RUNTIMES, runtime)

    def is_synced(manager: Manager) -> bool:
        return not manager._why_not_synced()

    stop = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack:
        running, sent = [], []
        for identity in ("leader", "other"):
            recorded = RecordingTransport(connect(connection).transport)
            stack.push_async_callback(recorded.close)
            options = LeaderOptions(name="warm", namespace="default", identity=identity)
            manager = Manager(
                Client(recorded), component=COMPONENT, leader=options, health_probe_bind_address="0", owns_process=False
            )
            trainer.add_controllers(manager)
            running.append(asyncio.create_task(manager.run(stop)))
            sent.append(recorded)
            await until(partial(is_synced, manager))
        validate = routes(manager)[validator_path(TRAIN_JOBS)]
        sent[1].requests.clear()
        job = {
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"runtimeRef": {"name": "warm", "kind": TRAINING_RUNTIMES.kind}},
        }
        answer = validate(AdmissionRequest(uid="u", object=job))
        response = answer if isinstance(answer, AdmissionResponse) else await answer
        assert (response.allowed, response.message) == (True, "")
        assert not [request for request in sent[1].requests if "runtimes" in request.path]
        assert not [request for request in sent[1].writes if "leases" not in request.path], "only the leader reconciles"
        stop.set()
        await asyncio.gather(*running)


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"secret": "s"}, "--webhook-service"),
        ({"secret": "s", "service": "w", "cert_dir": "/c"}, "drop one"),
        ({"service": "w"}, "--webhook-secret"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: Json, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        WebhookOptions("", 0, **options).check()
    assert re.search(remedy, caught.value.remedy)


def replicated_job() -> Json:
    template = {"spec": {"containers": [{"name": "node", "image": "python"}]}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    return {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": template}}}
