"""Jobs and pods as the API server stores them, and what they add up to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shunter.api.batch import COMPLETION_INDEX, JOB_TRACKING_FINALIZER, Job
from shunter.api.core import Pod
from shunter.api.meta import Json, rfc3339
from shunter.cluster.controllers.job.tally import Tally

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    return rfc3339(NOW - timedelta(seconds=seconds))


def job(status: Json | None = None, **spec: Any) -> Job:
    metadata = {"name": "j", "namespace": "n", "uid": "u", "creationTimestamp": ago(3600)}
    return msgspec.convert({"metadata": metadata, "spec": {"parallelism": 1, **spec}, "status": status or {}}, Job)


def pod(
    name: str,
    phase: str = "Running",
    *,
    index: int | str | None = None,
    ready: bool = False,
    leaving: bool = False,
    tracked: bool = True,
    made: float = 60,
    **status: Any,
) -> Pod:
    """A pod of the Job, created `made` seconds ago, whose uid is its name."""
    metadata: Json = {
        "name": name,
        "namespace": "n",
        "uid": name,
        "creationTimestamp": ago(made),
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}],
        "finalizers": [JOB_TRACKING_FINALIZER] if tracked else [],
    }
    if index is not None:
        metadata["annotations"] = {COMPLETION_INDEX: str(index)}
    if leaving:
        metadata |= {"deletionTimestamp": ago(0), "deletionGracePeriodSeconds": 30}
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ago(made)}] if ready else []
    spec = {"nodeName": "node"} if phase != "Pending" else {}
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": conditions, **status}}, Pod
    )


def tally(of: Job, *pods: Pod) -> Tally:
    return Tally.of(of, pods, NOW)
