"""The stage `smoke`: what of the input goes with a job. That the job runs is seen in tests/e2e."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, TRAIN_JOBS
from shunter.kube.client import Client
from shunter.migrate.moving.runs.smoke import smoke_run
from shunter.migrate.moving.runs.trial import TrialOptions
from shunter.migrate.options import Options
from shunter.migrate.proof.proving import Proof, StageResult

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SCRIPT = {"run.sh": "torchrun --nproc_per_node=1 train.py\n"}


def config_map(namespace: str, data: dict[str, str]) -> Json:
    of_a_cluster = {"resourceVersion": "7", "uid": "u-1", "creationTimestamp": "2026-11-21T10:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "scripts", "namespace": namespace, **of_a_cluster},
        "data": data,
    }


async def run(client: Client, job: Json, *others: Json) -> tuple[StageResult, str]:
    """What is said after a second in which nobody runs the job, and the namespace."""
    namespace = f"smoke-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    proof = Proof(converted(job), ())
    return await smoke_run(proof, client, namespace, others, TrialOptions(deadline_seconds=1), Options(), now=NOW), namespace


async def test_objects_of_the_job_s_namespace_go_with_it_as_their_users_wrote_them(client: Client) -> None:
    result, namespace = await run(client, pytorch(1), config_map("team", SCRIPT), config_map("other", {"run.sh": "exit 1"}))
    assert result.findings == ()
    assert (await client.get(CONFIG_MAPS, "scripts", namespace))["data"] == SCRIPT


async def test_the_job_is_converted_as_it_was_proved_with_the_scripts_of_its_config_maps(client: Client) -> None:
    job = pytorch(1, ["bash", "/s/run.sh"], volumeMounts=[{"name": "s", "mountPath": "/s"}])
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["volumes"] = [{"name": "s", "configMap": {"name": "scripts"}}]
    _, namespace = await run(client, job, config_map("team", SCRIPT))
    (made,) = (await client.list(TRAIN_JOBS, namespace)).items
    assert "numProcPerNode" not in made["spec"]["trainer"], "the script says itself how many it starts"
