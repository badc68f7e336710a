"""K17: the container that trains (or prepares: an initializer) has ended, and its pod goes on, because another container runs.

A pod ends with its last container, so the job neither succeeds nor fails before that. While other ranks run, that may be the
smaller trouble: they hang if they still need this one.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from shunter.api.formats.counts import listed, noun
from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict
from shunter.jobs.training_pods import training_container, training_end
from shunter.operator.overview import moment

LEAST_TIME = timedelta(minutes=1)
"""How long ago the training must have ended: a sidecar that ends with it may take seconds."""
LONG = timedelta(minutes=5)
"""How long ago it must have ended if the other container may end by itself, as one that uploads results."""
_ENDLESS = re.compile(r"proxy|^(?:kuma-sidecar|daprd|vault-agent)$")
"""Containers that serve until they are stopped, such as istio-proxy."""
REMEDY = "Stop {} when training ends, or run it as a native sidecar (an init container with restartPolicy: Always)."


class Held(NamedTuple):
    """A pod whose training has ended while others of its containers run."""

    pod: str
    trained: str
    exit_code: int
    at: str
    since: timedelta
    others: tuple[str, ...]


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on pods whose training container, or initializer, ended a minute or longer ago, with any exit code, and will
    not be restarted, while others run: one for each set of these, and each outcome. Certain if all ranks have ended, or the pods
    have none, else likely; only possible as long as the other containers may be about to end."""
    if case.overview.is_finished:
        return []
    found = [one for pod in case.pods if (one := _held(pod, case.now)) is not None]
    groups = grouped_by(found, lambda one: (one.others, one.exit_code == 0, "" if case.ranks.get(one.pod) else one.trained))
    return [_verdict(case, others, ones) for (others, *_), ones in groups.items()]


def _held(pod: Json, now: datetime) -> Held | None:
    if "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") != "Running":
        return None
    name, policy = training_container(pod), pod["spec"].get("restartPolicy", "Always")
    states = {one["name"]: one.get("state") or {} for one in pod["status"].get("containerStatuses") or ()}
    ended = training_end(pod)
    others = tuple(sorted(other for other, state in states.items() if "running" in state))
    if not ended or not others or policy == "Always" or (policy == "OnFailure" and ended.get("exitCode")):
        return None
    at = moment(ended.get("finishedAt"))
    if at is None or now - at < LEAST_TIME:
        return None
    return Held(pod["metadata"]["name"], name, int(ended.get("exitCode") or 0), str(ended["finishedAt"]), now - at, others)


def _confidence(case: Case, ones: list[Held]) -> Confidence:
    if not all(one.since >= LONG or any(map(_ENDLESS.search, one.others)) for one in ones):
        return "possible"
    ranked = [case.pod(pod) for pod, ranks in case.ranks.items() if ranks]
    has_ranks = any(case.ranks.get(one.pod) for one in ones)
    return "likely" if has_ranks and not all(map(training_end, ranked)) else "certain"


def _verdict(case: Case, others: tuple[str, ...], ones: list[Held]) -> Verdict:
    pods = tuple(one.pod for one in ones)
    ranks = case.ranks_of(pods)
    of_pods = f"container {ones[0].trained} of {noun(len(pods), 'pod')} {listed(pods)}"
    who = rank_list(ranks) if ranks else of_pods
    have, their = ("have", "their") if len(ranks) > 1 else ("has", "its" if len(pods) == 1 else "their")
    ended = "failed" if ones[0].exit_code else "ended"
    do, are = noun(len(pods), "pod does", "pods do"), noun(len(others), "is", "are")
    text = (
        f"{who} {have} {ended}, but {their} {do} not end: {noun(len(others), 'container')} {listed(others)} {are} still running"
    )
    return Verdict(
        id="K17",
        title="POD KEPT RUNNING",
        cause=text,
        confidence=_confidence(case, ones),
        ranks=ranks,
        pods=pods,
        evidence=tuple(
            Excerpt(source="pod", text=f"{one.trained} ended with exit code {one.exit_code}", pod=one.pod, at=one.at)
            for one in ones
        ),
        remedy=REMEDY.format(listed(others)),
    )


RULE = Rule("K17", judge, lambda case: () if case.overview.is_finished else ("pods",))
