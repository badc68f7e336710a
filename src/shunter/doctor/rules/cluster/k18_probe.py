"""K18: the kubelet stopped a container because its liveness or startup probe failed.

A rank that keeps a CPU busy, or waits for others, may answer no probe: that it was broken is not claimed.
"""

from __future__ import annotations

import re
from datetime import timedelta

from shunter.api.core import container_statuses
from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.doctor.case import Case
from shunter.doctor.endings import TOGETHER, Ending
from shunter.doctor.rules.cluster.k05_host_memory import REASON as OUT_OF_MEMORY
from shunter.doctor.rules.rule import Rule, pods_of, ranks_of, ranks_text
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator.causes.events import event_time
from shunter.operator.overview import moment
from shunter.operator.program_logs.ends import exception_name

_KILLED = re.compile(r"Container (\S+) failed (liveness|startup) probe")
"""In the words of the kubelet and of our node."""
_OF_STOP = ("SignalException", "KeyboardInterrupt")
"""Exceptions that a signal raises: that by which the kubelet stops a container."""
_GRACE = 30
"""Default of terminationGracePeriodSeconds."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on events Killing that name a probe, and the ends of the runs in which they occurred, with any exit code:
    torchrun ends with 1 on a signal, and a program that saves a checkpoint with 0. One for each probe; only possible of runs
    that have an exception of their own."""
    if case.overview.state == "Succeeded":
        return []
    found = [(probe, one) for one in _ends(case) if (probe := _probe(case, one))]
    groups = grouped_by(found, lambda pair: (pair[0], pair[1].container, _raised(pair[1])))
    return [_verdict(case, probe, name, raised, [one for _, one in pairs]) for (probe, name, raised), pairs in groups.items()]


def _ends(case: Case) -> list[Ending]:
    """The ends that matter now: that of a container which was restarted once and runs does not. Not those by a memory limit."""
    found = [*case.endings, *(one for pod in case.pods for one in _successes(case, pod))]
    return [one for one in found if one.reason != OUT_OF_MEMORY and (not one.runs_again or case.is_looping(one))]


def _successes(case: Case, pod: Json) -> list[Ending]:
    """The containers of a pod that ended last with exit code 0."""
    name, found = pod["metadata"]["name"], []
    for status in container_statuses(pod):
        state, before = ((status.get(which) or {}).get("terminated") for which in ("state", "lastState"))
        ended = state or before or {}
        if ended.get("exitCode") == 0:
            found.append(
                Ending(
                    pod=name,
                    container=status["name"],
                    ranks=case.ranks.get(name, ()),
                    reason=ended.get("reason") or "Completed",
                    exit_code=0,
                    at=ended.get("finishedAt") or "",
                    started=ended.get("startedAt") or "",
                    uid=pod["metadata"].get("uid", ""),
                    runs_again=not state,
                )
            )
    return found


def _probe(case: Case, ending: Ending) -> str:
    """The probe because of which the kubelet ended this run of a container; empty if it did not."""
    for event in case.evidence.events:
        match = _KILLED.search(str(event.get("message", ""))) if event.get("reason") == "Killing" else None
        if match is not None and match[1] == ending.container and _is_of_run(case, event, ending):
            return match[2]
    return ""


def _raised(ending: Ending) -> bool:
    """Whether an exception ended the program that neither the loss of a peer nor the signal of the stop raised."""
    error = ending.error
    return error is not None and not error.is_victim and not ending.is_victim and exception_name(error.text) not in _OF_STOP


def _is_of_run(case: Case, event: Json, ending: Ending) -> bool:
    """Whether an event is about this pod, and occurred while the container ran: one of an earlier pod of the same name is not.
    Of a run whose start is unknown, as of all whose pods are gone, in the grace period before its end."""
    started, ended = moment(ending.started), moment(ending.at)
    if not ending.uid or event.get("involvedObject", {}).get("uid") != ending.uid or ended is None:
        return False
    last = event_time(event)
    first = moment(event.get("firstTimestamp")) or last
    if started is None:
        grace = max((pod["spec"].get("terminationGracePeriodSeconds", _GRACE) for pod in case.pods), default=_GRACE)
        started = ended - timedelta(seconds=grace) - TOGETHER
    return first <= ended + TOGETHER and last >= started


def _verdict(case: Case, probe: str, container: str, raised: bool, ones: list[Ending]) -> Verdict:
    was = "may have been" if raised else "was" if len(ranks_of(ones)) < 2 else "were"
    return Verdict(
        id="K18",
        title="PROBE FAILED",
        cause=f"{ranks_text(ones)} {was} stopped by the kubelet because the {probe} probe of container {container} failed"
        + (": its log has an exception of its own" if raised else ""),
        confidence="possible" if raised else "certain",
        ranks=ranks_of(ones),
        pods=() if raised else pods_of(ones),  # Verdicts about the exception are not to yield to this one.
        evidence=tuple(excerpt for one in ones for excerpt in _answers(case, one, probe)),
        remedy=f"Remove the {probe}Probe, or raise timeoutSeconds, failureThreshold and "
        f"{'initialDelaySeconds, or add a startupProbe' if probe == 'liveness' else 'periodSeconds'}. A rank that imports, "
        "computes or waits may be slow to answer.",
        victims=tuple(rank for rank in case.victims if rank not in ranks_of(ones)),
    )


def _answers(case: Case, ending: Ending, probe: str) -> list[Excerpt]:
    """The last answer of the probe, and how the container ended."""
    own = [
        event
        for event in case.evidence.events
        if event.get("reason") == "Unhealthy"
        and _is_of_run(case, event, ending)
        and str(event.get("message", "")).lower().startswith(probe)
    ]
    found = []
    if own:
        last = max(own, key=event_time)
        text = str(last["message"]).strip().splitlines()[0]
        found.append(Excerpt(source="event", text=f"Unhealthy: {text}", pod=ending.pod, at=event_time(last).isoformat()))
    code = f"{ending.reason}, exit code {ending.exit_code}"
    return [*found, Excerpt(source="pod", text=code, pod=ending.pod, container=ending.container, at=ending.at)]


def needs(case: Case) -> tuple[str, ...]:
    """Events, if a container ended that has a probe, or whose pod is gone."""
    specs = (case.container(one.pod, one.container) for one in _ends(case))
    return ("events",) if any(not spec or "livenessProbe" in spec or "startupProbe" in spec for spec in specs) else ()


RULE = Rule("K18", judge, needs, explains=True)
