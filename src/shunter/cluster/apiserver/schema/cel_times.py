"""Times and durations as values of expressions: what is made of texts in the formats of a schema, and of what a program returns.

The library takes such values only as protobuf's messages, and returns them as Python's, which end at microseconds. protobuf is
loaded with the first value, not before (cel.py). Source: k8s.io/apiserver 1.36 `cel/common/valuesunstructured.go`, kube-openapi
`validation/strfmt`.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import EPOCH
from shunter.cluster.apiserver.schema.formats import duration

if TYPE_CHECKING:
    from cel_expr_python import cel as library

_TIME = late_pattern(r"([0-9-]{10}T[0-9:]{8})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})")
_SECOND = timedelta(seconds=1)
_BILLION = 10**9


def time_of(text: str) -> Any:
    """The time of a text in RFC 3339. Raises ValueError."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time in RFC 3339")
    moment = datetime.fromisoformat(found[1] + found[3])
    return _timestamp()(seconds=(moment - EPOCH) // _SECOND, nanos=int((found[2] or "")[:9].ljust(9, "0")))


def _date_of(text: str) -> Any:
    return time_of(f"{text}T00:00:00Z")


def _duration_of(text: str) -> Any:
    return _length(duration(text))


def _length(nanoseconds: int) -> Any:
    seconds, nanos = divmod(abs(nanoseconds), _BILLION)
    sign = -1 if nanoseconds < 0 else 1
    return _duration()(seconds=sign * seconds, nanos=sign * nanos)


def _or_text(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Texts that are not of the format stay: that they are not is an error of its own."""

    def value(text: Any) -> Any:
        try:
            return read(text)
        except (ValueError, binascii.Error):
            return text

    return value


READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "date-time": _or_text(time_of),
    "date": _or_text(_date_of),
    "duration": _or_text(_duration_of),
    "byte": _or_text(base64.b64decode),
}
"""The function that converts a string to its CEL value, by the schema's format."""


def passed(value: Any) -> Any:
    """What a function returns to the library: times as it takes them, all else as it is."""
    if type(value) is datetime:
        return _timestamp()(seconds=(value - EPOCH) // _SECOND, nanos=value.microsecond * 1000)
    if type(value) is timedelta:
        return _length(value // timedelta(microseconds=1) * 1000)
    return value


def milliseconds(value: Any, zone: str = "") -> int:
    """All of a duration, or those of a time within its second, which are the same in every time zone."""
    if isinstance(value, timedelta):
        return _truncated(value, timedelta(milliseconds=1))
    if isinstance(value, datetime):
        return value.microsecond // 1000
    raise ValueError("no such overload")


def _truncated(length: timedelta, unit: timedelta) -> int:
    return length // unit if length >= timedelta() else -(-length // unit)


def kept(result: library.Value) -> Any:
    """A value of the library as one that it takes again: plain but for times, to the nanosecond, and numbers without a sign."""
    plain = result.plain_value()
    if result.type().name() == "UINT":
        return _unsigned()(value=plain)
    return _exact(result) if _has_times(plain) else plain


def _has_times(plain: Any) -> bool:
    if type(plain) is dict:
        return any(map(_has_times, plain.values()))
    return any(map(_has_times, plain)) if type(plain) is list else type(plain) in (datetime, timedelta)


def _exact(result: library.Value) -> Any:
    value = result.value()
    if type(value) is dict:
        return {key: _exact(item) for key, item in value.items()}
    if type(value) is list:
        return [_exact(item) for item in value]
    if type(value) is datetime:
        return time_of(str(result))
    return _duration_of(str(result)) if type(value) is timedelta else result.plain_value()


@functools.cache
def _timestamp() -> Any:
    from google.protobuf.timestamp_pb2 import Timestamp

    return Timestamp


@functools.cache
def _unsigned() -> Any:
    from google.protobuf.wrappers_pb2 import UInt64Value

    return UInt64Value


@functools.cache
def _duration() -> Any:
    from google.protobuf.duration_pb2 import Duration

    return Duration
