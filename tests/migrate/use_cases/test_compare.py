"""Which TrainJob `shunter migrate compare ORIGINAL` takes where none is named."""

from __future__ import annotations

import uuid

import pytest

from fault_transport import FaultTransport, Refuse
from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, TRAIN_JOBS
from shunter.kube.client import Client
from shunter.migrate.use_cases.compare import successor_of

pytestmark = pytest.mark.integration


async def test_who_may_read_one_namespace_only_finds_the_train_job_there(client: Client) -> None:
    namespace = f"converted-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    original: Json = pytorch(1)
    original["metadata"] |= {"namespace": namespace, "uid": "u-1"}
    train_job = converted(original).train_job
    made = await client.create(TRAIN_JOBS, {**train_job, "spec": {**train_job["spec"], "suspend": True}})
    transport = FaultTransport(client.transport)
    transport.inject(Refuse(403, "Forbidden", "not at the cluster scope"), method="GET", path=TRAIN_JOBS.path(""))
    found = await successor_of(client.through(transport), original)
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
