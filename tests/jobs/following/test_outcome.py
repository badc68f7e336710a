"""How the end of a job is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.jobs.following.follower import JobEnd
from shunter.jobs.following.outcome import outcome, without_repeated_log
from shunter.kube.client import Client
from shunter.kube.transport import Response

FAULT = "pod j-0, container node: Error, exit code 2"
HEADLINE = "node-0: exit code 2: error: no such bucket"
LOGS = {
    "the line that the headline quotes": (["| error: no such bucket"], [FAULT]),
    "another line": (["| killed"], [FAULT, "| killed"]),
    "more than that line": (["| step 1", "| error: no such bucket"], [FAULT, "| step 1", "| error: no such bucket"]),
}


@pytest.mark.parametrize(("log", "told"), LOGS.values(), ids=LOGS)
def test_a_log_of_one_line_is_told_once(log: list[str], told: list[str]) -> None:
    assert list(without_repeated_log([FAULT, *log], HEADLINE)) == told


JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "j", "namespace": "n", "uid": "u"},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 1}}},
    "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "1 replica failed"}]},
}
LOST_PEER = b"RuntimeError: [1] Connection closed by peer [10.0.0.1]:4711\n"
NO_DATA = b"ValueError: no data in shard 7\n"


def pod(role: str, exit_code: int | None) -> Json:
    """Of one role, which still runs without an exit code."""
    ended = {"terminated": {"exitCode": exit_code, "reason": "Error", "finishedAt": "2026-01-01T00:00:01Z"}}
    state: Json = {"running": {}} if exit_code is None else ended
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": "0"}
    return {
        "metadata": {"name": f"j-{role}-0", "namespace": "n", "uid": role, "labels": labels, "ownerReferences": [{"uid": "u"}]},
        "status": {
            "phase": "Running" if exit_code is None else "Failed",
            "containerStatuses": [{"name": "pytorch", "state": state}],
        },
    }


class LateState:
    """A server on which the worker is seen to have ended after the job has, by a change of this type; never without one."""

    def __init__(self, change: str, log: bytes = LOST_PEER) -> None:
        self._change = change
        self._log = log
        self.is_asked = False
        self.is_left = False
        """Whether the watch has ended."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        page = {"metadata": {"resourceVersion": "1"}, "items": [pod("master", 1), pod("worker", None)]}
        return Response(200, {}, msgspec.json.encode(page))

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/log"):
            yield self._log if "master" in path else NO_DATA
            return
        self.is_asked = True
        try:
            if self._change:
                yield msgspec.json.encode({"type": self._change, "object": pod("worker", 3)}) + b"\n"
            await asyncio.Event().wait()
        finally:
            self.is_left = True

    async def close(self) -> None:
        return


END = JobEnd(JOB, [pod("master", 1), pod("worker", None)])


@pytest.mark.parametrize("change", ["MODIFIED", "DELETED"])
async def test_the_rank_that_the_others_lost_is_waited_for(change: str) -> None:
    server = LateState(change)
    async with asyncio.timeout(8):
        ended = await outcome(Client(server), END, JOB)
    assert server.is_left
    assert ended.reasons[0] == "worker-0: exit code 3: ValueError: no data in shard 7"
    assert ended.faults[-1] == "pod j-master-0, container pytorch: Error, exit code 1"


async def test_nothing_is_waited_for_where_the_cause_is_known() -> None:
    server = LateState("MODIFIED", log=b"ValueError: no data in shard 0\n")
    ended = await outcome(Client(server), END, JOB)
    assert (ended.reasons[0], server.is_asked) == ("master-0: exit code 1: ValueError: no data in shard 0", False)


async def test_a_victim_is_named_where_the_rank_that_it_lost_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.jobs.following.outcome.LATE_FAILURE_SECONDS", 0.1)
    ended = await asyncio.wait_for(outcome(Client(LateState("")), END, JOB), timeout=8)
    assert ended.reasons[0].startswith("master-0: exit code 1: RuntimeError: [1] Connection closed by peer")
