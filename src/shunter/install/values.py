"""What can be set about an installation: the values of `shunter install --set`, of the Helm chart and, at their defaults, of the
Kustomize base. Descriptions go into values.yaml, values.schema.json and docs/values.md (scripts/deploy_files.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from shunter import __version__
from shunter.api.meta import Json, as_json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.viewers import ORIGIN, RESERVED, is_origin, is_reserved
from shunter.errors import InputError
from shunter.install.names import CERTIFICATE, HEALTH_PORT, METRICS_PORT, OPERATOR, WEBHOOK_PORT
from shunter.operator import config as operator_config
from shunter.operator.config import API_VERSION, KIND, TRAIN_JOB_STATUS
from shunter.operator.process import OperatorOptions, leader_options


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One level of the values."""


def _text(description: str, *, pattern: str = "", **rules: Any) -> Meta:
    return Meta(description=description, pattern=f"^{pattern}{_END}" if pattern else None, **rules)


_END = r"\Z"
"""The end of a text to Python, to which `$` may stand before a line end as well; in the schema `$` is the end."""


_NAME = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
Name: TypeAlias = Annotated[str, Meta(pattern=f"^{_NAME}{_END}")]
Object: TypeAlias = dict[str, Any]


class Image(Section, frozen=True):
    """Where nodes get the image of the operator, which is also that of the web page."""

    repository: Annotated[str, _text("Registry and name of the image built from deploy/Containerfile.", min_length=1)] = "shunter"
    tag: Annotated[str, _text("Its tag.", min_length=1)] = __version__
    digest: Annotated[str, _text("Its digest (`sha256:...`); overrides the tag.", pattern=r"(sha256:[0-9a-f]{64})?")] = ""
    pull_policy: Annotated[Literal["Always", "IfNotPresent", "Never"], _text("When nodes pull it.")] = "IfNotPresent"
    pull_secrets: Annotated[tuple[Object, ...], _text("Secrets to pull it with, each `{name: NAME}`.")] = ()


def _switch(kind: str, description: str) -> tuple[str, Any, bool]:
    return kind, Annotated[bool, _text(f"Serve {kind} {description}")], True


Kinds = msgspec.defstruct(
    "Kinds",
    [
        *(_switch(kind.resource.kind, f"({kind.resource.api_version}).") for kind in JOB_KINDS),
        _switch(TRAIN_JOBS.kind, f"and its runtimes ({TRAIN_JOBS.api_version}). Needs JobSet."),
    ],
    bases=(Section,),
    frozen=True,
)
"""A switch for each kind of job."""


class Issuer(Section, frozen=True):
    """With `cert-manager`: who signs the certificate of the webhooks."""

    name: Annotated[str, _text("Name of an existing issuer; empty: a self-signed one is created.")] = ""
    kind: Annotated[Literal["Issuer", "ClusterIssuer"], _text("Its kind.")] = "Issuer"


class Certificates(Section, frozen=True):
    """The certificate by which the API server trusts the webhooks."""

    mode: Annotated[
        Literal["self-managed", "cert-manager", "provided"],
        _text(
            "Who creates the webhooks' certificate: the operator, which also renews it; cert-manager; or you, who put `tls.crt` "
            "and `tls.key` for `shunter-webhook.NAMESPACE.svc` into the Secret."
        ),
    ] = "self-managed"
    secret_name: Annotated[Name, _text("Name of the Secret that contains the certificate.")] = CERTIFICATE
    ca_bundle: Annotated[str, _text("With `provided`: its CA, PEM in base64, for the API server.")] = ""
    issuer: Issuer = Issuer()


class UiProxy(Section, frozen=True):
    """With `auth: proxy`: how the proxy says who the viewer is, and shows that it is the proxy."""

    user_header: Annotated[str, _text("Header in which the proxy names the viewer.", min_length=1)] = "kubeflow-userid"
    groups_header: Annotated[str, _text("Header with the viewer's groups, separated by commas; empty: none are taken.")] = ""
    groups: Annotated[
        tuple[Annotated[str, Meta(min_length=1, extra_json_schema={"not": {"pattern": RESERVED}})], ...],
        _text("Groups that the page may impersonate."),
    ] = ()
    secret_name: Annotated[
        str, _text("Secret whose key `secret` (16 bytes or more) the proxy must send in `X-Shunter-Proxy-Secret`.")
    ] = ""


