"""Answers in other shapes: `Table` for people, `PartialObjectMetadata` for those who only follow names and labels.

Source: k8s.io/apiserver `endpoints/handlers/response.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shunter.api.meta import Json
from shunter.cluster.apiserver import event_versions
from shunter.cluster.apiserver.kinds import Column
from shunter.cluster.apiserver.printers import printer
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.status import StatusError, bad_request

INCLUDES = ("", "Metadata", "None", "Object")


def check_include(include: str) -> StatusError | None:
    """The refusal of an unknown `includeObject`."""
    if include in INCLUDES:
        return None
    return bad_request(
        f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def table(
    served: ServedKind,
    documents: Iterable[Json],
    now: datetime,
    *,
    metadata: Json,
    include: str,
    version: str,
    headers: bool = True,
) -> Json:
    """A meta.k8s.io Table with a row for each document. `include` says what stands for the object in a row; later events of a
    watch come without `headers`."""
    shown = printer(served.kind, custom=served.custom)
    rows = []
    for document in documents:
        row: Json = {"cells": shown.cells(event_versions.to_core(document) if served.is_new_event else document, now)}
        if conditions := shown.conditions(document):
            row["conditions"] = conditions
        if include == "Object":
            row["object"] = document
        elif include != "None":
            row["object"] = partial(document, version)
        else:
            row["object"] = None
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in shown.columns] if headers else None,
        "rows": rows,
    }


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def partial(document: Json, version: str) -> Json:
    """The object's metadata only."""
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": document["metadata"]}


def partial_json(metadata: bytes, version: str) -> bytes:
    """The JSON of `partial`, built from the JSON of the metadata."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":%b}' % (version.encode(), metadata)
