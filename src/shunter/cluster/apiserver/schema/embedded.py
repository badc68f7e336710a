"""Validates type and metadata of embedded resources (`x-kubernetes-embedded-resource`).

Source: apiextensions-apiserver 1.36 `schema/objectmeta`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_1035_faults, path_segment_faults
from shunter.cluster.apiserver.field_rules import annotation_errors, label_errors
from shunter.cluster.apiserver.schema.node import Node
from shunter.cluster.apiserver.schema.prune import visit_embedded


def embedded_errors(root: Node, obj: Json) -> list[FieldError]:
    """Faults of type and metadata of every embedded resource."""
    errors: list[FieldError] = []
    visit_embedded(root, obj, lambda path, value, node: errors.extend(_resource_errors(value, path)))
    return errors


def _resource_errors(value: Json, field: str) -> list[FieldError]:
    errors = [required(f"{field}.{name}") for name in ("apiVersion", "kind") if name not in value]
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            errors.append(invalid(f"{field}.{name}", value[name], "must be a string"))
        elif value.get(name) == "":
            errors.append(invalid(f"{field}.{name}", "", "must not be empty"))
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(api_version, str) and api_version.count("/") > 1:
        errors.append(invalid(f"{field}.apiVersion", api_version, f"unexpected GroupVersion string: {api_version}"))
    if isinstance(kind, str) and kind and (found := label_1035_faults(kind.lower())):
        text = f"may have mixed case, but should otherwise match: {','.join(found)}"
        errors.append(invalid(f"{field}.kind", kind, text))
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        name = metadata.get("name", "")
        errors += [invalid(f"{field}.metadata.name", name, fault) for fault in path_segment_faults(name)]
        errors += label_errors(metadata.get("labels", {}), f"{field}.metadata.labels")
        errors += annotation_errors(metadata.get("annotations", {}), f"{field}.metadata.annotations")
    return errors
