"""What is said of a job that was followed: its end, what remains of it, and that it goes on after --timeout or Ctrl-C."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from job_evidence import v1_job, v2_job
from one_job import FAILED, JOB, OneJob
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


async def test_ctrl_c_tells_of_each_job_that_has_not_ended_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def first_has_ended(*arguments: Any) -> bool:
        if arguments[3] is jobs[0]:
            return True
        raise asyncio.CancelledError

    jobs = [{**JOB, "metadata": {"name": name, "namespace": "team"}} for name in ("first", "second", "third")]
    monkeypatch.setattr(following, "ended_by", first_has_ended)
    with pytest.raises(asyncio.CancelledError):
        await all_succeeded(Client(OneJob({})), [(TRAIN_JOBS, job) for job in jobs], None)
    assert " ".join(capsys.readouterr().err.split()) == " ".join(
        f"TrainJob {name} is still running; follow it: shunter logs -f {name} -n team; end it: shunter delete {name} -n team"
        for name in ("second", "third")
    )


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
