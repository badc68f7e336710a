"""What of an object a backup keeps."""

from __future__ import annotations

from typing import Any

import pytest

from migrate.moving.moves import pytorch_job
from shunter.migrate.conversion.cleaning import clean, digest, suspended
from shunter.operator.overview import is_suspended

LIVE: dict[str, Any] = {
    "uid": "1",
    "resourceVersion": "7",
    "generation": 3,
    "creationTimestamp": "2026-11-21T00:00:00Z",
    "managedFields": [{"manager": "kubectl"}],
    "ownerReferences": [{"kind": "Trial", "name": "t", "uid": "2"}],
    "finalizers": ["foregroundDeletion"],
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"},
}


def test_what_a_cluster_adds_is_left_out() -> None:
    live = {**pytorch_job("bert", "team", **LIVE), "status": {"conditions": []}}
    assert clean(live) == pytorch_job("bert", "team", annotations={"team": "a"})


def test_annotations_that_only_kubectl_wrote_leave_nothing_behind() -> None:
    live = pytorch_job("bert", "team", annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"})
    assert clean(live) == pytorch_job("bert", "team")


def test_the_digest_is_that_of_what_the_user_wrote() -> None:
    live = {**pytorch_job("bert", "team", **LIVE), "status": {"startTime": "now"}}
    assert digest(live) == digest(pytorch_job("bert", "team", annotations={"team": "a"}))
    assert digest(live) != digest(pytorch_job("bert", "team", annotations={"team": "b"}))
    assert digest(live) != digest(suspended(live))


@pytest.mark.parametrize(
    "job",
    [
        pytorch_job("bert", "team"),
        {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "x"}, "spec": {}},
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "x"}, "spec": {}},
    ],
    ids=["v1 with a runPolicy", "v1 without one", "v2"],
)
def test_a_suspended_job_of_either_generation_runs_nothing(job: dict[str, Any]) -> None:
    assert not is_suspended(job)
    assert is_suspended(suspended(job))
