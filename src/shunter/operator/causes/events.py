"""When an event last occurred, and how often. Pure; input is plain JSON of either Event API."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import EPOCH, Json
from shunter.operator.overview import moment


def event_time(event: Json) -> datetime:
    """When the event last occurred; EPOCH if it has no time."""
    series = event.get("series") or {}
    for text in (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"), event.get("firstTimestamp")):
        if (occurred := moment(text)) is not None:
            return occurred
    return moment(event.get("metadata", {}).get("creationTimestamp")) or EPOCH


def event_count(event: Json) -> int:
    """How often the event occurred."""
    return max(event.get("count") or 1, (event.get("series") or {}).get("count") or 1)
