"""v1 jobs for the proof's tests, in few words, and changed results of their conversion."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import Conversion, convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

Change = Callable[[Json, Json], None]
"""Changes a TrainJob and a runtime in place."""


def pytorch(
    workers: int = 2, command: list[str] | None = None, *, master: bool = True, run_policy: Json | None = None, **fields: Any
) -> Json:
    """A PyTorchJob; `fields` are those of all its containers."""
    container = {"name": "pytorch", "image": "train:1", "command": command or ["python", "train.py"], **fields}
    template = {"spec": {"containers": [container]}}
    specs: Json = {"Master": {"replicas": 1, "template": template}} if master else {}
    if workers:
        specs["Worker"] = {"replicas": workers, "template": copy.deepcopy(template)}
    spec: Json = {"pytorchReplicaSpecs": specs, **({"runPolicy": run_policy} if run_policy else {})}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "team"},
        "spec": spec,
    }


def converted(job: Json, options: Options = Options()) -> Conversion:  # noqa: B008
    return convert(SourceObject(job, "bert.yaml"), options)


def changed(conversion: Conversion, change: Change) -> Conversion:
    """The conversion with its results changed by hand, and no account of them."""
    train_job, runtime = copy.deepcopy(conversion.train_job), copy.deepcopy(conversion.runtime)
    assert runtime is not None
    change(train_job, runtime)
    return replace(conversion, train_job=train_job, runtime=runtime, rows=())


def pod_spec(runtime: Json, index: int = 0) -> Json:
    """The pod spec of a replicated job of a runtime."""
    found: Json = job_spec(runtime, index)["template"]["spec"]
    return found


def job_spec(runtime: Json, index: int = 0) -> Json:
    found: Json = runtime["spec"]["template"]["spec"]["replicatedJobs"][index]["template"]["spec"]
    return found


def environment(runtime: Json, index: int = 0) -> list[Json]:
    found: list[Json] = pod_spec(runtime, index)["containers"][0]["env"]
    return found
