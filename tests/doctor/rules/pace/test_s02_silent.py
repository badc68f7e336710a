"""All ranks are silent and idle: by their usage, or by where they rest."""

from __future__ import annotations

import msgspec
import pytest

from doctor.evidences import log, pod, runs, seen
from doctor.rule_cases import CASES
from doctor.rules.stacks.test_h03_all_wait import ALL_REDUCE
from doctor.working_ranks import Work, found
from job_evidence import NOW
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.evidence import NO_EXEC, Evidence, Log, Missing

RESTS = Work(line=37, state="S", cpu=0.0, uses_cuda=False)
IDLE = {"j-master-0": 0.01, "j-worker-0": 0.01}


def silent(seconds: float) -> tuple[Log, ...]:
    """The logs of ranks that wrote all that they wrote at once."""
    return tuple(log(rank, "loading", "model of 3 layers", at=seconds, every=0.001) for rank in (0, 1))


def test_ranks_that_rest_in_their_own_code_are_told_with_their_lines() -> None:
    (verdict,) = found(RESTS, RESTS._replace(line=40), logs=silent(130))
    assert (verdict.id, verdict.confidence, verdict.ranks) == ("S02", "possible", (0, 1))
    assert verdict.cause == "no rank has written a line for 130 s; their CPUs are idle"
    assert [one.text for one in verdict.evidence] == ["its own code: train (train.py:37)", "its own code: train (train.py:40)"]
    assert verdict.remedy == "Read train.py:37 on rank 0."


@pytest.mark.parametrize(
    "works",
    [
        (RESTS, RESTS._replace(cpu=2.0)),
        (RESTS, RESTS._replace(switches=200)),
        (RESTS, RESTS._replace(next_line=38)),
        (RESTS, RESTS._replace(state="R")),
        (RESTS, RESTS._replace(children=(Work(line=1, state="R"),))),
    ],
    ids=["works", "wakes", "goes on", "runs", "a process that it started works"],
)
def test_nothing_is_said_of_a_rank_that_does_anything(works: tuple[Work, ...]) -> None:
    assert not found(*works, logs=silent(130))


def test_ranks_that_never_wrote_a_line_count_from_their_start() -> None:
    (verdict,) = found(RESTS, RESTS, logs=(log(0), log(1)))
    assert verdict.cause == "no rank has written a line since they started, for 400 s; their CPUs are idle"


def test_ranks_that_wrote_only_warnings_are_not_said_to_have_written_nothing() -> None:
    warnings = [log(rank, *["[W1127 10:00:00.000 socket.cpp:200] connecting failed, retrying"] * 6, at=7.0) for rank in (0, 1)]
    (verdict,) = found(RESTS, RESTS, logs=warnings)
    assert verdict.cause == "no rank has written a line but warnings since they started, for 400 s; their CPUs are idle"


def test_ranks_that_may_wait_for_their_gpus_are_told_only_after_longer() -> None:
    rests = RESTS._replace(uses_cuda=True)
    assert not found(rests, rests, logs=silent(300))
    assert [one.id for one in found(rests, rests, logs=silent(700))] == ["S02"]


def test_a_minute_of_rest_is_nothing() -> None:
    assert not found(RESTS, RESTS, logs=silent(60))


def test_ranks_that_wait_for_others_are_not_told_twice() -> None:
    assert [one.id for one in found(ALL_REDUCE, RESTS, logs=silent(300))] == ["H01"]
    assert [one.id for one in found(ALL_REDUCE, ALL_REDUCE, logs=silent(300))] == ["H03"]


def usage_only(seconds: float, **changes: object) -> Evidence:
    """Of ranks of which there are no stacks."""
    pods = [pod(rank, **runs()) for rank in (0, 1)]
    return msgspec.structs.replace(seen(*pods, logs=silent(seconds), cpu=IDLE), **changes)


@pytest.mark.parametrize(("seconds", "ids"), [(300, []), (700, ["S02"])])
def test_without_stacks_and_without_a_pace_the_silence_must_be_longer(seconds: float, ids: list[str]) -> None:
    assert [one.id for one in diagnose(usage_only(seconds), NOW).verdicts] == ids


def test_of_logs_that_could_not_be_read_nothing_is_said() -> None:
    unread = (Missing(what="logs", why="you may not get pods/log in n"),)
    assert not diagnose(usage_only(700, logs=(), missing=unread), NOW).verdicts


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        (NO_EXEC, "Run shunter doctor without --no-exec, so that it can sample stacks."),
        (
            "no Python process runs in the containers that train",
            "Inspect the processes from inside a pod: kubectl exec -it -n n j-master-0 -- sh",
        ),
    ],
)
def test_where_stacks_were_asked_for_in_vain_nobody_is_told_to_ask_for_them(why: str, remedy: str) -> None:
    evidence, _ = CASES["no line for long, and no work"]
    missing = (Missing(what="stacks", why=why, is_refused=False),)
    (verdict,) = diagnose(msgspec.structs.replace(evidence, missing=missing), NOW).verdicts
    assert (verdict.id, verdict.remedy) == ("S02", remedy)
