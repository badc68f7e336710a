"""A v1 job as its operator reads it. What does not have the types that v1 gives it is refused here, naming the field, so that
rules need not look at types again.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, NoReturn

import msgspec
from msgspec import Meta

from shunter.api.batch import MOST_PODS
from shunter.api.field_errors import FieldError
from shunter.api.formats.quantity import parse
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json, Struct, without_nulls
from shunter.api.training.job import ReplicaSpec
from shunter.api.training.kinds import JOB_KINDS
from shunter.errors import InputError
from shunter.migrate.conversion.source.no_json import no_json
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.paths import Path, path_text, value_at
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.job import AnyJob

_ROLES = {kind.resource.kind: kind.roles for kind in JOB_KINDS}
_REMEDY = "Use the type that v1 requires."
_REMEDY_OF_JSON = "Write it as text, in quotes: objects of Kubernetes are JSON."
_FEWER = f"Ask for at most {MOST_PODS} pods."
_STEP = late_pattern(r"\.([A-Za-z0-9_]+)|\[(\d+)\]")


class UnreadableJobError(InputError):
    """The source is not what its kind should be. `path` is the field, `fault` what is wrong with it."""

    def __init__(self, source: SourceObject, path: Path, fault: str, remedy: str = _REMEDY) -> None:
        self.path, self.fault = path, f"{path_text(path)}: {fault}" if path else fault
        super().__init__(f"{source.place(path)}: {source.title}: {self.fault}.", remedy)


class Reading(NamedTuple):
    """A job, and whether v1 would have taken it."""

    job: AnyJob
    """With v1's defaults."""
    faults: list[FieldError]
    """What v1's admission has against the object."""


_INTEGERS: tuple[Path, ...] = (
    ("runPolicy", "backoffLimit"),
    ("runPolicy", "ttlSecondsAfterFinished"),
    ("runPolicy", "schedulingPolicy", "minAvailable"),
    ("runPolicy", "schedulingPolicy", "scheduleTimeoutSeconds"),
    ("elasticPolicy", "minReplicas"),
    ("elasticPolicy", "maxReplicas"),
    ("elasticPolicy", "maxRestarts"),
    ("elasticPolicy", "nProcPerNode"),
    ("elasticPolicy", "rdzvPort"),
    ("slotsPerWorker",),
)
"""Fields of a spec that the CRDs of both generations hold to 32 bits."""
_BEYOND = 2**31
_SMALLER = f"Write a number up to {_BEYOND - 1}."


def read(source: SourceObject, framework: AnyFramework) -> Reading:
    """The job: some role of its kind has pods, and each role with pods has a template with a container. Fields that
    are null are absent, as for an API server; but a role that is null is refused, lest its pods be lost. Raises
    UnreadableJobError."""
    field = framework.info.replica_specs
    foreign = no_json(source.value)
    if foreign is not None:
        raise UnreadableJobError(source, foreign.path, f"Expected JSON, got {foreign.found}", _REMEDY_OF_JSON)
    value = without_nulls(source.value)
    if "metadata" not in value:
        raise UnreadableJobError(source, ("metadata",), "the job has none", "Give it metadata.name.")
    specs = value_at(source.value, ("spec", field))
    for role in specs if isinstance(specs, dict) else ():
        spec = _convert(source, without_nulls(specs[role]), ReplicaSpec, ("spec", field, role))
        if spec.template:
            _convert(source, spec.template, _Template, ("spec", field, role, "template"))
        if (spec.replicas or 0) > MOST_PODS:
            count: Path = ("spec", field, role, "replicas")
            raise UnreadableJobError(source, count, f"{spec.replicas} pods are more than a Job may have", _FEWER)
    view = _convert(source, value, framework.info.view, ())
    for place in _INTEGERS:
        number = value_at(value, ("spec", *place))
        if isinstance(number, int) and not -_BEYOND <= number < _BEYOND:
            raise UnreadableJobError(source, ("spec", *place), f"{number} is no integer of 32 bits", _SMALLER)
    job = framework.read(view)
    with_pods = [role for role in job.replicas if job.replica_count(role)]
    if not any(role in _ROLES[source.kind] for role in with_pods):
        raise UnreadableJobError(
            source, ("spec", field), "the job has no pods", "Set replicas of at least one role, or do not migrate the job."
        )
    for role in with_pods:
        keys = specs if isinstance(specs, dict) else ()
        spelled = next((key for key in keys if key.lower() == role.lower()), role)
        path: Path = ("spec", field, spelled, "template")
        if not job.replicas[role].template:
            raise UnreadableJobError(source, path, "the role has no pod template", "Say what its pods are.")
        _check_quantities(source, value, path)
    faults, _ = framework.validate(view, None)
    return Reading(job, faults)


def _convert(source: SourceObject, value: Any, type: Any, path: Path) -> Any:
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        _refuse(source, path, str(error), error)


