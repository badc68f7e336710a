"""Makes kinds of Kubernetes' own types: the schema is found by group, version and kind, and compiled when first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.kinds import Kind, ScalePaths, no_preparation
from shunter.cluster.apiserver.packaged_schemas import definition_names, definitions
from shunter.cluster.apiserver.schema import TypedSchema

WORKLOAD_SCALE = ScalePaths("spec.replicas", "status.replicas", "spec.selector")


def typed(
    resource: Resource,
    *,
    has_status: bool = False,
    prepare: Callable[[Json, Json | None], None] = no_preparation,
    prepare_status: Callable[[Json, Json | None], None] = no_preparation,
    **rest: Any,
) -> Kind:
    """A built-in kind; `rest` are further fields of `Kind`. Its functions find every struct that Go always writes."""

    @cache
    def schema() -> TypedSchema:
        return TypedSchema(definition_names()[resource.group, resource.version, resource.kind], definitions())

    def with_status(then: Callable[[Json, Json | None], None]) -> Callable[[Json, Json | None], None]:
        def run(obj: Json, old: Json | None) -> None:
            if "status" not in obj:
                obj["status"] = schema().empty("status")
            then(obj, old)

        return run

    return Kind(
        resource=resource,
        schema=schema,
        singular=resource.kind.lower(),
        has_status=has_status,
        prepare=with_status(prepare) if has_status else prepare,
        prepare_status=with_status(prepare_status) if has_status else prepare_status,
        **rest,
    )
