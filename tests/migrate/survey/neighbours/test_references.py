"""References of other objects to a v1 job of the input that becomes a TrainJob."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion import batch
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.survey.neighbours.job_pods import Jobs
from shunter.migrate.survey.neighbours.references import references_to_jobs


def job(name: str = "bert", namespace: str = "team") -> SourceObject:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i", "command": ["torchrun", "t.py"]}]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": template}}}
    metadata = {"name": name, "namespace": namespace}
    return SourceObject({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}, "jobs")


def told(spec: Json, *jobs: SourceObject, namespace: str = "team", **metadata: Any) -> list[str]:
    options = Options()
    outcomes = batch.converted(jobs or (job(),), options).outcomes
    metadata = {"name": "x", "namespace": namespace, **metadata}
    beside = SourceObject({"apiVersion": "a/v1", "kind": "Scaler", "metadata": metadata, "spec": spec}, "beside")
    return [finding.message for finding in references_to_jobs(beside, Jobs(outcomes, options, {}))]


BERT = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert"}


def test_a_target_that_becomes_a_trainjob_is_told_with_its_field() -> None:
    (message,) = told({"scaleTargetRef": BERT})
    assert message.startswith("spec.scaleTargetRef of Scaler team/x names PyTorchJob team/bert, which is TrainJob team/bert now")
    assert message.endswith("it does nothing for the TrainJob.")


def test_what_a_v1_job_owns_goes_with_it() -> None:
    (message,) = told({}, ownerReferences=[{**BERT, "uid": "u"}])
    assert message.endswith("it is deleted with the v1 job.")


@pytest.mark.parametrize(
    "reference",
    [
        {**BERT, "name": "other"},
        {**BERT, "kind": "TFJob"},
        {**BERT, "apiVersion": "batch/v1"},
        {**BERT, "apiVersion": "trainer.kubeflow.org/v1alpha1"},
        {**BERT, "name": None},
    ],
    ids=["another name", "another kind", "another group", "v2's group", "no name"],
)
def test_references_to_others_are_not_told(reference: Json) -> None:
    assert told({"targetRef": reference}) == []


def test_a_job_of_another_namespace_is_not_meant_unless_one_has_none() -> None:
    assert told({"targetRef": BERT}, namespace="other") == []
    assert len(told({"targetRef": BERT}, namespace="")) == 1
    assert len(told({"targetRef": BERT}, job(namespace=""))) == 1


def test_a_job_that_stays_one_of_v1_is_not_told_of() -> None:
    blocked = job()
    blocked.value["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = {"spec": {"containers": []}}
    assert told({"targetRef": BERT}, blocked) == []
