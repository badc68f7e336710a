"""Rows of the Job view beside its head and its ranks: verdicts, timeline, curves, checkpoints. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.doctor.verdicts import Excerpt, Report
from shunter.jobs.curves import MOST_CURVES, Curve, curves, metric_names
from shunter.jobs.logs.visible_text import shortened, visible
from shunter.jobs.metrics import Series
from shunter.jobs.timeline import TimelineEntry, timeline
from shunter.launch.checkpoints.saved import SavedStep
from shunter.operator.training_progress import Checkpoint
from shunter.page.wire import CheckpointRow, EvidenceLine, SeriesRow, TimelineRow, VerdictRow

MOST_EVIDENCE = 40
LONGEST_EVIDENCE = 1_000
MOST_METRICS = 4
"""How many different metrics are drawn; further curves are other ranks of the first."""
MOST_CHECKPOINTS = 50


def verdict_rows(report: Report | None, log_ranks: Mapping[int, int]) -> list[VerdictRow]:
    """In the order of the report: certain verdicts first. `log_ranks` are those of the doctor's case."""
    found = []
    for verdict in report.verdicts if report is not None else ():
        evidence = [
            EvidenceLine(
                source=one.source,
                text=shortened(visible(one.text), LONGEST_EVIDENCE),
                log_rank=log_ranks.get(one.rank) if one.rank is not None else None,
            )
            for one in _distinct(verdict.evidence)[:MOST_EVIDENCE]
        ]
        found.append(
            VerdictRow(
                id=_id(verdict.id, *map(str, verdict.ranks), *verdict.pods),
                title=verdict.title,
                cause=visible(verdict.cause),
                confidence=verdict.confidence,
                ranks=verdict.ranks,
                log_rank=next((log_ranks[rank] for rank in verdict.ranks if rank in log_ranks), None),
                evidence=tuple(evidence),
                remedy=visible(verdict.remedy),
            )
        )
    return found


def _distinct(evidence: Sequence[Excerpt]) -> list[Excerpt]:
    """Without repetitions: a rank may write the same line again in its next attempt; the last one stays."""
    return [*{(one.source, one.text, one.rank): one for one in reversed(evidence)}.values()][::-1]


def timeline_rows(job: Json, events: Iterable[Json]) -> list[TimelineRow]:
    """Oldest first. Equal entries in a row become one, with their number."""
    rows: list[TimelineRow] = []
    for entry in timeline(job, events):
        row = _timeline_row(entry)
        if rows and (rows[-1].text, rows[-1].rank, rows[-1].tone) == (row.text, row.rank, row.tone):
            before = rows.pop()
            row = replace(row, id=before.id, times=before.times + 1, lines=row.lines or before.lines)
        rows.append(row)
    return rows


def _timeline_row(entry: TimelineEntry) -> TimelineRow:
    return TimelineRow(
        id=_id(entry.kind, entry.time.isoformat(), entry.text, str(entry.rank)),
        time=entry.time.timestamp(),
        tone=entry.tone,
        text=visible(entry.text),
        rank=entry.rank,
        lines=tuple(map(visible, entry.lines)),
    )


def series_rows(reported: Sequence[Series], logged: Mapping[int, Sequence[Series]]) -> list[SeriesRow]:
    """At most `MOST_CURVES`: each metric once, in the order of `metric_names`, then the first metric for other ranks. Each comes
    from reports or logs, whichever has more points, and `source` says which."""
    every = [*reported, *(series for of_rank in logged.values() for series in of_rank)]
    by_metric = [found for name in metric_names(every) if (found := curves(every, name))]
    chosen = [(order, found[0]) for order, found in enumerate(by_metric[:MOST_METRICS])]
    for found in by_metric[:1]:
        chosen += [(0, one) for one in found[1:]]
    return [_series_row(one, order) for order, one in chosen[:MOST_CURVES]]


def _series_row(curve: Curve, order: int) -> SeriesRow:
    return SeriesRow(
        id=_id(curve.name, str(curve.rank), curve.source),
        name=visible(curve.name),
        rank=curve.rank,
        order=order,
        source=curve.source,
        is_counted=curve.axis == "report",
        points=tuple((point.x, point.value) for point in curve.points),
    )


def checkpoint_rows(saved: Sequence[SavedStep], reported: Checkpoint | None, place: str) -> list[CheckpointRow]:
    """Newest first: checkpoints in a directory of this machine, and the one that the program reported."""
    place = visible(place)
    rows = [
        CheckpointRow(
            id=f"step-{one.step}",
            step=one.step,
            saved=one.saved.timestamp(),
            size=one.size,
            place=place,
            is_complete=one.is_complete,
        )
        for one in saved[:MOST_CHECKPOINTS]
    ]
    if reported is not None and all(one.step != reported.step for one in saved):
        time = reported.saved.timestamp() if reported.saved is not None else 0
        rows.append(CheckpointRow(id=f"step-{reported.step}", step=reported.step, saved=time, place=place))
    return sorted(rows, key=lambda row: -row.step)


def _id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
