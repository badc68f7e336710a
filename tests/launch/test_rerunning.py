"""The copy of a job that is run again: its spec, and nothing that belongs to the first alone."""

from __future__ import annotations

import copy

import pytest

from shunter.api.meta import Json
from shunter.launch.code.delivery import MountedCode
from shunter.launch.marks import RERUN_OF
from shunter.launch.names import earlier_names, first_name, free_name
from shunter.launch.objects import launch, rerun_job
from shunter.launch.options import LaunchOptions, Program
from shunter.launch.runtimes.choice import Runtime

TORCH = Runtime("torch-distributed", "torch")


def test_what_runs_a_program_again_is_copied_by_the_same_rule() -> None:
    """A label of Argo CD would make it prune the new job; what a user added belongs to the training."""
    options = LaunchOptions(program=Program(path="train.py"), labels={"team": "a"})
    first = launch(options, MountedCode("/src"), TORCH, name="train", namespace="n")[-1]
    stored: Json = copy.deepcopy(first)
    own = {"shunter.dev/resumed-job": "lm", "kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "mine"}
    stored["metadata"]["annotations"] |= own
    stored["metadata"]["labels"] |= {"argocd.argoproj.io/instance": "app"}
    stored["spec"] |= {"suspend": True, "managedBy": "trainer.kubeflow.org/trainjob-controller"}
    stored["spec"]["runtimePatches"] += [
        {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"a": 1}},
        {"manager": "mine.example.com", "time": "2026-01-01T00:00:00Z", "trainingRuntimeSpec": {"b": 2}},
    ]
    again = rerun_job(stored, "train-2", job_id="2")
    assert again["metadata"]["labels"] == {"team": "a"}
    assert again["metadata"]["annotations"] == {**first["metadata"]["annotations"], "note": "mine", RERUN_OF: "train"}
    assert again["spec"]["runtimePatches"][1:] == [{"manager": "mine.example.com", "trainingRuntimeSpec": {"b": 2}}]
    assert not {"suspend", "managedBy"} & set(again["spec"])


@pytest.mark.parametrize(
    ("name", "rerun_of", "there", "made"),
    [
        ("bert", "", {"bert"}, "bert-2"),
        ("bert", "", set(), "bert-2"),
        ("bert", "", {"bert", "bert-2"}, "bert-3"),
        ("bert-2", "bert", {"bert-2"}, "bert-3"),
        ("bert-9", "bert", {"bert-9", "bert-10"}, "bert-11"),
        ("resnet-50", "", {"resnet-50"}, "resnet-50-2"),
        ("resnet-50-2", "resnet-50", {"resnet-50"}, "resnet-50-3"),
        ("exp-2024", "", {"exp-2024"}, "exp-2024-2"),
        ("bert-1", "bert", {"bert-1"}, "bert-1-2"),
        ("other", "bert", {"other"}, "other-2"),
    ],
)
def test_a_job_never_gets_its_own_name_or_an_earlier_one(name: str, rerun_of: str, there: set[str], made: str) -> None:
    """And a number that its user gave stays: `resnet-51` is another model."""
    first = first_name(name, rerun_of=rerun_of)
    assert free_name(first, there | earlier_names(name, first)) == made
