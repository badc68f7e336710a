"""TrainJobs that somebody else wrote are found, and compared as our own."""

from __future__ import annotations

import copy

import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.migrate.proof.comparison import compared
from shunter.migrate.proof.existing import with_existing

OURS = converted(pytorch(1))
NAIVE: Json = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "bert", "namespace": "team"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "image": "train:1", "command": ["python", "train.py"]},
    },
}
"""What the public guides make of the job: both nodes train alone, and succeed."""


def test_a_naive_conversion_is_found_to_train_models_apart() -> None:
    comparison = compared(with_existing(OURS, [NAIVE]))
    assert not comparison.is_alike
    messages = [finding.message for finding in comparison.findings]
    assert "Master 0 is rank 0 of 2 at Master 0 in v1, and on its own in v2. 1 more difference." in messages


def test_a_variable_that_moves_jax_to_another_device_is_no_part_of_its_group() -> None:
    container = {"name": "jax", "image": "train:1", "command": ["python", "train.py"]}
    specs = {"Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}}
    job = {**pytorch(1), "kind": "JAXJob", "spec": {"jaxReplicaSpecs": specs}}
    ours = converted(job)
    theirs = copy.deepcopy(ours.train_job)
    theirs["spec"]["trainer"]["env"] = [{"name": "JAX_PLATFORMS", "value": "cpu"}]
    assert ours.runtime is not None
    messages = [finding.message for finding in compared(with_existing(ours, [theirs, ours.runtime])).findings]
    assert messages == ["Worker 0 to 1: env JAX_PLATFORMS of container node is nothing in v1 and 'cpu' in v2."]


def test_our_own_results_are_found_by_their_names() -> None:
    assert OURS.runtime is not None
    given = with_existing(OURS, [NAIVE | {"metadata": {"name": "other"}}, OURS.runtime, OURS.train_job])
    assert (given.train_job, given.runtime) == (OURS.train_job, OURS.runtime)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param([], "no TrainJob of its name to compare with. Found: none", id="none"),
        pytest.param([OURS.train_job], "its TrainingRuntime pytorch-.* is missing", id="no-runtime"),
        pytest.param(
            [NAIVE | {"apiVersion": "trainer.kubeflow.org/v2alpha1"}],
            "has apiVersion trainer.kubeflow.org/v2alpha1",
            id="version",
        ),
    ],
)
def test_what_is_missing_is_named(objects: list[Json], message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_existing(OURS, objects)


def test_one_trainjob_stands_for_one_job_only() -> None:
    other = NAIVE | {"metadata": {"name": "other"}}
    assert with_existing(OURS, [other]).train_job == other
    with pytest.raises(InputError, match=r"no TrainJob of its name to compare with\. Found: other"):
        with_existing(OURS, [other], has_others=True)


def test_of_runtimes_of_one_name_that_of_the_trainjob_s_namespace_is_taken() -> None:
    assert OURS.runtime is not None
    elsewhere = {**OURS.runtime, "metadata": {**OURS.runtime["metadata"], "namespace": "other"}}
    assert with_existing(OURS, [OURS.train_job, elsewhere, OURS.runtime]).runtime == OURS.runtime


def test_an_object_that_no_server_would_take_is_refused() -> None:
    broken = copy.deepcopy(NAIVE)
    broken["spec"]["trainer"]["env"] = [{"value": "x"}]
    with pytest.raises(InputError, match=r"spec.trainer.env\[0\].name"):
        with_existing(OURS, [broken])


def test_a_train_job_that_was_made_of_another_job_is_not_taken_for_the_only_one() -> None:
    renamed = {"name": "renamed", "namespace": "team"}
    assert with_existing(OURS, [NAIVE | {"metadata": renamed}]).train_job["metadata"] == renamed
    mark = {"annotations": {"migrate.shunter.dev/source": "PyTorchJob team/gpt"}}
    with pytest.raises(InputError, match=r"no TrainJob of its name to compare with\. Found: renamed"):
        with_existing(OURS, [NAIVE | {"metadata": {**renamed, **mark}}])
