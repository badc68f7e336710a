"""The webhooks of one replica: served, registered, trusted, and seen to be asked.

One loop looks again and again: registration and certificate are brought in step (registrar.py), then a canary must come through.

A Service leads only to pods that are ready, and a pod is to be ready only when the Service has led to one. So while no replica is
ready at all, one may claim to be for a moment, in order to be asked. A Service that publishes addresses that are not ready would
do without this, and would lead to every replica that has just ended: each rolling restart would then lose requests.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from logging import getLogger
from pathlib import Path
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS, Resource
from shunter.cancelling import cancelled
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, ApiError, Conflict
from shunter.kube.tls.certificate_secret import CertificateSecret, SecretProblem
from shunter.kube.tls.certificate_sources import CertificateFiles, NotifyingSource, OwnCertificate, SharedCertificate, Source
from shunter.kube.tls.certificates import KeyPair
from shunter.kube.tls.serving_tls import ServingTls
from shunter.kube.webhooks.canary import NAME, UNKNOWN_PATH, answering, canary, problem_on_direct_call, problem_through_api_server
from shunter.kube.webhooks.registration import Configuration, Place, ServiceReference, Url, has_no_endpoints
from shunter.kube.webhooks.server import Handler, WebhookMetrics, WebhookServer
from shunter.operator.kinds import ServedKinds
from shunter.operator.registrar import Registrar, Writes

log = getLogger(__name__)

CHECK_SECONDS = 15.0
FIRST_RETRY_SECONDS = 0.05
RETRY_GROWTH = 1.2
LASTING_RETRY_SECONDS = 0.2
"""Problems are logged only once the pause between retries exceeds this, after about a second: at a start there is always one."""
LONGEST_RETRY_SECONDS = 5.0
CLAIM_SECONDS = 20.0
"""For the claim to become a Service's address and the canary to come through; afterwards, as long without a claim."""
CLAIM_RETRY_SECONDS = 0.5
LINGER_SECONDS = 4.0
"""How long a replica that is stopping goes on answering: until no proxy routes to it any more."""
EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""Hosts that mean all addresses, and the loopback address at which this machine calls itself."""


class WebhookOptions(NamedTuple):
    """Where to listen, how the API server finds us, whose certificate it sees, and who writes the configurations."""

    host: str
    port: int
    cert_dir: Path | None = None
    service: str = ""
    """Name of the Service in the operator's namespace; without one we are called by URL."""
    secret: str = ""
    """Name of the Secret in which the replicas share a certificate that they make themselves."""
    is_registered_by_us: bool = False
    canary_namespace: str = "default"

    def check(self) -> None:
        """InputError when they do not go together."""
        if self.secret and not self.service:
            raise InputError("--webhook-secret needs the name that the certificate is for.", "Add --webhook-service NAME.")
        if self.secret and self.cert_dir:
            raise InputError(
                "--webhook-secret and --webhook-cert-dir exclude each other.",
                "A mounted certificate is renewed by who mounts it; drop one of them.",
            )
        if self.service and not self.secret and not self.cert_dir and not self.is_registered_by_us:
            raise InputError(
                "--webhook-service needs a certificate that the API server trusts.",
                "Add --webhook-secret NAME, or --webhook-cert-dir DIR for your own certificate.",
            )


