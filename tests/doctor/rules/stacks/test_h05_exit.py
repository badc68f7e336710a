"""Ranks that have reached the end of their program and do not exit."""

from __future__ import annotations

import pytest

from doctor.working_ranks import IN_CALL, RESTS, WORKER, Work, found
from shunter.doctor.evidence import Frame

SHUTDOWN = Frame(function="_shutdown", file="threading.py", line=1590)
UPLOAD = Frame(function="upload", file="train.py", line=9, is_own=True)
JOIN = (
    Frame(function="poll", file="multiprocessing/popen_fork.py", line=27),
    Frame(function="_exit_function", file="multiprocessing/util.py", line=360),
)
AT_END = RESTS._replace(frames=(UPLOAD, SHUTDOWN))


def test_the_thread_for_which_a_rank_waits_is_named_instead_of_a_missing_collective() -> None:
    (verdict,) = found(IN_CALL, AT_END, IN_CALL)
    assert (verdict.id, verdict.ranks, verdict.victims, verdict.confidence) == ("H05", (1,), (0, 2), "likely")
    assert verdict.cause.endswith("waits for a thread that does not end: upload (train.py:9)")


def test_the_line_of_a_child_process_is_named() -> None:
    (verdict,) = found(RESTS._replace(frames=JOIN, children=(WORKER,)))
    assert (verdict.id, verdict.ranks) == ("H05", (0,))
    assert "waits for a child process that does not end: " in verdict.cause
    assert "terminate, join" in verdict.remedy


@pytest.mark.parametrize("work", [AT_END._replace(cpu=2.0), AT_END._replace(state="D")], ids=["a CPU", "a disk"])
def test_a_thread_that_works_may_end_by_itself(work: Work) -> None:
    (verdict,) = found(work)
    assert (verdict.id, verdict.confidence) == ("H05", "possible")
