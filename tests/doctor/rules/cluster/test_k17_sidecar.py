"""A container that keeps a pod running after its training has ended."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.evidences import failed, group_pod, log, pod, runs, seen, traceback, train_job
from doctor.rule_cases import beside
from job_evidence import NOW, ago
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence, Missing
from shunter.doctor.live_diagnosis import may_hang
from shunter.doctor.verdicts import Verdict


def verdicts(evidence: Evidence) -> list[Verdict]:
    return [one for one in diagnose(evidence, NOW).verdicts if one.id == "K17"]


@pytest.mark.parametrize("code", [0, 1])
def test_it_is_certain_only_if_all_ranks_have_ended(code: int) -> None:
    """Ranks 0 and 2 hung because rank 1 had left early, and their stacks were not sampled."""
    left = pod(1, **beside("istio-proxy", code, at=90))
    logs = (log(1, traceback("ValueError: no data")),) if code else ()
    evidence = seen(pod(0, **runs()), left, pod(2, **runs()), logs=logs)
    (verdict,) = verdicts(evidence)
    assert (verdict.confidence, verdict.ranks) == ("likely", (1,))
    evidence = seen(*(pod(rank, **beside("istio-proxy", 0, at=90)) for rank in range(3)))
    (verdict,) = verdicts(evidence)
    assert (verdict.confidence, verdict.ranks) == ("certain", (0, 1, 2))
    assert not may_hang(evidence, diagnose(evidence, NOW))


def test_stacks_are_sampled_while_other_ranks_run() -> None:
    evidence = seen(pod(0, **runs()), pod(1, **beside("istio-proxy", 0, at=90)), pod(2, **runs()))
    assert may_hang(evidence, diagnose(evidence, NOW))


@pytest.mark.parametrize(
    ("name", "at", "confidence"),
    [
        ("upload-results", 65, "possible"),
        ("upload-results", 299, "possible"),
        ("upload-results", 300, "certain"),
        ("istio-proxy", 65, "certain"),
        ("vault-agent", 65, "certain"),
        ("not-vault-agent", 65, "possible"),
    ],
)
def test_a_container_that_may_end_by_itself_gets_time(name: str, at: float, confidence: str) -> None:
    parts: dict[str, Any] = beside(name, 0, at=at)
    (verdict,) = verdicts(seen(*(pod(rank, **parts) for rank in range(3))))
    assert verdict.confidence == confidence


def test_only_ranks_that_failed_are_said_to_have_failed() -> None:
    """Of exit codes 0, 1 and 0, ranks 0-2 had failed."""
    logs = (log(1, traceback("ValueError: no data")),)
    first, second = verdicts(seen(*(pod(rank, **beside("proxy", code, at=90)) for rank, code in enumerate([0, 1, 0])), logs=logs))
    assert (first.ranks, first.cause.partition(",")[0]) == ((0, 2), "ranks 0 and 2 have ended")
    assert (second.ranks, second.cause.partition(",")[0]) == ((1,), "rank 1 has failed")
    (verdict,) = verdicts(seen(*(pod(rank, **beside("proxy", 1 + rank, at=90)) for rank in range(3))))
    assert verdict.ranks == (0, 1, 2)


def initializer(name: str, *, first: str) -> Json:
    """The pod of an initializer that ended ten minutes ago, beside istio-proxy; `first` is the first of its containers."""
    found = group_pod(name, 0)
    names = sorted((name, "istio-proxy"), key=lambda one: one != first)
    end = {"exitCode": 0, "startedAt": ago(660), "finishedAt": ago(600)}
    states = {name: {"terminated": end}, "istio-proxy": {"running": {"startedAt": ago(660)}}}
    found["metadata"]["ownerReferences"] = [{"uid": "u-job", "kind": "Job", "controller": True}]
    found["metadata"] |= {"creationTimestamp": ago(500), "uid": f"u-{name}"}
    found["spec"] = {"restartPolicy": "Never", "nodeName": "node-1", "containers": [{"name": one} for one in names]}
    found["status"] = {"phase": "Running", "containerStatuses": [{"name": one, "state": states[one]} for one in names]}
    return found


@pytest.mark.parametrize("first", ["dataset-initializer", "istio-proxy"])
def test_an_initializer_that_ended_is_named_without_ranks(first: str) -> None:
    job, jobset = train_job(2, dataset_initializer=1, node=2)
    job["metadata"]["creationTimestamp"] = ago(700)
    pods = (initializer("dataset-initializer", first=first),)
    (verdict,) = verdicts(Evidence(job=job, at=NOW, pods=pods, children=(jobset,)))
    assert (verdict.confidence, verdict.ranks, verdict.pods) == ("certain", (), ("dataset-initializer-0",))
    assert verdict.cause == (
        "container dataset-initializer of pod dataset-initializer-0 has ended, but its pod does not end: container istio-proxy "
        "is still running"
    )


def test_each_initializer_is_named() -> None:
    job, jobset = train_job(2, dataset_initializer=1, model_initializer=1, node=2)
    job["metadata"]["creationTimestamp"] = ago(700)
    pods = tuple(initializer(name, first=name) for name in ("dataset-initializer", "model-initializer"))
    found = verdicts(Evidence(job=job, at=NOW, pods=pods, children=(jobset,)))
    assert [one.pods for one in found] == [("dataset-initializer-0",), ("model-initializer-0",)]


def test_pods_are_needed_until_the_job_has_ended() -> None:
    missing = (Missing(what="pods", why="you may not read them in n"),)
    for evidence, is_needed in ((seen(missing=missing), True), (failed(missing=missing), False)):
        unchecked = {id for one in diagnose(evidence, NOW).not_checked for id in one.rules}
        assert ("K17" in unchecked) == is_needed
