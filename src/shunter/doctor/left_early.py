"""Ranks that ended with exit code 0 while others still needed them: every rank that failed lost a peer after that. Pure."""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.jobs.training_pods import training_end
from shunter.operator.diagnosis import TOGETHER
from shunter.operator.overview import moment


class LeftEarly(NamedTuple):
    """The pods that ended early, and what followed."""

    pods: dict[str, str]
    """When each of them ended, by name."""
    victims: tuple[int, ...]
    """The ranks that failed after that, sorted."""
    since: str = ""
    """Why the ranks that were restarted since cannot meet them again; empty if none was."""


def left_early(case: Case) -> LeftEarly | None:
    """The training containers that ended with exit code 0 no later than the first failure, if all failures only lost a peer: also
    those of ranks that were restarted since. None without such."""
    return case.once(_left_early)


def _left_early(case: Case) -> LeftEarly | None:
    failures, since = case.failures, ""
    if case.cause is not None and case.cause.word == "PeersSucceeded":
        failures, since = case.endings, case.cause.text
    if any(not one.is_victim for one in failures) or not any(one.error for one in failures):
        return None
    first = min((one.time for one in failures if one.time is not None), default=None)
    if first is None:
        return None
    gone = {pod["metadata"]["name"]: ended for pod in case.ranked if (ended := _succeeded_at(pod))}
    # Times of pods are whole seconds.
    early = {name: at for name, at in gone.items() if (end := moment(at)) and end - first <= TOGETHER and end <= first}
    ranks = set(case.ranks_of(early))
    victims = tuple(sorted({rank for one in failures for rank in one.ranks} - ranks))
    return LeftEarly(early, victims, since) if early else None


def _succeeded_at(pod: Json) -> str:
    """When the training container ended with exit code 0; empty if it did not."""
    ended = training_end(pod)
    return str(ended.get("finishedAt") or "") if ended.get("exitCode") == 0 else ""
