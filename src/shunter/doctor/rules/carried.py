"""Verdicts about causes that `operator.causes` has decided."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.doctor.case import Case
from shunter.doctor.rules.rule import of_pods
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator.causes.events import event_time


def of_blocked_pods(case: Case, id: str, title: str, words: Sequence[str], *, state: str) -> list[Verdict]:
    """One verdict for each text of the causes named by `words`; `state` describes the pods in the evidence."""
    return [
        Verdict(
            id=id,
            title=title,
            cause=text,
            confidence="certain",
            ranks=case.ranks_of(pods),
            pods=tuple(pods),
            evidence=of_pods("pod", state, pods),
            remedy=remedy,
        )
        for (_, text, remedy), pods in case.pods_blocked_by(words).items()
    ]


def of_job(case: Case, id: str, title: str, words: Sequence[str]) -> list[Verdict]:
    """The verdict for a cause of the job as a whole."""
    cause = case.cause
    if cause is None or cause.who or cause.word not in words:
        return []
    event = max((one for one in case.evidence.events if cause.text in str(one.get("message", ""))), key=event_time, default=None)
    if event is not None:
        excerpt = Excerpt(
            source="event", text=f"{event.get('reason')}: {str(event['message']).strip()}", at=event_time(event).isoformat()
        )
    else:
        excerpt = Excerpt(source="job", text=f"{case.job['kind']} {case.overview.name}: {case.overview.state}")
    return [
        Verdict(
            id=id, title=title, cause=f"{cause.text}{cause.rest}", confidence="certain", evidence=(excerpt,), remedy=cause.remedy
        )
    ]
