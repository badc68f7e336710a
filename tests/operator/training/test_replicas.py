"""What the operator adds to the pods of a role: names, labels, variables, restart policy."""

from __future__ import annotations

from collections.abc import Callable

from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.replicas import desired_pods

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]


def test_users_variables_stay_before_the_operators(make_job: MakeJob) -> None:
    """Of two with one name the container gets the last."""
    container = {"name": "pytorch", "image": "i", "env": [{"name": "RANK", "value": "77"}]}
    (pod,) = desired_pods(PYTORCH, make_job({"Master": 1}, role={"template": {"spec": {"containers": [container]}}}))
    ranks = [variable["value"] for variable in pod["spec"]["containers"][0]["env"] if variable["name"] == "RANK"]
    assert ranks == ["77", "0"]


def test_labels_of_the_operator_win_and_the_master_role_is_marked(make_job: MakeJob) -> None:
    metadata = {"labels": {"team": "blue", "training.kubeflow.org/job-name": "other"}}
    template = {"metadata": metadata, "spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    first, second = desired_pods(PYTORCH, make_job({"Worker": 2}, role={"template": template}))
    assert first["metadata"]["labels"] == {
        "team": "blue",
        "training.kubeflow.org/job-name": "bert",
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
        "training.kubeflow.org/job-role": "master",
    }
    assert "training.kubeflow.org/job-role" not in second["metadata"]["labels"]


def test_exit_code_is_never_for_the_pod(make_job: MakeJob) -> None:
    (pod,) = desired_pods(PYTORCH, make_job({"Master": 1}, role={"restartPolicy": "ExitCode"}))
    assert pod["spec"]["restartPolicy"] == "Never"
