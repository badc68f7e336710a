"""Trials: what they are called, how they differ from the job on purpose, and that nothing of them can start again or stay."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.annotations import SOURCE, mark
from shunter.migrate.moving.runs import trial_labels
from shunter.migrate.moving.runs.trial import Trial, TrialOptions, trial_of
from shunter.migrate.options import Options

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def replica(count: int, **container: Any) -> dict[str, Any]:
    return {
        "replicas": count,
        "template": {
            "spec": {"containers": [{"name": "pytorch", "image": "any:1", "command": ["python", "train.py"], **container}]}
        },
    }


def job(name: str = "bert", workers: int = 2, run_policy: dict[str, Any] | None = None, **container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "ml", "uid": "u-1", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {
            "runPolicy": run_policy or {},
            "pytorchReplicaSpecs": {"Master": replica(1, **container), "Worker": replica(workers, **container)},
        },
    }


def trial(value: dict[str, Any], *, options: Options = Options(), **trial_options: Any) -> Trial:  # noqa: B008
    before = copy.deepcopy(value)
    made = trial_of(SourceObject(value, "cluster"), TrialOptions(**trial_options), options, now=NOW)
    assert value == before, "the source is never changed"
    return made


def test_a_trial_has_a_name_marks_and_a_runtime_of_its_own() -> None:
    made = trial(job(), deadline_seconds=60, keep_seconds=40)
    assert made.runtime is not None
    assert (made.name, made.namespace) == ("bert-trial", "ml")
    assert made.train_job["spec"]["runtimeRef"]["name"] == made.runtime["metadata"]["name"] == "bert-trial"
    assert made.train_job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "q"
    for obj in (made.train_job, made.runtime):
        assert trial_labels.is_trial(obj)
        assert mark(obj, SOURCE) == "PyTorchJob ml/bert"
        assert mark(obj, trial_labels.SOURCE_UID) == "u-1"
        assert not trial_labels.has_expired(obj, NOW)
        assert trial_labels.has_expired(obj, datetime(2026, 11, 21, 10, 1, 40, tzinfo=UTC))


def test_a_long_name_keeps_to_the_budget_of_its_pods() -> None:
    made = trial(job("a" * 50))
    assert len(f"{made.name}-node-0-2-xxxxx") <= 63


def test_names_in_the_program_are_left_as_they_are() -> None:
    """A public script replaced `name: ` in the text: of runtimes, variables and Secrets as well."""
    value = job(
        env=[{"name": "name", "value": "name: bert"}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "bert"}}}]
    )
    given = value["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["env"]
    made = trial(value)
    assert made.train_job["spec"]["trainer"]["env"] == given


def test_nothing_starts_a_trial_again_or_removes_its_pods_before_it() -> None:
    policy = {"ttlSecondsAfterFinished": 0, "cleanPodPolicy": "All", "suspend": True, "activeDeadlineSeconds": 9000}
    made = trial(job(run_policy=policy), deadline_seconds=60)
    assert made.runtime is not None
    assert "ttlSecondsAfterFinished" not in made.runtime["spec"]["template"]["spec"]
    assert "suspend" not in made.train_job["spec"]
    assert made.train_job["spec"]["activeDeadlineSeconds"] == 60


def test_a_shorter_deadline_of_the_job_stays() -> None:
    assert trial(job(run_policy={"activeDeadlineSeconds": 7})).train_job["spec"]["activeDeadlineSeconds"] == 7


def test_a_finished_job_can_be_tried_again() -> None:
    value = {**job(), "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    assert "suspend" not in trial(value).train_job["spec"]


NODES = {"some workers": (2, {"nodes": "2 of 3"}), "the master alone": (1, {"nodes": "1 of 3"}), "all of them": (3, {})}


@pytest.mark.parametrize(("nodes", "changes"), NODES.values(), ids=NODES)
def test_a_trial_may_train_on_fewer_nodes(nodes: int, changes: dict[str, str]) -> None:
    made = trial(job(), nodes=nodes)
    assert made.train_job["spec"]["trainer"]["numNodes"] == nodes
    assert made.changes == trial_labels.changes(made.train_job) == changes


@pytest.mark.parametrize("nodes", [0, 4])
def test_a_number_of_nodes_that_the_job_cannot_have_is_refused(nodes: int) -> None:
    with pytest.raises(InputError, match=f"--nodes {nodes}: the job has 3 pods that train.*Use a number from 1 to 3"):
        trial(job(), nodes=nodes)


def test_fields_that_are_null_are_absent() -> None:
    value = job()
    value["spec"]["runPolicy"] = None
    value["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = None
    assert trial(value, nodes=2).changes == {"nodes": "2 of 3"}


@pytest.mark.parametrize("broken", [None, {"replicas": "two"}], ids=["a role that is null", "a number that is none"])
def test_a_job_that_cannot_be_read_is_refused_in_a_message(broken: dict[str, Any] | None) -> None:
    value = job()
    value["spec"]["pytorchReplicaSpecs"]["Worker"] = broken
    with pytest.raises(InputError, match=r"spec.pytorchReplicaSpecs.Worker"):
        trial(value, nodes=2)


STEPS = {
    "a flag that is there": (["python", "train.py", "--max-steps", "9"], ["python", "train.py", "--max-steps", "5"]),
    "a flag with an equals sign": (["python", "train.py", "--max-steps=9"], ["python", "train.py", "--max-steps=5"]),
    "a flag that is not there": (["python", "train.py"], ["python", "train.py", "--max-steps", "5"]),
    "a flag in a shell's text": (
        ["sh", "-c", "cd /w && python t.py --max-steps 9 | tee l"],
        ["sh", "-c", "cd /w && python t.py --max-steps 5 | tee l"],
    ),
}


@pytest.mark.parametrize(("command", "expected"), STEPS.values(), ids=STEPS)
def test_a_trial_may_do_fewer_steps_by_a_flag(command: list[str], expected: list[str]) -> None:
    made = trial(job(command=command), steps=5, steps_argument="--max-steps")
    assert made.train_job["spec"]["trainer"]["command"] == expected
    assert made.changes == {"steps": "5"}


def test_a_trial_may_do_fewer_steps_by_a_variable() -> None:
    made = trial(
        job(env=[{"name": "MAX_STEPS", "value": "900"}, {"name": "LR", "value": "1"}]), steps=5, steps_variable="MAX_STEPS"
    )
    assert made.train_job["spec"]["trainer"]["env"] == [{"name": "MAX_STEPS", "value": "5"}, {"name": "LR", "value": "1"}]


def test_steps_without_a_way_to_tell_them_are_refused() -> None:
    with pytest.raises(InputError, match="--steps 5: it is unknown how"):
        trial(job(), steps=5)


def test_a_flag_cannot_be_put_behind_a_shells_text() -> None:
    with pytest.raises(InputError, match="--max-steps is not in the text"):
        trial(job(command=["sh", "-c", "python train.py"]), steps=5, steps_argument="--max-steps")


def test_a_trial_may_run_in_another_namespace() -> None:
    made = trial(job(), namespace="sandbox")
    assert made.runtime is not None
    assert made.train_job["metadata"]["namespace"] == made.runtime["metadata"]["namespace"] == "sandbox"
    assert mark(made.train_job, SOURCE) == "PyTorchJob ml/bert"


def test_a_generated_name_becomes_a_plain_one() -> None:
    value = job()
    value["metadata"] = {"generateName": "bert-", "namespace": "ml"}
    assert trial(value).name == "bert-trial"
