"""Whether two TrainJobs with their runtimes make the same JobSet."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.migrate.conversion.sharing.jobset_equality import same_jobset

A, B, OF_A = ({"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "$(A)"})
VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]


def pair(env: list[Json], volumes: list[Json], **container: Any) -> tuple[TrainJob, Json]:
    node = {"name": "node", "image": "x:1", "env": env, **container}
    pods = {"spec": {"containers": [node], "volumes": volumes}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    group = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}}
    runtime: Json = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [copy.deepcopy(group)]}}},
    }
    job = {"metadata": {"name": "j", "namespace": "n"}, "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}}
    return msgspec.convert(job, TrainJob), runtime


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(pair([A, B, OF_A], VOLUMES), True, id="equal"),
        pytest.param(pair([B, A, OF_A], VOLUMES[::-1]), True, id="in another order"),
        pytest.param(pair([OF_A, A, B], VOLUMES), False, id="a variable before the one it is made of"),
        pytest.param(pair([A, B, OF_A], VOLUMES[:1]), False, id="a volume less"),
        pytest.param(pair([A, B, OF_A], VOLUMES, args=["a"]), False, id="other arguments"),
    ],
)
def test_only_the_order_that_says_nothing_may_differ(other: tuple[TrainJob, Json], *, same: bool) -> None:
    assert same_jobset(pair([A, B, OF_A], VOLUMES), other) is same


def test_the_order_of_arguments_counts() -> None:
    assert not same_jobset(pair([], [], args=["a", "b"]), pair([], [], args=["b", "a"]))
