"""The pods of JobSets of TrainJobs, with the labels that JobSet gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from shunter.api.jobset import JobSet
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.labels import identity


class Shape(NamedTuple):
    """Replicated jobs (name, Jobs, pods of each Job), and the labels of the pods that train, by rank."""

    groups: Sequence[tuple[str, int, int]]
    labels: Sequence[str]


SHAPES = {
    "nodes": Shape([("node", 1, 3)], ["node-0", "node-1", "node-2"]),
    "launcher and nodes": Shape([("launcher", 1, 1), ("node", 1, 2)], ["launcher-0", "node-0", "node-1"]),
    "nodes and launcher, as deepspeed-distributed": Shape(
        [("node", 1, 2), ("launcher", 1, 1)], ["node-0", "node-1", "launcher-0"]
    ),
    "a Job for each worker": Shape([("master", 1, 1), ("worker", 2, 1)], ["master-0", "worker-0", "worker-1"]),
    "initializers": Shape(
        [("dataset-initializer", 1, 1), ("model-initializer", 1, 1), ("launcher", 1, 1), ("node", 1, 2)],
        ["launcher-0", "node-0", "node-1"],
    ),
    "two groups of several": Shape([("actor", 1, 2), ("critic", 1, 2)], ["actor-0", "actor-1", "critic-0", "critic-1"]),
}


def jobset_of(shape: Shape, name: str = "j") -> Json:
    """The JobSet itself."""
    jobs = [{"name": group, "replicas": jobs, "template": {"spec": {"parallelism": pods}}} for group, jobs, pods in shape.groups]
    return {"kind": "JobSet", "metadata": {"name": name, "namespace": "n", "uid": "u-js"}, "spec": {"replicatedJobs": jobs}}


def pods_of(shape: Shape, name: str = "j") -> list[Json]:
    """All its pods. Each has failed."""
    jobset = msgspec.convert(jobset_of(shape, name), JobSet)
    found = []
    for group, (_, jobs, pods) in zip(jobset.spec.replicated_jobs, shape.groups, strict=True):
        for job in range(jobs):
            for at in range(pods):
                labels = identity(jobset, group, job) | {"batch.kubernetes.io/job-completion-index": str(at)}
                found.append(_failed(f"{name}-{group.name}-{job}-{at}-x7k2p", labels))
    return found


def _failed(name: str, labels: dict[str, str]) -> Json:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-21T11:29:50Z"}}
    return {
        "metadata": {"name": name, "namespace": "n", "uid": f"u-{name}", "labels": labels},
        "spec": {"containers": [{"name": "node"}], "restartPolicy": "Never"},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "node", "restartCount": 0, "state": ended}]},
    }
