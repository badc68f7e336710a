"""Converted jobs as they stand in files, tried under a name of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.errors import InputError
from shunter.kube.merge_patch import merge_patch
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.moving.annotations import COMPARED, PLAN, SOURCE, mark
from shunter.migrate.moving.runs import trial_labels
from shunter.migrate.moving.runs.converted_trial import Naming, train_job_in, trial_of_converted
from shunter.migrate.moving.runs.trial import Trial
from shunter.migrate.pods.sides import v2_pods

NOW = datetime(2026, 11, 21, tzinfo=UTC)
API = "trainer.kubeflow.org/v1alpha1"
JOB: Json = {
    "apiVersion": API,
    "kind": "TrainJob",
    "metadata": {
        "name": "bert",
        "namespace": "team",
        "annotations": {SOURCE: "PyTorchJob team/bert", PLAN: "p1", COMPARED: "equal"},
    },
    "spec": {"suspend": True, "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "torch-1"}},
}
CONTAINER: Json = {"name": "node", "image": "any:1", "env": [{"name": "ADDRESS", "value": "$(NAME)-node-0-0.$(NAME)"}]}
POD: Json = {"spec": {"containers": [CONTAINER]}}
GROUP: Json = {"name": "node", "template": {"spec": {"template": POD}}}
RUNTIME: Json = {
    "apiVersion": API,
    "kind": "TrainingRuntime",
    "metadata": {"name": "torch-1", "namespace": "team"},
    "spec": {"template": {"spec": {"replicatedJobs": [GROUP]}}},
}


def trial(job: Json, *others: Json, **naming: Any) -> Trial:
    objects = [SourceObject(obj, "job.yaml") for obj in (job, *others)]
    return trial_of_converted(objects[0], objects, Naming("team", **naming), now=NOW)


def test_it_runs_at_once_and_ends_by_itself_under_a_name_of_its_own_with_its_runtime() -> None:
    found = trial(JOB, RUNTIME, deadline_seconds=60, keep_seconds=60)
    assert (found.name, found.namespace) == ("test-bert", "team")
    assert found.train_job["spec"] == {
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "test-bert"},
        "activeDeadlineSeconds": 60,
    }
    assert found.runtime is not None
    assert found.runtime["metadata"]["name"] == "test-bert"
    assert found.runtime["spec"] == RUNTIME["spec"]
    assert all(trial_labels.is_trial(obj) for obj in (found.train_job, found.runtime))
    assert mark(found.train_job, trial_labels.EXPIRES) == "2026-11-21T00:02:00Z"
    assert [replica.pod["spec"]["hostname"] for replica in v2_pods(found.train_job, found.runtime)] == ["test-bert-node-0-0"]


def test_it_is_not_marked_as_created_by_a_plan() -> None:
    found = trial(JOB, RUNTIME).train_job
    assert (mark(found, PLAN), mark(found, COMPARED), mark(found, SOURCE)) == ("", "", "PyTorchJob team/bert")


def test_what_was_read_is_not_changed() -> None:
    before = merge_patch(JOB, {})
    trial(JOB, RUNTIME)
    assert before == JOB


OTHERS = {
    "of another name": merge_patch(RUNTIME, {"metadata": {"name": "torch-2"}}),
    "of another namespace": merge_patch(RUNTIME, {"metadata": {"namespace": "other"}}),
}


@pytest.mark.parametrize("runtime", OTHERS.values(), ids=OTHERS)
def test_a_runtime_that_is_not_the_jobs_stays_where_it_is(runtime: Json) -> None:
    found = trial(JOB, runtime)
    assert found.runtime is None
    assert found.train_job["spec"]["runtimeRef"]["name"] == "torch-1"


def test_a_host_of_the_former_name_is_refused() -> None:
    hosts = merge_patch(CONTAINER, {"env": [{"name": "HOSTS", "value": '{"worker": ["bert-node-0-0.bert:2222"]}'}]})
    group = {**GROUP, "template": {"spec": {"template": {"spec": {"containers": [hosts]}}}}}
    runtime = merge_patch(RUNTIME, {"spec": {"template": {"spec": {"replicatedJobs": [group]}}}})
    with pytest.raises(InputError, match=r"TrainJob team/bert: it names the host bert-node-0-0\.bert, and as test-bert"):
        trial(JOB, runtime)


LESS = {
    "no spec": ({"spec": None}, r"TrainJob team/bert: spec\.runtimeRef\.name is missing"),
    "no runtime": ({"spec": {"runtimeRef": None}}, r"spec\.runtimeRef\.name is missing"),
    "no name": ({"metadata": {"name": None, "generateName": "bert-"}}, r"metadata\.name is missing"),
}


@pytest.mark.parametrize(("patch", "message"), LESS.values(), ids=LESS)
def test_what_is_missing_is_named(patch: Json, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trial(merge_patch(JOB, patch), RUNTIME)


def test_a_file_with_two_train_jobs_is_refused() -> None:
    two = [SourceObject(merge_patch(JOB, {"metadata": {"name": name}}), "jobs.yaml") for name in ("bert", "gpt")]
    with pytest.raises(InputError, match="2 TrainJobs are named: TrainJob team/bert, TrainJob team/gpt"):
        train_job_in(two)
    assert train_job_in([SourceObject(RUNTIME, "runtime.yaml")]) is None
