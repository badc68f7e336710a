"""Custom kinds: a column for each of `additionalPrinterColumns`, its cell found by JSONPath.

Source: k8s.io/apiextensions-apiserver `registry/customresource/tableconvertor`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from shunter.api.meta import Json
from shunter.cluster.apiserver.kinds import Column, Kind
from shunter.cluster.apiserver.printers.columns import NAME_COLUMN, Cells, Printer, since
from shunter.cluster.apiserver.printers.json_path import Path, compiled, values


def custom_printer(kind: Kind) -> Printer:
    """Name and the kind's own columns."""
    paths = [(column, _path(column)) for column in kind.columns]

    def cells(document: Json, now: datetime) -> Cells:
        return [document["metadata"]["name"], *(_cell(column, path, document, now) for column, path in paths)]

    columns = tuple(column._replace(description=_description(column)) for column in kind.columns)
    return Printer((NAME_COLUMN, *columns), cells)


def _description(column: Column) -> str:
    return column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"


def _path(column: Column) -> Path | None:
    """None for what is no path: such a column stays empty, as on a real server, and does not take the others with it."""
    try:
        return compiled(column.json_path)
    except ValueError:
        return None


def _cell(column: Column, path: Path | None, document: Json, now: datetime) -> Any:
    found = values(path, document) if path is not None else []
    if not found or found[0] is None:
        return None
    value = found[0]
    match column.type:
        case "integer":
            return int(value) if isinstance(value, (int, float)) else None
        case "number":
            return float(value) if isinstance(value, (int, float)) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _since(value, now)
        case _:
            return ",".join(_text(item) for item in found) if len(found) > 1 else _text(value)


def _since(value: Any, now: datetime) -> str:
    try:
        return since(str(value), now)
    except (ValueError, OverflowError):
        return "<invalid>"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
