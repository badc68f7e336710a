"""Ranks that wait for a DataLoader worker while the others wait for them."""

from __future__ import annotations

import pytest

from doctor.working_ranks import IN_CALL, RESTS, WORKER, Work, found
from shunter.doctor.evidence import Frame

FETCH = (
    Frame(function="select", file="selectors.py", line=8),
    Frame(function="_try_get_data", file="torch/utils/data/dataloader.py", line=9),
    Frame(function="train", file="train.py", line=20, is_own=True),
)


@pytest.mark.parametrize(
    ("worker", "confidence", "cause"),
    [
        (WORKER, "likely", "rank 1 waits for a DataLoader worker; ranks 0 and 2 wait for rank 1"),
        (
            WORKER._replace(switches=300),
            "possible",
            "rank 1 waits for a DataLoader worker that is busy or stuck; ranks 0 and 2 wait for rank 1",
        ),
    ],
    ids=["rests", "downloads"],
)
def test_a_dataloader_worker_that_works_is_only_possibly_stuck(worker: Work, confidence: str, cause: str) -> None:
    (verdict,) = found(IN_CALL, RESTS._replace(frames=FETCH, children=(worker,)), IN_CALL)
    assert (verdict.id, verdict.ranks, verdict.confidence, verdict.cause) == ("H02", (1,), confidence, cause)
