"""Jobs and runtimes for the trainer's tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob

MakeTrainJob = Callable[..., TrainJob]


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def make_trainjob() -> MakeTrainJob:
    """A TrainJob of the runtime `torch`; keyword arguments go into its spec."""

    def make(*, status: Json | None = None, metadata: Json | None = None, **spec: Any) -> TrainJob:
        reference = {"kind": "TrainingRuntime", "name": "torch"}
        default = {"name": "mnist", "namespace": "team-a", "uid": "u1", "creationTimestamp": "2026-11-21T11:00:00Z"}
        job = {
            "metadata": {**default, **(metadata or {})},
            "spec": {"runtimeRef": reference, **spec},
            "status": status or {},
        }
        return msgspec.convert(job, TrainJob)

    return make


@pytest.fixture
def make_runtime() -> Callable[..., Json]:
    """A TrainingRuntime `torch` with one replicated job `node`; `node` goes into its training container."""

    def make(*, node: Json | None = None, policy: Json | None = None, **template: Any) -> Json:
        container = {"name": "node", "image": "img:runtime", **(node or {})}
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
        replicated = {
            "name": "node",
            "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [container]}}}},
        }
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": {"name": "torch", "namespace": "team-a", "uid": "r1"},
            "spec": {
                "mlPolicy": {"numNodes": 2, "torch": {}} if policy is None else policy,
                "template": {"spec": {"replicatedJobs": [replicated]}, **template},
            },
        }

    return make
