"""The CustomResourceDefinition kind; what it may say and means is in `crd`."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import CUSTOM_RESOURCE_DEFINITIONS
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.custom_resources import crd
from shunter.cluster.apiserver.custom_resources.crd_rules import crd_errors
from shunter.cluster.apiserver.kinds import Kind, Objects

_NO_CONVERSION = (
    "spec.conversion: this API server never asks conversion webhooks; versions differ in their apiVersion only. "
    "Serve one version, or use a strategy of None."
)


def kind() -> Kind:
    """A PUT has to name a resourceVersion. Conversion webhooks are accepted with a warning: they are never asked."""
    return typed(
        CUSTOM_RESOURCE_DEFINITIONS,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        has_status=True,
        updates_need_revision=True,
        default=crd.default,
        validate=crd_errors,
        warnings=_warnings,
    )


def _warnings(document: Json, old: Json | None, objects: Objects) -> list[str]:
    if document["spec"]["conversion"]["strategy"] != "Webhook":
        return []
    return [_NO_CONVERSION]