def _check_quantities(source: SourceObject, value: Json, path: Path) -> None:
    """Amounts of resources are texts to msgspec; rules reckon with them."""
    for field in ("containers", "initContainers"):
        containers = value_at(value, (*path, "spec", field))
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            for kind, amounts in container.get("resources", {}).items():
                for name, amount in amounts.items() if kind in ("limits", "requests") else ():
                    try:
                        parse(amount)
                    except ValueError:
                        place: Path = (*path, "spec", field, index, "resources", kind, name)
                        raise UnreadableJobError(
                            source, place, f"{amount!r} is no quantity", "Write an amount such as 2, 500m or 8Gi."
                        ) from None


def _refuse(source: SourceObject, path: Path, text: str, cause: Exception) -> NoReturn:
    fault, _, place = text.partition(" - at `$")
    steps = (int(index) if index else key for key, index in _STEP.findall(place.partition("[...]")[0]))
    raise UnreadableJobError(source, (*path, *steps), fault.replace(" | null`", "`")) from cause


class _FieldReference(Struct, frozen=True):
    field_path: str | None = None


class _ResourceReference(Struct, frozen=True):
    container_name: str | None = None


class _Source(Struct, frozen=True):
    field_ref: _FieldReference | None = None
    resource_field_ref: _ResourceReference | None = None


class _Variable(Struct, frozen=True):
    name: str
    value: str | None = None
    value_from: _Source | None = None


class _Port(Struct, frozen=True):
    container_port: int
    name: str | None = None
    host_port: int | None = None


class _Resources(Struct, frozen=True):
    limits: dict[str, str | int] | None = None
    requests: dict[str, str | int] | None = None


class _Mount(Struct, frozen=True):
    name: str | None = None
    mount_path: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class _Reference(Struct, frozen=True):
    name: str | None = None


class _Variables(Struct, frozen=True):
    prefix: str | None = None
    config_map_ref: _Reference | None = None
    secret_ref: _Reference | None = None


class _Command(Struct, frozen=True):
    command: list[str] | None = None


class _Address(Struct, frozen=True):
    port: int | str | None = None
    host: str | None = None
    path: str | None = None


class _Handler(Struct, frozen=True):
    """A probe, or what is done after the start or before the end of a container."""

    exec: _Command | None = None
    http_get: _Address | None = None
    tcp_socket: _Address | None = None
    grpc: _Address | None = None


class _Lifecycle(Struct, frozen=True):
    post_start: _Handler | None = None
    pre_stop: _Handler | None = None


class _Container(Struct, frozen=True):
    name: str = ""
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    working_dir: str | None = None
    env: list[_Variable] | None = None
    env_from: list[_Variables] | None = None
    ports: list[_Port] | None = None
    resources: _Resources | None = None
    volume_mounts: list[_Mount] | None = None
    security_context: Json | None = None
    startup_probe: _Handler | None = None
    liveness_probe: _Handler | None = None
    readiness_probe: _Handler | None = None
    lifecycle: _Lifecycle | None = None


class _Expression(Struct, frozen=True):
    key: str
    values: list[str] | None = None


class _Selector(Struct, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _Term(Struct, frozen=True):
    label_selector: _Selector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class _WeightedTerm(Struct, frozen=True):
    pod_affinity_term: _Term | None = None


class _PodAffinity(Struct, frozen=True):
    required_during_scheduling_ignored_during_execution: list[_Term] | None = None
    preferred_during_scheduling_ignored_during_execution: list[_WeightedTerm] | None = None


class _Affinity(Struct, frozen=True):
    node_affinity: Json | None = None
    pod_affinity: _PodAffinity | None = None
    pod_anti_affinity: _PodAffinity | None = None


class _Key(Struct, frozen=True):
    key: str
    path: str


class _ConfigMap(Struct, frozen=True):
    name: str | None = None
    items: list[_Key] | None = None


class _Item(Struct, frozen=True):
    field_ref: _FieldReference | None = None
    resource_field_ref: _ResourceReference | None = None


class _DownwardAPI(Struct, frozen=True):
    items: list[_Item] | None = None


class _Projection(Struct, frozen=True):
    config_map: _ConfigMap | None = None
    downward_api: _DownwardAPI | None = msgspec.field(name="downwardAPI", default=None)


class _Projected(Struct, frozen=True):
    sources: list[_Projection] | None = None


class _Volume(Struct, frozen=True):
    name: str = ""
    config_map: _ConfigMap | None = None
    projected: _Projected | None = None
    downward_api: _DownwardAPI | None = msgspec.field(name="downwardAPI", default=None)


class _Gate(Struct, frozen=True):
    name: str


class _HostAlias(Struct, frozen=True):
    ip: str
    hostnames: list[str] | None = None


class _PodSpec(Struct, frozen=True):
    containers: Annotated[list[_Container], Meta(min_length=1)]
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    host_aliases: list[_HostAlias] | None = None
    image_pull_secrets: list[_Reference] | None = None
    affinity: _Affinity | None = None
    topology_spread_constraints: list[_Term] | None = None
    scheduling_gates: list[_Gate] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[Json] | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    host_network: bool | None = None
    security_context: Json | None = None


class _Metadata(Struct, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class _Template(Struct, frozen=True):
    """What rules look at in a pod template; the rest of it passes through."""

    spec: _PodSpec
    metadata: _Metadata | None = None
