"""Who exceeded which memory limit."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, pod
from job_evidence import NOW
from shunter.api.meta import Json
from shunter.doctor.diagnosing import diagnose

KILLED = ended(137, reason="OOMKilled")


def limit(memory: str) -> Json:
    return {"resources": {"limits": {"memory": memory}}}


@pytest.mark.parametrize(
    ("containers", "causes"),
    [
        pytest.param([{}], ["rank 0 exceeded its memory limit"], id="a limit that is not known"),
        pytest.param([limit("1Gi")], ["rank 0 exceeded its memory limit of 1Gi"], id="one rank"),
        pytest.param([limit("1Gi")] * 3, ["ranks 0-2 exceeded their memory limit of 1Gi"], id="the same limit is told once"),
        pytest.param(
            [limit("1Gi"), limit("2Gi")],
            ["rank 0 exceeded its memory limit of 1Gi", "rank 1 exceeded its memory limit of 2Gi"],
            id="each limit has its own verdict",
        ),
    ],
)
def test_a_limit_that_was_exceeded_is_told_with_its_ranks(containers: list[Json], causes: list[str]) -> None:
    verdicts = diagnose(failed(*(pod(rank, container=one, **KILLED) for rank, one in enumerate(containers))), NOW).verdicts
    assert [(one.id, one.confidence, one.cause) for one in verdicts] == [("K05", "certain", cause) for cause in causes]


@pytest.mark.parametrize("reason", ["Error", "", "ContainerStatusUnknown"])
def test_exit_code_137_alone_does_not_say_that_memory_was_short(reason: str) -> None:
    (verdict,) = diagnose(failed(pod(0, container=limit("1Gi"), **ended(137, reason=reason))), NOW).verdicts
    assert verdict.id == "T00"
    assert "limit" not in verdict.cause
