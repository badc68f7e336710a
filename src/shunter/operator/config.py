"""The configuration file of `--config`: Kubeflow Trainer's kind `Configuration`, config.trainer.kubeflow.org/v1alpha1.

Strict, as upstream's: a field that does not exist stops the start. What a file sets goes before the flags; only feature gates are
the other way round, as upstream. What cannot have the effect that is wanted is named in a warning, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shunter.api.formats import durations
from shunter.api.meta import without_nulls
from shunter.api.resources import Resource
from shunter.api.yaml import load_yaml
from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.kube.tls.serving_tls import TlsPolicy

API_VERSION = "config.trainer.kubeflow.org/v1alpha1"
KIND = "Configuration"


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One part of the file; None means that the file does not say."""


class Webhook(Section, frozen=True):
    """Where the webhooks listen. A port outside 1 to 65535 stops the start."""

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
    """Whether readers of the metrics have to show a bearer token that the API server allows to read them."""

    enabled: bool | None = None


class Metrics(Section, frozen=True):
    """Where metrics are served, and whether over HTTPS: that takes the webhooks' certificate."""

    bind_address: str | None = None
    secure_serving: bool | None = None
    auth: MetricsAuth = MetricsAuth()


class Health(Section, frozen=True):
    """Where the probes are served. The names of the endpoints are their paths, with or without the first slash."""

    health_probe_bind_address: str | None = None
    readiness_endpoint_name: str | None = None
    liveness_endpoint_name: str | None = None


class Controller(Section, frozen=True):
    """Concurrent reconciles by kind, at least 1. Keys: `TrainJob.trainer.kubeflow.org` or `TrainJob`, in any case."""

    group_kind_concurrency: dict[str, int] = {}


class CertManagement(Section, frozen=True):
    """The Service of the webhooks and the Secret that keeps their certificate. With `enable: false` no Secret keeps it."""

    enable: bool | None = None
    webhook_service_name: str | None = None
    webhook_secret_name: str | None = None


class ClientConnection(Section, frozen=True):
    """The rate limit of requests to the API server, in requests per second. `qps` 0 means no limit; neither may be negative."""

    qps: float | None = None
    burst: int | None = None


class StatusServer(Section, frozen=True):
    """The port for progress reports, and the rate limit of the requests that they cause, separate from `clientConnection`."""

    port: int | None = None
    qps: float | None = None
    burst: int | None = None


class Tls(Section, frozen=True):
    """TLS settings of all HTTPS servers, with Go's names. `next_protos` has no effect: only HTTP/1.1 is served."""

    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()
    next_protos: tuple[str, ...] = ()

    @property
    def policy(self) -> TlsPolicy:
        """The least version and the cipher suites, without `next_protos`."""
        return TlsPolicy(self.min_version, self.cipher_suites)


class Configuration(Section, frozen=True):
    """The whole file. Only what `read` and `checked` return is known to be of this API version and kind, with values in range."""

    api_version: str
    kind: str
    webhook: Webhook = Webhook()
    leader_election: LeaderElection = LeaderElection()
    metrics: Metrics = Metrics()
    health: Health = Health()
    controller: Controller = Controller()
    cert_management: CertManagement = CertManagement()
    client_connection: ClientConnection = ClientConnection()
    status_server: StatusServer = StatusServer()
    feature_gates: dict[str, bool] = {}
    tls: Tls = Tls()
    gang_scheduler_name: str | None = None
    """Equivalent to the flag --gang-scheduler-name; not a field of upstream's."""

    def workers(self, resource: Resource) -> int | None:
        """How many objects of a kind are reconciled at once; None when the file does not say."""
        counts = {name.lower(): count for name, count in self.controller.group_kind_concurrency.items()}
        return next((counts[name] for name in _concurrency_names(resource) if name in counts), None)

    def remarks(self, served: Iterable[Resource]) -> list[str]:
        """Settings of this file that change nothing here, each with the reason. `served` have controllers."""
        known = {name for resource in served for name in _concurrency_names(resource)}
        strangers = [name for name in self.controller.group_kind_concurrency if name.lower() not in known]
        protocols = [protocol for protocol in self.tls.next_protos if protocol != HTTP_1]
        return [
            *(f"controller.groupKindConcurrency[{name}]: there is no such controller; write Kind.group" for name in strangers),
            *(f"tls.nextProtos: {protocol} is not served, only {HTTP_1}" for protocol in protocols),
            *(f"tls.{remark}" for remark in self.tls.policy.remarks),
        ]


