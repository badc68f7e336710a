"""K18: the node ended a container because its liveness or startup probe failed.

A rank that keeps a CPU busy, or waits for others, may answer no probe: that it was broken is not claimed.
"""

from __future__ import annotations

import re

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.rule import Rule, pods_of, ranks_of, ranks_text
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator.causes.events import event_time

_KILLED = re.compile(r"Container (\S+) failed (liveness|startup) probe")
"""In the words of the kubelet and of our node."""
SIGTERM, SIGKILL = 143, 137


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on events Killing that name a probe, and containers of their pods that a signal ended: one for each
    probe."""
    if case.overview.state == "Succeeded":
        return []
    probes = _probes(case)
    found = [
        (probe, one) for one in case.endings if _is_of_interest(case, one) and (probe := probes.get((one.pod, one.container)))
    ]
    groups = grouped_by(found, lambda pair: (pair[0], pair[1].container))
    return [_verdict(case, probe, name, [one for _, one in pairs]) for (probe, name), pairs in groups.items()]


def _is_of_interest(case: Case, ending: Ending) -> bool:
    """Whether a signal ended it, and it matters now: a container that was restarted once and runs does not."""
    return ending.exit_code in (SIGTERM, SIGKILL) and (not ending.runs_again or case.is_looping(ending))


def _probes(case: Case) -> dict[tuple[str, str], str]:
    """The probe because of which a container was ended, by pod and container."""
    found = {}
    for event in case.evidence.events:
        if event.get("reason") == "Killing" and (match := _KILLED.search(str(event.get("message", "")))):
            found[event.get("involvedObject", {}).get("name", ""), match[1]] = match[2]
    return found


def _verdict(case: Case, probe: str, container: str, ones: list[Ending]) -> Verdict:
    was = "was" if len(ranks_of(ones)) < 2 else "were"
    return Verdict(
        id="K18",
        title="PROBE FAILED",
        cause=f"{ranks_text(ones)} {was} ended by the node because the {probe} probe of container {container} failed",
        confidence="certain",
        ranks=ranks_of(ones),
        pods=pods_of(ones),
        evidence=tuple(excerpt for one in ones for excerpt in _answers(case, one, probe)),
        remedy=f"Remove the {probe}Probe, or allow more: timeoutSeconds, failureThreshold, and "
        f"{'initialDelaySeconds or a startupProbe' if probe == 'liveness' else 'periodSeconds'}. A rank that imports, "
        "computes or waits may be slow to answer.",
        victims=tuple(rank for rank in case.victims if rank not in ranks_of(ones)),
    )


def _answers(case: Case, ending: Ending, probe: str) -> list[Excerpt]:
    """The last answer of the probe, and how the container ended."""
    own = [
        event
        for event in case.evidence.events
        if event.get("reason") == "Unhealthy"
        and event.get("involvedObject", {}).get("name") == ending.pod
        and str(event.get("message", "")).lower().startswith(probe)
    ]
    found = []
    if own:
        last = max(own, key=event_time)
        text = str(last["message"]).strip().splitlines()[0]
        found.append(Excerpt(source="event", text=f"Unhealthy: {text}", pod=ending.pod, at=event_time(last).isoformat()))
    code = f"{ending.reason}, exit code {ending.exit_code}"
    return [*found, Excerpt(source="pod", text=code, pod=ending.pod, container=ending.container, at=ending.at)]


RULE = Rule(
    "K18",
    judge,
    lambda case: ("events",) if any(one.exit_code in (SIGTERM, SIGKILL) for one in case.endings) else (),
    explains=True,
)
