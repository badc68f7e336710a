"""torch: what processes are told about their group, and in which containers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobset_parts import environment, node, replicated_job
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.render import jobset_for

MakeTrainJob = Callable[..., TrainJob]
MakeRuntime = Callable[..., Json]


def test_torch_tells_every_node_its_group(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    job = make_trainjob(trainer={"image": "img:job", "numNodes": 3, "env": [{"name": "LR", "value": "1"}]})
    jobset = jobset_for(job, make_runtime(node={"env": [{"name": "BASE", "value": "0"}]}))
    assert environment(jobset) == {
        "BASE": "0",
        "LR": "1",
        "PET_NNODES": "3",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": None,
        "PET_MASTER_ADDR": "mnist-node-0-0.mnist",
        "PET_MASTER_PORT": "29500",
    }
    assert (node(jobset)["image"], node(jobset)["ports"]) == ("img:job", [{"containerPort": 29500}])
    spec = replicated_job(jobset)["template"]["spec"]
    assert (spec["parallelism"], spec["completions"]) == (3, 3)


def test_a_job_without_trainer_section_gets_no_variables(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    jobset = jobset_for(make_trainjob(), make_runtime())
    assert environment(jobset) == {}
    assert replicated_job(jobset)["template"]["spec"]["parallelism"] == 2


@pytest.mark.parametrize(
    ("trainer", "resources", "wanted"),
    [
        pytest.param({"numProcPerNode": 0}, {}, "0", id="the job's number, be it 0"),
        pytest.param({}, {"limits": {"nvidia.com/gpu": "2", "cpu": "16"}}, "auto", id="GPUs: torchrun counts them"),
        pytest.param({}, {"requests": {"cpu": "1500m"}}, "2", id="requested CPUs, rounded up"),
        pytest.param({}, {"limits": {"cpu": "4"}}, "4", id="the limit without a request"),
        pytest.param({}, {}, "1", id="nothing"),
        pytest.param(
            {"resourcesPerNode": {"requests": {"cpu": 5}}},
            {"limits": {"nvidia.com/gpu": "2"}},
            "5",
            id="the job's resources are counted alone",
        ),
    ],
)
def test_processes_of_a_node(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, trainer: Json, resources: Json, wanted: str
) -> None:
    jobset = jobset_for(make_trainjob(trainer=trainer), make_runtime(node={"resources": resources}))
    assert environment(jobset)["PET_NPROC_PER_NODE"] == wanted


def test_a_missing_injection_target_is_named(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    policy = {"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["ghost"]}]}}}
    with pytest.raises(BuildError, match='podSet "node" container "ghost" not found'):
        jobset_for(make_trainjob(), make_runtime(policy=policy))


def test_injection_targets_get_the_variables_even_without_trainer(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    runtime = make_runtime(policy={"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["side"]}]}}})
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["initContainers"] = [{"name": "side", "image": "i"}]
    built = replicated_job(jobset_for(make_trainjob(), runtime))["template"]["spec"]["template"]["spec"]
    assert next(variable["name"] for variable in built["initContainers"][0]["env"]) == "PET_NNODES"
