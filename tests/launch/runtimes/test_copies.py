"""The runtime of one job: what a TrainJob cannot patch, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml

import shunter.operator.trainer.runtimes as shipped
from shunter.api.meta import Json
from shunter.launch.code.delivery import ImageCode
from shunter.launch.objects import launch, rerun_job
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import of_object
from shunter.launch.runtimes.copies import job_runtime, rerun_runtime, with_restarts

RUNTIMES = Path(shipped.__file__).parent
OPTIONS = LaunchOptions(program=Program(path="train.py"), restarts=2)


def runtime(name: str) -> Json:
    found: Json = yaml.safe_load((RUNTIMES / f"{name}.yaml").read_text())
    return found


def trainer(obj: Json) -> Json:
    (job,) = [job for job in obj["spec"]["template"]["spec"]["replicatedJobs"] if job["name"] == "node"]
    spec: Json = job["template"]["spec"]
    return spec


def test_restarts_are_those_of_our_own_runtime() -> None:
    """What `shunter-torch` says of failures is what a job of `torch-distributed` gets."""
    ours = runtime("shunter-torch")
    made = with_restarts(runtime("torch-distributed"), 3)
    assert made["spec"]["template"]["spec"]["failurePolicy"] == ours["spec"]["template"]["spec"]["failurePolicy"]
    for field in ("backoffLimit", "podFailurePolicy"):
        assert trainer(made)[field] == trainer(ours)[field]
    assert trainer(made)["template"]["spec"]["restartPolicy"] == trainer(ours)["template"]["spec"]["restartPolicy"]


def test_of_our_own_runtime_only_the_number_changes() -> None:
    base = runtime("shunter-torch")
    made = with_restarts(base, 7)
    made["spec"]["template"]["spec"]["failurePolicy"]["maxRestarts"] = 3
    assert made == base


def test_a_policy_that_the_runtime_has_stays() -> None:
    """With our rule for PodFailurePolicy, what a user's policy fails at would be restarted for ever."""
    base = runtime("torch-distributed")
    own = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
    trainer(base)["podFailurePolicy"] = own
    made = with_restarts(base, 1)
    assert trainer(made)["podFailurePolicy"] == own
    assert made["spec"]["template"]["spec"]["failurePolicy"] == {"maxRestarts": 1}


@pytest.mark.parametrize(("names", "counted"), [(["log", "node"], "node"), (["main", "log"], "main")])
def test_the_exit_code_of_a_sidecar_says_nothing(names: list[str], counted: str) -> None:
    base = runtime("torch-distributed")
    trainer(base)["template"]["spec"]["containers"] = [{"name": name} for name in names]
    made = with_restarts(base, 1)
    assert [rule["onExitCodes"]["containerName"] for rule in trainer(made)["podFailurePolicy"]["rules"][1:]] == [counted]


def test_jobs_that_fetch_data_first_keep_their_ways() -> None:
    base = runtime("torchtune-llama3.2-1b")
    made = with_restarts(base, 1)
    others = [[job for job in obj["spec"]["template"]["spec"]["replicatedJobs"] if job["name"] != "node"] for obj in (base, made)]
    assert others[0] == others[1] != []


def test_a_job_with_restarts_refers_to_a_runtime_of_its_name() -> None:
    base = runtime("torch-distributed")
    before = copy.deepcopy(base)
    own, job = launch(OPTIONS, ImageCode(), of_object(base), name="train", namespace="team")
    assert base == before, "the shared runtime is not changed"
    assert (own["kind"], own["metadata"]["name"], own["metadata"]["namespace"]) == ("TrainingRuntime", "train", "team")
    assert own["metadata"]["labels"] == {"trainer.kubeflow.org/framework": "torch", "shunter.dev/job": "train"}
    assert own["metadata"]["annotations"] == {"shunter.dev/made-from": "ClusterTrainingRuntime/torch-distributed"}
    assert job["spec"]["runtimeRef"] == {"name": "train", "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime"}

    again = rerun_job(job, "train-2", job_id="2", has_own_runtime=True)
    copied = rerun_runtime({**own, "metadata": {**own["metadata"], "uid": "u", "ownerReferences": [{}]}}, "train-2")
    assert again["spec"]["runtimeRef"]["name"] == copied["metadata"]["name"] == "train-2"
    assert copied["metadata"]["labels"]["shunter.dev/job"] == "train-2"
    assert copied["spec"] == own["spec"]
    assert set(copied["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert copied["metadata"]["annotations"] == own["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        ({"app.kubernetes.io/managed-by": "Helm", "argocd.argoproj.io/instance": "a"}, {}),
        ({"trainer.kubeflow.org/webhook-validation": "disabled"}, {}),
        ({"trainer.kubeflow.org/support": "deprecated"}, {"trainer.kubeflow.org/support": "deprecated"}),
    ],
    ids=["who looks after it", "that it is not to be validated", "what Trainer reads"],
)
def test_labels_of_a_copy(labels: dict[str, str], kept: dict[str, str]) -> None:
    base = runtime("torch-distributed")
    base["metadata"]["labels"] = labels
    made = job_runtime(base, job="train", namespace="team")
    assert made["metadata"]["labels"] == {**kept, "shunter.dev/job": "train"}
