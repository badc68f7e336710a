"""The operator's record of a job's failures (`status.rankFailures`), read and described. Pure; input is plain JSON."""

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
    """The record; None if nothing has failed, as far as the operator knows."""
    found = (job.get("status") or {}).get("rankFailures")
    return msgspec.convert(found, RankFailures) if found else None


def last_failure(record: RankFailures | None) -> RankFailure | None:
    """The newest failure of the record; None if there is none."""
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


def lines(record: RankFailures, now: datetime, logs: Mapping[str, Sequence[str]]) -> list[str]:
    """The failures, the newest last; equal ones in a row are one line. `logs` are the recorded last log lines, by the `summary`
    of the failure."""
    groups = [[*group] for _, group in groupby(record.last, lambda one: summary(msgspec.structs.replace(one, restart=0)))]
    shown = []
    for group in groups:
        last = group[-1]
        times = f" (x{len(group)})" if len(group) > 1 else ""
        shown.append(f"{age(last.time, now) if last.time else '':>5} {summary(last)}{times}")
        log = next((found for one in reversed(group) if (found := recorded_log(one, logs))), ())
        shown += [f"      | {line}" for line in log]
    return shown


def recorded_log(failure: RankFailure, logs: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The last log lines that an event recorded of a failure, without the last one if the record itself has it."""
    return logs.get(summary(failure)) or logs.get(summary(msgspec.structs.replace(failure, message=""))) or ()


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
    """The failure that ended the job: of the last one and those shortly before it, the first that is not a victim of another.
    None if nothing is recorded."""
    last = last_to_fail(record)
    if not last:
        return None
    by_fault: list[tuple[Fault, RankFailure]] = [
        (msgspec.structs.replace(fault(one), ended=rfc3339(one.time) if one.time else ""), one) for one in last
    ]
    first = by_cause([one for one, _ in by_fault], lambda one: one.message)[0]
    return next(failure for one, failure in by_fault if one is first)
