"""A container that keeps a pod running after its training has ended."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.evidences import log, pod, runs, seen, traceback
from doctor.rule_cases import beside
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import Evidence
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
