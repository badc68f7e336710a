"""What happened to a job, in order: its creation, conditions, failures of ranks, warnings. Pure; input is plain JSON."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from shunter.api.meta import EPOCH, Json, Struct
from shunter.jobs.ages import age
from shunter.jobs.condition_sentences import sentence
from shunter.jobs.failure_record import failure_record, recorded_log
from shunter.operator.causes.events import event_count, event_time
from shunter.operator.diagnosis import RANK_FAILED, recorded_failure
from shunter.operator.overview import moment
from shunter.operator.rank_failures import summary

SAME_MOMENT = timedelta(seconds=2)
"""Within this time an event and a condition with the same message report the same change."""
MOST = 100
"""The most entries: the creation, conditions, failures, and the newest of the others."""
FEW = 3
"""So many events in a row that differ only in a name are shown singly; of more only the first, with their number."""

Kind = Literal["created", "condition", "failure", "warning", "event"]
Tone = Literal["good", "bad", "plain"]
_TONES: Mapping[str, Tone] = {"Complete": "good", "Succeeded": "good", "Failed": "bad"}
"""The tone of a condition that is true, by its type."""


class TimelineEntry(Struct, frozen=True):
    """One thing that happened."""

    time: datetime
    kind: Kind
    text: str
    tone: Tone = "plain"
    rank: int | None = None
    """The rank of a failure, if known."""
    lines: tuple[str, ...] = ()
    """The last log lines of the container of a failure, as the operator recorded them."""
    times: int = 1
    """How often an event occurred; its text contains this too."""


def timeline(job: Json, events: Iterable[Json]) -> list[TimelineEntry]:
    """The entries, the oldest first; within one second a failure comes before the condition that follows from it. `events` are
    those about the job, its pods and the objects created for it (`description.own_events`). Events about a failure in the job's
    record, or with the message of a condition of the same time, are left out."""
    created = moment(job["metadata"].get("creationTimestamp"))
    first = [TimelineEntry(created, "created", "Created")] if created is not None else []
    events = list(events)
    logs = dict(recorded_failure(event) for event in events if event.get("reason") == RANK_FAILED)
    later = sorted((*_failures(job, logs), *_conditions(job), *_events(job, events)), key=lambda entry: entry.time)
    return [*first, *_newest(_merged(job, later))]


def without_names(job: Json, text: str) -> str:
    """The text with one placeholder for all names of pods and other objects of the job."""
    return re.sub(rf"(?<![a-z0-9-]){re.escape(job['metadata']['name'])}-[a-z0-9-]+", "NAME", text)


def _merged(job: Json, entries: Sequence[TimelineEntry]) -> Iterator[TimelineEntry]:
    """Merges repeated events, such as the creation of a thousand pods."""
    for (kind, _), group in itertools.groupby(entries, key=lambda entry: (entry.kind, without_names(job, entry.text))):
        found = [*group]
        if kind == "event" and len(found) > FEW:
            first, last, times = found[0], found[-1], sum(entry.times for entry in found)
            reason, _, message = first.text.partition(": ")
            span = age(first.time, last.time)
            text = f"{reason}: {times} times{f' in {span}' if span != '0s' else ''}; the first: {message}"
            yield msgspec.structs.replace(first, text=text, times=times)
        else:
            for entry in found:
                yield entry if entry.times == 1 else msgspec.structs.replace(entry, text=f"{entry.text} (x{entry.times})")


def _newest(entries: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """At most `MOST - 1` entries, in order. The oldest events and warnings are dropped first, so that those of a thousand pods do
    not displace a failure."""
    found = [*entries]
    others = [entry for entry in found if entry.kind in ("warning", "event")]
    dropped = {id(entry) for entry in others[: max(0, len(found) - (MOST - 1))]}
    return [entry for entry in found if id(entry) not in dropped][-(MOST - 1) :]


def is_relevant(event: Json, uid: str) -> bool:
    """Whether an event about the job with this uid, or its objects, belongs in its timeline: warnings, and events about the job
    itself. The thousand pods of a large job have many others."""
    return event.get("type") == "Warning" or event.get("involvedObject", {}).get("uid") == uid


def _conditions(job: Json) -> Iterator[TimelineEntry]:
    for condition in job.get("status", {}).get("conditions") or ():
        time = moment(condition.get("lastTransitionTime"))
        if time is not None and condition["type"] != "Created" and (text := sentence(job, condition)):
            tone = _TONES.get(condition["type"], "plain") if condition.get("status") == "True" else "plain"
            yield TimelineEntry(time, "condition", text, tone)


def _condition_messages(job: Json) -> dict[str, datetime]:
    """The messages of conditions in the timeline, with their times."""
    return {
        message: time
        for one in job.get("status", {}).get("conditions") or ()
        if (message := one.get("message")) and (one["type"] == "Created" or sentence(job, one))
        if (time := moment(one.get("lastTransitionTime"))) is not None
    }


def _failures(job: Json, logs: Mapping[str, Sequence[str]]) -> Iterator[TimelineEntry]:
    record = failure_record(job)
    for failure in record.last if record is not None else ():
        if failure.time is not None:
            log = tuple(recorded_log(failure, logs))
            yield TimelineEntry(failure.time, "failure", summary(failure), "bad", failure.rank, log)


def _events(job: Json, events: Iterable[Json]) -> Iterator[TimelineEntry]:
    has_record = failure_record(job) is not None
    uid = job["metadata"].get("uid", "")
    messages = _condition_messages(job)
    for event in events:
        time, is_failure = event_time(event), event.get("reason") == RANK_FAILED
        if time == EPOCH or not is_relevant(event, uid) or (is_failure and has_record):
            continue
        message, log = recorded_failure(event)
        if message in messages and abs(messages[message] - time) <= SAME_MOMENT:
            continue
        text = message if is_failure else f"{event.get('reason', '')}: {message}"
        kind: Kind = "failure" if is_failure else "warning" if event.get("type") == "Warning" else "event"
        tone: Tone = "plain" if kind == "event" else "bad"
        lines = tuple(log) if is_failure else ()
        yield TimelineEntry(time, kind, text, tone, lines=lines, times=event_count(event))
