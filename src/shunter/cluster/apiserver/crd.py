"""CustomResourceDefinitions: what they may say, their defaults, and the kinds they define."""

from __future__ import annotations

from functools import cache

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.jobset_admission import with_webhooks
from shunter.cluster.apiserver.kinds import Column, Kind, ScalePaths
from shunter.cluster.apiserver.schema import StructuralSchema, compile_schema

_AGE = Column("Age", "date", ".metadata.creationTimestamp")


def kinds(definition: Json) -> list[Kind]:
    """One kind for each served version, in the order of the definition, which must be a valid one."""
    versions = definition["spec"]["versions"]
    return [with_webhooks(_kind(definition, version)) for version in versions if version["served"]]


def _kind(definition: Json, version: Json) -> Kind:
    spec = definition["spec"]
    names = spec["names"]
    subresources = version.get("subresources") or {}
    scale = _scale(subresources["scale"]) if "scale" in subresources else None

    @cache
    def schema() -> StructuralSchema:
        return compile_schema(version["schema"]["openAPIV3Schema"], {}, scale)

    return Kind(
        resource=Resource(spec["group"], version["name"], names["kind"], names["plural"], spec["scope"] == "Namespaced"),
        schema=schema,
        singular=names.get("singular", names["kind"].lower()),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        has_status="status" in subresources,
        scale=scale,
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns", ())) or (_AGE,),
        selectable_fields=tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields", ())),
    )


def _scale(scale: Json) -> ScalePaths:
    return ScalePaths(
        scale["specReplicasPath"].removeprefix("."),
        scale["statusReplicasPath"].removeprefix("."),
        scale.get("labelSelectorPath", "").removeprefix("."),
    )


def _column(column: Json) -> Column:
    return Column(
        column["name"],
        column["type"],
        column["jsonPath"],
        column.get("format", ""),
        column.get("description", ""),
        column.get("priority", 0),
    )
