"""What upstream's defaulting webhook answers when a TrainJob does not fit its Go types: the words of Go's JSON decoder.

It runs before the schema is checked, so wrong types in a TrainJob get its 400 where runtimes get the schema's 422.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shunter.api.formats.quantity import parse
from shunter.api.formats.times import moment

INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)


class GoType(NamedTuple):
    """A Go type by its name; `fault(value, struct, path)` is the decoder's error for a value, or empty."""

    name: str
    fault: Callable[[Any, str, str], str]


def go_decode_error(job: Any) -> str:
    """The first value that Go could not decode; empty when all fit. Indices and map keys are not in the path, as in Go."""
    spec = job.get("spec") if isinstance(job, dict) else None
    return "" if spec is None else _SPEC.fault(spec, "TrainJob", "spec")


def _integer(bounds: range, name: str) -> GoType:
    def fault(value: Any, struct: str, path: str) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _mismatch(value, struct, path, name)
        is_whole = isinstance(value, int) or value.is_integer()
        return "" if is_whole and int(value) in bounds else _mismatch(value, struct, path, name, shows_value=True)

    return GoType(name, fault)


def _scalar(type: type, name: str) -> GoType:
    return GoType(name, lambda value, struct, path: "" if isinstance(value, type) else _mismatch(value, struct, path, name))


def _list(item: GoType) -> GoType:
    name = f"[]{item.name}"

    def fault(value: Any, struct: str, path: str) -> str:
        if not isinstance(value, list):
            return _mismatch(value, struct, path, name)
        return next((found for element in value if element is not None and (found := item.fault(element, struct, path))), "")

    return GoType(name, fault)


def _map(item: GoType, name: str = "") -> GoType:
    shown = name or f"map[string]{item.name}"

    def fault(value: Any, struct: str, path: str) -> str:
        if not isinstance(value, dict):
            return _mismatch(value, struct, path, shown)
        elements = (element for element in value.values() if element is not None)
        return next((found for element in elements if (found := item.fault(element, struct, path))), "")

    return GoType(shown, fault)


def _struct(name: str, fields: Mapping[str, GoType] = {}, *, package: str = "v1alpha1") -> GoType:
    """A struct of Trainer's, or of the package named; what `fields` leaves out is for the schema to judge."""
    shown = f"{package}.{name}"

    def fault(value: Any, outer: str, path: str) -> str:
        if not isinstance(value, dict):
            return _mismatch(value, outer, path, shown)
        known = ((field, element) for field, element in value.items() if field in fields and element is not None)
        return next((found for field, element in known if (found := fields[field].fault(element, name, f"{path}.{field}"))), "")

    return GoType(shown, fault)


def _quantity_fault(value: Any, struct: str, path: str) -> str:
    return _fault_of(parse, value)


def _fault_of(read: Callable[[Any], object], value: Any) -> str:
    try:
        read(value)
    except ValueError as error:
        return str(error)
    return ""


def _time_fault(value: Any, struct: str, path: str) -> str:
    if not isinstance(value, str):
        return _mismatch(value, struct, path, "string")
    return _fault_of(moment, value)


def _mismatch(value: Any, struct: str, path: str, wanted: str, *, shows_value: bool = False) -> str:
    kind = f"{_kind(value)} {value}" if shows_value else _kind(value)
    return f"json: cannot unmarshal {kind} into Go struct field {struct}.{path} of type {wanted}"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


_TEXT = _scalar(str, "string")
_SWITCH = _scalar(bool, "bool")
_INT32, _INT64 = _integer(INT32, "int32"), _integer(INT64, "int64")
_TEXTS = _map(_TEXT)
_QUANTITIES = _map(GoType("resource.Quantity", _quantity_fault), "v1.ResourceList")
_REFERENCE = _struct("LocalObjectReference", {"name": _TEXT}, package="v1")
_ENV = _list(_struct("EnvVar", {"name": _TEXT, "value": _TEXT, "valueFrom": _struct("EnvVarSource", package="v1")}, package="v1"))
_RESOURCES = _struct(
    "ResourceRequirements",
    {"limits": _QUANTITIES, "requests": _QUANTITIES, "claims": _list(_struct("ResourceClaim", {"name": _TEXT}, package="v1"))},
    package="v1",
)
_METADATA = _struct("ObjectMeta", {"name": _TEXT, "namespace": _TEXT, "labels": _TEXTS, "annotations": _TEXTS}, package="v1")
_INITIALIZER = {"storageUri": _TEXT, "env": _ENV, "secretRef": _REFERENCE}
_CONTAINERS = _list(
    _struct(
        "ContainerPatch",
        {
            "name": _TEXT,
            "env": _ENV,
            "volumeMounts": _list(_struct("VolumeMount", {"name": _TEXT, "mountPath": _TEXT}, package="v1")),
            "securityContext": _struct("SecurityContext", package="v1"),
        },
    )
)
_POD = _struct(
    "PodSpecPatch",
    {
        "serviceAccountName": _TEXT,
        "volumes": _list(_struct("Volume", {"name": _TEXT}, package="v1")),
        "initContainers": _CONTAINERS,
        "containers": _CONTAINERS,
        "imagePullSecrets": _list(_REFERENCE),
        "nodeSelector": _TEXTS,
        "affinity": _struct("Affinity", package="v1"),
        "tolerations": _list(_struct("Toleration", package="v1")),
        "schedulingGates": _list(_struct("PodSchedulingGate", {"name": _TEXT}, package="v1")),
        "terminationGracePeriodSeconds": _INT64,
        "securityContext": _struct(
            "PodSecurityContext",
            {"runAsUser": _INT64, "runAsGroup": _INT64, "fsGroup": _INT64, "runAsNonRoot": _SWITCH},
            package="v1",
        ),
    },
)
_POD_TEMPLATE = _struct("PodTemplatePatch", {"metadata": _METADATA, "spec": _POD})
_JOB_TEMPLATE = _struct("JobTemplatePatch", {"metadata": _METADATA, "spec": _struct("JobSpecPatch", {"template": _POD_TEMPLATE})})
_REPLICATED_JOBS = _list(_struct("ReplicatedJobPatch", {"name": _TEXT, "template": _JOB_TEMPLATE}))
_JOBSET = _struct(
    "JobSetTemplatePatch",
    {"metadata": _METADATA, "spec": _struct("JobSetSpecPatch", {"replicatedJobs": _REPLICATED_JOBS})},
)
_SPEC = _struct(
    "TrainJobSpec",
    {
        "runtimeRef": _struct("RuntimeRef", {"name": _TEXT, "apiGroup": _TEXT, "kind": _TEXT}),
        "initializer": _struct(
            "Initializer",
            {"dataset": _struct("DatasetInitializer", _INITIALIZER), "model": _struct("ModelInitializer", _INITIALIZER)},
        ),
        "trainer": _struct(
            "Trainer",
            {
                "image": _TEXT,
                "command": _list(_TEXT),
                "args": _list(_TEXT),
                "env": _ENV,
                "numNodes": _INT32,
                "numProcPerNode": _INT32,
                "resourcesPerNode": _RESOURCES,
            },
        ),
        "runtimePatches": _list(
            _struct(
                "RuntimePatch",
                {
                    "manager": _TEXT,
                    "time": GoType("string", _time_fault),
                    "trainingRuntimeSpec": _struct("TrainingRuntimeSpecPatch", {"template": _JOBSET}),
                },
            )
        ),
        "suspend": _SWITCH,
        "activeDeadlineSeconds": _INT64,
        "managedBy": _TEXT,
    },
)
