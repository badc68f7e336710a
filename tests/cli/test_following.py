"""A followed job whose user may not see all of it: what is refused is told, and the rest is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from io import StringIO

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cli.display import OneRank, PipeDisplay
from shunter.cli.following import JobFollower
from shunter.kube.client import Client
from shunter.kube.errors import from_answer
from shunter.kube.transport import Response

JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "bert", "namespace": "team", "uid": "1", "resourceVersion": "1"},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}},
}
SUCCEEDED = {**JOB, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}


class JobsOnly:
    """A server that shows the job, which ends once both refusals have been given, and nothing beside it."""

    def __init__(self) -> None:
        self._refused: set[str] = set()
        self._all_refused = asyncio.Event()

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        kind = path.rpartition("/")[2]
        if kind != "pytorchjobs":
            self._refused.add(kind)
            if self._refused >= {"pods", "events"}:
                self._all_refused.set()
            message = f'{kind} is forbidden: User "ann" cannot list resource "{kind}"'
            return answer(403, {"kind": "Status", "code": 403, "message": message, "details": {"kind": kind}})
        return answer(200, {"metadata": {"resourceVersion": "1"}, "items": [JOB]})

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if not path.endswith("/pytorchjobs"):
            raise from_answer(method, path, 403, {}, b"")
        await self._all_refused.wait()
        yield msgspec.json.encode({"type": "MODIFIED", "object": SUCCEEDED}) + b"\n"

    async def close(self) -> None:
        return


def answer(status: int, body: Json) -> Response:
    return Response(status, {}, msgspec.json.encode(body))


@pytest.mark.parametrize("of_one_rank", [False, True], ids=["run", "logs -f"])
async def test_what_may_not_be_listed_is_told_once_and_the_job_is_followed_to_its_end(
    of_one_rank: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = StringIO()
    monkeypatch.setattr("sys.stderr", told)
    display = OneRank(PipeDisplay(), 0) if of_one_rank else PipeDisplay()
    end = await JobFollower(Client(JobsOnly()), PYTORCH_JOBS, JOB, display).run()
    assert end.job == SUCCEEDED
    for kind in ("pods", "events"):
        assert told.getvalue().count(f"not all of it is shown: {kind} is forbidden") == 1
