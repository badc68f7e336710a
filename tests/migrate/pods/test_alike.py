"""The short way through admission gives what the long one gives."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.api.training.kinds import JOB_KINDS
from shunter.cluster.controllers.job.pods import pods_of
from shunter.migrate.pods.admission import ANY_PRIORITY_CLASS, admitted
from shunter.migrate.pods.alike import admitted_pods
from shunter.migrate.pods.sides import v2_side
from shunter.operator.training.frameworks import framework_of


def pods_of_v1(job: Json) -> list[Json]:
    framework: Any = framework_of(job["kind"])
    return framework.pods(framework.read(msgspec.convert(admitted(job), framework.info.view)))  # type: ignore[no-any-return]


def job(kind: Any, **container: Any) -> Json:
    roles = {
        role: {"replicas": 1 if role in ("Master", "Chief", "Launcher") else 3, "template": {"spec": {"containers": [
            {"name": kind.container, "image": "train", "command": ["a"], **container}, {"name": "side", "image": "side:1"},
        ]}}}
        for role in kind.roles if role not in ("Chief",)
    }  # fmt: skip
    metadata = {"name": "job", "namespace": "team"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind.resource.kind,
        "metadata": metadata,
        "spec": {kind.replica_specs: roles},
    }


@pytest.mark.parametrize("kind", JOB_KINDS, ids=lambda kind: kind.resource.kind)
@pytest.mark.parametrize(
    "container",
    [
        pytest.param({}, id="plain"),
        pytest.param(
            {"env": [{"name": "EMPTY", "value": ""}, {"name": "NONE"}, {"name": "A", "value": "1"}]}, id="odd-variables"
        ),
        pytest.param({"resources": {"limits": {"cpu": "1000m", "nvidia.com/gpu": 1}}}, id="resources"),
    ],
)
def test_pods_of_v1_are_admitted_alike(kind: Any, container: Json) -> None:
    pods = pods_of_v1(job(kind, **container))
    assert [*admitted_pods(pods, ANY_PRIORITY_CLASS)] == [admitted(pod) for pod in pods]


def test_pods_of_v2_are_admitted_alike() -> None:
    conversion = converted(pytorch(3, env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]))
    pods = [pod for one in v2_side(conversion.train_job, conversion.runtime).jobs for pod in pods_of(one)]
    assert len(pods) == 4
    assert [*admitted_pods(pods, ANY_PRIORITY_CLASS)] == [admitted(pod) for pod in pods]


def test_pods_of_roles_with_other_annotations_keep_them() -> None:
    value = pytorch(2)
    value["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {"annotations": {"team": "a"}}
    pods = pods_of_v1(value)
    assert [*admitted_pods(pods, ANY_PRIORITY_CLASS)] == [admitted(pod) for pod in pods]


def test_pods_that_are_not_alike_are_admitted_in_full() -> None:
    pods = pods_of_v1(pytorch(2))
    pods[2]["spec"]["hostNetwork"] = True
    pods[2]["spec"]["containers"] = [{**pods[2]["spec"]["containers"][0], "image": "other"}]
    assert [*admitted_pods(pods, ANY_PRIORITY_CLASS)] == [admitted(pod) for pod in pods]
