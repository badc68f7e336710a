"""Events have two faces, core/v1 and events.k8s.io/v1, over one stored object; the core one is stored.

Source: k8s.io/kubernetes `pkg/apis/events/v1` conversion. Field selectors and `kubectl describe` read the core names.
"""

from shunter.api.meta import Json

EVENTS_GROUP = ("events.k8s.io", "events")
STORED_AS = ("", "events")

_NAMES = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
)
_OMITTED_WHEN_EMPTY = ("reportingComponent", "reportingInstance")
_TO_CORE = dict(_NAMES)
_FROM_CORE = {core: new for new, core in _NAMES}


def to_core(event: Json) -> Json:
    """An events.k8s.io/v1 Event as core/v1 keeps it."""
    return {_TO_CORE.get(name, name): value for name, value in event.items()}


def from_core(event: Json) -> Json:
    """A stored Event as events.k8s.io/v1 shows it."""
    return {_FROM_CORE.get(name, name): value for name, value in event.items() if value or name not in _OMITTED_WHEN_EMPTY}
