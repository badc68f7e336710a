"""What is said of a job that was followed: its end, what remains of it, and that it goes on after --timeout or Ctrl-C."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from job_evidence import v1_job, v2_job
from one_job import FAILED, JOB, POD, OneJob
from shunter.api.resources import TRAIN_JOBS
from shunter.cli.output import following
from shunter.cli.output.following import all_succeeded, ended_by, report
from shunter.jobs.following.follower import JobEnd
from shunter.jobs.following.outcome import Outcome
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.kube.client import Client
from shunter.operator.overview import overview

REMAINS = {
    "a job that stays": (v1_job(), "The job remains. More: shunter describe j -n n; remove it: shunter delete j -n n"),
    "a job that goes at once": (
        v1_job(policy={"ttlSecondsAfterFinished": 0}), "The job is deleted as soon as it ends (ttlSecondsAfterFinished: 0)."),
    "a job that goes later": (
        v1_job(policy={"ttlSecondsAfterFinished": 60}),
        "The job is deleted 60 seconds after its end (ttlSecondsAfterFinished). More: shunter describe j -n n"),
    "a Job": (
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
         "spec": {"ttlSecondsAfterFinished": 0}},
        "The job is deleted as soon as it ends (ttlSecondsAfterFinished: 0)."),
    "a TrainJob": (v2_job(), "The job remains. More: shunter describe j -n n; remove it: shunter delete j -n n"),
}  # fmt: skip


@pytest.mark.parametrize(("job", "said"), REMAINS.values(), ids=REMAINS)
def test_a_failed_job_remains_unless_it_has_a_time_to_live(
    job: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report(Outcome(JobEnd(job, []), overview(job), ("exit code 1",)))
    assert capsys.readouterr().err.splitlines()[-1] == f"  {said}"


async def test_a_job_that_does_not_end_in_time_has_not_succeeded_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    now = asyncio.get_running_loop().time()
    client = Client(OneJob({"type": "MODIFIED", "object": JOB}))
    assert await ended_by(now, client, TRAIN_JOBS, JOB, PipeDisplay()) is False
    said = capsys.readouterr().err
    assert "did not end within --timeout" in said
    assert "follow it: shunter logs -f train -n team; end it: shunter delete train -n team" in said


WAITS = {"waiting": {"reason": "CreateContainerConfigError", "message": 'configmap "code" not found'}}
PENDING = {**POD, "status": {"phase": "Pending", "containerStatuses": [{"name": "node", "state": WAITS}]}}
MISSING = "ConfigMap code does not exist. Create it, or correct the name; the pod then continues."
REMAINDER = "follow it: shunter logs -f {0} -n team; end it: shunter delete {0} -n team"


@pytest.mark.parametrize(
    ("pods", "shown"),
    [
        ([POD], [f"TrainJob train is still running; {REMAINDER.format('train')}"]),
        (
            [PENDING],
            [
                f"MissingConfigMap: node-0: {MISSING}",
                f"TrainJob train has not started, and stays; {REMAINDER.format('train')}",
            ],
        ),
        (
            [],
            [
                "no cause is known yet; check again: shunter describe train -n team",
                f"TrainJob train has not started, and stays; {REMAINDER.format('train')}",
            ],
        ),
    ],
    ids=["its ranks run", "its pods wait", "it has no pods"],
)
async def test_at_the_timeout_a_job_that_never_ran_is_not_called_running_and_its_cause_is_named(
    pods: list[Any], shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """However short the timeout is: the cause is read once more."""
    now = asyncio.get_running_loop().time()
    client = Client(OneJob({"type": "MODIFIED", "object": JOB}, pods=pods))
    assert await ended_by(now, client, TRAIN_JOBS, JOB, PipeDisplay()) is False
    first, *rest = [line.strip() for line in capsys.readouterr().err.splitlines()]
    assert (first, rest) == ("TrainJob team/train is Created and did not end within --timeout", shown)


BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"}}
LOOPS = {"name": "node", "state": BACK_OFF, "lastState": {"terminated": {"exitCode": 1}}, "restartCount": 3}


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        pytest.param(
            LOOPS,
            [
                "CrashLoop: node-0: container node ends again and again with exit code 1",
                f"TrainJob train keeps restarting; {REMAINDER.format('train')}",
            ],
            id="it waits to be restarted",
        ),
        pytest.param(
            {**LOOPS, "state": {"waiting": {}}, "restartCount": 1},
            [f"TrainJob train is still running; {REMAINDER.format('train')}"],
            id="it has failed once",
        ),
    ],
)
async def test_at_the_timeout_a_job_that_has_failed_and_is_restarted_is_not_called_running_nor_unstarted(
    status: Any, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A container that waits for its next start was said never to have started."""
    now = asyncio.get_running_loop().time()
    pod = {**POD, "status": {"phase": "Running", "containerStatuses": [status]}}
    client = Client(OneJob({"type": "MODIFIED", "object": JOB}, pods=[pod]))
    assert await ended_by(now, client, TRAIN_JOBS, JOB, PipeDisplay()) is False
    assert [line.strip() for line in capsys.readouterr().err.splitlines()][1:] == shown


