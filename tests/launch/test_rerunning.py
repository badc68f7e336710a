"""The copy of a job that is run again: its spec, and nothing that belongs to the first alone."""

from __future__ import annotations

import copy

from shunter.api.meta import Json
from shunter.launch.annotations import RERUN_OF
from shunter.launch.code.delivery import MountedCode
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
