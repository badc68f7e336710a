"""A job that is followed until a deadline: what has ended by then has ended, whatever was being read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest

from one_job import FAILED, JOB, POD, OneJob
from shunter.api.meta import Json
from shunter.api.resources import JOBS, TRAIN_JOBS
from shunter.jobs.following.follower import JobFollower
from shunter.jobs.following.pipe_display import PipeDisplay
from shunter.kube.client import Client
from shunter.kube.errors import from_answer
from shunter.kube.transport import Response

BATCH_JOB: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "team", "uid": "1", "resourceVersion": "1"},
    "spec": {"completions": 2, "completionMode": "Indexed"},
}
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}


class EndlessLogs(OneJob):
    """Its job fails, and logs are read for ever."""

    def __init__(self) -> None:
        super().__init__({"type": "MODIFIED", "object": FAILED})

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/log"):
            await asyncio.Event().wait()
        async for chunk in super().stream(method, path, params=params, headers=headers):
            yield chunk


class BatchJobs(OneJob):
    """Lists a Job as an API server does, whose items have no kind; pods may not be read."""

    def __init__(self, status: Json) -> None:
        super().__init__({})
        self._status = status

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        if path.endswith("/pods"):
            raise from_answer(method, path, 403, {}, b"")
        item = {name: value for name, value in BATCH_JOB.items() if name not in ("apiVersion", "kind")}
        body = msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": [{**item, "status": self._status}]})
        return Response(200, {}, body)


def soon(seconds: float = 0) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_a_job_that_goes_on_has_no_end() -> None:
    follower = JobFollower(Client(OneJob({})), TRAIN_JOBS, JOB, PipeDisplay())
    assert await follower.run_until(soon()) is None


async def test_what_was_seen_to_end_has_ended_though_its_logs_are_still_read() -> None:
    follower = JobFollower(Client(EndlessLogs()), TRAIN_JOBS, JOB, PipeDisplay())
    end = await follower.run_until(soon(0.5))
    assert end is not None
    assert end.job == FAILED
    assert end.pods == [POD]


@pytest.mark.parametrize("status", [{"active": 2}, COMPLETE], ids=["active", "complete"])
async def test_a_job_of_a_built_in_kind_is_looked_at_once_more(status: Json) -> None:
    follower = JobFollower(Client(BatchJobs(status)), JOBS, BATCH_JOB, PipeDisplay())
    end = await follower.run_until(soon())
    assert (end.job if end else follower.job) == {**BATCH_JOB, "status": status}
    assert (end is None) == (status is not COMPLETE)
