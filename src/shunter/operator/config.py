"""The configuration file of `--config`: Kubeflow Trainer's kind `Configuration`, config.trainer.kubeflow.org/v1alpha1 (5.3).

Strict, as upstream's: a field that does not exist stops the start. What a file sets goes before the flags. Settings that upstream
knows and that have no meaning here are accepted and named in a warning.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import yaml

from shunter.errors import InputError

API_VERSION = "config.trainer.kubeflow.org/v1alpha1"
KIND = "Configuration"


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One part of the file; None means that the file does not say."""


class Webhook(Section, frozen=True):
    port: int | None = None
    host: str | None = None


class LeaderElection(Section, frozen=True):
    """Durations as Go writes them: `15s`."""

    leader_elect: bool | None = None
    resource_lock: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None
    lease_duration: str | None = None
    renew_deadline: str | None = None
    retry_period: str | None = None


class MetricsAuth(Section, frozen=True):
    enabled: bool | None = None


class Metrics(Section, frozen=True):
    bind_address: str | None = None
    secure_serving: bool | None = None
    auth: MetricsAuth | None = None


class Health(Section, frozen=True):
    health_probe_bind_address: str | None = None
    readiness_endpoint_name: str | None = None
    liveness_endpoint_name: str | None = None


class Controller(Section, frozen=True):
    group_kind_concurrency: dict[str, int] = {}


class CertManagement(Section, frozen=True):
    enable: bool | None = None
    webhook_service_name: str | None = None
    webhook_secret_name: str | None = None


class ClientConnection(Section, frozen=True):
    qps: float | None = None
    burst: int | None = None


class StatusServer(Section, frozen=True):
    port: int | None = None
    qps: float | None = None
    burst: int | None = None


class Tls(Section, frozen=True):
    min_version: str | None = None
    cipher_suites: tuple[str, ...] = ()
    next_protos: tuple[str, ...] = ()


class Configuration(Section, frozen=True):
    api_version: str
    kind: str
    webhook: Webhook = Webhook()
    leader_election: LeaderElection = LeaderElection()
    metrics: Metrics = Metrics()
    health: Health = Health()
    controller: Controller = Controller()
    cert_management: CertManagement | None = None
    client_connection: ClientConnection | None = None
    status_server: StatusServer | None = None
    feature_gates: dict[str, bool] = {}
    tls: Tls | None = None

    @property
    def train_job_workers(self) -> int | None:
        return self.controller.group_kind_concurrency.get("TrainJob.trainer.kubeflow.org")

    @property
    def ignored(self) -> list[str]:
        """Settings of this file that change nothing here."""
        given = {
            "metrics.secureServing": self.metrics.secure_serving,
            "metrics.auth": self.metrics.auth,
            "health.readinessEndpointName": self.health.readiness_endpoint_name,
            "health.livenessEndpointName": self.health.liveness_endpoint_name,
            "leaderElection.resourceLock": self.leader_election.resource_lock,
            "statusServer": self.status_server,
            "tls": self.tls,
        }
        gates = [f"featureGates.{name}" for name in self.feature_gates]
        return [name for name, value in given.items() if value is not None] + gates


FEATURE_GATES = ("TrainJobStatus",)

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


def read(path: Path) -> Configuration:
    """The file's content. InputError names the field that is wrong."""
    try:
        text = path.read_text()
        content = yaml.load(text, Loader=yaml.CSafeLoader)
    except OSError as error:
        raise InputError(f"The configuration {path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"The configuration {path} is not YAML: {' '.join(str(error).split())}") from error
    try:
        configuration = msgspec.convert(content, Configuration)
    except msgspec.ValidationError as error:
        raise InputError(
            f"The configuration {path}: {str(error).replace('`$.', '`')}.", "See the manual for its fields."
        ) from error
    problem = _problem(configuration)
    if problem:
        raise InputError(f"The configuration {path}: {problem}.")
    return configuration


def seconds(duration: str | None, default: float) -> float:
    """A duration of the file, such as `15s` or `1m30s`; `default` when it does not say. InputError for anything else."""
    if duration is None:
        return default
    match = _DURATION.fullmatch(duration)
    if not duration or match is None:
        raise InputError(f"{duration!r} is not a duration.", "Write it like 15s or 1m30s.")
    hours, minutes, rest = match.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(rest or 0)


def _problem(configuration: Configuration) -> str:
    if (configuration.api_version, configuration.kind) != (API_VERSION, KIND):
        return f"it is a {configuration.kind} of {configuration.api_version}, not a {KIND} of {API_VERSION}"
    port = configuration.webhook.port
    if port is not None and not 1 <= port <= 65535:
        return f"webhook.port is {port}: must be between 1 and 65535"
    for name, count in configuration.controller.group_kind_concurrency.items():
        if count <= 0:
            return f"controller.groupKindConcurrency[{name}] is {count}: must be greater than 0"
    rate = configuration.client_connection or ClientConnection()
    for field, value in (("qps", rate.qps), ("burst", rate.burst)):
        if value is not None and value < 0:
            return f"clientConnection.{field} is {value}: must be greater than or equal to 0"
    unknown = [name for name in configuration.feature_gates if name not in FEATURE_GATES]
    return f"featureGates.{unknown[0]} does not exist" if unknown else ""
