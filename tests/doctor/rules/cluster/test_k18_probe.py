"""Runs of a container that the kubelet ended because a probe failed."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.evidences import ended, failed, pod, runs, seen
from doctor.rule_cases import killed_by_probe, loops, probe_event
from job_evidence import NOW, ago
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.rules.cluster import k18_probe

KILLING = "Container pytorch failed liveness probe, will be restarted"


def ids(*pods: Any, **more: Any) -> list[str]:
    return [one.id for one in diagnose(seen(*pods, **more), NOW).verdicts]


@pytest.mark.parametrize("code", [0, 1, 2, 137, 143])
def test_it_is_named_whatever_the_exit_code(code: int) -> None:
    """torchrun ends with 1 on a signal, and a program that saves a checkpoint then with 0."""
    (verdict,) = diagnose(killed_by_probe(code), NOW).verdicts
    assert (verdict.id, verdict.confidence, verdict.ranks) == ("K18", "certain", (1,))
    assert [one.text for one in verdict.evidence] == [
        "Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503",
        f"Error, exit code {code}",
    ]


def test_an_event_that_occurred_several_times_is_of_each_of_these_runs() -> None:
    """The kubelet counts up one event: the last time is of the run that ends now."""
    killing = {**probe_event("Killing", KILLING, at=2), "firstTimestamp": ago(300), "count": 4}
    assert "K18" in ids(pod(1, **loops()), events=[killing])
    killing["firstTimestamp"] = killing["lastTimestamp"]
    assert "K18" not in ids(pod(1, **loops()), events=[killing])


def test_a_container_that_runs_again_since_matters_no_more() -> None:
    for code in (0, 1, 137):
        last = {"terminated": {"exitCode": code, "reason": "Error", "startedAt": ago(90), "finishedAt": ago(30)}}
        events = [probe_event("Killing", KILLING, at=31)]
        again = pod(1, **runs(20, restartCount=1, lastState=last))
        assert ids(pod(0, **runs()), again, pod(2, **runs()), events=events) == []


def test_events_are_needed_only_of_containers_with_a_probe() -> None:
    def needs(**container: Any) -> tuple[str, ...]:
        return k18_probe.RULE.needs(Case(failed(pod(1, container=container, **ended(1))), NOW))

    assert needs() == ()
    assert needs(readinessProbe={}) == ()
    assert needs(livenessProbe={}) == needs(startupProbe={}) == ("events",)
