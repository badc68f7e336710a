"""JAX: what processes are told about their group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.render import jobset_for

Make = Callable[..., Any]
RANK = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def node(job: TrainJob, runtime: Json) -> Json:
    (replicated,) = jobset_for(job, runtime)["spec"]["replicatedJobs"]
    found: Json = replicated["template"]["spec"]["template"]["spec"]["containers"][0]
    return found


def test_jax_tells_every_process_its_group(make_trainjob: Make, runtime_of: Make) -> None:
    container = node(make_trainjob(trainer={"numNodes": 3}), runtime_of({"jax": {}}))
    assert container["env"] == [
        {"name": "JAX_NUM_PROCESSES", "value": "3"},
        {"name": "JAX_PROCESS_ID", "valueFrom": RANK},
        {"name": "JAX_COORDINATOR_ADDRESS", "value": "mnist-node-0-0.mnist:29500"},
    ]
    assert container["ports"] == [{"containerPort": 29500}]


def test_a_job_may_set_what_jax_is_told(make_trainjob: Make, runtime_of: Make, refusals: Make) -> None:
    job = make_trainjob(trainer={"env": [{"name": "JAX_NUM_PROCESSES", "value": "9"}]})
    runtime = runtime_of({"jax": {}, "numNodes": 2})
    assert refusals(job, runtime) == []
    assert node(job, runtime)["env"][0] == {"name": "JAX_NUM_PROCESSES", "value": "9"}
