"""What a training program reports: read as Go's decoder reads it, written as Go's encoder does. Pure.

Of the body only the first JSON value counts. Fields are recognized in upper and lower case, unknown ones are ignored, null is the
same as nothing, bytes that are no UTF-8 become U+FFFD. Limits that the CRD sets are the API server's to judge; `is_acceptable`
only says whether it will accept a report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from shunter.api.formats.times import moment
from shunter.api.meta import Json, rfc3339

_Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_MOST_METRICS = 256
_LONGEST_TEXT = 64


class BadReport(ValueError):
    """The body is no report."""


class _Metric(msgspec.Struct, frozen=True):
    name: str | None = None
    value: str | None = None


class _TrainerStatus(msgspec.Struct, frozen=True, rename="camel"):
    progress_percentage: _Int32 | None = None
    estimated_remaining_seconds: _Int32 | None = None
    metrics: tuple[_Metric | None, ...] | None = None
    last_updated_time: str | None = None


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    trainer_status: _TrainerStatus | None = None


def parsed(body: bytes) -> Json | None:
    """The trainerStatus that is to be written, times in whole seconds; None when the request has none. Raises BadReport."""
    try:
        first, _ = _decoder.raw_decode(body.decode(errors="replace").lstrip(" \t\r\n"))
        status = msgspec.convert({} if first is None else first, _Request).trainer_status
        return None if status is None else _written(status)
    except (ValueError, OverflowError, RecursionError) as error:
        raise BadReport(str(error)) from error


def is_acceptable(status: Json) -> bool:
    """Whether the TrainJob's schema allows the status."""
    metrics = status.get("metrics", ())
    return (
        "lastUpdatedTime" in status
        and 0 <= status.get("progressPercentage", 0) <= 100
        and status.get("estimatedRemainingSeconds", 0) >= 0
        and len(metrics) <= _MOST_METRICS
        and all(1 <= len(metric.get(field, "")) <= _LONGEST_TEXT for metric in metrics for field in ("name", "value"))
    )


def _written(status: _TrainerStatus) -> Json:
    """Absent and empty fields are left out, as with Go's omitempty."""
    written: Json = {}
    if status.progress_percentage is not None:
        written["progressPercentage"] = status.progress_percentage
    if status.estimated_remaining_seconds is not None:
        written["estimatedRemainingSeconds"] = status.estimated_remaining_seconds
    if status.metrics:
        metrics = [metric or _Metric() for metric in status.metrics]
        written["metrics"] = [
            {field: _text(text) for field, text in (("name", metric.name), ("value", metric.value)) if text} for metric in metrics
        ]
    if status.last_updated_time is not None:
        written["lastUpdatedTime"] = rfc3339(moment(status.last_updated_time))
    return written


def _text(text: str) -> str:
    """Half of a surrogate pair, which JSON can say and UTF-8 cannot, becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _as_declared(pairs: Iterable[tuple[str, Any]]) -> Json:
    """An object with the names of known fields as they are declared; of one field written twice the last counts."""
    return {_FIELDS.get(name.casefold(), name): value for name, value in pairs}


_FIELDS = {name.casefold(): name for struct in (_Request, _TrainerStatus, _Metric) for name in struct.__struct_encode_fields__}
_decoder = json.JSONDecoder(parse_constant=_refused, object_pairs_hook=_as_declared)