async def test_at_the_timeout_failures_that_are_over_are_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    failure = {"rank": 1, "pod": "p", "container": "node", "reason": "Error", "exitCode": 1, "time": "2026-01-01T00:00:00Z"}
    failed = {**JOB, "status": {"rankFailures": {"count": 3, "last": [failure]}}}
    now = asyncio.get_running_loop().time()
    client = Client(OneJob({"type": "MODIFIED", "object": failed}, [failed]))
    assert await ended_by(now, client, TRAIN_JOBS, failed, PipeDisplay()) is False
    assert re.search(r"\n  failed before: 3 \(rank 1 exit code 1, .* ago\)\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("pods", "how"), [([POD], "is still running"), ([PENDING], "has not started, and stays")], ids=["running", "pending"]
)
async def test_ctrl_c_tells_of_each_job_that_has_not_ended_that_it_stays(
    pods: list[Any], how: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, seen = PipeDisplay(), asyncio.Event()
    monkeypatch.setattr(screen, "progress", lambda row, phases, ranks: seen.set() if phases else None)
    monkeypatch.setattr(following, "display", lambda: screen)
    later = {**JOB, "metadata": {"name": "later", "namespace": "team"}}
    server = OneJob({"type": "MODIFIED", "object": JOB}, pods=pods)
    task = asyncio.create_task(all_succeeded(Client(server), [(TRAIN_JOBS, JOB), (TRAIN_JOBS, later)], None))
    await asyncio.wait_for(seen.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    lines = [line for line in capsys.readouterr().err.splitlines() if "follow it" in line]
    assert lines == [
        f"TrainJob train {how}; {REMAINDER.format('train')}",
        f"TrainJob later was not followed, and stays; {REMAINDER.format('later')}",
    ]


SUCCEEDED = {**JOB, "status": {"conditions": [{"type": "Complete", "status": "True", "message": "all ranks ended"}]}}


@pytest.mark.parametrize(
    ("jobs", "succeeded", "said"),
    [
        ([SUCCEEDED], True, "TrainJob team/train succeeded"),
        ([FAILED], False, "TrainJob team/train failed: node-0: exit code 1: ValueError: no data"),
        ([], False, "TrainJob team/train was deleted"),
    ],
    ids=["succeeded", "failed", "deleted"],
)
async def test_a_job_that_ended_while_another_was_followed_is_not_called_running(
    jobs: list[Any], succeeded: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    now = asyncio.get_running_loop().time()
    client = Client(OneJob({"type": "MODIFIED", "object": JOB}, jobs))
    assert await ended_by(now, client, TRAIN_JOBS, JOB, PipeDisplay()) is succeeded
    shown = " ".join(capsys.readouterr().err.split())
    assert said in shown
    assert "still running" not in shown
