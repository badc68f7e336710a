"""The operator's own webhook is down, slow, or has a certificate that nobody trusts.

New jobs are refused with the reason, those that are there go on, and everything is as before once it answers.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from faults import invariants
from faults.history import History
from faults.operators import Operator, running
from faults.scenarios import Stage, pytorch_job
from shunter.api.resources import PODS, VALIDATING_WEBHOOKS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.errors import ApiError, Forbidden, ServerProblem
from shunter.kube.kubeconfig import Connection
from shunter.kube.tls.certificates import KeyPair, issue, new_authority
from shunter.kube.webhooks.registration import Url, manifest
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse, WebhookServer
from shunter.operator.training.admission import configurations, path, routes
from shunter.operator.training.frameworks import framework_of

pytestmark = pytest.mark.timeout(180)

HOST = "127.0.0.1"
TIMEOUT = 1
"""Seconds that the API server waits for the webhook."""


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return new_authority("fault-tests")


@asynccontextmanager
async def serving(
    stage: Stage, authority: KeyPair, certificate: KeyPair, *, seconds: float = 0.0
) -> AsyncIterator[WebhookServer]:
    """Our validating webhook for the stage's namespace; it takes `seconds` for every answer."""
    validate = routes()[path(framework_of("PyTorchJob"))]

    async def slowly(request: AdmissionRequest) -> AdmissionResponse:
        await asyncio.sleep(seconds)
        answer = validate(request)
        return await answer if isinstance(answer, Awaitable) else answer

    server = WebhookServer(HOST, 0, certificate, dict.fromkeys(routes(), slowly))
    await server.start()
    serve = asyncio.create_task(server.run())
    (configuration,) = configurations()
    body = manifest(configuration, Url(f"https://{HOST}:{server.port}"), authority=authority.certificate)
    body["metadata"]["name"] = stage.namespace
    for entry in body["webhooks"]:
        entry["timeoutSeconds"] = TIMEOUT
        entry["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace}}
    await stage.client.create(VALIDATING_WEBHOOKS, body)
    try:
        yield server
    finally:
        await stage.client.delete(VALIDATING_WEBHOOKS, stage.namespace)
        serve.cancel()
        await asyncio.gather(serve, return_exceptions=True)
        await server.stop()


async def refused(stage: Stage, is_so: Callable[[ApiError], bool]) -> None:
    """Returns when a new job is refused like that: API servers notice a new webhook within a second or so."""
    async with asyncio.timeout(20):
        while True:
            try:
                await stage.client.create(PYTORCH_JOBS, pytorch_job("new"), stage.namespace, dry_run=True)
            except ApiError as error:
                if is_so(error):
                    return
            await asyncio.sleep(0.1)


def failed_to_call(said: str) -> Callable[[ApiError], bool]:
    return lambda error: isinstance(error, ServerProblem) and "failed calling webhook" in error.message and said in error.message


async def goes_on(history: History, stage: Stage) -> None:
    """The job that was there before comes to its end."""
    await stage.pods("j-*", "Running")
    await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "j"))
    await stage.pods("j-master-0", "Succeeded")
    await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, "j"))


@pytest.fixture
async def running_job(server: Connection, history: History, stage: Stage) -> AsyncIterator[None]:
    async with running(Operator(server, namespaces=[stage.namespace])):
        await stage.create(PYTORCH_JOBS, pytorch_job())
        await history.until(lambda: stage.count(PODS) == 3)
        yield
    invariants.check(history, stage.namespace)


@pytest.mark.usefixtures("running_job")
async def test_a_webhook_that_is_down_refuses_new_jobs_and_harms_no_other(
    history: History, stage: Stage, authority: KeyPair
) -> None:
    async with serving(stage, authority, issue(authority, HOST, [HOST])) as webhook:
        await webhook.stop()
        await refused(stage, failed_to_call(""))
        await goes_on(history, stage)
    await accepted(stage)


@pytest.mark.usefixtures("running_job")
async def test_a_webhook_that_is_too_slow_refuses_new_jobs_and_harms_no_other(
    history: History, stage: Stage, authority: KeyPair
) -> None:
    async with serving(stage, authority, issue(authority, HOST, [HOST]), seconds=10 * TIMEOUT):
        await refused(stage, failed_to_call(""))
        await goes_on(history, stage)
    await accepted(stage)


def untrusted(_: KeyPair) -> KeyPair:
    return issue(new_authority("another"), HOST, [HOST])


def expired(authority: KeyPair) -> KeyPair:
    return issue(authority, HOST, [HOST], days=1, now=datetime.now(UTC) - timedelta(days=3))


def of_another_host(authority: KeyPair) -> KeyPair:
    return issue(authority, "elsewhere", ["elsewhere.example.com"])


@pytest.mark.parametrize("certificate", [untrusted, expired, of_another_host])
@pytest.mark.usefixtures("running_job")
async def test_a_webhook_whose_certificate_is(
    certificate: Callable[[KeyPair], KeyPair], history: History, stage: Stage, authority: KeyPair
) -> None:
    """It refuses new jobs, harms no other, and is called again as soon as it serves a good certificate."""
    async with serving(stage, authority, certificate(authority)) as webhook:
        await refused(stage, failed_to_call("certificate"))
        await goes_on(history, stage)
        webhook.use(issue(authority, HOST, [HOST]))
        await accepted(stage)
        with pytest.raises(Forbidden, match="denied the request"):
            await stage.create(PYTORCH_JOBS, {**pytorch_job("bad"), "spec": {"pytorchReplicaSpecs": {}}})


@pytest.mark.usefixtures("running_job")
async def test_a_bundle_that_is_replaced_is_trusted_at_once(history: History, stage: Stage, authority: KeyPair) -> None:
    other = new_authority("another")
    async with serving(stage, authority, issue(other, HOST, [HOST])):
        await refused(stage, failed_to_call("certificate"))
        bundle = base64.b64encode(other.certificate).decode()
        registered = await stage.client.get(VALIDATING_WEBHOOKS, stage.namespace)
        patch = [{"name": entry["name"], "clientConfig": {"caBundle": bundle}} for entry in registered["webhooks"]]
        await stage.client.patch(VALIDATING_WEBHOOKS, stage.namespace, "", {"webhooks": patch}, type="strategic")
        await accepted(stage)
        await goes_on(history, stage)


async def accepted(stage: Stage) -> None:
    """Returns when a new job is taken again."""
    async with asyncio.timeout(20):
        while True:
            try:
                await stage.client.create(PYTORCH_JOBS, pytorch_job("new"), stage.namespace, dry_run=True)
            except ServerProblem:
                await asyncio.sleep(0.1)
            else:
                return