class Webhooks:
    """Runs in every replica. `routes` are the functions behind the webhooks, by path.

    Other servers may use the certificate, through `tls`, and under `further_hosts` as well, unless a Service leads to us;
    `on_authorities` hears of the authorities (PEM) that it is from.
    """

    def __init__(
        self,
        client: Client,
        options: WebhookOptions,
        routes: Mapping[str, Handler],
        configurations: Sequence[Configuration],
        kinds: ServedKinds,
        *,
        tls: ServingTls | None = None,
        metrics: WebhookMetrics | None = None,
        further_hosts: Sequence[str] = (),
        on_authorities: Callable[[bytes], None] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        options.check()
        self._tls = tls or ServingTls()
        self._metrics = metrics
        self._client = client
        self._options = options
        self._routes = answering(routes, configurations)
        self._configurations = configurations
        self._kinds = kinds
        self._check_seconds = check_seconds
        self._called_as = ServiceReference(client.namespace, options.service) if options.service else None
        self._hosts = self._called_as.hosts if self._called_as else [called_host(options.host), *further_hosts]
        self._on_authorities = on_authorities
        source = self._new_source(now)
        self._source = NotifyingSource(source, on_authorities) if on_authorities else source
        self._registrar = self._new_registrar()
        self._server: WebhookServer | None = None
        self._claimed_at: float | None = None
        self._problem = "the webhooks have not been called yet"
        self._logged = ""

    async def run(self) -> None:
        """Listens, registers, and serves until cancelled. EnvironmentProblem when that is impossible here."""
        serving: asyncio.Task[None] | None = None
        retry = FIRST_RETRY_SECONDS
        try:
            while True:
                self._log_problem(await self._look(), is_lasting=retry > LASTING_RETRY_SECONDS)
                if serving is None and self._server is not None:
                    serving = asyncio.create_task(self._server.run())
                if serving is not None and serving.done():
                    await serving
                if self._is_claiming():
                    await asyncio.sleep(CLAIM_RETRY_SECONDS)
                elif self._problem:
                    await asyncio.sleep(retry)
                    retry = min(RETRY_GROWTH * retry, LONGEST_RETRY_SECONDS)
                else:
                    await asyncio.sleep(self._check_seconds)
                    retry = FIRST_RETRY_SECONDS
        finally:
            if self._called_as and self._server is not None:
                await asyncio.sleep(LINGER_SECONDS)
            if serving is not None:
                await cancelled([serving])
            elif self._server is not None:
                await self._server.stop()

    def why_not_ready(self) -> str:
        """For /readyz: empty once an admission request has come through, and as long as the last one did; see the top."""
        if self._server is None:
            return self._problem or "the webhook server does not listen"
        return self._server.why_not_ready() or self._problem

    def certificate(self) -> bytes:
        """What is served, PEM; empty before the start."""
        return self._server.certificate if self._server else b""

    async def _look(self) -> str:
        """One look; what is in the way, or nothing."""
        try:
            return await self._synchronised()
        except PASSING as error:
            # A problem of the API server says nothing about us: a replica that was ready stays ready.
            return self._problem and str(error)
        except Conflict:
            return self._problem or "another replica writes the configurations"
        except (ApiError, SecretProblem) as error:
            return f"{error.message} {error.remedy}".strip()

    async def _synchronised(self) -> str:
        if self._registrar is None:
            await self._serve((await self._source.offer([])).certificate)
            return ""
        agreed = await self._registrar.check(self._serve)
        why = agreed.problem or await self._why_not_served(agreed.authorities)
        if why:
            return why
        why = await self._why_not_called()
        if not why:
            self._claimed_at = None
        elif self._called_as and await self._may_claim(self._called_as):
            return ""
        return why

    async def _may_claim(self, service: ServiceReference) -> bool:
        """Whether this replica may report ready although no webhook call was seen: none is ready, so none can be called."""
        if self._is_claiming():
            return True
        is_too_soon = self._claimed_at is not None and time.monotonic() - self._claimed_at < 2 * CLAIM_SECONDS
        if is_too_soon or not await has_no_endpoints(self._client, service):
            return False
        log.info("no replica behind Service %s is ready: this one reports ready in order to be called", service.name)
        self._claimed_at = time.monotonic()
        return True

    def _is_claiming(self) -> bool:
        return self._claimed_at is not None and time.monotonic() - self._claimed_at < CLAIM_SECONDS

    async def _serve(self, certificate: KeyPair | Path) -> Place:
        """Listens, and serves with this certificate."""
        if self._server is None:
            host, port = self._options.host, self._options.port
            server = WebhookServer(host, port, certificate, self._routes, tls=self._tls, metrics=self._metrics)
            await server.start()
            self._server = server
        elif isinstance(certificate, KeyPair):
            self._server.use(certificate)
        return self._called_as or Url(f"https://{self._hosts[0]}:{self._server.port}")

    async def _why_not_served(self, trusted: Collection[bytes]) -> str:
        """Why an admission request would not be answered by this replica."""
        assert self._server is not None
        validating = [hook.path for one in self._configurations if one.kind == "validating" for hook in one.webhooks]
        address = (EVERYWHERE.get(self._options.host, self._options.host), self._server.port)
        body = canary(TRAIN_JOBS, self._options.canary_namespace, {})
        for authorities in trusted:
            if why := await problem_on_direct_call(address, self._hosts[0], authorities, validating[0], body):
                return why
        return ""

    async def _why_not_called(self) -> str:
        """Why an admission request would be lost on the way from the API server to any replica."""
        mutated = {hook.resource for one in self._configurations if one.kind == "mutating" for hook in one.webhooks}
        for resource, spec in canaries(self._kinds):
            body = canary(resource, self._options.canary_namespace, spec)
            why = await problem_through_api_server(self._client, resource, body, is_mutated=resource in mutated)
            # An older replica has answered, in a rollout that brings this kind: the way is there, and it gives way to us only
            # once we are ready. That we answer ourselves has been seen.
            if why and UNKNOWN_PATH not in why:
                return why
        return ""

    def _new_registrar(self) -> Registrar | None:
        """None when this operator is not registered with the API server as far as is known."""
        options = self._options
        if options.is_registered_by_us:
            return Registrar(self._client, self._configurations, self._source, writes="configurations")
        if options.service:
            writes: Writes = "trust" if options.secret else "nothing"
            return Registrar(self._client, self._configurations, self._source, writes=writes)
        return None

    def _new_source(self, now: Callable[[], datetime]) -> Source:
        options = self._options
        if options.cert_dir is not None:
            is_needed = options.is_registered_by_us or self._on_authorities is not None
            return CertificateFiles(options.cert_dir, is_authority_needed=is_needed)
        if options.secret:
            return SharedCertificate(
                CertificateSecret(self._client, self._client.namespace, options.secret, self._hosts, now=now)
            )
        return OwnCertificate(self._hosts, now=now)

    def _log_problem(self, problem: str, *, is_lasting: bool) -> None:
        if problem and is_lasting and problem != self._logged:
            log.warning("webhooks: %s", problem)
            self._logged = problem
        elif self._problem and not problem and self._registrar and not self._is_claiming():
            log.info("an admission request came through to the webhooks")
            self._logged = ""
        self._problem = problem


def canaries(kinds: ServedKinds) -> list[tuple[Resource, Json]]:
    """The canary of each kind whose webhook refuses jobs. A webhook that only warns has none: the API server continues without
    its answer, so its calls cannot be proven."""
    v1 = [
        (framework.info.resource, framework.info.least_spec)
        for framework in kinds.frameworks
        if framework.info.is_judged_at_admission
    ]
    return [*v1, (TRAIN_JOBS, {"runtimeRef": {"name": NAME}})] if kinds.train_jobs else v1


def called_host(host: str) -> str:
    """The name or address under which an API server reaches this process."""
    return socket.getfqdn() if host in EVERYWHERE else host
