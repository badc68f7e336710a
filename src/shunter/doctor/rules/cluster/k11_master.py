"""K11: workers wait for the name of a master that has not started. A consequence, so only without another cause.

Does not claim that DNS is broken.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.training.pytorch import WAITING_CONTAINER
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule, of_pods, pods_and_events
from shunter.doctor.verdicts import Verdict


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on init containers of the operator that wait for the master's name. Only possible, and none if a pod is
    blocked, a container failed or another pod runs. Never that DNS is broken."""
    if case.overview.is_finished or case.blocked_pods or case.failures:
        return []
    waiting = [pod["metadata"]["name"] for pod in case.pods if _waits(pod)]
    others = [pod for pod in case.pods if pod["metadata"]["name"] not in waiting]
    if not waiting or any(pod.get("status", {}).get("phase") == "Running" for pod in others):
        return []
    return [
        Verdict(
            id="K11",
            title="WAITS FOR ITS MASTER",
            cause=f"{rank_list(case.ranks_of(waiting))} cannot start before the master, which has not started",
            confidence="possible",
            ranks=case.ranks_of(waiting),
            pods=tuple(waiting),
            evidence=of_pods("pod", "waits in an init container for the master's name", waiting),
            remedy="Find out why the master does not start: they wait for it.",
        )
    ]


def _waits(pod: Json) -> bool:
    statuses = pod.get("status", {}).get("initContainerStatuses") or []
    return any(one["name"] == WAITING_CONTAINER and "running" in one.get("state", {}) for one in statuses)


RULE = Rule("K11", judge, pods_and_events)
