"""From a TrainJob and its runtime to a JobSet: overrides and resources; runtimePatches in test_runtime_patches.py."""

from __future__ import annotations

import copy

import pytest

from jobset_parts import environment, node, replicated_job
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.render import jobset_for
from shunter.operator.trainer.runtimes import shipped
from trainer_plans import MakeRuntime, MakeTrainJob


def test_plain_runtimes_ignore_resources_without_a_policy(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    job = make_trainjob(trainer={"numNodes": 3, "resourcesPerNode": {"limits": {"cpu": "7"}}})
    runtime = make_runtime(node={"resources": {"limits": {"cpu": "2"}}})
    del runtime["spec"]["mlPolicy"]
    jobset = jobset_for(job, runtime)
    assert node(jobset)["resources"] == {"limits": {"cpu": "2"}}
    assert replicated_job(jobset)["template"]["spec"]["parallelism"] == 3
    assert environment(jobset) == {}


def test_the_runtime_is_not_changed(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    runtime = make_runtime(node={"env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80, "name": "web"}]})
    before = copy.deepcopy(runtime)
    jobset_for(make_trainjob(trainer={"image": "x", "env": [{"name": "A", "value": "2"}], "command": ["c"]}), runtime)
    assert runtime == before


def test_empty_lists_of_the_runtime_are_not_filled(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    """The runtime is shared with the cache: what one job adds would reach all others. Found by generated pairs."""
    runtime = make_runtime(node={"env": [], "ports": [], "volumeMounts": []})
    before = copy.deepcopy(runtime)
    jobset_for(make_trainjob(trainer={"env": [{"name": "A", "value": "2"}]}), runtime)
    assert runtime == before


def test_quantities_are_written_as_the_api_server_keeps_them(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    """Or applying a suspended job's JobSet again would change it. Found by generated pairs."""
    runtime = make_runtime(node={"resources": {"limits": {"nvidia.com/gpu": 2}, "requests": {"cpu": "500m", "memory": "1024Mi"}}})
    (container,) = jobset_for(make_trainjob(), runtime)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2"}, "requests": {"cpu": "500m", "memory": "1Gi"}}


def test_a_variable_without_a_name_that_came_past_the_schema_is_told(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime
) -> None:
    with pytest.raises(BuildError, match=r"spec.trainer.env\[0\] of TrainJob mnist: object missing required field `name`"):
        jobset_for(make_trainjob(trainer={"env": [{"value": "1"}]}), make_runtime())


def test_the_shipped_runtime_trains_a_torch_job(make_trainjob: MakeTrainJob) -> None:
    (runtime,) = [runtime for runtime in shipped() if runtime["metadata"]["name"] == "torch-distributed"]
    job = make_trainjob(runtimeRef={"name": "torch-distributed"}, trainer={"numNodes": 2, "command": ["torchrun", "x.py"]})
    assert environment(jobset_for(job, runtime))["PET_NNODES"] == "2"
