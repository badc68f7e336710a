"""The operator as a process: controllers and admission webhooks of both generations, against any API server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from logging import getLogger
from pathlib import Path

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES
from shunter.errors import InputError
from shunter.kube import kubeconfig
from shunter.kube.certificates import KeyPair, issue, new_authority
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError, ConnectionProblem, ServerProblem
from shunter.kube.leader import LeaderOptions
from shunter.kube.logs import set_up
from shunter.kube.manager import Manager
from shunter.kube.registration import Configuration as WebhookConfiguration
from shunter.kube.registration import register
from shunter.kube.webhook import Handler, WebhookServer
from shunter.operator import config as configuration_file
from shunter.operator.config import Configuration
from shunter.operator.kinds import EVERYTHING, Served, served
from shunter.operator.trainer import controllers as trainer
from shunter.operator.trainer.admission import TrainerAdmission
from shunter.operator.trainer.admission import configurations as trainer_webhooks
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.training import controllers as training
from shunter.operator.training.admission import configurations as training_webhooks
from shunter.operator.training.admission import routes as training_routes

log = getLogger(__name__)

COMPONENT = "shunter-operator"
RUNTIME_RETRY_SECONDS = 0.05
REGISTRATION_RETRY_SECONDS = 0.05
EVERYWHERE = ("", "0.0.0.0", "::")
"""Hosts that mean all addresses: good to listen on, not to be called at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorOptions:
    """The flags of `shunter operator`; what the file `config` sets goes before them. Addresses: `:8080`, or `0` for none."""

    kubeconfig: Path | None = None
    namespaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """The only kinds of jobs to serve; all when none is named."""
    config: Path | None = None
    webhook_host: str = "0.0.0.0"
    webhook_port: int = 9443
    webhook_cert_dir: Path | None = None
    """With tls.crt, tls.key and, to register the webhooks, ca.crt. A certificate is made when there is none."""
    register_webhooks: bool = False
    install_runtimes: bool = False
    """Apply the shipped ClusterTrainingRuntimes at the start, once our webhooks answer."""
    controllers: bool = True
    webhooks: bool = True
    metrics_bind_address: str = ":8080"
    health_probe_bind_address: str = ":8081"
    leader_elect: bool = True
    default_backoff_limit: int | None = None
    """For v1 jobs that set none; None lets them restart without end, as upstream."""


def serve(options: OperatorOptions) -> None:
    """Runs the operator until SIGTERM or SIGINT, with its log on stderr."""
    import uvloop

    set_up()
    uvloop.run(run(options))


async def run(options: OperatorOptions, stop: asyncio.Event | None = None) -> None:
    """Runs until a signal or `stop`. InputError for wrong options, EnvironmentProblem when cluster or ports are not as needed."""
    configuration = configuration_file.read(options.config) if options.config else None
    kinds = served(options.kinds)
    if configuration is not None:
        options = configured(options, configuration)
        for setting in configuration.ignored:
            log.warning("%s: %s has no effect", options.config, setting)
    async with connect(kubeconfig.find(options.kubeconfig), component=COMPONENT) as client:
        manager = Manager(
            client,
            component=COMPONENT,
            namespaces=options.namespaces,
            leader=leader_options(options, configuration, client.namespace),
            metrics_bind_address=options.metrics_bind_address,
            health_probe_bind_address=options.health_probe_bind_address,
        )
        if options.controllers and kinds.frameworks:
            training.add_controllers(manager, kinds.frameworks, default_backoff_limit=options.default_backoff_limit)
        if options.controllers and kinds.train_jobs:
            workers = configuration.train_job_workers if configuration else None
            trainer.add_controllers(manager, workers=workers or trainer.DEFAULT_WORKERS)
        if options.webhooks:
            webhooks = Webhooks(client, options, routes(manager, kinds), webhook_configurations(kinds))
            manager.background("webhooks", webhooks.run)
            manager.add_ready_check("webhooks", webhooks.why_not_ready)
        if options.install_runtimes and kinds.train_jobs:
            runtimes = RuntimeInstallation(client)
            manager.background("runtimes", runtimes.run)
            manager.add_ready_check("runtimes", runtimes.why_not_ready)
        await manager.run(stop)


def configured(options: OperatorOptions, file: Configuration) -> OperatorOptions:
    """The options with what the file says."""
    election, webhook = file.leader_election, file.webhook
    metrics, health = file.metrics.bind_address, file.health.health_probe_bind_address
    return replace(
        options,
        webhook_host=options.webhook_host if webhook.host is None else webhook.host,
        webhook_port=options.webhook_port if webhook.port is None else webhook.port,
        leader_elect=options.leader_elect if election.leader_elect is None else election.leader_elect,
        metrics_bind_address=options.metrics_bind_address if metrics is None else metrics,
        health_probe_bind_address=options.health_probe_bind_address if health is None else health,
    )


