"""The operator as a process: controllers and admission webhooks of both generations, against any API server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from logging import getLogger
from pathlib import Path

from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, JOBSETS, TRAIN_JOBS, Resource
from shunter.api.scheduling.podgroups import PodGroup
from shunter.api.trainer.trainjob import TrainJob
from shunter.errors import InputError
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.controllers.leader import LeaderOptions
from shunter.kube.controllers.manager import LIVENESS_PATH, READINESS_PATH, Manager
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import ApiError
from shunter.kube.kubeconfig import Connection
from shunter.kube.logs import set_up
from shunter.kube.measured_transport import CountingTransport, LimitedTransport, Rate
from shunter.kube.metrics_access import MetricsAccess
from shunter.kube.tls.serving_tls import ServingTls
from shunter.kube.transport import Transport
from shunter.kube.webhooks.registration import Configuration as WebhookConfiguration
from shunter.kube.webhooks.server import Handler
from shunter.operator import config as configuration_file
from shunter.operator.config import FEATURE_GATES, TRAIN_JOB_STATUS, Configuration
from shunter.operator.kinds import EVERYTHING, ServedKinds, served
from shunter.operator.trainer import controllers as trainer
from shunter.operator.trainer.admission import TrainerAdmission
from shunter.operator.trainer.admission import configurations as trainer_webhooks
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.trainer.statusserver.current_place import CurrentPlace
from shunter.operator.trainer.statusserver.pods import ReportingPods
from shunter.operator.trainer.statusserver.server import StatusServer
from shunter.operator.trainer.statusserver.tokens import TokenReviewer
from shunter.operator.trainer.statusserver.writes import StatusWriter
from shunter.operator.training import controllers as training
from shunter.operator.training import init_template
from shunter.operator.training.admission import GangScheduling
from shunter.operator.training.admission import configurations as training_webhooks
from shunter.operator.training.admission import routes as training_routes
from shunter.operator.training.framework import Settings
from shunter.operator.training.gang import pod_groups
from shunter.operator.webhooks import (
    FIRST_RETRY_SECONDS,
    LASTING_RETRY_SECONDS,
    LONGEST_RETRY_SECONDS,
    RETRY_GROWTH,
    WebhookOptions,
    Webhooks,
    called_host,
)

log = getLogger(__name__)

COMPONENT = "shunter-operator"
CLUSTER_DOMAIN_VARIABLE = "CUSTOM_CLUSTER_DOMAIN"
DEFAULT_CONFIGURATION = Configuration(api_version=configuration_file.API_VERSION, kind=configuration_file.KIND)


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
    mpi_kubectl_delivery_image: str = ""
    """The image of the init container that brings the launchers of MPIJobs their kubectl; empty: upstream's."""
    pytorch_init_container_image: str = ""
    """The image in which the Workers of PyTorchJobs wait for their Master; empty: upstream's."""
    pytorch_init_container_max_tries: int = 0
    """How often they look, every 2 seconds; 0: as often as upstream's, 100 times."""
    pytorch_init_container_template_file: Path | None = None
    """Other init containers in which they look; None: upstream's file where it is there, else its default."""
    kube_api_qps: float = 0.0
    """Requests a second to the API server; 0 leaves that to the server's own fairness."""
    kube_api_burst: int = 0
    """How many of them go at once after a pause; 0: twice as many as in a second."""
    feature_gates: str = ""
    """`NAME=true`, several with commas; goes before the file."""
    status_server_host: str = ""
    """Under which name pods reach the status server, where no Service leads to the operator."""
    status_server_port: int = 10443


def serve(options: OperatorOptions) -> None:
    """Runs the operator until SIGTERM or SIGINT, with its log on stderr."""
    import uvloop

    set_up()
    uvloop.run(run(options))


