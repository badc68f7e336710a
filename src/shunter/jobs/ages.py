"""How long ago something was, or how long it took, in few letters. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def age(since: datetime | None, until: datetime | None = None) -> str:
    """How long ago, as `duration` says it."""
    return duration(None if since is None else (until or datetime.now(UTC)) - since)


def duration(time: timedelta | None) -> str:
    """`45s`, `3m`, `2h`, `5d`: how long, in the largest unit that says something; empty when unknown."""
    if time is None:
        return ""
    seconds = max(0, int(time.total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
