"""Jobs of all v1 kinds with any field that their schemas know: the smallest job of a kind, and fields set in it one by one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from shunter.api.meta import Json
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.mpi import LAUNCHER
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.migrate.paths import Path

ANY_KEY = "*"
"""A step of a path: the one key of a map."""
_TEXTS = {
    "restartPolicy": "Never",
    "cleanPodPolicy": "Running",
    "managedBy": "kubeflow.org/training-operator",
    "nprocPerNode": "2",
    "successPolicy": "AllWorkers",
    "rdzvBackend": "c10d",
    "operator": "Exists",
    "fieldPath": "metadata.namespace",
    "mountPath": "/data",
}
"""Values of fields that do not take any text."""


@cache
def _schema(kind: JobKind) -> Json:
    definitions = packaged_crds()
    names = (definition for definition in definitions if definition["spec"]["names"]["kind"] == kind.resource.kind)
    schema: Json = next(names)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


@cache
def fields(kind: JobKind) -> tuple[Path, ...]:
    """Every leaf of the kind's spec, the replica specs by ANY_KEY."""
    return tuple(("spec", *path) for path in _leaves(_schema(kind)["properties"]["spec"], ()))


def smallest(kind: JobKind, roles: Iterable[str] = (), replicas: int = 1) -> Json:
    specs = {role: _role(kind, role, replicas) for role in roles or kind.roles}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": "job", "namespace": "team-a"},
        "spec": {kind.replica_specs: specs},
    }


def with_fields(kind: JobKind, job: Json, paths: Iterable[Path], role: str) -> Json:
    """The job with more fields; those of replica specs in that role."""
    result = copy.deepcopy(job)
    for path in paths:
        steps = tuple(
            role if step == ANY_KEY and path[:place] == ("spec", kind.replica_specs) else step for place, step in enumerate(path)
        )
        _set(result, _schema(kind), steps)
    return result


def _role(kind: JobKind, role: str, replicas: int) -> Json:
    container = {"name": kind.container, "image": "example.org/train:1", "command": ["python", "train.py"]}
    count = 1 if role in ("Master", "Chief", "Launcher") else replicas
    return {"replicas": count, "template": {"spec": {"containers": [container]}}}


def _leaves(schema: Json, path: Path) -> Iterator[Path]:
    values = schema.get("additionalProperties")
    if schema.get("properties"):
        for name, inner in schema["properties"].items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(values, dict):
        yield from _leaves(values, (*path, ANY_KEY))
    elif schema.get("type") == "array":
        yield from _leaves(schema["items"], (*path, 0))
    else:
        yield path


def _set(job: Json, schema: Json, path: Path) -> None:
    value: Any = job
    for place, step in enumerate(path):
        key: Any = "key" if step == ANY_KEY else step
        schema = (
            schema["items"]
            if isinstance(step, int)
            else (schema.get("properties") or {}).get(step) or schema["additionalProperties"]
        )
        is_last = place == len(path) - 1
        made = _leaf(schema, path) if is_last else _required(schema)
        if isinstance(value, list):
            if not value:
                value.append(made)
            elif is_last:
                value[0] = made
            value = value[0]
        else:
            if is_last:
                value[key] = made
            value = value.setdefault(key, made)


def _required(schema: Json) -> Any:
    if schema.get("type") == "array":
        return []
    properties = schema.get("properties") or {}
    if {"image", "command", "env"} <= properties.keys():
        return {"name": "another", "image": "example.org/another:1"}
    return {name: _minimal(properties[name], (name,)) for name in schema.get("required") or ()}


def _minimal(schema: Json, path: Path) -> Any:
    if schema.get("type") == "array":
        return [_minimal(schema["items"], (*path, 0))]
    if schema.get("type") == "object":
        return _required(schema)
    return _leaf(schema, path)


def _leaf(schema: Json, path: Path) -> Any:
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "string":
            return _TEXTS.get(str(path[-1]), "text")
        case "integer":
            return 7
        case "number":
            return 1.5
        case "boolean":
            return True
        case _:
            return {}


def jobs(kind: JobKind) -> st.SearchStrategy[Json]:
    def made(roles: list[str], paths: list[Path], role: int, replicas: int) -> Json:
        return with_fields(kind, smallest(kind, roles, replicas), paths, roles[role % len(roles)])

    some_roles = st.lists(st.sampled_from(kind.roles), min_size=1, unique=True)
    return st.builds(
        made,
        some_roles.map(lambda roles: [LAUNCHER, *roles]) if LAUNCHER in kind.roles else some_roles,
        st.lists(st.sampled_from(fields(kind)), max_size=25),
        st.integers(0, 4),
        st.integers(1, 3),
    )


JOBS: st.SearchStrategy[Json] = st.sampled_from(JOB_KINDS).flatmap(jobs)
