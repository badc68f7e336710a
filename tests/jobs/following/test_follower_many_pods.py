"""What following a job does for a change of one pod does not grow with its pods: in the terminal
(`shunter.jobs.following.follower`), and for the log of the page (`shunter.page.logs`)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.jobs.following.follower import JobFollower
from shunter.kube.client import Client
from shunter.kube.transport import Response
from shunter.operator.overview import Overview
from shunter.page.calls import LogQuery
from shunter.page.logs import frames

CHANGES = 20


def job_of(pods: int) -> Json:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "team", "uid": "1", "resourceVersion": "1"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": pods}}},
    }


def waiting(index: int) -> Json:
    return {
        "metadata": {
            "name": f"bert-worker-{index}",
            "namespace": "team",
            "uid": f"pod-{index}",
            "ownerReferences": [{"uid": "1"}],
            "labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": str(index)},
        },
        "spec": {"containers": [{"name": "pytorch"}]},
        "status": {"phase": "Pending", "containerStatuses": [{"name": "pytorch", "state": {"waiting": {}}}]},
    }


class Steps:
    """Counts the calls of Python functions from when `CHANGES` changes of pods begin until they are through."""

    def __init__(self) -> None:
        self.taken = 0

    def begin(self) -> None:
        def count(frame: Any, event: str, arg: Any) -> None:
            self.taken += event == "call"

        sys.setprofile(count)

    def end(self) -> None:
        sys.setprofile(None)


class ManyPods:
    """A server of a job whose pods wait; one after the other changes, then the job has succeeded."""

    def __init__(self, pods: int, steps: Steps) -> None:
        self.job = job_of(pods)
        self._pods = [waiting(index) for index in range(pods)]
        self._steps = steps
        self._is_through = asyncio.Event()

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        items = {"pytorchjobs": [self.job], "pods": self._pods}.get(path.rpartition("/")[2], [])
        return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/pods"):
            changed = [msgspec.json.encode({"type": "MODIFIED", "object": pod}) + b"\n" for pod in self._pods[:CHANGES]]
            self._steps.begin()
            for line in changed:
                yield line
            self._steps.end()
            self._is_through.set()
        elif path.endswith("/pytorchjobs"):
            await self._is_through.wait()
            ended = {**self.job, "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
            yield msgspec.json.encode({"type": "MODIFIED", "object": ended}) + b"\n"
        await asyncio.Event().wait()

    async def close(self) -> None:
        return


class Quiet:
    """A display of nothing."""

    def log(self, member: Any, container: str, line: str) -> None: ...

    def note(self, text: str) -> None: ...

    def problem(self, text: str) -> None: ...

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None: ...

    def close(self) -> None: ...


async def in_the_terminal(server: ManyPods) -> None:
    await JobFollower(Client(server), PYTORCH_JOBS, server.job, Quiet()).run()


async def on_the_page(server: ManyPods) -> None:
    async for _ in frames(Client(server), PYTORCH_JOBS, server.job, LogQuery(follow=True)):
        pass


@pytest.mark.parametrize("followed", [in_the_terminal, on_the_page])
async def test_a_change_of_a_pod_is_as_little_work_in_a_job_of_many_pods(
    followed: Callable[[ManyPods], Awaitable[None]],
) -> None:
    taken = {}
    for pods in (CHANGES, 20 * CHANGES):
        steps = Steps()
        try:
            await followed(ManyPods(pods, steps))
        finally:
            steps.end()
        taken[pods] = steps.taken
    assert taken[CHANGES] > CHANGES
    assert taken[20 * CHANGES] < 2 * taken[CHANGES]