async def run(options: OperatorOptions, stop: asyncio.Event | None = None) -> None:
    """Runs until a signal or `stop`. InputError for wrong options, EnvironmentProblem when cluster or ports are not as needed."""
    configuration = configuration_file.read(options.config) if options.config else DEFAULT_CONFIGURATION
    gates = {**FEATURE_GATES, **configuration.feature_gates, **configuration_file.feature_gates(options.feature_gates)}
    kinds = served(options.kinds)
    options = configured(options, configuration)
    for remark in configuration.remarks(controlled(kinds)):
        log.warning("%s: no effect: %s", options.config, remark)
    connection = kubeconfig.find(options.kubeconfig)
    async with connect(connection, component=COMPONENT) as client:
        tls = ServingTls(configuration.tls.policy)
        secure, guarded = configuration.metrics.secure_serving, configuration.metrics.auth.enabled
        if not options.webhooks and (secure or gates[TRAIN_JOB_STATUS]):
            what = "metrics.secureServing" if secure else f"The feature gate {TRAIN_JOB_STATUS}"
            raise InputError(f"{what} needs the webhooks' certificate.", "Leave --no-webhooks out.")
        health = configuration.health
        manager = Manager(
            client,
            component=COMPONENT,
            namespaces=options.namespaces,
            leader=leader_options(options, configuration, client.namespace),
            metrics_bind_address=options.metrics_bind_address,
            metrics_tls=tls.context if secure else None,
            metrics_guard=MetricsAccess(client).refusal if guarded else None,
            health_probe_bind_address=options.health_probe_bind_address,
            liveness_path=f"/{(health.liveness_endpoint_name or LIVENESS_PATH).lstrip('/')}",
            readiness_path=f"/{(health.readiness_endpoint_name or READINESS_PATH).lstrip('/')}",
        )
        manager.send_through(measuring(manager, connection, options.kube_api_qps, options.kube_api_burst))
        if options.controllers and kinds.frameworks:
            training.add_controllers(
                manager,
                kinds.frameworks,
                default_backoff_limit=options.default_backoff_limit,
                gang_scheduler=options.gang_scheduler_name,
                settings=training_settings(options),
                workers=configuration.workers,
            )
        status_server = None
        if gates[TRAIN_JOB_STATUS] and kinds.train_jobs:
            status_server = CurrentPlace(status_server_url(options, client.namespace))
        if options.controllers and kinds.train_jobs:
            workers = configuration.workers(TRAIN_JOBS) or trainer.DEFAULT_WORKERS
            trainer.add_controllers(manager, workers=workers, status_server=status_server)
        if options.controllers and manager.metrics:
            count_jobs(manager, kinds)
        if options.webhooks:
            webhooks = Webhooks(
                client,
                webhook_options(options, client.namespace),
                routes(manager, kinds, options.gang_scheduler_name if options.controllers else None),
                webhook_configurations(kinds),
                kinds,
                tls=tls,
                metrics=manager.metrics.of_webhooks() if manager.metrics else None,
                further_hosts=[options.status_server_host] if options.status_server_host else (),
                on_authorities=status_server.trust if status_server else None,
            )
            if manager.metrics:
                manager.metrics.follow_certificate("shunter_webhook", webhooks.certificate)
            manager.background("webhooks", webhooks.run)
            manager.add_ready_check("webhooks", webhooks.why_not_ready)
        if options.install_runtimes and kinds.train_jobs:
            runtimes = RuntimeInstallation(client)
            manager.background("runtimes", runtimes.run)
            manager.add_ready_check("runtimes", runtimes.why_not_ready)
        if status_server is None:
            await manager.run(stop)
            return
        # With connections, and limits, of its own: progress must not wait for reconciles, nor they for progress.
        async with connect(connection, component=COMPONENT) as reporting:
            rate = configuration.status_server
            reporting.transport = measuring(manager, connection, rate.qps or 0.0, rate.burst or 0)(reporting.transport)
            add_status_server(manager, reporting, options, tls)
            await manager.run(stop)


def count_jobs(manager: Manager, kinds: ServedKinds) -> None:
    """Adds the number of jobs to the metrics."""
    from shunter.operator.job_gauge import CountedKind, JobGauge, v1_state, v2_state

    assert manager.metrics, "they are served"
    counted = [
        CountedKind(framework.info.resource.kind, manager.informer(framework.info.resource, framework.info.view).store, v1_state)
        for framework in kinds.frameworks
    ]
    if kinds.train_jobs:
        counted.append(CountedKind(TRAIN_JOBS.kind, manager.informer(TRAIN_JOBS, TrainJob).store, v2_state))
    manager.metrics.registry.register(JobGauge(counted))


def add_status_server(manager: Manager, client: Client, options: OperatorOptions, tls: ServingTls) -> None:
    """The server that pods report their progress to, in every replica."""
    metrics = None
    if manager.metrics:
        from shunter.operator.trainer.statusserver.metrics import ReportMetrics

        metrics = ReportMetrics(manager.metrics.registry)
    writer = StatusWriter(client, wrote=metrics.wrote if metrics else lambda code: None)
    jobs, jobsets = manager.informer(TRAIN_JOBS, TrainJob).store, manager.informer(JOBSETS, JobSet).store

    def jobset_uid(key: Key) -> str:
        job, jobset = jobs.get(key), jobsets.get(key)
        return jobset.metadata.uid if job and jobset and jobset.metadata.is_controlled_by(job.metadata.uid) else ""

    tokens = TokenReviewer(client, ReportingPods(client, jobset_uid))
    server = StatusServer(options.webhook_host, options.status_server_port, tls.context, tokens, writer, metrics=metrics)
    manager.background("status server", server.run)
    manager.add_ready_check("status-server", server.why_not_ready)


def status_server_url(options: OperatorOptions, namespace: str) -> str:
    """Where pods find the status server; `namespace` is the operator's own."""
    service = f"{options.webhook_service}.{namespace}.svc" if options.webhook_service else ""
    host = service or options.status_server_host or called_host(options.webhook_host)
    return f"https://{host}:{options.status_server_port}"


