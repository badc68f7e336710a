"""Numbers that no API server takes are refused when a job is read."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.api.yaml import dump_yaml, load_yaml
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.reading import UnreadableJobError
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"runPolicy": {"ttlSecondsAfterFinished": 99999999999}}, "runPolicy.ttlSecondsAfterFinished"),
        ({"runPolicy": {"backoffLimit": 2**31}}, "runPolicy.backoffLimit"),
        ({"runPolicy": {"schedulingPolicy": {"minAvailable": -(2**31) - 1}}}, "runPolicy.schedulingPolicy.minAvailable"),
        ({"elasticPolicy": {"maxRestarts": 2**40}}, "elasticPolicy.maxRestarts"),
    ],
)
def test_a_number_of_more_than_32_bits_is_refused(spec: Json, field: str) -> None:
    with pytest.raises(UnreadableJobError, match=f"spec.{field}: -?[0-9]+ is no integer of 32 bits"):
        convert(SourceObject(job(spec), "job.yaml"), Options())


def test_the_largest_is_not() -> None:
    assert convert(SourceObject(job({"runPolicy": {"backoffLimit": 2**31 - 1}}), "job.yaml"), Options()).train_job


@pytest.mark.parametrize("count", ["3.0", "3e0", "+3", "0x3"])
def test_a_whole_number_is_an_integer_however_it_is_written(count: str) -> None:
    given = load_yaml(dump_yaml(job({})).replace("replicas: 2", f"replicas: {count}"))
    assert convert(SourceObject(given, "job.yaml"), Options()).train_job["spec"]["trainer"]["numNodes"] == 3


def job(spec: Json) -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1", "command": ["torchrun", "t.py"]}]}}
    specs = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}, **spec}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "bert"}, "spec": specs}
