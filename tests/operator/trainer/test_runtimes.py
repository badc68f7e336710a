"""The runtimes that come with us: valid, and good for a job of each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from player.operator_replay import NoObjects, served_kinds
from shunter.api.meta import Json
from shunter.api.trainer import runtime_validation
from shunter.api.trainer.runtime import ClusterTrainingRuntime
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.render import jobset_for, rendered, trainjob_errors
from shunter.operator.trainer.runtimes import shipped

MakeTrainJob = Callable[..., TrainJob]
RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}

FRAMEWORKS = {
    "deepspeed-distributed": "deepspeed",
    "flux-distributed": "flux",
    "jax-distributed": "jax",
    "mlx-distributed": "mlx",
    "shunter-torch": "torch",
    "torch-distributed": "torch",
    "torch-distributed-with-cache": "torch",
    "torchtune-llama3.2-1b": "torchtune",
    "torchtune-llama3.2-3b": "torchtune",
    "torchtune-qwen2.5-1.5b": "torchtune",
    "xgboost-distributed": "xgboost",
}


def stored(runtime: Json) -> Json:
    """As the API server keeps it."""
    kept = copy.deepcopy(runtime)
    schema = served_kinds()["ClusterTrainingRuntime"].kind.schema()
    schema.prune(kept)
    schema.default(kept)
    return kept


def accepted(jobset: Json) -> Json:
    """The JobSet after JobSet's own webhooks and schema; fails when either refuses it."""
    kind = served_kinds()["JobSet"].kind
    made: Json = {**copy.deepcopy(jobset)}
    schema = kind.schema()
    schema.prune(made)
    schema.default(made)
    kind.admit(made, None, NoObjects())
    schema.default(made)
    assert not schema.validate(made, None)
    kind.review(made, None, NoObjects())
    return made


def test_the_shipped_runtimes_are_those_of_upstream_and_one_of_ours() -> None:
    assert {
        name: runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"] for name, runtime in RUNTIMES.items()
    } == FRAMEWORKS
    assert all(runtime["spec"]["mlPolicy"]["numNodes"] == 1 for runtime in RUNTIMES.values())


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_shipped_runtime_is_valid_and_says_nothing_that_the_schema_does_not_know(name: str) -> None:
    runtime = copy.deepcopy(RUNTIMES[name])
    schema = served_kinds()["ClusterTrainingRuntime"].kind.schema()
    schema.prune(runtime)
    assert runtime == RUNTIMES[name]
    assert not schema.validate(stored(runtime), None)
    assert runtime_validation.errors(msgspec.convert(stored(runtime), ClusterTrainingRuntime)) == []


@pytest.mark.parametrize(
    "trainer",
    [
        pytest.param(None, id="without a trainer section"),
        pytest.param({}, id="with an empty trainer section"),
        pytest.param(
            {"image": "img", "command": ["python", "x.py"], "env": [{"name": "A", "value": "1"}]}, id="of its own image"
        ),
    ],
)
@pytest.mark.parametrize("name", RUNTIMES)
def test_a_job_of_a_shipped_runtime_is_admitted_and_its_jobset_accepted(
    make_trainjob: MakeTrainJob, name: str, trainer: Json | None
) -> None:
    given: dict[str, Any] = {} if trainer is None else {"trainer": trainer}
    job = make_trainjob(runtimeRef={"name": name}, **given)
    assert trainjob_errors(job, stored(RUNTIMES[name])) == []
    accepted(jobset_for(job, stored(RUNTIMES[name])))


@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "torch-distributed"])
def test_a_job_of_two_nodes_is_made_by_every_shipped_runtime(make_trainjob: MakeTrainJob, name: str) -> None:
    job = make_trainjob(runtimeRef={"name": name}, trainer={"numNodes": 2})
    made = rendered(job, stored(RUNTIMES[name])).jobset["spec"]["replicatedJobs"]
    pods = {job["name"]: job["template"]["spec"]["parallelism"] for job in made if not job["name"].endswith("-initializer")}
    assert sum(pods.values()) == 2


