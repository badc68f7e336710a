"""Times in RFC 3339, as Go's `time.Parse` reads them: `2026-11-21T10:00:00Z`. Pure."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import Final

from shunter.api.formats.go_values import go_quoted

LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
"""Of `metav1.MicroTime`: six digits of a second, no more and no less."""

_USUAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][01][0-9]:[0-5][0-9])")
_PARTS: Final = (
    ("2006", "[0-9]{4}", ""),
    ("-", "-", ""),
    ("01", "[0-9]{2}", "month"),
    ("-", "-", ""),
    ("02", "[0-9]{2}", ""),
    ("T", "T", ""),
    ("15", "[0-9]{1,2}", "hour"),
    (":", ":", ""),
    ("04", "[0-9]{2}", "minute"),
    (":", ":", ""),
    ("05", "[0-9]{2}", "second"),
)
"""What stands in the layout, what a text has in its place, and what is out of range if the number is not in `_RANGES`."""
_RANGES: Final = {"month": range(1, 13), "hour": range(24), "minute": range(60), "second": range(60)}
_FRACTION: Final = re.compile(r"[.,]([0-9]+)")
_MICROSECONDS: Final = re.compile(r"[.,]([0-9]{6})")
_ZONE: Final = re.compile(r"Z|([+-])([0-9]{2}):([0-9]{2})")


def moment(text: str, layout: str = LAYOUT) -> datetime:
    """The time to the microsecond, in UTC. Raises ValueError in Go's words for what is no time of the layout."""
    if layout == LAYOUT and _USUAL.fullmatch(text):
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    return _parsed(text, layout)


def _parsed(text: str, layout: str) -> datetime:
    rest, numbers = text, []
    for name, pattern, range_name in _PARTS:
        found = re.match(pattern, rest)
        if found is None:
            raise _fault(text, layout, f'cannot parse {go_quoted(rest)} as "{name}"')
        rest = rest[found.end() :]
        if name.isdecimal():
            numbers.append(int(found[0]))
            if range_name and numbers[-1] not in _RANGES[range_name]:
                raise _fault(text, layout, f"{range_name} out of range")
    fraction = (_FRACTION if layout == LAYOUT else _MICROSECONDS).match(rest)
    if fraction is None and layout == MICRO_LAYOUT:
        raise _fault(text, layout, f'cannot parse {go_quoted(rest)} as ".000000"')
    rest = rest[fraction.end() :] if fraction else rest
    zone = _ZONE.match(rest)
    if zone is None:
        raise _fault(text, layout, f'cannot parse {go_quoted(rest)} as "Z07:00"')
    hours, minutes = int(zone[2] or 0), int(zone[3] or 0)
    if hours > 24 or minutes > 60:
        raise _fault(text, layout, f"time zone offset {'minute' if minutes > 60 else 'hour'} out of range")
    if rest := rest[zone.end() :]:
        raise _fault(text, layout, f"extra text: {go_quoted(rest)}")
    year, month, day, hour, minute, second = numbers
    if not 1 <= day <= calendar.monthrange(year or 4, month)[1]:
        raise _fault(text, layout, "day out of range")
    microsecond = int(fraction[1][:6].ljust(6, "0")) if fraction else 0
    offset = timedelta(hours=hours, minutes=minutes)
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, UTC)
        return local + offset if zone[1] == "-" else local - offset
    except (ValueError, OverflowError):  # the years 0 and 10000
        raise _fault(text, layout, "year out of range") from None


def _fault(text: str, layout: str, why: str) -> ValueError:
    parts = f' as "{layout}": ' if why.startswith("cannot") else ": "
    return ValueError(f"parsing time {go_quoted(text)}{parts}{why}")
