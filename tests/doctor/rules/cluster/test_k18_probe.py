"""Runs of a container that the kubelet ended because a probe failed."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.evidences import ended, failed, log, pod, runs, seen, traceback
from doctor.rule_cases import killed_by_probe, loops, probe_event
from job_evidence import NOW, ago
from shunter.doctor.case import Case
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.rules.cluster import k18_probe

KILLING = "Container pytorch failed liveness probe, will be restarted"
RAISES = "RuntimeError: CUDA error: an illegal memory access was encountered"


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


def gone(*pods: Any, killed: float, grace: int | None = None) -> list[str]:
    """The ids of the verdicts of a deleted pod that raised 30 s ago, and whose event Killing is that old."""
    failure = {"pod": "j-worker-0", "podUID": "u-gone", "rank": 1, "container": "pytorch", "reason": "Error", "exitCode": 1}
    spec = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    evidence = failed(pod(0, **runs(), spec=spec), events=[probe_event("Killing", KILLING, uid="u-gone", at=killed)])
    evidence.job["status"]["rankFailures"] = {"count": 1, "last": [{**failure, "time": ago(30)}]}
    return [one.id for one in diagnose(evidence, NOW).verdicts]


def test_of_a_deleted_pod_only_an_event_shortly_before_its_end_counts() -> None:
    """When a run began whose pod is gone is not recorded: the event may be of an earlier one in the same pod."""
    assert gone(killed=3000) == ["T00"]
    assert gone(killed=62) == ["T00"]
    assert gone(killed=60) == ["K18"]
    assert gone(killed=140, grace=120) == ["K18"]


def test_an_event_before_the_start_of_a_run_is_of_another() -> None:
    """Run 1 was stopped a second before run 2 started, which raised by itself."""
    evidence = killed_by_probe(1, at=91, logs=(log(1, traceback(RAISES)),))
    assert [one.id for one in diagnose(evidence, NOW).verdicts] == ["T00"]
    assert [one.id for one in diagnose(killed_by_probe(1, at=91), NOW).verdicts] == ["T00"]
    assert [one.id for one in diagnose(killed_by_probe(1, at=90), NOW).verdicts] == ["K18"]


def test_an_exception_of_its_own_is_the_cause_rather_than_the_probe() -> None:
    evidence = killed_by_probe(1, logs=(log(1, traceback(RAISES)),))
    first, second = diagnose(evidence, NOW).verdicts
    assert (first.id, first.confidence, first.ranks) == ("T00", "certain", (1,))
    assert (second.id, second.confidence, second.ranks) == ("K18", "possible", (1,))
    assert second.cause == (
        "rank 1 may have been stopped by the kubelet because the liveness probe of container pytorch failed: its log has an "
        "exception of its own"
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (1, "torch.distributed.elastic.multiprocessing.api.SignalException: Process 1 got signal: 2"),
        (130, "KeyboardInterrupt"),
        (143, RAISES),
    ],
)
def test_an_exception_by_the_stop_or_before_a_signal_is_not_the_cause(code: int, text: str) -> None:
    (verdict,) = diagnose(killed_by_probe(code, logs=(log(1, traceback(text)),)), NOW).verdicts
    assert (verdict.id, verdict.confidence) == ("K18", "certain")


def test_events_are_needed_only_of_containers_with_a_probe() -> None:
    def needs(**container: Any) -> tuple[str, ...]:
        return k18_probe.RULE.needs(Case(failed(pod(1, container=container, **ended(1))), NOW))

    assert needs() == ()
    assert needs(readinessProbe={}) == ()
    assert needs(livenessProbe={}) == needs(startupProbe={}) == ("events",)