def measuring(manager: Manager, connection: Connection, qps: float, burst: int) -> Callable[[Transport], Transport]:
    """Wraps transports: they share one rate limit if `qps` is set, and their requests are counted if metrics are served."""
    host, port = connection.address
    metrics, server = manager.metrics, f"{host}:{port}"
    rate = Rate(qps=qps, burst=burst or round(2 * qps)) if qps > 0 else None
    waited = metrics.rate_limiter(server) if metrics else lambda method, seconds: None

    def measured(transport: Transport) -> Transport:
        if rate:
            transport = LimitedTransport(transport, rate, waited=waited)
        return CountingTransport(transport, metrics.request_counter(server)) if metrics else transport

    return measured


def controlled(kinds: ServedKinds) -> list[Resource]:
    """The kinds that have controllers."""
    return [*(framework.info.resource for framework in kinds.frameworks), *((TRAIN_JOBS,) if kinds.train_jobs else ())]


def configured(options: OperatorOptions, file: Configuration) -> OperatorOptions:
    """The options with what the file says."""
    election, webhook = file.leader_election, file.webhook
    metrics, health = file.metrics.bind_address, file.health.health_probe_bind_address
    rate, certificates = file.client_connection, file.cert_management
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
        gang_scheduler_name=options.gang_scheduler_name if file.gang_scheduler_name is None else file.gang_scheduler_name,
        status_server_port=file.status_server.port or options.status_server_port,
    )


def training_settings(options: OperatorOptions) -> Settings:
    """What of the options is about the kinds of kubeflow.org/v1; the cluster's domain is in the environment, as for upstream."""
    return Settings(
        mpi_kubectl_delivery_image=options.mpi_kubectl_delivery_image,
        pytorch_init_container_image=options.pytorch_init_container_image,
        pytorch_init_container_max_tries=options.pytorch_init_container_max_tries,
        pytorch_init_container_template=init_template.read(options.pytorch_init_container_template_file),
        cluster_domain=os.environ.get(CLUSTER_DOMAIN_VARIABLE, ""),
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


def leader_options(options: OperatorOptions, file: Configuration, namespace: str) -> LeaderOptions | None:
    """The election to take part in; None when there is to be none."""
    if not options.leader_elect or not options.controllers:
        return None
    election = file.leader_election
    return LeaderOptions(
        name=election.resource_name or COMPONENT,
        namespace=election.resource_namespace or namespace,
        lease_duration=configuration_file.seconds(election.lease_duration, 15.0),
        renew_deadline=configuration_file.seconds(election.renew_deadline, 10.0),
        retry_period=configuration_file.seconds(election.retry_period, 2.0),
    )


def routes(manager: Manager, kinds: ServedKinds = EVERYTHING, gang_scheduler: str | None = None) -> Mapping[str, Handler]:
    """The webhook handlers of the served kinds, by path. `gang_scheduler` is empty for no gang scheduling of v1 jobs, and None if
    it is not known, as when the webhooks run without the controllers."""
    gangs = None
    if gang_scheduler is not None:
        groups = manager.informer(pod_groups(gang_scheduler), PodGroup) if gang_scheduler and kinds.frameworks else None
        gangs = GangScheduling(gang_scheduler, lambda: groups is not None and groups.is_kind_missing)
    v1 = training_routes(kinds.frameworks, gangs)
    if not kinds.train_jobs:
        return v1
    runtimes = {resource: informer.store for resource, informer in trainer.runtime_informers(manager).items()}
    config_maps, jobsets = trainer.config_map_informer(manager), trainer.jobset_informer(manager)
    admission = TrainerAdmission(manager.client, runtimes, config_maps.store, jobsets.store)
    return {**v1, **admission.routes()}


def webhook_configurations(kinds: ServedKinds = EVERYTHING) -> Sequence[WebhookConfiguration]:
    """The webhook configurations to register with the API server."""
    return [*training_webhooks(kinds.frameworks), *(trainer_webhooks() if kinds.train_jobs else ())]


class RuntimeInstallation:
    """Applies the shipped runtimes, trying until the server takes them: at a first start its webhooks may not answer yet."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._problem = "the shipped runtimes are not applied yet"

    async def run(self) -> None:
        """Applies, then waits to be cancelled."""
        waiting, retry, logged = shipped(), FIRST_RETRY_SECONDS, ""
        while waiting:
            if await self._is_applied(waiting[0]):
                waiting.pop(0)
                continue
            if retry > LASTING_RETRY_SECONDS and self._problem != logged:
                logged = self._problem
                log.warning("%s", logged)
            await asyncio.sleep(retry)
            retry = min(RETRY_GROWTH * retry, LONGEST_RETRY_SECONDS)
        self._problem = ""
        await asyncio.Event().wait()

    async def _is_applied(self, runtime: Json) -> bool:
        try:
            await self._client.apply(CLUSTER_TRAINING_RUNTIMES, runtime)
        except ApiError as error:
            self._problem = f"ClusterTrainingRuntime {runtime['metadata']['name']}: {error.message}"
            return False
        return True

    def why_not_ready(self) -> str:
        """For /readyz: empty once all shipped runtimes are applied; before that the last error, if any."""
        return self._problem
