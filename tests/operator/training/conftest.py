"""Jobs and pods for the tests of the v1 engine's rules."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shunter.api.core import Pod, Service
from shunter.api.meta import Json
from shunter.api.training.pytorch import PyTorchJob
from shunter.operator.training.children import children_of
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.replicas import desired_pods
from shunter.operator.training.services import desired_services

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PYTORCH = framework_of("PyTorchJob")


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def make_job() -> Callable[..., AnyJob]:
    """A PyTorchJob with defaults: `roles` are replicas by role; further arguments go into every role, spec, policy or status."""

    def make(
        roles: dict[str, int] | None = None,
        *,
        role: Json | None = None,
        policy: Json | None = None,
        status: Json | None = None,
        metadata: Json | None = None,
        **spec: Any,
    ) -> AnyJob:
        template = {"spec": {"containers": [{"name": "pytorch", "image": "img:1"}]}}
        specs = {
            name: {"replicas": count, "template": template, **(role or {})}
            for name, count in (roles or {"Master": 1, "Worker": 1}).items()
        }
        view = msgspec.convert(
            {
                "metadata": {"name": "bert", "namespace": "team-a", "uid": "u1", "resourceVersion": "7", **(metadata or {})},
                "spec": {"pytorchReplicaSpecs": specs, "runPolicy": policy or {}, **spec},
                "status": status or {},
            },
            PyTorchJob,
        )
        return PYTORCH.read(view)

    return make


@pytest.fixture
def observe() -> Callable[..., Observed]:
    """What is observed when the job has all its pods and services; `phases` sets the phase of pods by name, "" leaves one out."""

    def make(job: AnyJob, phases: dict[str, str] | None = None, **more: Any) -> Observed:
        pods = []
        for body in desired_pods(PYTORCH, job):
            phase = (phases or {}).get(body["metadata"]["name"], (phases or {}).get("*", "Running"))
            if phase:
                pods.append(pod_in(body, phase, **more))
        services = [msgspec.convert(body, Service) for body in desired_services(PYTORCH, job)]
        return Observed(job=job, children=children_of(job, pods, services))

    return make


def pod_in(body: Json, phase: str, *, exit_code: int = 1, restarts: int = 0) -> Pod:
    state: Json = {"running": {}} if phase == "Running" else {"waiting": {}}
    if phase in ("Succeeded", "Failed"):
        state = {"terminated": {"exitCode": exit_code if phase == "Failed" else 0}}
    status = {"phase": phase, "containerStatuses": [{"name": "pytorch", "restartCount": restarts, "state": state}]}
    metadata = {"uid": f"uid-of-{body['metadata']['name']}", **body["metadata"]}
    return msgspec.convert({**body, "metadata": metadata, "status": status}, Pod)