@pytest.mark.parametrize("section", ["dataset", "model"])
@pytest.mark.parametrize("name", [name for name, framework in FRAMEWORKS.items() if framework == "torchtune"])
def test_initializers_of_torchtune_runtimes_take_what_the_job_says(make_trainjob: MakeTrainJob, name: str, section: str) -> None:
    job = make_trainjob(runtimeRef={"name": name}, initializer={section: {"storageUri": "hf://a/b"}})
    assert trainjob_errors(job, stored(RUNTIMES[name])) == []
    made = jobset_for(job, stored(RUNTIMES[name]))["spec"]["replicatedJobs"]
    (pods,) = [one for one in made if one["name"] == f"{section}-initializer"]
    container = pods["template"]["spec"]["template"]["spec"]["containers"][0]
    assert container["env"] == [{"name": "STORAGE_URI", "value": "hf://a/b"}]


def test_a_dataset_can_be_given_to_the_runtime_with_a_cache(make_trainjob: MakeTrainJob) -> None:
    name = "torch-distributed-with-cache"
    job = make_trainjob(runtimeRef={"name": name}, initializer={"dataset": {"storageUri": "cache://schema/table"}})
    assert trainjob_errors(job, stored(RUNTIMES[name])) == []


def test_our_torch_runtime_is_upstreams_but_for_what_a_failure_and_a_stop_lead_to() -> None:
    ours, upstreams = copy.deepcopy(RUNTIMES["shunter-torch"]), RUNTIMES["torch-distributed"]
    jobset = ours["spec"]["template"]["spec"]
    (node,) = jobset["replicatedJobs"]
    job = node["template"]["spec"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert jobset.pop("failurePolicy") == {
        "maxRestarts": 3,
        "rules": [
            {
                "name": "disruption",
                "action": "RestartJobSetAndIgnoreMaxRestarts",
                "onJobFailureReasons": ["PodFailurePolicy"],
                "onJobFailureMessagePatterns": ["has condition DisruptionTarget matching FailJob rule"],
            },
            {
                "name": "wrongInput",
                "action": "FailJobSet",
                "onJobFailureReasons": ["PodFailurePolicy"],
                "onJobFailureMessagePatterns": ["failed with exit code 2 matching FailJob rule"],
            },
        ],
    }
    assert job.pop("backoffLimit") == 0
    codes = {"containerName": "node", "operator": "In", "values": [2]}
    assert job.pop("podFailurePolicy") == {
        "rules": [
            {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]},
            {"action": "FailJob", "onExitCodes": codes},
        ]
    }
    assert pod.pop("restartPolicy") == "Never"
    grace, timeout = pod.pop("terminationGracePeriodSeconds"), container.pop("env")
    assert timeout == [{"name": "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "value": str(grace - 20)}]
    assert pod.pop("volumes") == [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    assert container.pop("volumeMounts") == [{"name": "shm", "mountPath": "/dev/shm"}]
    assert ours["metadata"].pop("name") != upstreams["metadata"]["name"]
    assert ours == {**upstreams, "metadata": ours["metadata"]}
    assert {**ours["metadata"], "name": "torch-distributed"} == upstreams["metadata"]


def test_a_job_keeps_what_it_says_itself_of_the_time_to_stop(make_trainjob: MakeTrainJob) -> None:
    job = make_trainjob(
        runtimeRef={"name": "shunter-torch"},
        trainer={"env": [{"name": "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "value": "280"}, {"name": "A", "value": "1"}]},
    )
    (pods,) = accepted(jobset_for(job, stored(RUNTIMES["shunter-torch"])))["spec"]["replicatedJobs"]
    environment = pods["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [one["value"] for one in environment if one["name"] == "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == ["280"]
