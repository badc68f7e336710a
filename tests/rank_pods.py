"""A pod of a TrainJob as the operator caches it, with an end or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.views import RankPod

MakeTrainJob = Callable[..., TrainJob]


def pod(
    name: str = "mnist-node-0-1-x",
    *,
    exit_code: int | None = 1,
    created: str = "2026-11-21T11:30:00Z",
    finished: str | None = None,
    deleted: str = "",
    removed: str = "",
    conditions: Sequence[Json] = (),
) -> RankPod:
    """`deleted` and `removed` are its deletionTimestamp, with a grace period of 30 seconds and without one."""
    state: Json = {"running": {}} if exit_code is None else {"terminated": {"exitCode": exit_code, "finishedAt": finished}}
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "mnist",
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
        "jobset.sigs.k8s.io/job-index": "0",
        "batch.kubernetes.io/job-completion-index": "1",
        "team": "vision",
    }
    metadata: Json = {"name": name, "namespace": "team-a", "uid": name, "creationTimestamp": created, "labels": labels}
    if deleted or removed:
        metadata |= {"deletionTimestamp": deleted or removed, "deletionGracePeriodSeconds": 30 if deleted else 0}
    status = {
        "phase": {None: "Running", 0: "Succeeded"}.get(exit_code, "Failed"),
        "podIP": "10.0.0.1",
        "containerStatuses": [{"name": "node", "state": state}],
        "conditions": conditions,
    }
    return msgspec.json.decode(msgspec.json.encode({"metadata": metadata, "status": status}), type=RankPod)
