"""Names and labels of a job's pods, on which dashboards and scripts select."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import index_of, replica_labels, replica_name


def test_a_pod_is_called_after_its_job_its_role_in_lower_case_and_its_index() -> None:
    assert replica_name("bert", "Worker", 3) == "bert-worker-3"


def test_a_pods_labels_say_operator_job_role_and_index(make_job: Callable[..., AnyJob]) -> None:
    assert replica_labels(make_job(), "Worker", 3) == {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "bert",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "3",
    }


@pytest.mark.parametrize(("text", "index"), [("0", 0), ("12", 12), ("-1", None), ("one", None), ("", None), ("9" * 5000, None)])
def test_an_index_is_a_number_or_nothing(text: str, index: int | None) -> None:
    assert index_of({"training.kubeflow.org/replica-index": text}) == index
    assert index_of({}) is None
