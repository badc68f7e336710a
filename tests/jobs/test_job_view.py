"""What `top` and `plot` know of a job: only what is about it, and as much of it as may be read."""

from __future__ import annotations

from job_evidence import event, v1_job
from jobs.test_evidence import Lists
from shunter.jobs.job_view import JobViewReader
from shunter.kube.client import Client


async def test_a_job_that_failed_does_not_get_the_cause_of_another() -> None:
    failed = v1_job(conditions=[{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "j is failed."}])
    other = event("u-other", "RankFailed", "pod other-worker-0, container pytorch: Error, exit code 3", at=100)
    own = event("u-j", "RankFailed", "pod j-worker-0, container pytorch: OOMKilled, exit code 137", at=10)
    for events, sentence in (([other], "j is failed."), ([other, own], own["message"])):
        view = await JobViewReader(Client(Lists(events=events))).read(failed)
        assert view.cause is not None
        assert view.cause.sentence.endswith(sentence)
