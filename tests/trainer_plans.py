"""A TrainJob's snapshot and JobSet as the operator finds them, and what a plan says of its conditions."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Apply, Plan
from shunter.operator.trainer.snapshot import snapshot_of
from shunter.operator.trainer.views import ConfigMap, LiveJobSet

MakeTrainJob = Callable[..., TrainJob]
MakeRuntime = Callable[..., Json]


def snapshot(job: TrainJob, runtime: Json, *, owner: str = "u1") -> ConfigMap:
    body = snapshot_of(job, runtime)
    reference = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": owner, "controller": True}
    return msgspec.convert({**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}}, ConfigMap)


def jobset(*, suspend: bool = False, uid: str = "u1", kind: str = "TrainJob", conditions: list[Json] | None = None) -> LiveJobSet:
    reference = {"apiVersion": "v1", "kind": kind, "name": "mnist", "uid": uid, "controller": True}
    counts = {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": int(not suspend), "suspended": 0}
    metadata = {"name": "mnist", "namespace": "team-a", "uid": "j1", "ownerReferences": [reference]}
    status = {"conditions": conditions or [], "replicatedJobsStatus": [counts]}
    return msgspec.convert({"metadata": metadata, "spec": {"suspend": suspend}, "status": status}, LiveJobSet)


def conditions(made: Plan) -> list[tuple[str, str, str]]:
    assert made.status is not None
    return [(item["type"], item["status"], item["reason"]) for item in made.status.desired.get("conditions", [])]


def applied(made: Plan) -> list[str]:
    assert all(isinstance(write, Apply) for write in made.writes)
    return [f"{write.resource.kind}/{write.body['metadata']['name']}" for write in made.writes if isinstance(write, Apply)]
