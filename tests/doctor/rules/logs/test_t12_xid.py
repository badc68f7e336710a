"""GPUs that the driver told an Xid of."""

from __future__ import annotations

import pytest

from doctor.evidences import pod, runs, seen
from doctor.rule_cases import ASKS, xid
from job_evidence import NOW
from shunter.api.meta import Json, rfc3339_micro
from shunter.doctor.diagnosing import diagnose

NETWORK = {"resources": {"limits": {"nvidia.com/hostdev": "1"}}}


@pytest.mark.parametrize(
    ("asks", "confidence"),
    [(ASKS, "likely"), ({}, "possible"), (NETWORK, "possible")],
    ids=["GPU", "no GPU", "a network card of the GPU's maker"],
)
def test_a_gpu_that_failed_is_only_possibly_the_matter_of_pods_that_ask_for_none(asks: Json, confidence: str) -> None:
    pods = [pod(0, container=asks, **runs()), pod(1, **runs()), pod(2, **runs())]
    (verdict,) = diagnose(seen(*pods, events=[xid(79)]), NOW).verdicts
    assert (verdict.id, verdict.confidence, verdict.ranks) == ("T12", confidence, (0,) if asks is ASKS else (0, 1, 2))


def test_the_time_of_an_event_of_the_newer_api_is_shown() -> None:
    told = {**xid(79), "lastTimestamp": None, "eventTime": rfc3339_micro(NOW)}
    (verdict,) = diagnose(seen(pod(0, **runs()), events=[told]), NOW).verdicts
    assert verdict.evidence[0].at == NOW.isoformat()
