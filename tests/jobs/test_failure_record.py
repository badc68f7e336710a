"""What failed of a job is told from its own record when its pods, and the events about them, are gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from job_evidence import NOW, ago, v1_job, v1_pod, v2_job
from shunter.cli.output.diagnosed import diagnosed
from shunter.jobs.description import description
from shunter.jobs.evidence import JobCause
from shunter.jobs.failure_record import as_json, cause_of_end, cell, failure_record, heading, lines
from shunter.jobs.failures import NamedCause, cause_and_remedy, failure_cause
from shunter.jobs.listing import Row
from shunter.operator.causes import Evidence
from shunter.operator.overview import overview
from shunter.operator.rank_failures import summary

Json = dict[str, Any]


def failure(rank: int | None = 1, *, at: float = 12, **more: Any) -> Json:
    name = f"j-worker-{rank}"
    killed = {"container": "pytorch", "reason": "Error", "exitCode": 137}
    return {"rank": rank, "pod": name, "podUID": f"{name}-{at}", "time": ago(at), **killed, **more}


def job(*failures: Json, count: int = 0, **status: Any) -> Json:
    return v1_job(2, rankFailures={"count": count or len(failures), "last": list(failures)}, **status)


KILLED_SHORT = "rank 1: exit code 137 (SIGKILL)"
KILLED = "rank 1, pod j-worker-1, container pytorch: Error, exit code 137 (SIGKILL)"
THREE = job(failure(at=80), failure(at=40), failure(at=12))
REACHED = {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "backoffLimit reached"}
FAILED: Json = {"conditions": [REACHED]}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (failure(), "1 (rank 1 exit code 137, 12s ago)"),
        (failure(reason="OOMKilled"), "1 (rank 1 OOMKilled, 12s ago)"),
        (failure(rank=None, pod="j-init", exitCode=None, reason="Evicted"), "1 (j-init Evicted, 12s ago)"),
    ],
)
def test_the_cell_of_the_list(one: Json, expected: str) -> None:
    assert cell(failure_record(job(one)), NOW) == expected


def test_a_job_of_which_nothing_has_failed_says_so_in_the_same_fields() -> None:
    assert failure_record(v1_job()) is None
    assert cell(None, NOW) == ""
    assert as_json(None) == {"failures": 0, "lastFailure": None}


def test_the_list_as_json_has_the_number_and_the_last() -> None:
    shown = Row(overview(THREE), JobCause(None, up=3), None, None, 3, failure_record(THREE)).as_json()
    assert (shown["up"], shown["wanted"], shown["failures"]) == (3, 3, 3)
    assert shown["lastFailure"] == {
        "rank": 1,
        "pod": "j-worker-1",
        "container": "pytorch",
        "reason": "Error",
        "exitCode": 137,
        "message": "",
        "time": ago(12),
    }


def test_what_failed_alike_in_a_row_stands_once_with_what_its_log_said() -> None:
    record = failure_record(
        job(failure(at=80), failure(at=40), failure(rank=2, at=12, exitCode=1, message="KeyError: 'x'"), count=9)
    )
    assert record is not None
    assert heading(record) == "9 failures so far, the last 3"
    assert lines(record, NOW, {KILLED: ["killed"]}) == [
        f"  40s {KILLED} (x2)",
        "      | killed",
        "  12s rank 2, pod j-worker-2, container pytorch: Error, exit code 1: KeyError: 'x'",
    ]


def test_the_cause_of_the_end_is_the_first_of_the_last_that_is_no_victim() -> None:
    victim = failure(rank=0, at=9, exitCode=1, message="RuntimeError: Connection reset by peer")
    ended = job(failure(rank=2, at=300), victim, failure(at=8), failure(rank=2, at=7, exitCode=143))
    found = cause_of_end(failure_record(ended))
    assert found is not None
    assert summary(found) == KILLED
    assert cause_of_end(None) is None


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory", "OutOfMemoryError"),
        ("[rank1]: KeyError: 'x'", "KeyError"),
        ("socket.gaierror: [Errno -2] Name or service not known", "gaierror"),
        ("error: --global-batch 7 must be a multiple of 2 ranks.", "exit code 1"),
        ("out of luck", "exit code 1"),
        ("", "exit code 1"),
    ],
)
def test_the_word_of_a_failure_is_its_exception_else_how_it_ended(said: str, word: str) -> None:
    found = failure_cause(job(failure(exitCode=1, message=said), **FAILED), [], [], {})
    assert (found.word, found.rank) == (word, 1)
    assert found.sentence.endswith(f"exit code 1{f': {said}' if said else ''}")


def test_a_failed_job_whose_pods_and_events_are_gone_has_its_cause_as_headline() -> None:
    ended = job(failure(at=9), **FAILED)
    assert failure_cause(ended, [], [], {}).sentence == KILLED_SHORT
    text = [*description(ended, Evidence(), {}, NOW)]
    assert text[1:4] == [
        "  State    Failed (PyTorchJobFailed)",
        f"  Cause    {KILLED_SHORT}",
        "           backoffLimit reached",
    ]
    assert [line for line in text if line.startswith("  Cause")] == [f"  Cause    {KILLED_SHORT}"]


def test_the_line_of_the_record_is_the_cause_also_where_an_event_has_other_words() -> None:
    """The list reads no events, and says the same as describe."""
    told = f"{KILLED}. Last log lines:\nRuntimeError: cleaning up"
    event = {"reason": "RankFailed", "message": told, "involvedObject": {"uid": "u-j"}, "lastTimestamp": ago(9)}
    ended = job(failure(message="ValueError: no data"), **FAILED)
    assert failure_cause(ended, [], [event], {}) == failure_cause(ended, [], [], {})
    silent = job(failure(), **FAILED)
    assert failure_cause(silent, [], [event], {}).text.endswith(": RuntimeError: cleaning up")


def test_a_diagnosis_is_the_only_headline_and_the_message_of_the_job_comes_after() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": ago(9)}}
    limited = {"containers": [{"name": "pytorch", "resources": {"limits": {"memory": "200Mi"}}}]}
    pod = v1_pod("worker", 0, phase="Failed", containerStatuses=[{"name": "pytorch", "state": ended}], spec=limited)
    evidence, failed_job = Evidence(pods=[pod]), job(failure(at=9), **FAILED)
    named = diagnosed(failed_job, evidence, NOW)
    text = [*description(failed_job, evidence, {}, NOW, named=named)]
    assert text[2] == "  Cause    rank 1 exceeded its memory limit of 200Mi"
    assert text[4] == "           backoffLimit reached"
    assert len([line for line in text if line.startswith("  Cause")]) == 1


def test_a_diagnosis_of_another_pod_than_the_first_to_fail_is_no_headline() -> None:
    states = {"master": (1, "Error", 30), "worker": (137, "OOMKilled", 9)}
    pods = [
        v1_pod(
            role,
            0,
            phase="Failed",
            containerStatuses=[
                {"name": "pytorch", "state": {"terminated": {"exitCode": code, "reason": reason, "finishedAt": ago(at)}}}
            ],
        )
        for role, (code, reason, at) in states.items()
    ]
    ended = job(**FAILED)
    named = NamedCause("rank 1 exceeded its memory limit", "", ("j-worker-0",))
    assert cause_and_remedy(ended, pods, [], {"master-0": ["ValueError: x"]}, named)[0] == "master-0: exit code 1: ValueError: x"


def test_an_exception_that_says_what_is_wrong_has_its_remedy_where_the_diagnosis_names_none() -> None:
    """`doctor` named it, and `run` and `describe` did not."""
    terminated = {"exitCode": 1, "reason": "Error", "finishedAt": ago(9)}
    pods = [v1_pod("master", 0, phase="Failed", containerStatuses=[{"name": "pytorch", "state": {"terminated": terminated}}])]
    log = {"master-0": ["EOFError: EOF when reading a line", "Name? "]}
    why, remedy = cause_and_remedy(job(**FAILED), pods, [], log, None)
    assert why == "master-0: exit code 1: EOFError: EOF when reading a line"
    assert "standard input" in remedy


def test_a_job_that_runs_again_is_described_with_what_failed_before() -> None:
    runs: Json = {"phase": "Running", "containerStatuses": [{"name": "pytorch", "state": {"running": {"startedAt": ago(5)}}}]}
    pods = [v1_pod("master", **runs), v1_pod("worker", 0, **runs)]
    event = {
        "reason": "RankFailed",
        "message": f"{KILLED}. Last log lines:\nstep 12",
        "involvedObject": {"uid": "u-j", "name": "j"},
        "lastTimestamp": ago(12),
    }
    text = "\n".join(description(THREE, Evidence(pods=pods, events=[event]), {}, NOW))
    assert "  Ranks    2 of 3 up" in text
    assert "  Failures 3 (rank 1 exit code 137, 12s ago)" in text
    assert f"Failures: 3 failures so far\n    12s {KILLED} (x3)\n        | step 12\n" in text
    assert "  Cause    CrashLoop: worker-0: its pods fail again and again with exit code 137" in text


def test_the_record_of_a_train_job_is_read_alike() -> None:
    found = failure_record(v2_job(rankFailures={"count": 1, "last": [failure()]}))
    assert found is not None
    assert found.last[0].time == NOW - timedelta(seconds=12)
