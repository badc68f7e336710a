"""Which actions are offered of a job, and the command line of each."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.yaml import load_yaml
from shunter.page.actions import VERBS, Commands, get_command, offered

TRAIN_JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: vision}
spec: {}
"""
V1_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: vision}
spec: {runPolicy: {suspend: true}, pytorchReplicaSpecs: {}}
"""
FAILED = "{conditions: [{type: Failed, status: 'True'}]}"

CASES: dict[str, tuple[str, Json, list[str]]] = {
    "a job that runs": (TRAIN_JOB, {}, ["suspend", "rerun", "delete"]),
    "a job that is suspended": (V1_JOB, {}, ["resume", "rerun", "delete"]),
    "a job that has failed": (V1_JOB, {"status": load_yaml(FAILED)}, ["rerun", "delete"]),
    "a job in a queue": (
        TRAIN_JOB,
        {"metadata": {"name": "bert", "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "gold"}}},
        ["rerun", "delete"],
    ),
    "a job that is being deleted": (
        TRAIN_JOB,
        {"metadata": {"name": "bert", "namespace": "vision", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        [],
    ),
    "a Job of Kubernetes": (
        TRAIN_JOB,
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True, "completions": 1}},
        ["resume", "rerun", "delete"],
    ),
}


@pytest.mark.parametrize(("text", "changes", "names"), CASES.values(), ids=CASES)
def test_what_is_offered_of(text: str, changes: Json, names: list[str]) -> None:
    job = {**load_yaml(text), **changes}
    assert [action.name for action in offered(job, VERBS.values(), Commands())] == names


@pytest.mark.parametrize(
    ("verbs", "names"),
    [((), []), (("patch",), ["suspend"]), (("create",), ["rerun"]), (("delete",), ["delete"]), (("get", "list", "watch"), [])],
)
def test_only_what_is_allowed_is_offered(verbs: tuple[str, ...], names: list[str]) -> None:
    assert [action.name for action in offered(load_yaml(TRAIN_JOB), verbs, Commands())] == names


def test_each_action_says_its_command_line_and_a_deletion_asks_for_the_name() -> None:
    found = {
        action.name: action for text in (TRAIN_JOB, V1_JOB) for action in offered(load_yaml(text), VERBS.values(), Commands())
    }
    assert {name: action.command for name, action in found.items()} == {
        "suspend": """kubectl patch trainjob bert -n vision --type=merge -p '{"spec":{"suspend":true}}'""",
        "resume": """kubectl patch pytorchjob bert -n vision --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}'""",
        "rerun": "shunter run --rerun pytorchjob/bert -n vision --detach",
        "delete": "shunter delete pytorchjob/bert -n vision",
    }
    assert [name for name, action in found.items() if action.asks_name] == ["delete"]


def test_the_command_lines_of_a_named_cluster_name_it() -> None:
    commands = Commands(" --context prod", "kubectl --context prod")
    assert get_command(load_yaml(TRAIN_JOB), commands) == "kubectl --context prod get trainjob bert -n vision -o yaml"
    assert offered(load_yaml(TRAIN_JOB), ("patch",), commands)[0].command.startswith(
        "kubectl --context prod patch trainjob bert "
    )
    assert (
        offered(load_yaml(TRAIN_JOB), ("delete",), commands)[0].command == "shunter delete trainjob/bert -n vision --context prod"
    )
