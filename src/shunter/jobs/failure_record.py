"""What the operator keeps of a job's failures (`status.rankFailures`), read and put in words. Pure; input is plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from shunter.api.formats.counts import count
from shunter.api.meta import Json, rfc3339
from shunter.api.rank_failures import RankFailure, RankFailures
from shunter.jobs.ages import age
from shunter.operator.diagnosis import TOGETHER, Fault, by_cause
from shunter.operator.rank_failures import fault, summary


def failure_record(job: Json) -> RankFailures | None:
    """None for a job of which nothing has failed, as far as its operator knows."""
    found = (job.get("status") or {}).get("rankFailures")
    return msgspec.convert(found, RankFailures) if found else None


def last_failure(record: RankFailures | None) -> RankFailure | None:
    """The newest that the record keeps; None where it keeps none, or there is no record."""
    return record.last[-1] if record is not None and record.last else None


def as_json(record: RankFailures | None) -> Json:
    """`failures`, their number, and `lastFailure`, null when there is none: the same fields for every job."""
    last = last_failure(record)
    shown = None
    if last is not None:
        shown = {
            "rank": last.rank,
            "pod": last.pod,
            "container": last.container,
            "reason": last.reason,
            "exitCode": last.exit_code,
            "message": last.message,
            "time": rfc3339(last.time) if last.time else None,
        }
    return {"failures": record.count if record is not None else 0, "lastFailure": shown}


def cell(record: RankFailures | None, now: datetime) -> str:
    """`3 (rank 1 OOMKilled, 12s ago)`; empty when nothing has failed."""
    last = last_failure(record)
    if record is None or last is None:
        return ""
    rank = f"rank {last.rank}" if last.rank is not None else last.pod
    why = f"exit code {last.exit_code}" if last.reason == "Error" and last.exit_code is not None else last.reason
    when = f", {age(last.time, now)} ago" if last.time else ""
    return f"{record.count} ({rank} {why}{when})"


def heading(record: RankFailures) -> str:
    """`3 failures so far`, and how many of them are shown when not all are."""
    shown = f", the last {len(record.last)}" if record.count > len(record.last) else ""
    return f"{count(record.count, 'failure')} so far{shown}"


def lines(record: RankFailures, now: datetime, words: Mapping[str, Sequence[str]]) -> list[str]:
    """One failure after another, the newest last: what failed alike in a row stands once. `words` are what was kept of logs, by
    what `summary` says of the failure."""
    groups = [[*group] for _, group in groupby(record.last, lambda one: summary(msgspec.structs.replace(one, restart=0)))]
    shown = []
    for group in groups:
        last = group[-1]
        times = f" (x{len(group)})" if len(group) > 1 else ""
        shown.append(f"{age(last.time, now) if last.time else '':>5} {summary(last)}{times}")
        said = next((found for one in reversed(group) if (found := kept_words(one, words))), ())
        shown += [f"      | {line}" for line in said]
    return shown


def kept_words(failure: RankFailure, words: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What an event kept of its log; the event does not have the last line that the record took from there."""
    return words.get(summary(failure)) or words.get(summary(msgspec.structs.replace(failure, message=""))) or ()


def last_to_fail(record: RankFailures | None) -> list[RankFailure]:
    """The last failure, and those shortly before it."""
    last = last_failure(record)
    if record is None or last is None:
        return []
    ends = last.time
    return [
        one for one in record.last if one is last or (ends is not None and one.time is not None and ends - one.time <= TOGETHER)
    ]


def cause_of_end(record: RankFailures | None) -> RankFailure | None:
    """The failure from which those that ended the job came: of the last, and of those shortly before it, the first that is not a
    victim. None when nothing is recorded."""
    near = last_to_fail(record)
    if not near:
        return None
    by_fault: list[tuple[Fault, RankFailure]] = [
        (msgspec.structs.replace(fault(one), ended=rfc3339(one.time) if one.time else ""), one) for one in near
    ]
    first = by_cause([each for each, _ in by_fault], lambda each: each.message)[0]
    return next(one for each, one in by_fault if each is first)