class Ui(Section, frozen=True):
    """The web page in the cluster: whether it is there, who may reach it, and how it knows its viewers."""

    enabled: Annotated[bool, _text("Install the web page.")] = False
    host: Annotated[
        str,
        _text(
            "Host under which viewers open it, through an ingress with TLS, e.g. `shunter.example.com`.",
            pattern=rf"({_NAME}(:[0-9]+)?)?",
        ),
    ] = ""
    auth: Annotated[
        Literal["token", "proxy"],
        _text("Viewers bring a bearer token of their own, or a proxy names them in headers and the page impersonates them."),
    ] = "token"
    replicas: Annotated[int, _text("Pods; a session is kept by one of them.", ge=1)] = 1
    read_only: Annotated[bool, _text("Offer no actions.")] = False
    frame_ancestors: Annotated[
        str, _text("Origin that may show the page in a frame, e.g. `https://kubeflow.example.com`.", pattern=f"({ORIGIN})?")
    ] = ""
    proxy: UiProxy = UiProxy()
    ingress_from: Annotated[
        tuple[Object, ...],
        _text(
            "Peers of a NetworkPolicy that may reach the page: the pods of the ingress, or of the proxy; empty: every pod of the "
            "cluster."
        ),
    ] = ()


class Dashboard(Section, frozen=True):
    """A page for Grafana with the jobs and the operator itself."""

    enabled: Annotated[
        bool,
        _text("Install a ConfigMap with a Grafana dashboard, which Grafana's sidecar finds by its label `grafana_dashboard`."),
    ] = False


class Alerts(Section, frozen=True):
    """Rules by which Prometheus reports an operator that does not work and jobs that wait."""

    enabled: Annotated[bool, _text("Install a PrometheusRule with alerts. Needs monitoring.coreos.com/v1.")] = False


class NetworkPolicy(Section, frozen=True):
    """Limits what reaches the pods of the operator and of the web page; what they send is not limited."""

    enabled: Annotated[bool, _text("Allow only webhook calls, probes and metrics to reach the operator's pods.")] = True


class Runtimes(Section, frozen=True):
    """The runtimes that TrainJobs of all namespaces may name."""

    enabled: Annotated[bool, _text("Install the ClusterTrainingRuntimes that come with Shunter.")] = True


class UserRoles(Section, frozen=True):
    """Rights of users, not of the operator."""

    enabled: Annotated[
        bool, _text("Extend the roles admin, edit and view of a namespace (also Kubeflow's) to training jobs.")
    ] = True


class JobSet(Section, frozen=True):
    """JobSet itself is never installed: this is only whether it is looked for."""

    check: Annotated[bool, _text("Fail the installation if TrainJob is on and the cluster has no JobSet.")] = True


class NamespaceValues(Section, frozen=True):
    """The namespace of the operator. Its name is not among the values: it is given to what installs them."""

    create: Annotated[
        bool, _text("Install the Namespace itself, with its Pod Security labels. Off in the chart: Helm needs it before.")
    ] = True


FIXED: Mapping[str, tuple[str | int, ...]] = {
    "webhook.port": (WEBHOOK_PORT,),
    "metrics.bindAddress": (f":{METRICS_PORT}", "0"),
    "health.healthProbeBindAddress": (f":{HEALTH_PORT}",),
}
"""Settings of `config` that other objects of an installation depend on, and what they may be; they may be left out as well."""


def _config_schema() -> Json:
    sections: Json = {}
    for path, choices in FIXED.items():
        section, name = path.split(".")
        sections.setdefault(section, {"properties": {}})["properties"][name] = {"enum": [*choices, None]}
    return {"properties": sections}


