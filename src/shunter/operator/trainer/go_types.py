"""What upstream's defaulting webhook answers when a TrainJob does not fit its Go types: the words of Go's JSON decoder.

It runs before the schema is checked, so wrong types in a TrainJob get its 400 where runtimes get the schema's 422.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from shunter.api.quantity import parse

INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)

Check = Callable[[Any, str, str], str]
"""(value, Go struct, path) to what is wrong, or nothing."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def go_decode_error(job: Any) -> str:
    """The first value that Go could not decode; empty when all fit. Indices and map keys are not in the path, as in Go."""
    return _object("TrainJobSpec", _SPEC)(job.get("spec"), "TrainJob", "spec") if isinstance(job, dict) else ""


def _integer(bounds: range, name: str) -> Check:
    def check(value: Any, struct: str, path: str) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _mismatch(value, struct, path, name)
        is_whole = isinstance(value, int) or value.is_integer()
        return "" if is_whole and int(value) in bounds else _mismatch(value, struct, path, name, shows_value=True)

    return check


def _text(value: Any, struct: str, path: str) -> str:
    return "" if isinstance(value, str) else _mismatch(value, struct, path, "string")


def _switch(value: Any, struct: str, path: str) -> str:
    return "" if isinstance(value, bool) else _mismatch(value, struct, path, "bool")


def _list(item: Check) -> Check:
    def check(value: Any, struct: str, path: str) -> str:
        if not isinstance(value, list):
            return ""
        return next((fault for element in value if element is not None and (fault := item(element, struct, path))), "")

    return check


def _map(item: Check) -> Check:
    def check(value: Any, struct: str, path: str) -> str:
        if not isinstance(value, dict):
            return ""
        return next((fault for element in value.values() if element is not None and (fault := item(element, struct, path))), "")

    return check


def _object(struct: str, fields: dict[str, Check]) -> Check:
    def check(value: Any, _outer: str, path: str) -> str:
        if not isinstance(value, dict):
            return ""
        faults = (
            fields[name](element, struct, f"{path}.{name}")
            for name, element in value.items()
            if name in fields and element is not None
        )
        return next((fault for fault in faults if fault), "")

    return check


def _quantity(value: Any, struct: str, path: str) -> str:
    try:
        parse(value)
    except ValueError as error:
        return str(error)
    return ""


def _time(value: Any, struct: str, path: str) -> str:
    if not isinstance(value, str):
        return _mismatch(value, struct, path, "string")
    if _TIME.fullmatch(value):
        return ""
    rest, wanted = ("", "T") if _DATE.fullmatch(value) else (value, "2006")
    return f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{rest}" as "{wanted}"'


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


_ENV = _list(_object("EnvVar", {"name": _text, "value": _text}))
_RESOURCES = _object("ResourceRequirements", {"limits": _map(_quantity), "requests": _map(_quantity)})
_METADATA = _object("ObjectMeta", {"name": _text, "namespace": _text, "labels": _map(_text), "annotations": _map(_text)})
_INITIALIZER = {"storageUri": _text, "env": _ENV}
_CONTAINERS = _list(_object("ContainerPatch", {"name": _text, "env": _ENV}))
_POD = _object(
    "PodSpecPatch",
    {
        "serviceAccountName": _text,
        "initContainers": _CONTAINERS,
        "containers": _CONTAINERS,
        "nodeSelector": _map(_text),
        "terminationGracePeriodSeconds": _integer(INT64, "int64"),
        "securityContext": _object(
            "PodSecurityContext",
            {field: _integer(INT64, "int64") for field in ("runAsUser", "runAsGroup", "fsGroup")} | {"runAsNonRoot": _switch},
        ),
    },
)
_POD_TEMPLATE = _object("PodTemplatePatch", {"metadata": _METADATA, "spec": _POD})
_JOB_TEMPLATE = _object("JobTemplatePatch", {"metadata": _METADATA, "spec": _object("JobSpecPatch", {"template": _POD_TEMPLATE})})
_REPLICATED_JOBS = _list(_object("ReplicatedJobPatch", {"name": _text, "template": _JOB_TEMPLATE}))
_JOBSET = _object("JobSetSpecPatch", {"replicatedJobs": _REPLICATED_JOBS})
_TEMPLATE = _object("JobSetTemplatePatch", {"metadata": _METADATA, "spec": _JOBSET})
_RUNTIME_SPEC = _object("TrainingRuntimeSpecPatch", {"template": _TEMPLATE})
_SPEC: dict[str, Check] = {
    "runtimeRef": _object("RuntimeRef", {"name": _text, "apiGroup": _text, "kind": _text}),
    "initializer": _object(
        "Initializer",
        {
            "dataset": _object("DatasetInitializer", {**_INITIALIZER}),
            "model": _object("ModelInitializer", {**_INITIALIZER}),
        },
    ),
    "trainer": _object(
        "Trainer",
        {
            "image": _text,
            "command": _list(_text),
            "args": _list(_text),
            "env": _ENV,
            "numNodes": _integer(INT32, "int32"),
            "numProcPerNode": _integer(INT32, "int32"),
            "resourcesPerNode": _RESOURCES,
        },
    ),
    "runtimePatches": _list(_object("RuntimePatch", {"manager": _text, "time": _time, "trainingRuntimeSpec": _RUNTIME_SPEC})),
    "suspend": _switch,
    "activeDeadlineSeconds": _integer(INT64, "int64"),
    "managedBy": _text,
}
