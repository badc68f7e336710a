"""The JobSet from a model: what the sections of a TrainJob override."""

from __future__ import annotations

import pytest

from jobset_parts import node
from shunter.api.meta import Json
from shunter.operator.trainer.render import jobset_for
from trainer_plans import MakeRuntime, MakeTrainJob


def test_an_empty_command_takes_the_runtimes_away_and_an_absent_one_keeps_it(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime
) -> None:
    runtime = make_runtime(node={"command": ["base"], "args": ["-x"]})
    emptied = node(jobset_for(make_trainjob(trainer={"command": [], "args": ["-y"]}), runtime))
    assert ("command" in emptied, emptied["args"]) == (False, ["-y"])
    kept = node(jobset_for(make_trainjob(trainer={}), runtime))
    assert (kept["command"], kept["args"]) == (["base"], ["-x"])


def test_nothing_is_added_to_labels_and_the_job_owns_the_jobset(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    metadata = jobset_for(make_trainjob(metadata={"labels": {"team": "red"}}), make_runtime())["metadata"]
    assert metadata == {
        "name": "mnist",
        "namespace": "team-a",
        "ownerReferences": [
            {
                "apiVersion": "trainer.kubeflow.org/v1alpha1",
                "kind": "TrainJob",
                "name": "mnist",
                "uid": "u1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


@pytest.mark.parametrize(
    ("dataset", "changes"),
    [
        ({}, {"env": [{"name": "STORAGE_URI", "value": "hf://old"}]}),
        ({"storageUri": "s3://new"}, {"env": [{"name": "STORAGE_URI", "value": "s3://new"}]}),
        (
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "STORAGE_URI", "value": "hf://old"}, {"name": "A", "value": "1"}]},
        ),
        (
            {"secretRef": {"name": "keys"}},
            {
                "env": [{"name": "STORAGE_URI", "value": "hf://old"}],
                "envFrom": [{"configMapRef": {"name": "own"}}, {"secretRef": {"name": "keys"}}],
            },
        ),
    ],
    ids=["nothing", "storageUri", "env", "secretRef"],
)
def test_an_initializer_is_told_what_the_job_says_of_it(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, dataset: Json, changes: Json
) -> None:
    runtime = make_runtime()
    own = {"env": [{"name": "STORAGE_URI", "value": "hf://old"}], "envFrom": [{"configMapRef": {"name": "own"}}]}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}
    pods = {"containers": [{"name": "dataset-initializer", "image": "i", **own}]}
    added = {"name": "dataset-initializer", "replicas": 3}
    added["template"] = {"metadata": {"labels": labels}, "spec": {"template": {"spec": pods}}}
    runtime["spec"]["template"]["spec"]["replicatedJobs"].insert(0, added)
    first, trainer = jobset_for(make_trainjob(initializer={"dataset": dataset}), runtime)["spec"]["replicatedJobs"]
    (container,) = first["template"]["spec"]["template"]["spec"]["containers"]
    assert {key: container[key] for key in ("env", "envFrom")} == {"envFrom": own["envFrom"], **changes}
    assert first["replicas"] == 1
    assert "STORAGE_URI" not in str(trainer)


def test_what_another_pods_container_is_called_is_no_matter(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime) -> None:
    """Only the container `node` of the pods that train is the job's."""
    runtime = make_runtime()
    spec = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    spec["containers"].append({"name": "side", "image": "side:1"})
    spec["initContainers"] = [{"name": "init", "image": "init:1"}]
    made = jobset_for(make_trainjob(trainer={"image": "own:1", "env": [{"name": "A", "value": "1"}]}), runtime)
    pods = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert [one["image"] for one in (*pods["containers"], *pods["initContainers"])] == ["own:1", "side:1", "init:1"]
    assert "A" not in str(pods["containers"][1])