def _default_config() -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "resourceName": OPERATOR,
            "retryPeriod": "2s",
        },
        "featureGates": {TRAIN_JOB_STATUS: False},
        "metrics": {"auth": {"enabled": False}, "secureServing": False},
        "statusServer": {"port": 10443},
    }


def _default_resources() -> Json:
    return {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}


class Values(Section, frozen=True):
    """All of them, with their defaults."""

    image: Image = Image()
    replicas: Annotated[
        int,
        _text(
            "Number of operator pods. Only the leader reconciles, all serve webhooks. 0: the operator runs elsewhere.",
            ge=0,
            le=10,
        ),
    ] = 2
    kinds: Kinds = Kinds()  # type: ignore[valid-type]
    namespaces: Annotated[
        tuple[Name, ...],
        _text(
            "Serve only these namespaces, with a Role in each instead of rights in the whole cluster. They must exist.",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = ()
    namespace: NamespaceValues = NamespaceValues()
    certificates: Certificates = Certificates()
    config: Annotated[
        Object,
        _text(
            "The operator's configuration file, config.trainer.kubeflow.org/v1alpha1; its ports are set by the installation.",
            extra_json_schema=_config_schema(),
        ),
    ] = msgspec.field(default_factory=_default_config)
    gang_scheduler_name: Annotated[
        str,
        _text(
            "Place the pods of each v1 job together: `volcano`, or the name of a scheduler with scheduler-plugins' coscheduling; "
            "empty: no gang scheduling.",
            pattern=f"({_NAME})?",
        ),
    ] = ""
    mpi_kubectl_delivery_image: Annotated[
        str,
        _text(
            "Image that copies kubectl to $TARGET_DIR for the launchers of MPIJobs; empty for Training Operator's, "
            "`ghcr.io/kubeflow/training-v1/kubectl-delivery:latest`.",
            pattern=r"[^\s]*",
        ),
    ] = ""
    pytorch_init_container_image: Annotated[
        str,
        _text(
            "Image in which the workers of PyTorchJobs wait for their master, with sh and nslookup; empty for `alpine:3.10`.",
            pattern=r"[^\s]*",
        ),
    ] = ""
    resources: Annotated[Object, _text("Resources of each operator pod. 1,000 jobs need less than 100 MB.")] = msgspec.field(
        default_factory=_default_resources
    )
    node_selector: Annotated[dict[str, str], _text("Nodes for the operator's pods.")] = {}
    tolerations: Annotated[tuple[Object, ...], _text("Taints that they tolerate.")] = ()
    priority_class_name: Annotated[str, _text("Their priority class, e.g. `system-cluster-critical`.")] = ""
    monitoring: Annotated[
        Literal["auto", "always", "never"],
        _text("Install a ServiceMonitor and a PodMonitor; `auto` when the cluster has monitoring.coreos.com/v1."),
    ] = "auto"
    ui: Ui = Ui()
    dashboard: Dashboard = Dashboard()
    alerts: Alerts = Alerts()
    network_policy: NetworkPolicy = NetworkPolicy()
    runtimes: Runtimes = Runtimes()
    user_roles: UserRoles = UserRoles()
    jobset: JobSet = JobSet()


def defaults() -> Json:
    """Every value with its default, as plain JSON."""
    return as_json(Values())


def checked(given: Json) -> Json:
    """The defaults with what is given over them, as Helm merges values: objects key by key, all else as a whole, null takes a
    key out. InputError names the value that is wrong."""
    merged = _without_nulls(_merged(defaults(), given))
    try:
        values = msgspec.convert(merged, Values)
    except msgspec.ValidationError as error:
        remedy = "docs/values.md lists all values. Text that looks like a number is written --set 'image.tag=\"1.10\"'."
        raise InputError(f"values: {str(error).replace('`$.', '`')}.", remedy) from None
    if not any(merged["kinds"].values()):
        raise InputError("values: kinds: all kinds are off.", "Leave one on: the operator would have nothing to do.")
    for namespace in values.namespaces:
        if values.namespaces.count(namespace) > 1:
            raise InputError(f"values: namespaces: {namespace} is listed twice.", "Name each namespace once.")
    _check_ui(values.ui)
    plain = as_json(values)
    return {**plain, "config": _checked_config(plain["config"])}


def _check_ui(ui: Ui) -> None:
    for group in ui.proxy.groups:
        if is_reserved(group):
            raise InputError(f"values: ui.proxy.groups: {group} is a group of Kubernetes itself.", "Leave it out.")
    if ui.frame_ancestors and not is_origin(ui.frame_ancestors):
        raise InputError(
            f"values: ui.frameAncestors: {ui.frame_ancestors!r} is no origin.", "Give one such as https://kubeflow.example.com."
        )
    if ui.enabled and not ui.host:
        raise InputError("values: ui.host is empty.", "Name the host under which viewers open the page: --set ui.host=HOST.")
    if ui.enabled and ui.auth == "proxy" and not ui.proxy.secret_name:
        raise InputError(
            "values: ui.proxy.secretName is empty: any client in the cluster could impersonate any viewer.",
            "Create a Secret with the key `secret`, let the proxy send it, and name it here.",
        )


def _checked_config(given: Json) -> Json:
    """The operator's configuration, with what objects beside it are made from. InputError, as the operator would end with it."""
    config = _merged(_default_config(), given)
    configuration = operator_config.checked(config, "values: config")
    leader_options(OperatorOptions(), configuration, "")
    for path, choices in FIXED.items():
        section, name = path.split(".")
        found = (config.get(section) or {}).get(name)
        if found is not None and found not in choices:
            raise InputError(f"values: config.{path} is {found!r}: the installation is made for {choices[0]!r}.", "Leave it out.")
    return config


def schema() -> Json:
    """JSON schema of the values, as Helm checks them."""
    found = msgspec.json.schema(Values)
    definitions: Json = found["$defs"]
    definitions["Kinds"]["anyOf"] = [{"properties": {kind: {"const": True}}} for kind in definitions["Kinds"]["properties"]]
    definitions["Ui"]["allOf"] = [
        _requires({"enabled": {"const": True}}, {"host": {"minLength": 1}}),
        _requires(
            {"enabled": {"const": True}, "auth": {"const": "proxy"}}, {"proxy": {"properties": {"secretName": {"minLength": 1}}}}
        ),
    ]
    # Helm adds it to the values of every chart that is part of another.
    definitions["Values"]["properties"]["global"] = {"type": "object"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_with_patterns_of_schemas(found)}


def _with_patterns_of_schemas(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_patterns_of_schemas(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [*map(_with_patterns_of_schemas, value)]
    return value.removesuffix(_END) + "$" if isinstance(value, str) and value.endswith(_END) else value


def _requires(condition: Json, consequence: Json) -> Json:
    return {"if": {"properties": condition}, "then": {"properties": consequence}}


def merged(given: Iterable[Json]) -> Json:
    """Values one over the other, the last one wins."""
    return functools.reduce(_merged, given, {})


def parsed(assignments: list[str]) -> Json:
    """Values from `KEY=VALUE` texts: the key is a dotted path, the value is YAML (`replicas=3`, `namespaces=[a, b]`)."""
    values: Json = {}
    for text in assignments:
        path, equals, value = text.partition("=")
        if not equals or not all(path.split(".")):
            raise InputError(f"--set {text!r} is no assignment.", "Write it like --set certificates.mode=cert-manager.")
        values = _merged(values, _nested(path.split("."), _yaml(text, value)))
    return values


def _yaml(text: str, value: str) -> Any:
    import yaml

    from shunter.api.yaml import load_yaml

    try:
        return load_yaml(value)
    except yaml.YAMLError:
        raise InputError(f"--set {text!r}: the value is not YAML.", "Lists are written [a, b], objects {a: b}.") from None


def _nested(path: list[str], value: Any) -> Json:
    for part in reversed(path):
        value = {part: value}
    result: Json = value
    return result


def _merged(below: Json, above: Json) -> Json:
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


def _without_nulls(values: Json) -> Json:
    found = {}
    for key, value in values.items():
        if value is not None:
            found[key] = _without_nulls(value) if isinstance(value, dict) else value
    return found