HTTP_1 = "http/1.1"
TRAIN_JOB_STATUS = "TrainJobStatus"
"""The feature gate of the status server."""
FEATURE_GATES: Mapping[str, bool] = {TRAIN_JOB_STATUS: False}
"""The feature gates that exist, with their defaults."""


def read(path: Path) -> Configuration:
    """The file's content. InputError names the field that is wrong."""
    try:
        content = load_yaml(path.read_bytes())
    except OSError as error:
        raise InputError(f"The configuration {path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"The configuration {path} is not YAML: {' '.join(str(error).split())}") from error
    return checked(content, f"The configuration {path}")


def checked(content: Any, source: str) -> Configuration:
    """What a file holds, as plain values. InputError names `source` and the field that is wrong."""
    try:
        configuration = msgspec.convert(without_nulls(content), Configuration)
    except msgspec.ValidationError as error:
        raise InputError(f"{source}: {_readable(error)}.", _advice(error)) from error
    problem = _problem(configuration)
    if problem:
        raise InputError(f"{source}: {problem}.")
    return configuration


def feature_gates(text: str) -> dict[str, bool]:
    """What `--feature-gates` says: `TrainJobStatus=true`, several with commas. InputError for a gate that does not exist."""
    gates = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if value.lower() not in ("true", "false"):
            raise InputError(f"--feature-gates {part!r}: the value must be true or false.", f"Write {name}=true or {name}=false.")
        if name not in FEATURE_GATES:
            raise InputError(f"--feature-gates: unknown gate {name}.", f"Available: {', '.join(FEATURE_GATES)}.")
        gates[name] = value.lower() == "true"
    return gates


def seconds(duration: str | None, default: float) -> float:
    """A duration of the file, such as `15s` or `1m30s`; `default` when it does not say. InputError for anything else."""
    return default if duration is None else durations.seconds(duration)


def _problem(configuration: Configuration) -> str:
    if (configuration.api_version, configuration.kind) != (API_VERSION, KIND):
        return f"it is a {configuration.kind} of {configuration.api_version}, not a {KIND} of {API_VERSION}"
    for place, port in (("webhook", configuration.webhook.port), ("statusServer", configuration.status_server.port)):
        if port is not None and not 1 <= port <= 65535:
            return f"{place}.port is {port}: must be between 1 and 65535"
    for name, count in configuration.controller.group_kind_concurrency.items():
        if count <= 0:
            return f"controller.groupKindConcurrency[{name}] is {count}: must be greater than 0"
    for place, rate in (("clientConnection", configuration.client_connection), ("statusServer", configuration.status_server)):
        for field, value in (("qps", rate.qps), ("burst", rate.burst)):
            if value is not None and value < 0:
                return f"{place}.{field} is {value:g}: must be greater than or equal to 0"
    lock = configuration.leader_election.resource_lock
    if lock not in (None, "", "leases"):
        return f'leaderElection.resourceLock is "{lock}": only leases are served'
    election = configuration.leader_election
    for field, text in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        try:
            seconds(text, 0)
        except InputError as error:
            return f"leaderElection.{field}: {str(error).removesuffix('.')}"
    unknown = [name for name in configuration.feature_gates if name not in FEATURE_GATES]
    return f"featureGates.{unknown[0]} does not exist" if unknown else ""


def _readable(error: msgspec.ValidationError) -> str:
    """`... - at webhook.port` for what msgspec calls `$.webhook.port`; at the top there is no place to name."""
    return re.sub(r" - at `\$`$", "", str(error)).replace("`$.", "`")


def _advice(error: msgspec.ValidationError) -> str:
    """The field name that is closest, and all that exist."""
    match = re.search(r"unknown field `([^`]*)`(?: - at `\$\.?([^`]*)`)?", str(error))
    if match is None:
        return "Kubeflow Trainer's documentation of its configuration shows every field."
    section: type[Section] = Configuration
    for part in filter(None, (match[2] or "").split(".")):
        field = next(field for field in msgspec.structs.fields(section) if field.encode_name == part)
        section = field.type
    names = [field.encode_name for field in msgspec.structs.fields(section)]
    return did_you_mean(nearest(match[1], names), f"There are {', '.join(names)}.")


def _concurrency_names(resource: Resource) -> tuple[str, str]:
    """`trainjob.trainer.kubeflow.org`, as upstream's base writes it, and `trainjob`, as its chart does."""
    return f"{resource.kind}.{resource.group}".lower(), resource.kind.lower()
