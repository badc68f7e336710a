"""The time that the kubelet puts before each line of a log, where it is asked for. Pure.

RFC 3339 with up to nine digits of a second. A program may print what only looks like it (`2026-13-01T00:00:00Z`): that is text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


def time_of(text: str) -> datetime | None:
    """A time to the microsecond, in UTC; None for what is no time."""
    key = time_key(text)
    return key[0].replace(microsecond=int(key[1][:6])) if key else None


def time_key(text: str) -> tuple[datetime, str] | None:
    """What orders the times of log lines, to the nanosecond, whatever zone and number of digits they are written with; None for
    what is no time."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    second, fraction, zone = match.groups()
    moment = _moment(second + zone)
    return (moment, (fraction or "").ljust(9, "0")) if moment is not None else None


@lru_cache(maxsize=4096)
def _moment(second: str) -> datetime | None:
    """Cached, as many lines have the same second."""
    try:
        return datetime.fromisoformat(second).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def split_time(line: str) -> tuple[str, str]:
    """The time before a line, as it is written, and the rest of the line; the time is empty where there is none."""
    time, _, text = line.partition(" ")
    return (time, text) if time_key(time) else ("", line)
