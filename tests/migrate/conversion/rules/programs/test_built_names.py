"""Addresses that settings put together of the job's name are told of; buckets, images and hosts of others are not."""

from __future__ import annotations

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.input_context import context_of
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options


def told(line: str) -> list[str]:
    container: Json = {"name": "pytorch", "image": "train:1", "command": ["python", "train.py"]}
    container["volumeMounts"] = [{"name": "s", "mountPath": "/s"}]
    spec = {"containers": [container], "volumes": [{"name": "s", "configMap": {"name": "s"}}]}
    roles = {role: {"replicas": 1, "template": {"spec": spec}} for role in ("Master", "Worker")}
    metadata = {"name": "bert", "namespace": "team"}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": roles}}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "team"}, "data": {"a": line}}
    source = SourceObject(job, "a.yaml")
    findings = convert(source, Options(), context_of([source], [settings])).findings
    return [one.message for one in findings if one.topic.id == "HOST013"]


@pytest.mark.parametrize(
    "line",
    [
        "${JOB}-master-0:29400",
        "at: ${JOB}-master-0.team.svc:29400",
        "at: {{ .Values.job }}-worker-0:29400",
        "at: tcp://${JOB}-master-0",
        "at: grpc://%(job)s-worker-0.${NS}.svc/x",
        "# was tcp://${JOB}-master-0\nat: ${JOB}-worker-1:29400,${JOB}-worker-2:29400",
    ],
)
def test_an_address_is_told_of(line: str) -> None:
    assert told(line)


@pytest.mark.parametrize(
    "line",
    [
        "url: s3://bucket/${RUN}-worker-${RANK}/x",
        "url: s3://${RUN}-worker-${RANK}/x",
        "url: file:///${RUN}-worker-0",
        "url: https://host/${RUN}-worker-0/x",
        "image: reg/${T}-worker-1:2024",
        "image: ${T}-worker-1:2024",
        "from: reg/${T}-worker-1:2024",
        "see https://${X}-worker-1.example.org/x",
        "redis: ${CACHE}-worker-0.redis:6379",
        "log: ${RUN}-worker-0:10:20",
        "tag: ${RUN}-worker-0:2024-11",
        "# at ${JOB}-master-0:29400",
    ],
)
def test_what_is_no_host_of_the_job_is_not(line: str) -> None:
    assert not told(line)
