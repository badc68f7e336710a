"""What happened to a job, in order: its creation, conditions, failures of ranks, warnings. Pure; input is plain JSON."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from shunter.api.meta import Json, Struct
from shunter.jobs.ages import age
from shunter.jobs.condition_sentences import sentence
from shunter.jobs.failure_record import failure_record, kept_words
from shunter.operator.causes.events import LONG_AGO, event_count, event_time
from shunter.operator.diagnosis import RANK_FAILED, recorded_failure
from shunter.operator.overview import moment
from shunter.operator.rank_failures import summary

SAME_MOMENT = timedelta(seconds=2)
"""An event and a condition with the same words were written for the same thing."""
MOST = 100
"""Entries that are kept, and no more: the creation, conditions, failures, and the newest of the others."""
FEW = 3
"""So many events in a row that differ in a name only stand each for themselves; of more only the first, with how often."""


Kind = Literal["created", "condition", "failure", "warning", "event"]
Tone = Literal["good", "bad", "plain"]
_TONES: Mapping[str, Tone] = {"Complete": "good", "Succeeded": "good", "Failed": "bad"}
"""Of conditions that have become true, by their type."""


class TimelineEntry(Struct, frozen=True):
    """One thing that happened."""

    time: datetime
    kind: Kind
    text: str
    tone: Tone = "plain"
    rank: int | None = None
    """Of a failure: the rank, where it is known."""
    lines: tuple[str, ...] = ()
    """Of a failure: the last lines that its container wrote, as the operator kept them."""
    times: int = 1
    """Of an event: how often it was told, as its text says too."""


def timeline(job: Json, events: Iterable[Json]) -> list[TimelineEntry]:
    """The oldest first; of one second a failure before the condition that follows from it. `events` are those about the job, its
    pods and what the operator made for it (`description.own_events`). A failure that the job's record has is not repeated from
    its event, nor what a condition of the same moment says."""
    created = moment(job["metadata"].get("creationTimestamp"))
    first = [TimelineEntry(created, "created", "Created")] if created is not None else []
    events = list(events)
    words = dict(recorded_failure(event) for event in events if event.get("reason") == RANK_FAILED)
    later = sorted((*_failures(job, words), *_conditions(job), *_events(job, events)), key=lambda entry: entry.time)
    return [*first, *_kept(_merged(job, later))]


def without_names(job: Json, text: str) -> str:
    """The text with all names of pods and the like of the job alike."""
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


def _kept(entries: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """At most `MOST - 1`, in order: a failure is not pushed out by what happens to a thousand pods."""
    found = [*entries]
    others = [entry for entry in found if entry.kind in ("warning", "event")]
    left = {id(entry) for entry in others[: max(0, len(found) - (MOST - 1))]}
    return [entry for entry in found if id(entry) not in left][-(MOST - 1) :]


def tells(event: Json, uid: str) -> bool:
    """Whether an event may stand in the timeline of the job of this uid, if it is about it: warnings about anything of it, and
    what the operator did about the job itself. The thousand pods of a large job have many others."""
    return event.get("type") == "Warning" or event.get("involvedObject", {}).get("uid") == uid


def _conditions(job: Json) -> Iterator[TimelineEntry]:
    for condition in job.get("status", {}).get("conditions") or ():
        time = moment(condition.get("lastTransitionTime"))
        if time is not None and condition["type"] != "Created" and (text := sentence(job, condition)):
            tone = _TONES.get(condition["type"], "plain") if condition.get("status") == "True" else "plain"
            yield TimelineEntry(time, "condition", text, tone)


def _condition_messages(job: Json) -> dict[str, datetime]:
    """The messages of conditions that stand in the timeline, with their times."""
    return {
        message: time
        for one in job.get("status", {}).get("conditions") or ()
        if (message := one.get("message")) and (one["type"] == "Created" or sentence(job, one))
        if (time := moment(one.get("lastTransitionTime"))) is not None
    }


def _failures(job: Json, words: Mapping[str, Sequence[str]]) -> Iterator[TimelineEntry]:
    record = failure_record(job)
    for failure in record.last if record is not None else ():
        if failure.time is not None:
            kept = tuple(kept_words(failure, words))
            yield TimelineEntry(failure.time, "failure", summary(failure), "bad", failure.rank, kept)


def _events(job: Json, events: Iterable[Json]) -> Iterator[TimelineEntry]:
    has_record = failure_record(job) is not None
    uid = job["metadata"].get("uid", "")
    said = _condition_messages(job)
    for event in events:
        time, is_failure = event_time(event), event.get("reason") == RANK_FAILED
        if time == LONG_AGO or not tells(event, uid) or (is_failure and has_record):
            continue
        message, kept = recorded_failure(event)
        if message in said and abs(said[message] - time) <= SAME_MOMENT:
            continue
        text = message if is_failure else f"{event.get('reason', '')}: {message}"
        kind: Kind = "failure" if is_failure else "warning" if event.get("type") == "Warning" else "event"
        tone: Tone = "plain" if kind == "event" else "bad"
        lines = tuple(kept) if is_failure else ()
        yield TimelineEntry(time, kind, text, tone, lines=lines, times=event_count(event))
