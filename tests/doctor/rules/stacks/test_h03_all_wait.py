"""All ranks wait: for one thing, or in calls that do not match."""

from __future__ import annotations

import pytest

from doctor.evidences import log
from doctor.working_ranks import Work, found
from shunter.doctor.evidence import Frame, Log


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


JOINS = Work(
    line=0,
    state="S",
    cpu=0.0,
    uses_cuda=False,
    frames=(
        Frame(function="_create_c10d_store", file="torch/distributed/rendezvous.py", line=198),
        Frame(function="init_process_group", file="torch/distributed/distributed_c10d.py", line=1700),
        Frame(function="main", file="train.py", line=9, is_own=True),
    ),
)
WARNING = (
    "[W1125 20:00:00.123 socket.cpp:767] [c10d] The IPv6 network addresses of ({}, 23456) cannot be retrieved "
    "(gai error: -2 - Name or service not known)."
)
_FAULT = "<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'api.wandb.ai' ([Errno -3] "
_FAULT += "Temporary failure in name resolution)"
OF_WEB = f"Retrying (Retry(total=0, connect=None)) after connection broken by 'NameResolutionError(\"{_FAULT}\")': /graphql"


def retries(rank: int, *hosts: str, at: float = 20, every: float = 10) -> Log:
    """A rank that warns of each of these names, the last time so many seconds ago."""
    return log(rank, "starting", *(WARNING.format(host) for host in hosts), at=at - every, every=every)


def test_a_name_that_is_looked_up_again_and_again_is_named() -> None:
    (verdict,) = found(JOINS, JOINS, JOINS, logs=[retries(1, *["j-master-0"] * 3)])
    assert (verdict.title, verdict.confidence) == ("HUNG", "likely")
    assert verdict.cause == "all 3 ranks wait in the rendezvous, because rank 1 cannot resolve the host name j-master-0"


@pytest.mark.parametrize(
    ("hosts", "at", "every"),
    [
        pytest.param(["j-master-0"] * 3, 380, 1, id="long ago"),
        pytest.param(["j-master-0"] * 3, 380, 100, id="no wait is that long"),
        pytest.param(["j-master-0"] * 3, 40, 0.5, id="the waits were shorter"),
        pytest.param(["j-master-0"] * 2, 20, 10, id="twice"),
        pytest.param(["other-host", "j-master-0", "j-master-0"], 20, 10, id="another name before"),
    ],
)
def test_a_name_that_may_have_resolved_since_is_not_named(hosts: list[str], at: float, every: float) -> None:
    """torch writes no line once a name resolves: ranks hung for another reason minutes later."""
    (verdict,) = found(JOINS, JOINS, JOINS, logs=[retries(1, *hosts, at=at, every=every)])
    assert (verdict.id, verdict.confidence) == ("H03", "possible")
    assert "cannot resolve" not in verdict.cause


def test_samples_that_take_long_do_not_make_a_warning_old() -> None:
    """The logs are read before the samples, for which a pod may take 30 s."""
    late = [retries(1, *["j-master-0"] * 3, at=92, every=80)]
    (verdict,) = found(JOINS, JOINS, JOINS, logs=late, logs_read=12)
    assert (verdict.title, verdict.confidence) == ("HUNG", "likely")
    (verdict,) = found(JOINS, JOINS, JOINS, logs=late, logs_read=1)
    assert verdict.confidence == "possible"


@pytest.mark.parametrize("prefix", ["WARNING urllib3.connectionpool: ", "", "urllib3.connectionpool: "])
def test_a_name_that_a_client_of_the_web_looks_up_is_not_named(prefix: str) -> None:
    (verdict,) = found(JOINS, JOINS, JOINS, logs=[log(1, "starting", *[f"{prefix}{OF_WEB}"] * 3, at=30, every=10)])
    assert (verdict.id, verdict.confidence) == ("H03", "possible")
    assert "cannot resolve" not in verdict.cause
    assert "wandb" not in verdict.cause


def test_each_name_is_named_with_its_ranks() -> None:
    (verdict,) = found(
        JOINS, JOINS, JOINS, logs=[retries(0, *["other-host"] * 3), *(retries(rank, *["j-master-0"] * 3) for rank in (1, 2))]
    )
    assert verdict.cause == (
        "all 3 ranks wait in the rendezvous, because ranks 1 and 2 cannot resolve the host name j-master-0 and rank 0 cannot "
        "resolve the host name other-host"
    )
