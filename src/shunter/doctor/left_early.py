"""Ranks that ended with exit code 0 while others still needed them: every rank that failed lost a peer after that. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.jobs.training_pods import training_end
from shunter.operator.overview import moment

LONGEST_WAIT = timedelta(minutes=30)
"""How long ranks wait for one that has left: torch's longest default timeout of a collective, that of Gloo."""


class LeftEarly(NamedTuple):
    """The pods that ended early, and what followed."""

    pods: dict[str, str]
    """When each of them ended, by name."""
    victims: tuple[int, ...]
    """The ranks that failed after that, sorted."""
    is_soon: bool
    """Whether the first of them failed no more than LONGEST_WAIT after one of the pods had ended."""
    restarted: str = ""
    """Why the ranks that were restarted since cannot meet them again; empty if none was."""


def left_early(case: Case) -> LeftEarly | None:
    """The training containers that ended with exit code 0 no later than the first failure, if all failures only lost a peer: also
    those of ranks that were restarted since. None without such."""
    return case.once(_left_early)


def _left_early(case: Case) -> LeftEarly | None:
    failures, restarted = case.failures, ""
    if case.cause is not None and case.cause.word == "PeersSucceeded":
        failures, restarted = case.endings, case.cause.text
    if any(not one.is_victim for one in failures) or not any(one.error for one in failures):
        return None
    first = min((one.time for one in failures if one.time is not None), default=None)
    if first is None:
        return None
    gone = {pod["metadata"]["name"]: ended for pod in case.ranked if (ended := _succeeded_at(pod))}
    early = {name: (at, end) for name, at in gone.items() if (end := moment(at)) is not None and end <= first}
    if not early:
        return None
    ranks = set(case.ranks_of(early))
    victims = tuple(sorted({rank for one in failures for rank in one.ranks} - ranks))
    is_soon = first - max(end for _, end in early.values()) <= LONGEST_WAIT
    return LeftEarly({name: at for name, (at, _) in early.items()}, victims, is_soon, restarted)


def _succeeded_at(pod: Json) -> str:
    """When the training container ended with exit code 0; empty if it did not."""
    ended = training_end(pod)
    return str(ended.get("finishedAt") or "") if ended.get("exitCode") == 0 else ""
