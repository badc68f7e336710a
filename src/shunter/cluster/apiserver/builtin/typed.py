"""Makes kinds of Kubernetes' own types: the schema is found by group, version and kind, and compiled when first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.builtin.pod.gated_fields import drop_gated_pod_fields
from shunter.cluster.apiserver.kinds import Kind, ScalePaths, no_preparation, value_at
from shunter.cluster.apiserver.packaged_schemas import definition_names, definitions
from shunter.cluster.apiserver.schema import TypedSchema

WORKLOAD_SCALE = ScalePaths("spec.replicas", "status.replicas", "spec.selector")


def typed(
    resource: Resource,
    *,
    has_status: bool = False,
    pod_spec: str = "",
    prepare: Callable[[Json, Json | None], None] = no_preparation,
    prepare_status: Callable[[Json, Json | None], None] = no_preparation,
    **rest: Any,
) -> Kind:
    """A built-in kind; `rest` are further fields of `Kind`. Its functions find every struct that Go always writes. `pod_spec` is
    the dotted path of the pod spec of a pod or workload, whose fields of features that are off are dropped before `prepare`."""

    @cache
    def schema() -> TypedSchema:
        return TypedSchema(definition_names()[resource.group, resource.version, resource.kind], definitions())

    def with_status(then: Callable[[Json, Json | None], None]) -> Callable[[Json, Json | None], None]:
        def run(obj: Json, old: Json | None) -> None:
            if "status" not in obj:
                obj["status"] = schema().empty("status")
            then(obj, old)

        return run

    def without_gated_fields(obj: Json, old: Json | None) -> None:
        if spec := value_at(obj, pod_spec):
            drop_gated_pod_fields(spec, value_at(old, pod_spec))
        prepare(obj, old)

    prepared = without_gated_fields if pod_spec else prepare
    return Kind(
        resource=resource,
        schema=schema,
        singular=resource.kind.lower(),
        has_status=has_status,
        prepare=with_status(prepared) if has_status else prepared,
        prepare_status=with_status(prepare_status) if has_status else prepare_status,
        **rest,
    )
