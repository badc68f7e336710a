"""Ranks that can never meet those that are done."""

from __future__ import annotations

import pytest

from found_causes import BACK_OFF, Json, found, native_job, native_pod
from job_evidence import (
    ago,
    failed,
    jobset,
    running,
    succeeded,
    v1_job,
    v1_pod,
    v2_job,
    v2_pod,
    waiting,
)


def test_a_rank_that_starts_after_another_has_succeeded_is_told_at_once() -> None:
    answer = found(v2_job(), v2_pod(0, **succeeded(60)), v2_pod(1, **running(30)), children=jobset())
    assert answer is not None
    assert answer.word == "PeersSucceeded"
    assert answer.sentence == "node-1 started after node-0 had succeeded: they can never have met"


@pytest.mark.parametrize("began", [30, 60])
def test_a_rank_that_was_restarted_after_another_had_succeeded_is_told_at_once(began: int) -> None:
    """Also in the second in which that one ended: then it lost its peer, and its first restart takes no time."""
    answer = found(native_job(), native_pod(0, **succeeded(60)), native_pod(1, **running(began, **AGAIN)))
    assert answer is not None
    assert answer.word == "PeersSucceeded"
    assert answer.sentence == "rank-1 was restarted after rank-0 had succeeded: they cannot meet again"


def test_a_rank_that_was_restarted_before_another_succeeded_has_met_it() -> None:
    assert found(native_job(), native_pod(0, **succeeded(60)), native_pod(1, **running(61, **AGAIN))) is None


def test_a_loop_beside_a_rank_that_has_succeeded_says_that_they_cannot_meet() -> None:
    loop = {"phase": "Running", **waiting("CrashLoopBackOff", **BACK_OFF)}
    answer = found(v2_job(), v2_pod(0, **succeeded(60)), v2_pod(1, **loop), children=jobset())
    assert answer is not None
    assert answer.word == "CrashLoop"
    assert answer.sentence.endswith("with exit code 1; node-0 succeeded already: they cannot meet again")


TORCH: Json = {"spec": {"containers": [{"name": "node", "env": [{"name": "PET_NNODES", "value": "2"}]}]}}
AGAIN = {"restartCount": 1, "lastState": {"terminated": {"exitCode": 1, "finishedAt": ago(31)}}}


def test_a_torch_rank_that_was_restarted_alone_is_told_with_the_runtime_where_that_cannot_be() -> None:
    pods = [v2_pod(0, **running(30, **AGAIN), **TORCH), v2_pod(1, **succeeded(60), **TORCH)]
    answer = found(v2_job(), *pods, children=jobset())
    assert answer is not None
    assert answer.word == "PeersSucceeded"
    assert answer.sentence == "node-1 is done, node-0 was restarted alone and cannot form the group"
    assert answer.remedy == "start the job again, on runtime shunter-torch, which restarts all ranks after a failure."
    replaced = [v2_pod(0, **failed(1), **TORCH), v2_pod(0, **running(30), **TORCH), pods[1]]
    assert found(v2_job(), *replaced, children=jobset()) == answer
    in_one_second = [v2_pod(0, **running(60, **AGAIN), **TORCH), pods[1]]
    assert found(v2_job(), *in_one_second, children=jobset()) == answer
    three = [*pods, v2_pod(2, **succeeded(50), **TORCH)]
    answer = found(v2_job(3), *three, children=jobset(pods=3))
    assert answer is not None
    assert answer.sentence == "node-1, node-2 are done, node-0 was restarted alone and cannot form the group"


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        pytest.param(
            v2_job(),
            [v2_pod(0, **running(30, **AGAIN), **TORCH), v2_pod(1, **running(400), **TORCH)],
            id="whose partners all run",
        ),
        pytest.param(
            v2_job(),
            [v2_pod(0, **running(90, **AGAIN), **TORCH), v2_pod(1, **succeeded(60), **TORCH)],
            id="and met its partner before that was done",
        ),
        pytest.param(
            v2_job(), [v2_pod(0, **running(30), **TORCH), v2_pod(1, **succeeded(60), **TORCH)], id="that was not restarted"
        ),
        pytest.param(v2_job(), [v2_pod(0, **running(30, **AGAIN)), v2_pod(1, **succeeded(60))], id="of no torch group"),
        pytest.param(
            v1_job(kind="MPIJob"),
            [v1_pod("master", **running(30, **AGAIN)), v1_pod("worker", **succeeded(60))],
            id="of an MPIJob",
        ),
    ],
)
def test_no_rank_is_said_to_be_restarted_alone(job: Json, pods: list[Json]) -> None:
    answer = found(job, *pods, children=jobset())
    assert answer is None or "restarted alone" not in answer.sentence


def test_a_torch_rank_that_fails_again_and_again_beside_one_that_is_done_names_the_runtime() -> None:
    loop = {"phase": "Running", **waiting("CrashLoopBackOff", **BACK_OFF), **TORCH}
    answer = found(v2_job(), v2_pod(0, **succeeded(60), **TORCH), v2_pod(1, **loop), children=jobset())
    assert answer is not None
    assert (answer.word, "shunter-torch" in answer.remedy) == ("CrashLoop", True)


def test_ranks_that_run_on_long_after_another_has_succeeded_are_told() -> None:
    answer = found(v1_job(2), v1_pod("worker", 0, **succeeded(300)), v1_pod("worker", 1, **running(400)))
    assert answer is not None
    assert answer.sentence == "worker-1 runs on, worker-0 succeeded at 11:55:00Z"


def test_ranks_that_end_one_after_another_and_servers_that_run_on_are_no_cause() -> None:
    assert found(v2_job(), v2_pod(0, **succeeded(30)), v2_pod(1, **running(400)), children=jobset()) is None
    servers = [v1_pod("worker", 0, **succeeded(300)), v1_pod("ps", 0, **running(400))]
    assert found(v1_job(kind="TFJob"), *servers) is None
    assert found(v1_job(kind="MPIJob"), v1_pod("master", **succeeded(300)), v1_pod("worker", 0, **running(400))) is None


def test_ranks_that_take_turns_are_not_told_to_have_missed_each_other() -> None:
    late = [native_pod(0, **succeeded(60)), native_pod(1, **running(30))]
    assert found(native_job(parallelism=1), *late) is None
