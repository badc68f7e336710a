"""How a job of any kind is suspended and resumed."""

from __future__ import annotations

import json
import shlex

import pytest

from shunter.api.meta import Json
from shunter.operator.suspension import suspend_command, suspend_patch


def job(api_version: str, kind: str) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "bert", "namespace": "team-a"}, "spec": {}}


@pytest.mark.parametrize(
    ("of", "patch"),
    [
        (job("kubeflow.org/v1", "PyTorchJob"), {"spec": {"runPolicy": {"suspend": True}}}),
        (job("trainer.kubeflow.org/v1alpha1", "TrainJob"), {"spec": {"suspend": True}}),
        (job("batch/v1", "Job"), {"spec": {"suspend": True}}),
    ],
    ids=["v1", "v2", "an Indexed Job"],
)
def test_the_field_is_that_of_the_generation(of: Json, patch: Json) -> None:
    assert suspend_patch(of, suspend=True) == patch


@pytest.mark.parametrize("suspend", [True, False])
def test_the_command_makes_the_same_patch_when_a_shell_reads_it(*, suspend: bool) -> None:
    of = job("kubeflow.org/v1", "PyTorchJob")
    *words, patch = shlex.split(suspend_command(of, suspend=suspend))
    assert words == ["kubectl", "patch", "pytorchjob", "bert", "-n", "team-a", "--type=merge", "-p"]
    assert json.loads(patch) == suspend_patch(of, suspend=suspend)
