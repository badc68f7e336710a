"""T15: a rank ended with exit code 0 while others still needed it: every rank that failed lost a peer after that."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.jobs.training_pods import training_container
from shunter.operator.diagnosis import TOGETHER
from shunter.operator.overview import moment


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on training containers that ended with exit code 0 no later than the first failure, if all failures only
    lost a peer. Only likely."""
    if not case.failures or case.reasons or not any(one.error for one in case.failures):
        return []
    first = min((one.time for one in case.failures if one.time is not None), default=None)
    if first is None:
        return []
    gone = {pod["metadata"]["name"]: ended for pod in case.ranked if (ended := _succeeded(pod)) is not None}
    # Times of pods are whole seconds.
    early = [
        name for name, state in gone.items() if (at := moment(state.get("finishedAt"))) and at - first <= TOGETHER and at <= first
    ]
    if not early:
        return []
    ranks = case.ranks_of(early)
    return [
        Verdict(
            id="T15",
            title="LEFT EARLY",
            cause=f"{rank_list(ranks)} ended with exit code 0 while others still needed {'it' if len(ranks) == 1 else 'them'}",
            confidence="likely",
            ranks=ranks,
            pods=tuple(early),
            evidence=tuple(
                Excerpt(source="pod", text="exit code 0", pod=name, at=gone[name].get("finishedAt") or "") for name in early
            ),
            remedy="All ranks must run the same number of steps: compare the lengths of their data, and look for early returns.",
            victims=case.victims,
        )
    ]


def _succeeded(pod: Json) -> Json | None:
    name = training_container(pod)
    status: Json = next((one for one in pod.get("status", {}).get("containerStatuses") or () if one["name"] == name), {})
    ended: Json | None = status.get("state", {}).get("terminated")
    return ended if ended is not None and ended.get("exitCode") == 0 else None


RULE = Rule("T15", judge, logs_of_failures, explains=True)