def leader_options(options: OperatorOptions, file: Configuration | None, namespace: str) -> LeaderOptions | None:
    """The election to take part in; None when there is to be none."""
    if not options.leader_elect or not options.controllers:
        return None
    election = file.leader_election if file else configuration_file.LeaderElection()
    return LeaderOptions(
        name=election.resource_name or COMPONENT,
        namespace=election.resource_namespace or namespace,
        lease_duration=configuration_file.seconds(election.lease_duration, 15.0),
        renew_deadline=configuration_file.seconds(election.renew_deadline, 10.0),
        retry_period=configuration_file.seconds(election.retry_period, 2.0),
    )


def routes(manager: Manager, kinds: Served = EVERYTHING) -> Mapping[str, Handler]:
    """The functions behind the webhooks of the kinds that are served, by path."""
    if not kinds.train_jobs:
        return training_routes(kinds.frameworks)
    runtimes = {resource: informer.store for resource, informer in trainer.runtime_informers(manager).items()}
    snapshots, jobsets = trainer.snapshot_informer(manager), trainer.jobset_informer(manager)
    admission = TrainerAdmission(manager.client, runtimes, snapshots.store, jobsets.store)
    return {**training_routes(kinds.frameworks), **admission.routes()}


def webhook_configurations(kinds: Served = EVERYTHING) -> Sequence[WebhookConfiguration]:
    """What an API server is told about our webhooks."""
    return [*training_webhooks(kinds.frameworks), *(trainer_webhooks() if kinds.train_jobs else ())]


class Webhooks:
    """The webhook server of this process and, when asked for, its registration with the API server."""

    def __init__(
        self,
        client: Client,
        options: OperatorOptions,
        routes: Mapping[str, Handler],
        configurations: Sequence[WebhookConfiguration],
    ) -> None:
        self._client = client
        self._options = options
        self._configurations = configurations
        self._host = called_host(options.webhook_host)
        self._authority: bytes = b""
        certificate: KeyPair | Path
        if options.webhook_cert_dir is not None:
            certificate = options.webhook_cert_dir
        else:
            authority = new_authority("shunter-webhooks")
            certificate = issue(authority, self._host, [self._host])
            self._authority = authority.certificate
        self._server = WebhookServer(options.webhook_host, options.webhook_port, certificate, routes)
        self._is_registered = not options.register_webhooks

    async def run(self) -> None:
        """Listens, registers, and serves until cancelled."""
        await self._server.start()
        if self._options.register_webhooks:
            url = f"https://{self._host}:{self._server.port}"
            authority = self._authority or ca_of(self._options.webhook_cert_dir)
            await self._register(url, authority)
            log.info("registered the webhooks at %s", url)
            self._is_registered = True
        await self._server.run()

    async def _register(self, url: str, authority: bytes) -> None:
        """Tries until the server answers: it may be starting, as ours does beside us, or starting again."""
        while True:
            try:
                return await register(self._client, self._configurations, url=url, authority=authority)
            except (ConnectionProblem, ServerProblem):
                await asyncio.sleep(REGISTRATION_RETRY_SECONDS)

    def why_not_ready(self) -> str:
        return self._server.why_not_ready() or ("" if self._is_registered else "the webhooks are not registered yet")


class RuntimeInstallation:
    """Applies the shipped runtimes, trying until the server takes them: at a first start its webhooks may not answer yet."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._trouble = "the shipped runtimes are not applied yet"

    async def run(self) -> None:
        """Applies, then waits to be cancelled."""
        waiting = shipped()
        while waiting:
            if await self._is_applied(waiting[0]):
                waiting.pop(0)
            else:
                await asyncio.sleep(RUNTIME_RETRY_SECONDS)
        self._trouble = ""
        await asyncio.Event().wait()

    async def _is_applied(self, runtime: Json) -> bool:
        try:
            await self._client.apply(CLUSTER_TRAINING_RUNTIMES, runtime)
        except ApiError as error:
            self._trouble = f"ClusterTrainingRuntime {runtime['metadata']['name']}: {error.message}"
            return False
        return True

    def why_not_ready(self) -> str:
        return self._trouble


def called_host(host: str) -> str:
    """The name or address under which an API server reaches this process."""
    return socket.getfqdn() if host in EVERYWHERE else host


def ca_of(directory: Path | None) -> bytes:
    """The CA that the certificate in a directory is from. InputError when it is not there."""
    path = (directory or Path()) / "ca.crt"
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"--register-webhooks needs the CA of the serving certificate: {path}: {error.strerror}.",
            "Put ca.crt into --webhook-cert-dir.",
        ) from error
