"""Makes objects of the template: apiVersion, kind, metadata with our labels, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.install.names import LABELS
from shunter.install.template import Namespace

HERE = Namespace()


def obj(
    resource: Resource, name: Any, *, labels: Mapping[str, Any] = {}, annotations: Any = None, namespace: Any = HERE, **rest: Any
) -> Json:
    """An object with our labels; a namespaced one is in the operator's namespace unless another is given."""
    metadata: Json = {"name": name}
    if resource.namespaced:
        metadata["namespace"] = namespace
    metadata["labels"] = {**LABELS, **labels}
    if annotations is not None:
        metadata["annotations"] = annotations
    return resource.typed({"metadata": metadata, **rest})
