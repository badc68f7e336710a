"""CustomResourceDefinitions: their validation and defaults, and the kinds they define."""

from __future__ import annotations

from functools import cache

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.admission.jobset import with_webhooks
from shunter.cluster.apiserver.kinds import Column, Kind, ScalePaths
from shunter.cluster.apiserver.schema import StructuralSchema, compile_schema
from shunter.cluster.apiserver.schema.sharing import shared

_AGE = Column("Age", "date", ".metadata.creationTimestamp")


def default(crd: Json) -> None:
    """Fills in place what a CRD may leave out: names that follow from the kind, no conversion."""
    spec = crd["spec"]
    names = spec["names"]
    if kind := names.get("kind", ""):
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or f"{kind}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    if service := ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service"):
        service.setdefault("port", 443)


def kinds(crd: Json) -> list[Kind]:
    """One kind for each served version, in the order of the CRD, which must be a valid one."""
    versions = crd["spec"]["versions"]
    return [with_webhooks(_kind(crd, version)) for version in versions if version["served"]]


def _kind(crd: Json, version: Json) -> Kind:
    spec = crd["spec"]
    names = spec["names"]
    subresources = version.get("subresources") or {}
    scale = _scale(subresources["scale"]) if "scale" in subresources else None
    openapi = msgspec.json.encode(version["schema"]["openAPIV3Schema"])  # most kinds are never asked for theirs

    @cache
    def schema() -> StructuralSchema:
        return compile_schema(shared(msgspec.json.decode(openapi)), {}, scale)

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
        deprecation=_deprecation(spec, version),
        has_siblings=sum(version["served"] for version in spec["versions"]) > 1,
    )


def _deprecation(spec: Json, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    text: str = version.get("deprecationWarning") or f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    return text


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
