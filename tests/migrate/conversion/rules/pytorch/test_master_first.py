"""What Workers no longer wait for is told of."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.migrate.conversion.one_job import convert
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options

INIT: Json = {"initContainers": [{"name": "fetch", "image": "tools:1"}]}
SIDECAR: Json = {"initContainers": [{"name": "logs", "image": "tools:1", "restartPolicy": "Always"}]}
PROBE: Json = {"readinessProbe": {"exec": {"command": ["test", "-f", "/data/done"]}}}


def told(kind: str, first: Json, others: Json | None, **container: Any) -> list[str]:
    """The messages about a job whose first role has these fields of a pod, and whose Workers have the others."""
    field, name = {"PyTorchJob": ("pytorchReplicaSpecs", "pytorch"), "XGBoostJob": ("xgbReplicaSpecs", "xgboost")}[kind]
    own = {"name": name, "image": "train:1", "command": ["torchrun", "t.py"], **container}
    specs: Json = {"Master": {"replicas": 1, "template": {"spec": {"containers": [own], **first}}}}
    if others is not None:
        specs["Worker"] = {"replicas": 2, "template": {"spec": {"containers": [own], **others}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "bert"}, "spec": {field: specs}}
    return [one.message for one in convert(SourceObject(job, "job.yaml"), Options()).findings if one.topic.id == "TORCH019"]


@pytest.mark.parametrize(
    ("first", "others", "container", "expected"),
    [
        (INIT, {}, {}, ["fetch runs in the Master only, and Workers do not wait for its end."]),
        ({}, {}, PROBE, ["Workers do not wait until the readinessProbe of pytorch succeeds."]),
        (
            {},
            {},
            {"startupProbe": {"tcpSocket": {"port": 1}}},
            ["Workers do not wait until the startupProbe of pytorch succeeds."],
        ),
        (INIT, INIT, {}, []),
        (SIDECAR, {}, {}, []),
        ({"initContainers": [{"name": "init-pytorch", "image": "alpine:3.10"}]}, {}, {}, []),
        (INIT, None, PROBE, []),
        ({}, INIT, {}, []),
    ],
)
def test_what_the_master_does_first_is_told_of(first: Json, others: Json | None, container: Json, expected: list[str]) -> None:
    assert told("PyTorchJob", first, others, **container) == expected


def test_other_kinds_did_not_wait() -> None:
    assert not told("XGBoostJob", INIT, {}, **PROBE)
