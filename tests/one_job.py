"""A server with one TrainJob, for what follows a job to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

import msgspec

from shunter.api.meta import Json
from shunter.kube.transport import Response

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "train", "namespace": "team", "uid": "1", "resourceVersion": "1"},
    "spec": {},
}
FAILED = {**JOB, "status": {"conditions": [{"type": "Failed", "status": "True", "message": "jobset failed"}]}}
ENDED = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-01T00:00:00Z"}}
LABELS = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "node"}
POD = {
    "metadata": {
        "name": "train-node-0-0-x",
        "namespace": "team",
        "uid": "2",
        "labels": {**LABELS, "batch.kubernetes.io/job-completion-index": "0"},
    },
    "spec": {"containers": [{"name": "node"}, {"name": "sidecar"}], "initContainers": [{"name": "fetch"}]},
    "status": {
        "phase": "Failed",
        "initContainerStatuses": [{"name": "fetch", "state": DONE}],
        "containerStatuses": [{"name": "node", "state": ENDED}, {"name": "sidecar", "state": DONE}],
    },
}
LOGS = {"fetch": "fetched", "node": "ValueError: no data", "sidecar": "copied"}


class OneJob:
    """A server with one job, which ends by the first change, and its pod. `jobs` and `pods` are those it lists."""

    def __init__(self, change: Json, jobs: Sequence[Json] = (JOB,), pods: Sequence[Json] = (POD,)) -> None:
        self._change = change
        self._jobs = jobs
        self._pods = pods

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        items = {"trainjobs": [*self._jobs], "pods": [*self._pods]}.get(path.rpartition("/")[2], [])
        return Response(200, {}, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        if path.endswith("/log"):
            line = LOGS[params["container"]]
            yield (f"2026-01-01T00:00:00Z {line}\n" if params.get("timestamps") == "true" else f"{line}\n").encode()
            return
        if path.endswith("/trainjobs"):
            yield msgspec.json.encode(self._change) + b"\n"
        await asyncio.Event().wait()

    async def close(self) -> None:
        return
