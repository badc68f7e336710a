"""Explains a topic: its meaning, remedy, severity and origin."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.did_you_mean import did_you_mean, nearest
from shunter.errors import InputError
from shunter.migrate.catalogue import modules, topics
from shunter.migrate.findings import Topic

GRADES = {
    "E": "exact",
    "Q": "the same by another mechanism",
    "D": "degraded",
    "L": "lossy",
    "N": "not expressible",
}
EFFORTS = {0: "nothing to do", 1: "a glance", 3: "an hour", 5: "a day", 7: "days", 13: "a project"}


def topic_of(id: str) -> Topic:
    """The topic of this id, in upper or lower case. Raises InputError with similar ids when there is none."""
    found = topics().get(id.upper())
    if found is None:
        raise InputError(
            f"{id}: neither a finding id nor a field of a v1 job.",
            did_you_mean(nearest(id, topics(), most=3), "List the ids with `shunter migrate explain --list`."),
        )
    return found


def lines(topic: Topic) -> Iterator[tuple[str, str]]:
    """Headings and texts; the first has no heading."""
    yield "", f"{topic.id}: {topic.title}"
    yield "What", topic.explanation
    yield "Remedy", topic.remedy
    yield "Severity", f"{topic.severity}, {_impact(topic)}"
    yield "Change", f"{topic.change}, grade {topic.grade} ({GRADES[topic.grade]})"
    yield "Effort", f"{topic.effort} points ({EFFORTS.get(topic.effort, 'more than a glance')})"
    if topic.upstream:
        yield "Upstream", topic.upstream
    yield "Module", ", ".join(modules()[topic.id])
    if topic.impact != "blocking" or topic.acceptable:
        yield "Suppress", f"migration.yaml: suppressions: [{{id: {topic.id}, reason: ...}}]"


def _impact(topic: Topic) -> str:
    if topic.impact != "blocking":
        return {"none": "blocks nothing", "advisory": "blocks nothing: review it"}[topic.impact]
    return f"blocks until suppressed: --accept {topic.id}" if topic.acceptable else "blocks, and cannot be suppressed"
