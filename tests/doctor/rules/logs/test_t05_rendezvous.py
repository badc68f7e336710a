"""Ranks that did not join."""

from __future__ import annotations

import pytest

from doctor.evidences import ended, failed, log, pod, runs, traceback
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose


@pytest.mark.parametrize(("size", "remedy"), [(3, "The number is right: all ranks must use"), (4, "WORLD_SIZE, --nnodes and")])
def test_ranks_that_did_not_join_though_their_number_is_right_have_another_address(size: int, remedy: str) -> None:
    said = f"torch.distributed.DistStoreError: Timed out after 16 seconds waiting for clients. 1/{size} clients joined."
    evidence = failed(pod(0, **ended(1)), pod(1, **runs()), pod(2, **runs()), logs=(log(0, traceback(said)),))
    (verdict,) = diagnose(evidence, NOW).verdicts
    assert (verdict.id, verdict.remedy.startswith(remedy)) == ("T05", True)
