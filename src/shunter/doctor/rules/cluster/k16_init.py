"""K16: pods wait for an init container that runs on.

Does not say that it hangs: it may still download. Not the operator's own init containers, which wait for the master (K11) or for
the workers of an MPIJob.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from shunter.api.core import native_sidecars
from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.jobs.ages import duration
from shunter.jobs.training_pods import ADDED_CONTAINERS
from shunter.operator.overview import moment
from shunter.operator.program_logs.lines import parsed

LEAST_TIME = timedelta(minutes=1)
"""How long an init container must have run: most take seconds."""


class Init(NamedTuple):
    """An init container that runs, and its pod."""

    pod: str
    container: str
    ran: timedelta


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on init containers that have run for a minute or longer, one for each name. Only possible."""
    if case.overview.is_finished:
        return []
    found = [one for pod in case.pods if (one := _running(case, pod)) is not None and one.ran >= LEAST_TIME]
    return [_verdict(case, name, ones) for name, ones in grouped_by(found, lambda one: one.container).items()]


def _running(case: Case, pod: Json) -> Init | None:
    if "deletionTimestamp" in pod["metadata"]:
        return None
    sidecars = native_sidecars(pod)
    for one in pod.get("status", {}).get("initContainerStatuses") or ():
        started = moment((one.get("state", {}).get("running") or {}).get("startedAt"))
        if started is not None and one["name"] not in sidecars and one["name"] not in ADDED_CONTAINERS:
            return Init(pod["metadata"]["name"], one["name"], case.now - started)
    return None


def _verdict(case: Case, name: str, ones: list[Init]) -> Verdict:
    pods = [one.pod for one in ones]
    ranks = case.ranks_of(pods)
    who, wait = (rank_list(ranks), "waits" if len(ranks) == 1 else "wait") if ranks else (f"pod {pods[0]}", "waits")
    namespace = case.overview.namespace
    return Verdict(
        id="K16",
        title="INIT CONTAINER STILL RUNNING",
        cause=f"{who} {wait} for init container {name}, which is still running",
        confidence="possible",
        ranks=ranks,
        pods=tuple(pods),
        evidence=tuple(excerpt for one in ones for excerpt in _evidence(case, one)),
        remedy=f"Check whether it makes progress: kubectl logs -n {namespace} {pods[0]} -c {name} --timestamps",
    )


def _evidence(case: Case, one: Init) -> list[Excerpt]:
    found = [Excerpt(source="pod", text=f"{one.container} has run for {duration(one.ran)}", pod=one.pod)]
    lines = parsed(case.logs.get((one.pod, one.container, False), ""))
    if lines:
        last = lines[-1]
        found.append(Excerpt(source="log", text=last.text, pod=one.pod, container=one.container, at=last.at))
    return found


RULE = Rule("K16", judge, pods_and_events)
