"""All ranks wait: for one thing, or in calls that do not match."""

from __future__ import annotations

import pytest

from doctor.working_ranks import Work, found
from shunter.doctor.evidence import Frame


def waits(call: str, line: int) -> Work:
    """A rank that rests in this collective."""
    frames = (
        Frame(function=call, file="torch/distributed/distributed_c10d.py", line=3000),
        Frame(function="wrapper", file="torch/distributed/c10d_logger.py", line=83),
        Frame(function="train", file="train.py", line=line, is_own=True),
    )
    return Work(line=0, state="S", cpu=0.0, uses_cuda=False, frames=frames)


ALL_REDUCE, BARRIER = waits("all_reduce", 33), waits("barrier", 40)


def test_a_rank_that_has_left_the_loop_is_named_by_where_it_waits() -> None:
    (verdict,) = found(ALL_REDUCE, BARRIER, ALL_REDUCE)
    assert (verdict.id, verdict.confidence) == ("H03", "possible")
    assert verdict.cause == "all 3 ranks wait, but in different collectives: rank 1 in barrier; ranks 0 and 2 in all_reduce"
    assert "fewer batches" in verdict.remedy
    assert [one.text for one in verdict.evidence][1] == "barrier, called from train (train.py:40)"


def test_ranks_that_wait_in_one_collective_from_different_lines_may_call_in_another_order_or_wait_for_the_network() -> None:
    (verdict,) = found(ALL_REDUCE, waits("all_reduce", 57), ALL_REDUCE)
    assert (verdict.id, verdict.confidence) == ("H03", "possible")
    assert verdict.cause == (
        "all 3 ranks wait in all_reduce, called from different lines: their order differs, or they wait for the network"
    )
    assert "same order, with each process group" in verdict.remedy
    assert "ncclras" in verdict.remedy


def test_ranks_that_wait_at_one_line_wait_for_the_network() -> None:
    (verdict,) = found(ALL_REDUCE, ALL_REDUCE)
    assert verdict.cause == "all 2 ranks wait in a collective: for the network, or for a rank outside the job"


@pytest.mark.parametrize(("call", "missing"), [("recv", "none sends"), ("send", "none receives")])
def test_ranks_that_all_receive_or_all_send_are_told_so(call: str, missing: str) -> None:
    for other in (33, 34):
        (verdict,) = found(waits(call, 33), waits(call, other))
        assert (verdict.id, verdict.confidence) == ("H03", "possible")
        assert f"all 2 ranks wait in {call}, and {missing}: " in verdict.cause
        assert "batch_isend_irecv" in verdict.remedy
