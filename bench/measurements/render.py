"""How long the pure functions take that make a job's objects: no I/O, one processor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from figures import Figure
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.render import rendered
from shunter.operator.trainer.runtimes import shipped
from shunter.operator.trainer.snapshot import as_go_writes
from shunter.operator.training.frameworks import FRAMEWORKS
from shunter.operator.training.replicas import desired_pods

ROLES = {
    "PyTorchJob": ("pytorchReplicaSpecs", "Master"),
    "TFJob": ("tfReplicaSpecs", "Chief"),
    "MPIJob": ("mpiReplicaSpecs", "Launcher"),
    "XGBoostJob": ("xgbReplicaSpecs", "Master"),
    "JAXJob": ("jaxReplicaSpecs", ""),
    "PaddleJob": ("paddleReplicaSpecs", "Master"),
}
"""Where a kind has its replica specs, and which role has one replica beside the workers."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    repeats, workers = settings["repeats"], settings["workers"]
    trainjobs = {
        runtime["metadata"]["name"]: seconds(partial(rendered, train_job(runtime), as_go_writes(runtime)), repeats)
        for runtime in shipped()
    }
    kinds = {
        framework.info.resource.kind: seconds(partial(desired_pods, framework, v1_job(framework, workers)), repeats // 100)
        for framework in FRAMEWORKS
    }
    slowest, kind = max(trainjobs, key=trainjobs.__getitem__), max(kinds, key=kinds.__getitem__)
    torch = trainjobs["torch-distributed"] * 1e6
    return [
        Figure("rendering one TrainJob", trainjobs[slowest] * 1e6, "us", f"{slowest}; torch-distributed {torch:.0f}"),
        Figure("pods of one large v1 job", kinds[kind] * 1e3, "ms", f"{kind}; PyTorchJob {kinds['PyTorchJob'] * 1e3:.0f}"),
    ]


def seconds(made: Callable[[], Any], repeats: int) -> float:
    """The median of several runs in processor time, each measured alone; the first is not counted."""
    made()
    durations = []
    for _ in range(repeats):
        started = time.thread_time()
        made()
        durations.append(time.thread_time() - started)
    return statistics.median(durations)


def train_job(runtime: Json) -> TrainJob:
    """A job as people submit them: an image, a command, some environment, resources."""
    trainer = {
        "image": "ghcr.io/acme/train:1",
        "command": ["python", "train.py"],
        "args": ["--epochs", "3"],
        "numNodes": 4,
        "env": [{"name": f"SETTING_{number}", "value": str(number)} for number in range(5)],
        "resourcesPerNode": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "2"}},
    }
    metadata = {"name": "bert-large", "namespace": "team-a", "uid": "c3c3d9e0-6c1f-4a0c-8b63-1f1f6c4b6f10"}
    spec = {"runtimeRef": {"name": runtime["metadata"]["name"]}, "trainer": trainer}
    return msgspec.convert({"metadata": metadata, "spec": spec}, TrainJob)


def v1_job(framework: Any, workers: int) -> Any:
    field, first = ROLES[framework.info.resource.kind]
    container = {"name": framework.container, "image": "ghcr.io/acme/train:1", "env": [{"name": "A", "value": "1"}]}
    template = {"spec": {"containers": [container]}}
    specs = {"Worker": {"replicas": workers, "template": template}}
    if first:
        specs = {first: {"replicas": 1, "template": template}, **specs}
    metadata = {"name": "bert-large", "namespace": "team-a", "uid": "c3c3d9e0-6c1f-4a0c-8b63-1f1f6c4b6f10"}
    return framework.read(msgspec.convert({"metadata": metadata, "spec": {field: specs}}, framework.info.view))
