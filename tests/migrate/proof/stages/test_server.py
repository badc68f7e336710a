"""The stage `server`: what is sent to a cluster, and what its answers say of a conversion."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fault_transport import FaultTransport, Refuse
from migrate.proof.jobs import converted, pytorch
from shunter.api.meta import Json
from shunter.api.resources import JOBSETS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.proof.proving import Proof, StageResult
from shunter.migrate.proof.stages.server import dry_run, scratch_namespace

pytestmark = pytest.mark.integration

OURS = converted(pytorch(1))
NO_RIGHT = Refuse(403, "Forbidden", 'jobsets is forbidden: User "jane" cannot create resource "jobsets" in API group "x"')
DENIED = Refuse(403, "Forbidden", 'admission webhook "policy.example.org" denied the request: no GPUs on Fridays')


async def server_stage(client: Client, conversion: Conversion, *faults: Refuse) -> StageResult:
    transport = FaultTransport(client.transport)
    async with scratch_namespace(client) as namespace:
        for fault in faults:
            transport.inject(fault, method="POST", path=JOBSETS.plural)
        return await dry_run(Proof(conversion, ()), client.through(transport), namespace)


async def test_objects_are_asked_about_as_their_users_wrote_them(client: Client) -> None:
    of_a_cluster: Json = {"resourceVersion": "7", "uid": "u-1", "creationTimestamp": "2026-11-21T10:00:00Z", "generation": 2}
    read = {**OURS.train_job, "metadata": {**OURS.train_job["metadata"], **of_a_cluster}, "status": {}}
    assert OURS.runtime is not None
    runtime = {**OURS.runtime, "metadata": {**OURS.runtime["metadata"], **of_a_cluster}}
    found = await server_stage(client, replace(OURS, train_job=read, runtime=runtime))
    assert found.findings == ()
    assert found.holds
    assert found.note.startswith("dry run of 4 objects in namespace shunter-dry-run-")


async def test_what_a_policy_denies_is_refused(client: Client) -> None:
    found = await server_stage(client, OURS, DENIED)
    assert ["no GPUs on Fridays" in finding.message for finding in found.findings] == [True]
    assert not found.holds


async def test_what_nobody_may_ask_about_is_not_refused(client: Client) -> None:
    found = await server_stage(client, OURS, NO_RIGHT)
    assert (found.findings, found.was_tried) == ((), False)
    assert found.note.startswith("no dry run of JobSet bert: jobsets is forbidden: ")


async def test_a_server_that_is_away_says_nothing_of_a_conversion(client: Client) -> None:
    with pytest.raises(ApiError, match="away"):
        await server_stage(client, OURS, *[Refuse(503, "ServiceUnavailable", "away")] * 20)


async def test_a_runtime_of_the_cluster_is_left_to_it(client: Client) -> None:
    assert OURS.runtime is not None
    metadata = {**OURS.runtime["metadata"], "namespace": ""}
    runtime = {**OURS.runtime, "kind": "ClusterTrainingRuntime", "metadata": metadata}
    spec = {**OURS.train_job["spec"]}
    spec["runtimeRef"] = {**spec["runtimeRef"], "kind": "ClusterTrainingRuntime"}
    found = await server_stage(client, replace(OURS, train_job={**OURS.train_job, "spec": spec}, runtime=runtime))
    assert found.findings == ()
    assert found.note.startswith("dry run of 3 objects")
