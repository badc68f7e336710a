"""The operator as a process: controllers and admission webhooks of both generations, against any API server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from logging import getLogger
from pathlib import Path

from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError
from shunter.kube.leader import LeaderOptions
from shunter.kube.logs import set_up
from shunter.kube.manager import Manager
from shunter.kube.measured import CountingTransport, LimitedTransport
from shunter.kube.registration import Configuration as WebhookConfiguration
from shunter.kube.webhook import Handler
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
from shunter.operator.webhooks import WebhookOptions, Webhooks

log = getLogger(__name__)

COMPONENT = "shunter-operator"
RUNTIME_RETRY_SECONDS = 0.05


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
    webhook_service: str = ""
    """The Service, in the operator's own namespace, through which the API server calls the webhooks; empty: by URL."""
    webhook_secret: str = ""
    """The Secret, there as well, in which the replicas keep a certificate that they make and renew."""
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
    gang_scheduler_name: str = ""
    """Places the pods of each v1 job together: `volcano`, or the name of a scheduler with scheduler-plugins' coscheduling."""
    kube_api_qps: float = 0.0
    """Requests a second to the API server; 0 leaves that to the server's own fairness."""
    kube_api_burst: int = 0
    """How many of them go at once after a pause; 0: twice as many as in a second."""


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
    connection = kubeconfig.find(options.kubeconfig)
    async with connect(connection, component=COMPONENT) as client:
        if options.kube_api_qps > 0:
            burst = options.kube_api_burst or round(2 * options.kube_api_qps)
            client.transport = LimitedTransport(client.transport, qps=options.kube_api_qps, burst=burst)
        manager = Manager(
            client,
            component=COMPONENT,
            namespaces=options.namespaces,
            leader=leader_options(options, configuration, client.namespace),
            metrics_bind_address=options.metrics_bind_address,
            health_probe_bind_address=options.health_probe_bind_address,
        )
        if manager.metrics:
            host, port = connection.address
            client.transport = CountingTransport(client.transport, manager.metrics.request_counter(f"{host}:{port}"))
        if options.controllers and kinds.frameworks:
            training.add_controllers(
                manager,
                kinds.frameworks,
                default_backoff_limit=options.default_backoff_limit,
                gang_scheduler=options.gang_scheduler_name,
            )
        if options.controllers and kinds.train_jobs:
            workers = configuration.train_job_workers if configuration else None
            trainer.add_controllers(manager, workers=workers or trainer.DEFAULT_WORKERS)
        if options.webhooks:
            webhooks = Webhooks(
                client, webhook_options(options, client.namespace), routes(manager, kinds), webhook_configurations(kinds), kinds
            )
            if manager.metrics:
                manager.metrics.follow_certificate("shunter_webhook", webhooks.certificate)
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
    rate = file.client_connection or configuration_file.ClientConnection()
    certificates = file.cert_management or configuration_file.CertManagement()
    secret = certificates.webhook_secret_name
    return replace(
        options,
        webhook_service=certificates.webhook_service_name or options.webhook_service,
        webhook_secret="" if certificates.enable is False else secret or options.webhook_secret,
        webhook_host=options.webhook_host if webhook.host is None else webhook.host,
        webhook_port=options.webhook_port if webhook.port is None else webhook.port,
        kube_api_qps=options.kube_api_qps if rate.qps is None else rate.qps,
        kube_api_burst=options.kube_api_burst if rate.burst is None else rate.burst,
        leader_elect=options.leader_elect if election.leader_elect is None else election.leader_elect,
        metrics_bind_address=options.metrics_bind_address if metrics is None else metrics,
        health_probe_bind_address=options.health_probe_bind_address if health is None else health,
    )


def webhook_options(options: OperatorOptions, namespace: str) -> WebhookOptions:
    """What of the options is about webhooks; `namespace` is the operator's own."""
    return WebhookOptions(
        host=options.webhook_host,
        port=options.webhook_port,
        cert_dir=options.webhook_cert_dir,
        service=options.webhook_service,
        secret=options.webhook_secret,
        is_registered_by_us=options.register_webhooks,
        canary_namespace=options.namespaces[0] if options.namespaces else namespace,
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
    config_maps, jobsets = trainer.config_map_informer(manager), trainer.jobset_informer(manager)
    admission = TrainerAdmission(manager.client, runtimes, config_maps.store, jobsets.store)
    return {**training_routes(kinds.frameworks), **admission.routes()}


def webhook_configurations(kinds: Served = EVERYTHING) -> Sequence[WebhookConfiguration]:
    """What an API server is told about our webhooks."""
    return [*training_webhooks(kinds.frameworks), *(trainer_webhooks() if kinds.train_jobs else ())]


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
