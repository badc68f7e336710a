"""Makes kinds of Kubernetes' own types: the schema is found by group, version and kind, and compiled when first needed."""

from __future__ import annotations

from functools import cache
from typing import Any

from shunter.api.resources import Resource
from shunter.cluster.apiserver.definitions import definition_names, definitions
from shunter.cluster.apiserver.kinds import Kind, ScalePaths
from shunter.cluster.apiserver.schema import TypedSchema

WORKLOAD_SCALE = ScalePaths("spec.replicas", "status.replicas", "status.selector")


def typed(resource: Resource, **rest: Any) -> Kind:
    """A built-in kind; `rest` are fields of `Kind`."""

    @cache
    def schema() -> TypedSchema:
        name = definition_names()[resource.group, resource.version, resource.kind]
        return TypedSchema(name, definitions())

    return Kind(resource=resource, schema=schema, singular=resource.kind.lower(), **rest)
