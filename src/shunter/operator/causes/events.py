"""When an event was told last, and how often. Pure; of plain JSON, of either API of events."""

from __future__ import annotations

from datetime import UTC, datetime

from shunter.api.meta import Json
from shunter.operator.overview import moment

LONG_AGO = datetime.fromtimestamp(0, UTC)


def event_time(event: Json) -> datetime:
    """The last time that the event was told; LONG_AGO when it does not say."""
    series = event.get("series") or {}
    for text in (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp")):
        if (told := moment(text)) is not None:
            return told
    return moment(event.get("metadata", {}).get("creationTimestamp")) or LONG_AGO


def event_count(event: Json) -> int:
    """How often the event was told."""
    return max(event.get("count") or 1, (event.get("series") or {}).get("count") or 1)
